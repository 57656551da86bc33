/*
 * shape.h
 *		A staged table like the live leaf: layout before the load; indexes,
 *		statistics targets, comments, privileges after it.
 */
#ifndef BF_SHAPE_H
#define BF_SHAPE_H

#include "backfill.h"

/*
 * Creates backfill_staging.<name> as the current role with the physical layout
 * of `like` attribute by attribute (dropped ones included, no identity), its
 * NOT NULLs, CHECKs, defaults, storage, compression, reloptions, tablespace and a CHECK
 * backfill_bound (bound_def) that lets ATTACH skip its scan (none when bound_def is NULL).
 * Autovacuum is off until bf_shape_finish.  Returns its oid.
 */
extern Oid	bf_shape_create(const char *name, Oid like, const char *bound_def);

/*
 * Indexes and constraints like those of `like`, named bf_shape_name(name, suffix),
 * then statistics targets, comments, extended statistics, replica identity, cluster mark,
 * privileges, ANALYZE, the guard triggers.  When a unique index on just the key
 * columns meets duplicates it is built without UNIQUE and *unique is false (the
 * key gate then says why); duplicates under any other unique index are an error.
 */
extern void bf_shape_finish(Oid staged, Oid like, const char *suffix, List *key, bool *unique);

/* <name>_<suffix>, clipped to 63 bytes at a character boundary. */
extern char *bf_shape_name(const char *name, const char *suffix);

#endif							/* BF_SHAPE_H */
