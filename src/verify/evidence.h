/*
 * evidence.h
 *		What gates measured (owns bf_evidence).
 */
#ifndef BF_EVIDENCE_H
#define BF_EVIDENCE_H

#include "backfill.h"
#include "define/gate.h"

/* How a measure's texts follow from its counts, so that those of many partitions can be added up. */
typedef enum BfCounted
{
	BF_NOT_COUNTED,
	BF_COUNT_ROWS,				/* old rows, new rows, and how many changed */
	BF_COUNT_LOST,				/* old rows, new rows, and how many were lost */
	BF_COUNT_GAINED,
	BF_COUNT_FOUND,				/* new only: how many were found */
	BF_COUNT_VANISHING,			/* keys that vanish, rows that refer to them */
	BF_COUNT_UNMATCHED			/* values that are new, rows of them without a match */
} BfCounted;

/* One row of bf_evidence. */
typedef struct BfMeasure
{
	const BfGate *gate;
	int64		partition_id;	/* 0: the whole version */
	char	   *partition;		/* its name; NULL: the whole version */
	const char *result;			/* passed failed waived no_baseline n/a */
	BfCounted	counted;
	int64		n_old;
	int64		n_new;
	int64		n_diff;
	char	   *old;
	char	   *new;
	char	   *difference;
	Jsonb	   *samples;
	char	   *binding;
	int			covers;			/* partitions, in a summary of several */
	double		weight;			/* how bad, among partitions with the same result */
} BfMeasure;

/* Fills old, new and difference from the counts. */
extern void bf_evidence_describe(BfMeasure *m);
extern void bf_evidence_insert(int64 version_id, List *measures);

/* Bindings of a version's partitions now, to be taken before anything is measured. */
typedef struct BfBindings
{
	int			n;
	int64	   *ids;
	char	  **bindings;
	char	   *whole;			/* of all of them together */
} BfBindings;

extern BfBindings *bf_evidence_bindings(int64 version_id);

/*
 * Raises 23514 "backfill failed quality gates" when a required gate is red, 55000
 * when evidence is missing or bound to something else than what is there now.
 * Returns the number of partitions without baseline.  One catalog query whatever
 * the number of partitions, so publish repeats it under its locks.
 */
extern int	bf_evidence_require_green(BfVersion *v, List *partitions);

#endif							/* BF_EVIDENCE_H */
