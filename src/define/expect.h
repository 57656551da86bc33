/*
 * expect.h
 *		What a total must be: equal, within 2%, between 2% and 4%, true, or a
 *		condition over old and new.
 */
#ifndef BF_EXPECT_H
#define BF_EXPECT_H

#include "backfill.h"

#include "nodes/primnodes.h"

typedef struct BfExpect
{
	Oid			type;			/* of the total */
	bool		percent;		/* low and high are limits of the change */
	Datum		low;			/* numeric, percent */
	Datum		high;
	Expr	   *condition;		/* over Params 1 (old) and 2 (new); NULL when percent */
	Expr	   *to_numeric;		/* of Param 1; NULL when the type is no number */
	bool		needs_old;		/* means nothing without a baseline */
} BfExpect;

/* How one total compares. */
typedef struct BfVerdict
{
	bool		passed;
	char	   *difference;		/* readable; NULL when there is none to tell */
	double		change;			/* size of the change, to find the worst partition */
} BfVerdict;

/* Parses under the search_path in force; 22023 or the parser's own error when it is no expectation for this type. */
extern BfExpect *bf_expect_parse(const char *text, Oid type, Oid collation);
extern void bf_expect_check(const BfExpect *e, Datum old, bool oldnull, Datum new, bool newnull, BfVerdict *verdict);

#endif							/* BF_EXPECT_H */
