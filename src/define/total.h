/*
 * total.h
 *		A declared gate's aggregate over the target's columns.
 */
#ifndef BF_TOTAL_H
#define BF_TOTAL_H

#include "backfill.h"
#include "define/expect.h"

typedef struct BfTotal
{
	char	   *gate;
	char	   *canonical;
	Node	   *expr;			/* analysed; Vars are columns of the target, varno 1 */
	Oid			type;
	BfExpect   *expect;
} BfTotal;

/* Parses both texts under the search_path in force and checks them against the target. */
extern BfTotal *bf_total_parse(const BfVersion *v, const char *gate, const char *text, const char *expect);

/*
 * The total as SQL over `relid` (the target, or a relation with its columns)
 * under the alias `side`.  filtered: only rows where side.ctid is not NULL, for the output of an outer join.
 */
extern char *bf_total_sql(const BfVersion *v, const BfTotal *total, Oid relid, const char *side, bool filtered);

/* Names of the target's columns it uses. */
extern List *bf_total_columns(const BfVersion *v, const BfTotal *total);

#endif							/* BF_TOTAL_H */
