/*
 * plan.h
 *		Which partitions a version covers (owns bf_partition).
 */
#ifndef BF_PLAN_H
#define BF_PLAN_H

#include "backfill.h"

#include "utils/rel.h"

/* What the DBA said about the range; values are text in the key's type. */
typedef struct BfRange
{
	List	   *from;			/* of char *, one a key column given; NIL: open */
	List	   *to;
	List	   *partitions;		/* Oids; NIL unless partitions => */
	bool		all;
	const char *gaps;			/* error, skip, create */
	const char *step;
	const char *partition_name;
} BfRange;

/* The partitions a range selects, in bound order; 22023 with a hint when it cannot. */
extern List *bf_plan_select(const BfVersion *v, const BfRange *range);
extern void bf_plan_insert(const BfVersion *v, List *partitions);
/* The version's partitions in bound order, as BfPartition *. */
extern List *bf_plan_partitions(int64 version_id);
/* Implicit-AND constraint of a partition over shape's attributes; inner: levels below the root only. */
extern void bf_plan_quals(const BfVersion *v, const BfPartition *p, Relation shape, List **bound_qual, List **inner_qual);
/* SQL text of the partition constraint, for the CHECK that spares ATTACH its scan (NULL: none). */
extern char *bf_plan_bound_def(const BfPartition *p, Oid shape);

/* One step of a switch: `in` takes the place of `out`. */
typedef struct BfMove
{
	BfPartition *partition;
	Oid			out;			/* InvalidOid: nothing is there yet (a created partition) */
	Oid			in;				/* InvalidOid: nothing will be there (a created one withdrawn) */
	Oid			previous;		/* what `in` replaced when it was live before; InvalidOid: nothing */
} BfMove;

/* Settings under which bounds are written and read, with a safe search_path; for a GUC nest level of the caller. */
extern void bf_plan_bound_settings(const BfVersion *v);
/* What now hangs at each partition's parent and bound, in their order; InvalidOid: nothing. */
extern Oid *bf_plan_locate(const BfVersion *v, List *partitions);
/* Whether ATTACH would trust the constraints of relid instead of scanning it. */
extern bool bf_plan_bound_implied(const BfPartition *p, Oid relid);
/* SQL text of "in none of these bounds", over shape's columns: for a CHECK on the default partition. */
extern char *bf_plan_excluding_def(List *partitions, Oid shape);

/* From now on p is to replace `live`; what it was the same as before says nothing any more. */
extern void bf_plan_replace(BfPartition *p, Oid live);
/* Locks the rows of every version that a switch of these moves may change, the versions' own rows too. */
extern void bf_plan_lock_rows(List *moves);
/*
 * Records a switch that has taken place (forward: publish, else rollback) on the
 * partitions of all versions.  Returns the names of other versions it changed.
 */
extern List *bf_plan_switched(const BfVersion *v, List *moves, bool forward);
/* Fingerprint of the leaf's definition when it was built; NULL before. */
extern char *bf_plan_definition(const BfPartition *p);
/* Whether a version has partitions in this state. */
extern bool bf_plan_has(int64 version_id, const char *state);
/* The versions whose live partitions these relations are, or "original", as text for people. */
extern char *bf_plan_owners(List *relids);
/* Names of versions, and of partitions, whose live data replaced data of this version. */
extern char *bf_plan_newer(const BfVersion *v, List *withdrawn, char **partitions);
/* Names of the versions whose partitions this one replaced. */
extern List *bf_plan_predecessors(const BfVersion *v);

#endif							/* BF_PLAN_H */
