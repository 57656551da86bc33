/*
 * swap.h
 *		Which way each partition is switched, and what of two tables is exchanged.
 */
#ifndef BF_SWAP_H
#define BF_SWAP_H

#include "backfill.h"

/* The reason of a partition that is to be created: it attaches whatever was asked for. */
#define BF_SWAP_CREATED "it is created"

/*
 * Chooses for each partition: fills its `swap` and `swap_reason` from the
 * version's wish and from what the catalogs say now.  A staged table that is
 * there already is compared with the live one.  With swap => 'storage' a
 * partition that cannot exchange storage still gets its reason; who calls makes
 * that a blocker.
 */
extern void bf_swap_choose(const BfVersion *v, List *partitions);
/* Records the choice (owns swap and swap_reason of bf_partition). */
extern void bf_swap_record(List *partitions);

/* Two objects that trade contents: indexes, or extended statistics, of the attached and the other table. */
typedef struct BfPair
{
	Oid			out;
	Oid			in;
} BfPair;

/* What of two tables trades contents beside the tables themselves; lists of BfPair *. */
typedef struct BfPairs
{
	List	   *indexes;
	List	   *statistics;		/* those that both have, in the same definition */
} BfPairs;

/*
 * The pairs of each move whose partition exchanges storage, as BfPairs * in the
 * order of the moves (NULL for the others).  `reasons` gets as many char *: for a
 * move whose tables cannot trade files now, why; NULL for the others.
 */
extern List *bf_swap_pairs(List *moves, List **reasons);

#endif							/* BF_SWAP_H */
