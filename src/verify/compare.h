/*
 * compare.h
 *		Old and new side by side: one pass over both gives every count and total.
 */
#ifndef BF_COMPARE_H
#define BF_COMPARE_H

#include "backfill.h"
#include "common/catalog.h"
#include "define/total.h"

/* One total on both sides; error: the server's message when it could not be computed. */
typedef struct BfTotalValue
{
	Datum		old;
	Datum		new;
	bool		oldnull;
	bool		newnull;
	char	   *error;
} BfTotalValue;

typedef enum BfSample
{
	BF_SAMPLE_LOST,
	BF_SAMPLE_GAINED,
	BF_SAMPLE_DUPLICATE,
	BF_SAMPLE_NULL
} BfSample;

typedef struct BfComparison
{
	int64		old_rows;		/* 0 without a live relation */
	int64		new_rows;
	int64		lost;			/* in old only */
	int64		gained;			/* in new only */
	int64		changed;		/* in both, some value differs in its image */
	int64		null_keys;		/* staged rows with a NULL in the key */
	int64		duplicates;		/* staged keys that occur more than once */
	BfTotalValue *totals;		/* one a total given */
	char	   *from;			/* private: the join, for samples */
} BfComparison;

/* Identity and settings all of this runs under; close with bf_identity_leave. */
extern void bf_compare_enter(BfIdentity *id, const BfVersion *v);

/* Compares a live leaf (InvalidOid: there is none) with a staged one. */
extern BfComparison *bf_compare(const BfVersion *v, Oid live, Oid staged, List *totals);
/* Up to 10 keys as a jsonb array, in key order. */
extern Jsonb *bf_compare_samples(const BfVersion *v, const BfComparison *c, Oid staged, BfSample which);

/* One total over all rows of the relations, and how many rows there are. */
extern int64 bf_compare_total(const BfVersion *v, const BfTotal *total, List *relids, Datum *value, bool *isnull, char **error);

#endif							/* BF_COMPARE_H */
