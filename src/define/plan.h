/*
 * plan.h
 *		Which partitions a version covers.
 */
#ifndef BF_PLAN_H
#define BF_PLAN_H

#include "backfill.h"

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

#endif							/* BF_PLAN_H */
