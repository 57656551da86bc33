/*
 * rule.c
 *		The rule: parse, named parameters, type check, volatility, and the
 *		query that fills one leaf.
 *
 * Names of parameters are resolved by a parser hook, so no value ever becomes
 * part of a text.  A rule is parsed twice in its life: as the DBA wrote it, at
 * create time and under the DBA's search_path; and before each load from its
 * canonical text, whose names are schema-qualified and therefore mean the same
 * relations under the safe search_path that loads run with.
 *
 * The query of a load has three layers: the analysed rule; the target's
 * columns in root order, coerced, omitted ones filled with their defaults; and
 * the leaf's attributes in physical order with generated ones computed.  The
 * layers meet by column name, because leaves differ from the root in column
 * order and dropped columns.
 */
#include "define/rule.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "common/catalog.h"
#include "define/rule_internal.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "parser/analyze.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_relation.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"

#define OMIT_BOUNDS_HINT "Omit the bounds; rows are filtered automatically."
#define PARAMETER_QUALIFIER "rule"

/* Indexed by Param id - 1. */
static const char *const parameter_names[NUM_PARAMS] = {
	"partition_from", "partition_to", "parameters"
};

/* A rule while it is being parsed and matched; lives for one call. */
typedef struct RuleParse
{
	const BfVersion *v;
	const char *text;			/* what is parsed; error positions point into it */
	bool		canonical;		/* text is ours: parameters are always qualified, columns not */
	Relation	root;
	Oid			key_type;		/* InvalidOid: no bound may be named */
	Oid			key_collation;
	bool		names_bounds;	/* set by the parser hook, as is the next */
	bool		named[NUM_PARAMS];
	Query	   *query;			/* analysed, not rewritten */
	ParseState *pstate;			/* positions of errors found after analysis */
	TargetEntry **source;		/* by root attno - 1; NULL: default, generated or dropped */
	ErrorContextCallback errcallback;
} RuleParse;

typedef struct LeafMap
{
	Relation	leaf;
	Query	   *middle;
} LeafMap;

static void parse_begin(RuleParse *rp, const BfVersion *v, const char *text, bool canonical);
static void parse_end(RuleParse *rp);
static void rule_error_callback(void *arg);
static void lookup_key(RuleParse *rp);
static RawStmt *parse_select(RuleParse *rp);
static void setup_parser(ParseState *pstate, void *arg);
static Node *resolve_column(ParseState *pstate, ColumnRef *cref, Node *var);
static int	parameter_id(const ColumnRef *cref, bool *qualified);
static void check_plain_select(RuleParse *rp);
static bool row_marks_walker(Node *node, void *context);
static void match_columns(RuleParse *rp);
static void match_by_name(RuleParse *rp);
static void match_one_name(RuleParse *rp, TargetEntry *te);
static void match_by_position(RuleParse *rp);
static Query *middle_query(RuleParse *rp);
static Expr *column_expr(RuleParse *rp, Form_pg_attribute att);
static Expr *coerced_column(RuleParse *rp, Form_pg_attribute att, TargetEntry *te);
static Query *wrap_query(Query *inner, List *targetlist, List *quals);
static char *canonical_text(Query *query);
static char *name_parameters(const char *sql);
static Query *leaf_query(Query *middle, Relation leaf, List *quals);
static Expr *leaf_expr(LeafMap *map, Form_pg_attribute att);
static Node *leaf_mutator(Node *node, void *context);
static Var *middle_var(LeafMap *map, Form_pg_attribute att);
static ParamListInfo parameter_values(RuleParse *rp, const char *lower, const char *upper);
static Datum bound_value(Oid type, const char *text, bool is_upper);
static bool has_infinity(Oid type);

BfRuleInfo *
bf_rule_analyze(const BfVersion *v)
{
	BfRuleInfo *info = palloc0(sizeof(BfRuleInfo));
	RuleParse	rp;
	List	   *rewritten;

	parse_begin(&rp, v, v->rule, false);
	bf_rule_check_parameters(rp.query, v->parameters, rp.pstate);
	info->names_bounds = rp.names_bounds;
	info->canonical = canonical_text(rp.query);

	/* Coercions and the defaults of omitted columns are audited with the rule. */
	rewritten = pg_rewrite_query(middle_query(&rp));
	if (list_length(rewritten) != 1)
		elog(ERROR, "rule of version \"%s\" was rewritten to %d queries", v->name, list_length(rewritten));
	bf_rule_audit(v, linitial_node(Query, rewritten), info);

	parse_end(&rp);
	return info;
}

BfRuleQuery *
bf_rule_query(const BfVersion *v, Relation leaf, List *bound_qual, List *inner_qual,
			  const char *lower, const char *upper)
{
	BfRuleQuery *result = palloc0(sizeof(BfRuleQuery));
	RuleParse	rp;

	if (v->rule_canonical != NULL)
	{
		int			level = NewGUCNestLevel();

		bf_text_settings();
		parse_begin(&rp, v, v->rule_canonical, true);
		AtEOXact_GUC(true, level);
	}
	else
		parse_begin(&rp, v, v->rule, false);

	result->filtered = !rp.names_bounds;
	result->query = leaf_query(middle_query(&rp), leaf, rp.names_bounds ? inner_qual : bound_qual);
	result->params = parameter_values(&rp, lower, upper);
	parse_end(&rp);
	return result;
}

PlannedStmt *
bf_rule_plan(const BfRuleQuery *rq, const char **why_serial)
{
	Query	   *query = copyObject(rq->query);
	List	   *rewritten;
	PlannedStmt *plan;
	bool		hazard;

	AcquireRewriteLocks(query, true, false);
	rewritten = QueryRewrite(query);
	if (list_length(rewritten) != 1)
		elog(ERROR, "rule was rewritten to %d queries", list_length(rewritten));
	query = linitial_node(Query, rewritten);
	hazard = max_parallel_hazard(query) == PROPARALLEL_UNSAFE;
	plan = pg_plan_query(query, "", CURSOR_OPT_PARALLEL_OK, rq->params);
	if (why_serial)
		*why_serial = plan->parallelModeNeeded ? NULL :
			hazard ? "it calls a function that is PARALLEL UNSAFE, or locks rows" :
			max_parallel_workers_per_gather == 0 ? "max_parallel_workers_per_gather is 0" :
			"the planner finds that cheaper";
	return plan;
}

void
bf_rule_check_privileges(const BfRuleQuery *rq)
{
	QueryDesc  *desc = CreateQueryDesc(bf_rule_plan(rq, NULL), "", GetActiveSnapshot(), InvalidSnapshot, None_Receiver,
									   rq->params, NULL, 0);

	/* The executor's own check, without executing anything. */
	ExecutorStart(desc, EXEC_FLAG_EXPLAIN_ONLY);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
}

/*
 * Parses, analyses and matches to the target's columns.  From here to
 * parse_end every error says which rule it is about.
 */
static void
parse_begin(RuleParse *rp, const BfVersion *v, const char *text, bool canonical)
{
	memset(rp, 0, sizeof(*rp));
	rp->v = v;
	rp->text = text;
	rp->canonical = canonical;
	rp->errcallback.callback = rule_error_callback;
	rp->errcallback.arg = rp;
	rp->errcallback.previous = error_context_stack;
	error_context_stack = &rp->errcallback;

	rp->root = relation_open(v->target, AccessShareLock);
	lookup_key(rp);
	rp->pstate = make_parsestate(NULL);
	rp->pstate->p_sourcetext = text;
	rp->query = parse_analyze_withcb(parse_select(rp), text, setup_parser, rp, NULL);
	check_plain_select(rp);
	match_columns(rp);
}

/* Locks are kept: the target must not change between analysis and use. */
static void
parse_end(RuleParse *rp)
{
	free_parsestate(rp->pstate);
	relation_close(rp->root, NoLock);
	error_context_stack = rp->errcallback.previous;
}

/*
 * An error cursor set while the rule is parsed counts characters of the rule,
 * not of what the client sent, so it becomes an internal position (as SPI does).
 */
static void
rule_error_callback(void *arg)
{
	RuleParse  *rp = arg;
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(rp->text);
	}
	errcontext("rule of version \"%s\"", rp->v->name);
}

static void
lookup_key(RuleParse *rp)
{
	PartitionKey key;

	if (rp->root->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return;
	key = RelationGetPartitionKey(rp->root);
	if (key->strategy != PARTITION_STRATEGY_RANGE || key->partnatts != 1)
		return;
	rp->key_type = key->parttypid[0];
	rp->key_collation = key->parttypcoll[0];
}

static RawStmt *
parse_select(RuleParse *rp)
{
	List	   *statements = raw_parser(rp->text, RAW_PARSE_DEFAULT);
	RawStmt    *raw;

	if (list_length(statements) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("a rule must be exactly one SELECT statement, but this one has %d statements",
						list_length(statements))));
	raw = linitial_node(RawStmt, statements);
	if (!IsA(raw->stmt, SelectStmt))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a rule must be a SELECT statement"),
				 parser_errposition(rp->pstate, raw->stmt_location)));
	return raw;
}

/*
 * Literals of the top level stay unknown until they meet the target's column,
 * as in INSERT ... SELECT; otherwise '2026-01-01' would be a text that cannot
 * be assigned to a date.
 */
static void
setup_parser(ParseState *pstate, void *arg)
{
	pstate->p_ref_hook_state = arg;
	pstate->p_post_columnref_hook = resolve_column;
	pstate->p_resolve_unknowns = false;
}

static Node *
resolve_column(ParseState *pstate, ColumnRef *cref, Node *var)
{
	RuleParse  *rp = pstate->p_ref_hook_state;
	bool		qualified;
	int			id = parameter_id(cref, &qualified);
	Param	   *param;

	if (id == 0 || (rp->canonical && !qualified))
		return NULL;
	if (var != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_AMBIGUOUS_COLUMN),
				 errmsg("\"%s\" could be a parameter of the rule or a column of a source", NameListToString(cref->fields)),
				 qualified ? errhint("Give the table another alias than \"%s\".", PARAMETER_QUALIFIER) :
				 errhint("Write \"%s.%s\" for the parameter, or qualify the column by its table.",
						 PARAMETER_QUALIFIER, parameter_names[id - 1]),
				 parser_errposition(pstate, cref->location)));
	if (id != PARAM_PARAMETERS && !OidIsValid(rp->key_type))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("\"%s\" needs a target partitioned by RANGE on a single key", parameter_names[id - 1]),
				 errhint(OMIT_BOUNDS_HINT),
				 parser_errposition(pstate, cref->location)));

	param = makeNode(Param);
	param->paramkind = PARAM_EXTERN;
	param->paramid = id;
	param->paramtype = (id == PARAM_PARAMETERS) ? JSONBOID : rp->key_type;
	/* No typmod: the bound of an open side is an infinity, which none may hold. */
	param->paramtypmod = -1;
	param->paramcollid = (id == PARAM_PARAMETERS) ? InvalidOid : rp->key_collation;
	param->location = cref->location;
	rp->names_bounds |= (id != PARAM_PARAMETERS);
	rp->named[id - 1] = true;
	return (Node *) param;
}

/* The parameter a column reference names, 0 when none. */
static int
parameter_id(const ColumnRef *cref, bool *qualified)
{
	Node	   *first = linitial(cref->fields);
	Node	   *last = llast(cref->fields);

	*qualified = list_length(cref->fields) == 2;
	if (list_length(cref->fields) > 2 || !IsA(first, String) || !IsA(last, String))
		return 0;
	if (*qualified && strcmp(strVal(first), PARAMETER_QUALIFIER) != 0)
		return 0;
	for (int i = 0; i < NUM_PARAMS; i++)
	{
		if (strcmp(strVal(last), parameter_names[i]) == 0)
			return i + 1;
	}
	return 0;
}

static void
check_plain_select(RuleParse *rp)
{
	/* SELECT INTO has become CREATE TABLE AS by now. */
	if (rp->query->commandType != CMD_SELECT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a rule must not create a table: SELECT INTO is not allowed")));
	if (rp->query->hasModifyingCTE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a rule must not contain data-modifying statements in WITH")));
	row_marks_walker((Node *) rp->query, NULL);
}

static bool
row_marks_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		if (((Query *) node)->rowMarks != NIL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("a rule must not lock rows: FOR UPDATE and FOR SHARE are not allowed")));
		return query_tree_walker((Query *) node, row_marks_walker, context, 0);
	}
	return expression_tree_walker(node, row_marks_walker, context);
}

static void
match_columns(RuleParse *rp)
{
	rp->source = palloc0(sizeof(TargetEntry *) * RelationGetDescr(rp->root)->natts);
	if (rp->v->match_position)
		match_by_position(rp);
	else
		match_by_name(rp);
}

static void
match_by_name(RuleParse *rp)
{
	TupleDesc	desc = RelationGetDescr(rp->root);
	List	   *missing = NIL;
	ListCell   *lc;

	foreach(lc, rp->query->targetList)
	{
		TargetEntry *te = lfirst(lc);

		if (!te->resjunk)
			match_one_name(rp, te);
	}

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped || att->attgenerated || rp->source[i] != NULL)
			continue;
		if (build_column_default(rp->root, att->attnum) == NULL)
			missing = lappend(missing, NameStr(att->attname));
	}
	if (missing != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("rule returns no column for %s of \"%s\"",
						bf_names_join(missing, true), RelationGetRelationName(rp->root)),
				 errhint("Columns are matched by name; a column may be left out only when it has a default.")));
}

static void
match_one_name(RuleParse *rp, TargetEntry *te)
{
	AttrNumber	attno = get_attnum(RelationGetRelid(rp->root), te->resname);
	int			position = exprLocation((Node *) te->expr);

	if (attno <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of the rule does not exist in \"%s\"",
						te->resname, RelationGetRelationName(rp->root)),
				 errhint("Columns are matched by name; rename it with AS, or use match => 'position'."),
				 parser_errposition(rp->pstate, position)));
	if (TupleDescAttr(RelationGetDescr(rp->root), attno - 1)->attgenerated)
		ereport(ERROR,
				(errcode(ERRCODE_GENERATED_ALWAYS),
				 errmsg("rule cannot fill generated column \"%s\"", te->resname),
				 errhint("Leave it out; it is computed from the other columns."),
				 parser_errposition(rp->pstate, position)));
	if (rp->source[attno - 1] != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_COLUMN),
				 errmsg("rule returns column \"%s\" more than once", te->resname),
				 parser_errposition(rp->pstate, position)));
	rp->source[attno - 1] = te;
}

static void
match_by_position(RuleParse *rp)
{
	TupleDesc	desc = RelationGetDescr(rp->root);
	int			expected = 0;
	int			given = 0;
	ListCell   *lc;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && !att->attgenerated)
			expected++;
	}
	foreach(lc, rp->query->targetList)
		given += !((TargetEntry *) lfirst(lc))->resjunk;
	if (given != expected)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("rule returns too %s columns for \"%s\"",
						given < expected ? "few" : "many", RelationGetRelationName(rp->root)),
				 errdetail("The rule returns %d columns, and the target has %d that are not generated.",
						   given, expected)));

	lc = list_head(rp->query->targetList);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped || att->attgenerated)
			continue;
		while (((TargetEntry *) lfirst(lc))->resjunk)
			lc = lnext(rp->query->targetList, lc);
		rp->source[i] = lfirst(lc);
		lc = lnext(rp->query->targetList, lc);
	}
}

/* The target's columns but the generated ones, in root order. */
static Query *
middle_query(RuleParse *rp)
{
	TupleDesc	desc = RelationGetDescr(rp->root);
	List	   *targetlist = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped || att->attgenerated)
			continue;
		targetlist = lappend(targetlist,
							 makeTargetEntry(column_expr(rp, att), list_length(targetlist) + 1,
											 pstrdup(NameStr(att->attname)), false));
	}
	return wrap_query(copyObject(rp->query), targetlist, NIL);
}

static Expr *
column_expr(RuleParse *rp, Form_pg_attribute att)
{
	TargetEntry *te = rp->source[att->attnum - 1];

	if (te == NULL)
		return (Expr *) build_column_default(rp->root, att->attnum);
	return coerced_column(rp, att, te);
}

static Expr *
coerced_column(RuleParse *rp, Form_pg_attribute att, TargetEntry *te)
{
	Oid			type = exprType((Node *) te->expr);
	Node	   *expr;

	/* Only as a literal does an unknown meet the column's input function at once. */
	if (type == UNKNOWNOID && IsA(te->expr, Const))
		expr = copyObject((Node *) te->expr);
	else
		expr = (Node *) makeVar(1, te->resno, type, exprTypmod((Node *) te->expr),
								exprCollation((Node *) te->expr), 0);
	expr = coerce_to_target_type(rp->pstate, expr, type, att->atttypid, att->atttypmod,
								 COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST, -1);
	if (expr == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" is of type %s but expression is of type %s",
						NameStr(att->attname), format_type_be(att->atttypid), format_type_be(type)),
				 errhint("You will need to rewrite or cast the expression."),
				 parser_errposition(rp->pstate, exprLocation((Node *) te->expr))));
	assign_expr_collations(rp->pstate, expr);
	return (Expr *) expr;
}

/* SELECT targetlist FROM (inner) WHERE quals; Vars of both have varno 1. */
static Query *
wrap_query(Query *inner, List *targetlist, List *quals)
{
	ParseState *pstate = make_parsestate(NULL);
	ParseNamespaceItem *item;
	RangeTblRef *ref = makeNode(RangeTblRef);
	Query	   *query = makeNode(Query);

	item = addRangeTableEntryForSubquery(pstate, inner, makeAlias(PARAMETER_QUALIFIER, NIL), false, true);
	ref->rtindex = item->p_rtindex;
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->rtable = pstate->p_rtable;
	query->jointree = makeFromExpr(list_make1(ref), quals == NIL ? NULL : (Node *) make_ands_explicit(quals));
	query->targetList = targetlist;
	query->stmt_location = -1;
	free_parsestate(pstate);
	return query;
}

static char *
canonical_text(Query *query)
{
	int			level = NewGUCNestLevel();
	char	   *text;

	bf_text_settings();
	text = pg_get_querydef(copyObject(query), false);
	AtEOXact_GUC(true, level);
	while (*text == ' ')
		text++;
	return name_parameters(text);
}

/*
 * Deparsed parameters are $1 to $3; give them back their names.  A deparsed
 * text quotes plainly: quotes inside quotes are always doubled, a $ in an
 * identifier is always quoted, and there are neither comments nor dollar quotes.
 */
static char *
name_parameters(const char *sql)
{
	StringInfoData buf;
	char		quote = '\0';

	initStringInfo(&buf);
	for (const char *p = sql; *p; p++)
	{
		if (quote == '\0' && *p == '$' && p[1] >= '1' && p[1] <= '0' + NUM_PARAMS)
		{
			p++;
			appendStringInfo(&buf, "%s.%s", PARAMETER_QUALIFIER, parameter_names[*p - '1']);
			continue;
		}
		if (quote != '\0' && *p == quote)
			quote = '\0';
		else if (quote == '\0' && (*p == '\'' || *p == '"'))
			quote = *p;
		appendStringInfoCharMacro(&buf, *p);
	}
	return buf.data;
}

/* One entry per attribute of the leaf, in physical order, of the rows that satisfy quals. */
static Query *
leaf_query(Query *middle, Relation leaf, List *quals)
{
	LeafMap		map = {leaf, middle};
	TupleDesc	desc = RelationGetDescr(leaf);
	List	   *targetlist = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		targetlist = lappend(targetlist,
							 makeTargetEntry(leaf_expr(&map, att), i + 1, pstrdup(NameStr(att->attname)), false));
	}
	quals = (List *) leaf_mutator((Node *) quals, &map);
	return wrap_query(middle, targetlist, quals);
}

static Expr *
leaf_expr(LeafMap *map, Form_pg_attribute att)
{
	Node	   *expr;

	if (att->attisdropped)
		return (Expr *) makeNullConst(INT4OID, -1, InvalidOid);
	if (!att->attgenerated)
		return (Expr *) middle_var(map, att);
	/* A virtual column, which newer servers know, stores nothing. */
	if (att->attgenerated != ATTRIBUTE_GENERATED_STORED)
		return (Expr *) makeNullConst(att->atttypid, att->atttypmod, att->attcollation);
	expr = build_column_default(map->leaf, att->attnum);
	if (expr == NULL)
		elog(ERROR, "no generation expression found for column \"%s\" of \"%s\"",
			 NameStr(att->attname), RelationGetRelationName(map->leaf));
	return (Expr *) leaf_mutator(expr, map);
}

/* Makes an expression over the leaf's attributes one over the middle layer. */
static Node *
leaf_mutator(Node *node, void *context)
{
	LeafMap    *map = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;

		if (var->varattno <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("\"%s\" depends on a system column or a whole row", RelationGetRelationName(map->leaf)),
					 errdetail("Its generated columns and partition bounds must use ordinary columns only.")));
		return (Node *) middle_var(map, TupleDescAttr(RelationGetDescr(map->leaf), var->varattno - 1));
	}
	return expression_tree_mutator(node, leaf_mutator, context);
}

static Var *
middle_var(LeafMap *map, Form_pg_attribute att)
{
	ListCell   *lc;

	foreach(lc, map->middle->targetList)
	{
		TargetEntry *te = lfirst(lc);

		if (strcmp(te->resname, NameStr(att->attname)) == 0)
			return makeVar(1, te->resno, att->atttypid, att->atttypmod, att->attcollation, 0);
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("column \"%s\" of \"%s\" is not a column of the target that a rule can fill",
					NameStr(att->attname), RelationGetRelationName(map->leaf))));
}

static ParamListInfo
parameter_values(RuleParse *rp, const char *lower, const char *upper)
{
	ParamListInfo params = makeParamList(NUM_PARAMS);

	for (int i = 0; i < NUM_PARAMS; i++)
	{
		params->params[i].isnull = true;
		params->params[i].pflags = PARAM_FLAG_CONST;
		params->params[i].ptype = (i + 1 == PARAM_PARAMETERS) ? JSONBOID : rp->key_type;
	}
	/* A bound that the rule does not name need not have a value: the key's type may lack one. */
	if (rp->named[PARAM_FROM - 1])
	{
		params->params[PARAM_FROM - 1].value = bound_value(rp->key_type, lower, false);
		params->params[PARAM_FROM - 1].isnull = false;
	}
	if (rp->named[PARAM_TO - 1])
	{
		params->params[PARAM_TO - 1].value = bound_value(rp->key_type, upper, true);
		params->params[PARAM_TO - 1].isnull = false;
	}
	if (rp->v->parameters != NULL)
	{
		params->params[PARAM_PARAMETERS - 1].value = JsonbPGetDatum(rp->v->parameters);
		params->params[PARAM_PARAMETERS - 1].isnull = false;
	}
	return params;
}

static Datum
bound_value(Oid type, const char *text, bool is_upper)
{
	Oid			input;
	Oid			ioparam;

	if (text == NULL)
	{
		if (!has_infinity(getBaseType(type)))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("type %s has no infinity to give as \"%s\" of a partition that is open on that side",
							format_type_be(type), parameter_names[(is_upper ? PARAM_TO : PARAM_FROM) - 1]),
					 errhint(OMIT_BOUNDS_HINT)));
		text = is_upper ? "infinity" : "-infinity";
	}
	getTypeInputInfo(type, &input, &ioparam);
	return OidInputFunctionCall(input, pstrdup(text), ioparam, -1);
}

static bool
has_infinity(Oid type)
{
	switch (type)
	{
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
			return true;
		default:
			return false;
	}
}
