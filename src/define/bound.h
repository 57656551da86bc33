/*
 * bound.h
 *		What a partition's bound means: as text, as a constraint, as a CHECK.
 */
#ifndef BF_BOUND_H
#define BF_BOUND_H

#include "backfill.h"

#include "nodes/parsenodes.h"
#include "utils/rel.h"

/* Settings under which bounds are written and read, with a safe search_path; for a GUC nest level of the caller. */
extern void bf_bound_settings(const BfVersion *v);
/* The bound an attached relation has. */
extern PartitionBoundSpec *bf_bound_of(Oid relid);
/* A bound as the server will show it once the partition is attached: that is what it is found by later. */
extern char *bf_bound_canonical(Relation parent, const char *bound);

/* Implicit-AND constraint of a partition over shape's attributes; inner: levels below the root only. */
extern void bf_bound_quals(const BfVersion *v, const BfPartition *p, Relation shape, List **bound_qual, List **inner_qual);
/* SQL text of the partition constraint, for the CHECK that spares ATTACH its scan (NULL: none). */
extern char *bf_bound_def(const BfPartition *p, Oid shape);
/* Whether ATTACH would trust the constraints of relid instead of scanning it. */
extern bool bf_bound_implied(const BfPartition *p, Oid relid);
/* SQL text of "in none of these bounds", over shape's columns: for a CHECK on the default partition. */
extern char *bf_bound_excluding_def(List *partitions, Oid shape);

#endif							/* BF_BOUND_H */
