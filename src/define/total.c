/*
 * total.c
 *		A declared gate's aggregate over the target's columns.
 *
 * The text is analysed against the target; for measuring, its columns are
 * mapped by name to a leaf, because leaves differ in column order, and it is
 * written out again with the leaf's alias.
 */
#include "define/total.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/expression.h"
#include "define/version.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

/* From columns of the target to those of another relation. */
typedef struct TotalMap
{
	Oid			root;
	Oid			relid;
} TotalMap;

/* System columns and whole rows differ between live and staged without saying anything about the data. */
static bool
check_columns(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) && ((Var *) node)->varattno <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s must not use a system column or a whole row", (char *) context),
				 errhint("Name columns of the target.")));
	return expression_tree_walker(node, check_columns, context);
}

BfTotal *
bf_total_parse(const BfVersion *v, const char *gate, const char *text, const char *expect)
{
	BfTotal    *total = palloc0(sizeof(BfTotal));
	char	   *what = psprintf("total of gate \"%s\"", gate);
	Query	   *query = bf_expression_analyze(text, what, v->target, NULL, NULL);
	Node	   *expr = (Node *) linitial_node(TargetEntry, query->targetList)->expr;
	int			level;

	if (!query->hasAggs)
		ereport(ERROR,
				(errcode(ERRCODE_GROUPING_ERROR),
				 errmsg("%s must be an aggregate", what),
				 errdetail("It is %s.", text),
				 errhint("Use one such as sum(amount) or count(DISTINCT store_id).")));
	(void) check_columns(expr, what);
	total->gate = pstrdup(gate);
	total->expr = expr;
	total->type = exprType(expr);
	if (get_typtype(total->type) == TYPTYPE_PSEUDO)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s must not be of type %s", what, format_type_be(total->type)),
				 errhint("Cast it, or total single columns.")));
	total->canonical = bf_expression_text(expr, v->target, NULL);
	/* The total may be canonical text, to be read under a safe search_path; what is expected is as the DBA wrote it. */
	level = NewGUCNestLevel();
	bf_version_apply_settings(v);
	total->expect = bf_expect_parse(expect, total->type, exprCollation(expr));
	AtEOXact_GUC(true, level);
	return total;
}

/* The same column of another relation; only columns that are used must be there. */
static Node *
map_mutator(Node *node, void *context)
{
	TotalMap   *map = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);
		char	   *name = get_attname(map->root, var->varattno, false);

		var->varattno = get_attnum(map->relid, name);
		if (var->varattno == InvalidAttrNumber)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" of %s does not exist", name, bf_relname(map->relid)),
					 errdetail("A gate of the version totals it."),
					 errhint("Call backfill_add_gate again, with the gate's name and another total.")));
		var->varattnosyn = var->varattno;
		return (Node *) var;
	}
	return expression_tree_mutator(node, map_mutator, context);
}

/* Lets every aggregate see only the rows that its side has. */
static bool
filter_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		Aggref	   *agg = (Aggref *) node;
		NullTest   *here = makeNode(NullTest);

		here->arg = (Expr *) makeVar(1, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0);
		here->nulltesttype = IS_NOT_NULL;
		here->location = -1;
		agg->aggfilter = agg->aggfilter == NULL ? (Expr *) here :
			makeBoolExpr(AND_EXPR, list_make2(here, agg->aggfilter), -1);
		return false;
	}
	return expression_tree_walker(node, filter_walker, context);
}

char *
bf_total_sql(const BfVersion *v, const BfTotal *total, Oid relid, const char *side, bool filtered)
{
	TotalMap	map = {v->target, relid};
	Node	   *expr = map_mutator(total->expr, &map);

	if (filtered)
		(void) filter_walker(expr, NULL);
	return bf_expression_text(expr, relid, side);
}

List *
bf_total_columns(const BfVersion *v, const BfTotal *total)
{
	List	   *vars = pull_var_clause(total->expr, PVC_RECURSE_AGGREGATES);
	List	   *names = NIL;
	ListCell   *lc;

	foreach(lc, vars)
	{
		char	   *name = get_attname(v->target, lfirst_node(Var, lc)->varattno, false);
		bool		known = false;
		ListCell   *l2;

		foreach(l2, names)
			known |= strcmp(lfirst(l2), name) == 0;
		if (!known)
			names = lappend(names, name);
	}
	return names;
}
