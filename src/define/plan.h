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

#endif							/* BF_PLAN_H */
