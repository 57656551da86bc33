/*
 * foreign_key.h
 *		Whether foreign keys to and from the target survive a switch.
 */
#ifndef BF_FOREIGN_KEY_H
#define BF_FOREIGN_KEY_H

#include "backfill.h"
#include "define/reference.h"

typedef struct BfKeyCount
{
	int64		keys;			/* incoming: referenced keys that vanish; outgoing: values that are new */
	int64		rows;			/* rows that would have nothing to refer to */
	Jsonb	   *samples;		/* up to 10 of their keys; NULL: none */
	Datum	   *known;			/* private: the keys themselves, when they are few; NULL: they are not */
} BfKeyCount;

/*
 * Counts for one partition whose data goes (`old`, InvalidOid: nothing is there)
 * and comes (`new`).  Runs as the target's owner.
 */
extern BfKeyCount *bf_foreign_key_count(const BfVersion *v, const BfReference *ref, Oid old, Oid new);

/* What was found out before the locks. */
typedef struct BfForeignKeys
{
	List	   *checked;		/* Oids of the constraints */
	List	   *open;			/* private: those that other sessions may still break */
	List	   *others;			/* Oids: tables whose writers could do it */
} BfForeignKeys;

/*
 * Before any lock: raises 23503 when a foreign key would be broken by these
 * moves.  Those of several steps of a rollback may come together, the first step
 * first: a table that comes in by one and goes out by the next is neither.
 *
 * Where no key vanishes and no new one comes, the constraint itself keeps it true
 * as long as the outgoing leaf is not written, which the caller must ask under its
 * locks.  A rollback that discards writes needs `discard`: nothing counts as settled.
 */
extern BfForeignKeys *bf_foreign_key_check(const BfVersion *v, List *moves, bool discard);
/* Raises the same when it is so now.  With `others` locked against writers it stays as it is found. */
extern void bf_foreign_key_confirm(const BfVersion *v, const BfForeignKeys *keys);
/* Under the locks, when some relation was changed since: raises 40001 when there are other foreign keys now. */
extern void bf_foreign_key_recheck(const BfVersion *v, List *moves, const BfForeignKeys *keys);

#endif							/* BF_FOREIGN_KEY_H */
