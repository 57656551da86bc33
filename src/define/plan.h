/*
 * plan.h
 *		Which partitions a version covers and what stands in its way (owns bf_partition).
 */
#ifndef BF_PLAN_H
#define BF_PLAN_H

#include "backfill.h"

#include "utils/rel.h"

/* The version's partitions in bound order, as BfPartition *. */
extern List *bf_plan_partitions(int64 version_id);
/* Implicit-AND constraint of a partition over its own attributes; inner: levels below the root only. */
extern void bf_plan_quals(const BfVersion *v, const BfPartition *p, Relation shape, List **bound_qual, List **inner_qual);
/* SQL text of the partition constraint, for the CHECK that spares ATTACH its scan (NULL: none). */
extern char *bf_plan_bound_def(const BfPartition *p, Oid shape);
/* Root-level bounds of a partition as text in the key's type; NULL = open. */
extern void bf_plan_bounds(const BfVersion *v, const BfPartition *p, char **lower, char **upper);

#endif							/* BF_PLAN_H */
