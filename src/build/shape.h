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
 * Indexes and constraints like those of `like`, named <their name>_<suffix>,
 * then statistics targets, comments, extended statistics, replica identity, cluster mark,
 * privileges, ANALYZE, the guard triggers.  A unique index that meets duplicates is built
 * without UNIQUE and the function returns false in *unique (the key gate then says why).
 */
extern void bf_shape_finish(Oid staged, Oid like, const char *suffix, bool *unique);

/* <name>_<suffix>, clipped to 63 bytes at a character boundary. */
extern char *bf_shape_name(const char *name, const char *suffix);

/* Guard triggers (seal staged and retired tables, mark writes to attached leaves); idempotent. */
extern void bf_guard_install(Oid relid);
extern void bf_guard_remove(Oid relid);

#endif							/* BF_SHAPE_H */
