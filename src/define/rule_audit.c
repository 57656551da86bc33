/*
 * rule_audit.c
 *		What a rule reads and calls: whether it can be pinned, and built twice with the same result.
 */
#include "backfill.h"

#include "catalog/pg_inherits.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "define/rule_internal.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"

typedef struct Audit
{
	const BfVersion *v;
	BfRuleInfo *info;
} Audit;

static const char *
sql_value_name(SQLValueFunction *svf)
{
	static const char *const names[] = {
		[SVFOP_CURRENT_DATE] = "current_date",
		[SVFOP_CURRENT_TIME] = "current_time",
		[SVFOP_CURRENT_TIME_N] = "current_time",
		[SVFOP_CURRENT_TIMESTAMP] = "current_timestamp",
		[SVFOP_CURRENT_TIMESTAMP_N] = "current_timestamp",
		[SVFOP_LOCALTIME] = "localtime",
		[SVFOP_LOCALTIME_N] = "localtime",
		[SVFOP_LOCALTIMESTAMP] = "localtimestamp",
		[SVFOP_LOCALTIMESTAMP_N] = "localtimestamp",
		[SVFOP_CURRENT_ROLE] = "current_role",
		[SVFOP_CURRENT_USER] = "current_user",
		[SVFOP_USER] = "user",
		[SVFOP_SESSION_USER] = "session_user",
		[SVFOP_CURRENT_CATALOG] = "current_catalog",
		[SVFOP_CURRENT_SCHEMA] = "current_schema",
	};

	return names[svf->op];
}

/* Always false, so that every function of a node is seen. */
static bool
audit_function(Oid func_id, void *context)
{
	Audit	   *audit = context;
	char		kind = func_volatile(func_id);
	HeapTuple	tuple;
	Oid			language;

	if (kind == PROVOLATILE_IMMUTABLE)
		return false;
	if (kind == PROVOLATILE_STABLE)
		audit->info->stable = bf_names_add(audit->info->stable, format_procedure(func_id));
	else
		audit->info->volatile_ = bf_names_add(audit->info->volatile_, format_procedure(func_id));

	if (func_id < FirstNormalObjectId || audit->v->sources_declared)
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(func_id));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", func_id);
	language = ((Form_pg_proc) GETSTRUCT(tuple))->prolang;
	ReleaseSysCache(tuple);
	if (language != INTERNALlanguageId && language != ClanguageId)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("rule calls function %s, which may read relations that cannot be seen", format_procedure(func_id)),
				 errhint("Declare the relations it reads with sources => '{...}', or '{}' when it reads none.")));
	return false;
}

/* A foreign partition of a local source is no more pinned than a foreign source. */
static void
audit_foreign_children(Audit *audit, Oid relid)
{
	List	   *children = find_all_inheritors(relid, NoLock, NULL);
	ListCell   *lc;

	foreach(lc, children)
	{
		Oid			child = lfirst_oid(lc);

		if (get_rel_relkind(child) != RELKIND_FOREIGN_TABLE)
			continue;
		audit->info->foreign_ = list_append_unique_oid(audit->info->foreign_, child);
		audit->info->sources = list_append_unique_oid(audit->info->sources, child);
	}
	list_free(children);
}

static void
audit_relation(Audit *audit, RangeTblEntry *rte)
{
	BfRuleInfo *info = audit->info;

	if (rte->rtekind != RTE_RELATION)
		return;
	if (get_rel_persistence(rte->relid) == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("rule reads temporary table \"%s\"", get_rel_name(rte->relid)),
				 errdetail("It is gone when its session ends, so nobody could build this version again.")));
	switch (rte->relkind)
	{
		case RELKIND_FOREIGN_TABLE:
			info->foreign_ = list_append_unique_oid(info->foreign_, rte->relid);
			/* FALLTHROUGH */
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
		case RELKIND_MATVIEW:
			info->sources = list_append_unique_oid(info->sources, rte->relid);
			if (rte->inh)
				audit_foreign_children(audit, rte->relid);
			break;
		case RELKIND_SEQUENCE:
			/* A sequence is read as it is now, not as a snapshot sees it. */
			info->volatile_ = bf_names_add(info->volatile_, psprintf("sequence %s", get_rel_name(rte->relid)));
			break;
		default:
			/* Views are expanded; what is left of them here is for permissions. */
			break;
	}
}

/* Collects what the rewritten query reads and calls. */
static bool
audit_walker(Node *node, void *context)
{
	Audit	   *audit = context;

	if (node == NULL)
		return false;
	CHECK_FOR_INTERRUPTS();
	if (IsA(node, Query))
	{
		/* Views are expanded by now, and one may lock rows too. */
		if (((Query *) node)->rowMarks != NIL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("a rule must not read a view that locks rows")));
		return query_tree_walker((Query *) node, audit_walker, context, QTW_EXAMINE_RTES_BEFORE);
	}
	if (IsA(node, RangeTblEntry))
	{
		audit_relation(audit, (RangeTblEntry *) node);
		return false;
	}
	if (IsA(node, SQLValueFunction))
		audit->info->stable = bf_names_add(audit->info->stable, sql_value_name((SQLValueFunction *) node));
	else if (IsA(node, NextValueExpr))
		audit->info->volatile_ = bf_names_add(audit->info->volatile_, "nextval(regclass)");
	else if (IsA(node, TableSampleClause) && ((TableSampleClause *) node)->repeatable == NULL)
		audit->info->volatile_ = bf_names_add(audit->info->volatile_, "TABLESAMPLE without REPEATABLE");
	else
		(void) check_functions_in_node(node, audit_function, context);
	return expression_tree_walker(node, audit_walker, context);
}

static void
check_audit(Audit *audit)
{
	ListCell   *lc;

	if (audit->info->volatile_ != NIL && !audit->v->allow_volatile)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("rule is volatile: building it twice could give different rows"),
				 errdetail("Volatile: %s.", bf_names_join(audit->info->volatile_, false)),
				 errhint("Use allow_volatile => true to accept this.")));
	foreach(lc, audit->info->foreign_)
	{
		Oid			relid = lfirst_oid(lc);

		if (!list_member_oid(audit->v->sources_extra, relid))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("rule reads foreign table \"%s\", which no snapshot can pin", get_rel_name(relid)),
					 errhint("Name it in sources => '{...}' to accept this.")));
	}
}

void
bf_rule_audit(const BfVersion *v, Query *rewritten, BfRuleInfo *info)
{
	Audit		audit = {v, info};

	(void) audit_walker((Node *) rewritten, &audit);
	check_audit(&audit);
}

bool
bf_names_has(List *names, const char *name)
{
	ListCell   *lc;

	foreach(lc, names)
	{
		if (strcmp(lfirst(lc), name) == 0)
			return true;
	}
	return false;
}

List *
bf_names_add(List *names, const char *name)
{
	return bf_names_has(names, name) ? names : lappend(names, pstrdup(name));
}

char *
bf_names_join(List *names, bool quoted)
{
	StringInfoData buf;
	ListCell   *lc;

	initStringInfo(&buf);
	foreach(lc, names)
		appendStringInfo(&buf, quoted ? "%s\"%s\"" : "%s%s", buf.len > 0 ? ", " : "", (char *) lfirst(lc));
	return buf.data;
}
