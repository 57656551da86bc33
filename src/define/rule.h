/*
 * rule.h
 *		The rule: parse, named parameters, type check, volatility, and the
 *		query that fills one leaf.
 */
#ifndef BF_RULE_H
#define BF_RULE_H

#include "backfill.h"

#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/* What analysing a rule at create time finds. */
typedef struct BfRuleInfo
{
	char	   *canonical;		/* rule deparsed with schema-qualified names */
	bool		names_bounds;	/* partition_from or partition_to occur */
	List	   *sources;		/* Oids of relations read, views expanded, no duplicates, views themselves left out */
	List	   *stable;			/* of char *: STABLE functions used, regprocedure text */
	List	   *volatile_;		/* of char *: VOLATILE ones (only with allow_volatile) */
	List	   *foreign_;		/* Oids of foreign tables among sources */
} BfRuleInfo;

/*
 * Parses and checks v->rule against v->target under the search_path in force;
 * every error that doc/reference.md tells of under "The rule" is raised here.
 */
extern BfRuleInfo *bf_rule_analyze(const BfVersion *v);

/*
 * The query whose rows fill `leaf` (a leaf of v->target, or for a partition to
 * be created any relation with the target's columns, then `bound_qual` is its
 * implicit-AND constraint over that relation's attributes).  Its target list
 * has exactly one entry per attribute of `leaf`, dropped ones included (NULL),
 * generated ones computed.  Rows are filtered to bound_qual when the rule
 * names no bound, else only by `inner_qual` (levels below the root).
 * *params receives the values of partition_from, partition_to, parameters.
 * lower/upper: text of the root-level bounds in the key's type, NULL = open.
 */
typedef struct BfRuleQuery
{
	Query	   *query;
	ParamListInfo params;
	bool		filtered;		/* every row satisfies bound_qual by the query itself */
} BfRuleQuery;

extern BfRuleQuery *bf_rule_query(const BfVersion *v, Relation leaf, List *bound_qual, List *inner_qual,
								  const char *lower, const char *upper);

/* Its plan under the active snapshot, parallel where possible; *why_serial (may be NULL) says what stood in the way. */
extern PlannedStmt *bf_rule_plan(const BfRuleQuery *rq, const char **why_serial);

/* Raises what the executor would: that the current role may not read a source. */
extern void bf_rule_check_privileges(const BfRuleQuery *rq);

#endif							/* BF_RULE_H */
