/*
 * expression.c
 *		One SQL expression given as text: analysed, with errors located in it.
 *
 * Totals and expectations are expressions that a DBA types.  Each is analysed
 * as the only column of a SELECT, so that the server itself finds every
 * mistake; what else a SELECT may hold is refused before analysis.
 */
#include "define/expression.h"

#include "access/stratnum.h"
#include "catalog/pg_operator.h"
#include "common/catalog.h"
#include "common/subxact.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/analyze.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#define PREFIX "SELECT "

/* What an error of the parser is about. */
typedef struct ExpressionContext
{
	const char *text;
	const char *what;
} ExpressionContext;

/* A cursor position counts characters of the prefixed text; the user knows only the expression. */
static void
expression_error_callback(void *arg)
{
	ExpressionContext *c = arg;
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(Max(1, position - (int) strlen(PREFIX)));
		internalerrquery(c->text);
	}
	errcontext("%s", c->what);
}

static pg_attribute_noreturn() void
not_an_expression(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("%s must be one expression", what),
			 errhint("Write what would stand between SELECT and FROM, such as sum(amount).")));
}

/* SELECT <text>, when it is nothing more than that. */
static RawStmt *
parse_one(const char *sql, const char *what)
{
	List	   *statements = raw_parser(sql, RAW_PARSE_DEFAULT);
	RawStmt    *raw;
	SelectStmt *select;

	if (list_length(statements) != 1)
		not_an_expression(what);
	raw = linitial_node(RawStmt, statements);
	if (!IsA(raw->stmt, SelectStmt))
		not_an_expression(what);
	select = (SelectStmt *) raw->stmt;
	if (list_length(select->targetList) != 1 || select->op != SETOP_NONE || select->distinctClause || select->intoClause ||
		select->fromClause || select->whereClause || select->groupClause || select->havingClause ||
		select->windowClause || select->valuesLists || select->sortClause || select->limitOffset ||
		select->limitCount || select->lockingClause || select->withClause)
		not_an_expression(what);
	return raw;
}

static void
check_simple(Query *query, const char *what)
{
	const char *bad = NULL;
	TargetEntry *te;

	if (list_length(query->targetList) != 1)
		not_an_expression(what);
	te = linitial(query->targetList);
	if (query->hasSubLinks)
		bad = "a subquery";
	else if (query->hasWindowFuncs)
		bad = "a window function";
	else if (query->hasTargetSRFs)
		bad = "a function that returns a set";
	else if (contain_volatile_functions((Node *) te->expr))
		bad = "a volatile function";
	if (bad != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s must not contain %s", what, bad),
				 errhint("Measured twice, it must give the same value from the target's rows alone.")));
}

static void
no_hooks(ParseState *pstate, void *arg)
{
}

Query *
bf_expression_analyze(const char *text, const char *what, Oid relid, ParserSetupHook setup, void *arg)
{
	char	   *sql = psprintf(PREFIX "%s", text);
	ExpressionContext context = {text, what};
	ErrorContextCallback callback = {error_context_stack, expression_error_callback, &context};
	RawStmt    *raw;
	Query	   *query;

	error_context_stack = &callback;
	raw = parse_one(sql, what);
	if (OidIsValid(relid))
		((SelectStmt *) raw->stmt)->fromClause =
			list_make1(makeRangeVar(get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid), -1));
	query = parse_analyze_withcb(raw, sql, setup ? setup : no_hooks, arg, NULL);
	check_simple(query, what);
	error_context_stack = callback.previous;
	return query;
}

char *
bf_expression_text(Node *expr, Oid relid, const char *alias)
{
	int			level = NewGUCNestLevel();
	char	   *text;

	bf_text_settings();
	text = deparse_expression(expr, deparse_context_for(alias ? alias : get_rel_name(relid), relid), alias != NULL, false);
	AtEOXact_GUC(true, level);
	return text;
}

char *
bf_expression_equal(Oid type)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);
	Oid			op = !OidIsValid(entry->btree_opf) ? InvalidOid :
		get_opfamily_member(entry->btree_opf, entry->btree_opintype, entry->btree_opintype, BTEqualStrategyNumber);
	HeapTuple	tup;
	Form_pg_operator form;
	char	   *sql;

	if (!OidIsValid(op))
		return NULL;
	tup = SearchSysCache1(OPEROID, ObjectIdGetDatum(op));
	if (!HeapTupleIsValid(tup))
		elog(ERROR, "cache lookup failed for operator %u", op);
	form = (Form_pg_operator) GETSTRUCT(tup);
	sql = psprintf("OPERATOR(%s.%s)", quote_identifier(get_namespace_name(form->oprnamespace)), NameStr(form->oprname));
	ReleaseSysCache(tup);
	return sql;
}

char *
bf_expression_guard(void (*work) (void *), void *arg)
{
	ErrorData  *error = bf_subxact(work, arg);

	if (error == NULL)
		return NULL;
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_DATA_EXCEPTION)
		ReThrowError(error);
	return error->message;
}
