/*
 * bound.c
 *		What a partition's bound means: as text, as a constraint, as a CHECK.
 *
 * A partition is known by its parent and its bound, as text that any session
 * reads the same way (ISO dates).  Its constraint is always computed from
 * these two, so it is there for a staged or retired table as for a live one.
 */
#include "define/bound.h"

#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "commands/tablecmds.h"
#include "common/catalog.h"
#include "define/version.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_utilcmd.h"
#include "parser/parser.h"
#include "partitioning/partbounds.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

PartitionBoundSpec *
bf_bound_of(Oid relid)
{
	HeapTuple	tup = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	PartitionBoundSpec *spec = NULL;
	Datum		d;
	bool		isnull;

	if (!HeapTupleIsValid(tup))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	d = SysCacheGetAttr(RELOID, tup, Anum_pg_class_relpartbound, &isnull);
	if (!isnull)
		spec = castNode(PartitionBoundSpec, stringToNode(TextDatumGetCString(d)));
	ReleaseSysCache(tup);
	return spec;
}

/* The bound text of a partition, parsed against its parent. */
static PartitionBoundSpec *
parse_bound(Relation parent, const char *bound)
{
	char	   *sql = psprintf("ALTER TABLE a ATTACH PARTITION b %s", bound);
	int			level = NewGUCNestLevel();
	ParseState *pstate = make_parsestate(NULL);
	PartitionBoundSpec *spec;
	AlterTableStmt *stmt;

	bf_text_settings();
	stmt = castNode(AlterTableStmt, linitial_node(RawStmt, raw_parser(sql, RAW_PARSE_DEFAULT))->stmt);
	pstate->p_sourcetext = sql;
	spec = castNode(PartitionCmd, linitial_node(AlterTableCmd, stmt->cmds)->def)->bound;
	spec = transformPartitionBound(pstate, parent, spec);
	AtEOXact_GUC(true, level);
	return spec;
}

char *
bf_bound_canonical(Relation parent, const char *bound)
{
	char	   *spec = nodeToString(parse_bound(parent, bound));

	return TextDatumGetCString(DirectFunctionCall2(pg_get_expr, bf_text(spec), ObjectIdGetDatum(RelationGetRelid(parent))));
}

/* The constraint of `spec` below `parent` alone, over shape's attributes. */
static List *
level_qual(Relation parent, PartitionBoundSpec *spec, Relation shape)
{
	return map_partition_varattnos(get_qual_from_partbound(parent, spec), 1, shape, parent);
}

void
bf_bound_quals(const BfVersion *v, const BfPartition *p, Relation shape, List **bound_qual, List **inner_qual)
{
	Relation	parent = table_open(p->parent, AccessShareLock);
	List	   *own = level_qual(parent, parse_bound(parent, p->bound), shape);
	List	   *above = map_partition_varattnos(copyObject(RelationGetPartitionQual(parent)), 1, shape, parent);
	Oid			level = p->parent;

	*inner_qual = level != v->target || strcmp(p->bound, "DEFAULT") == 0 ? list_copy(own) : NIL;
	*bound_qual = list_concat(own, above);
	/* NB: the rule may name the bounds of a partition of the root, so they are left to it; DEFAULT has none to name. */
	while (level != v->target)
	{
		Oid			up = get_partition_parent(level, true);
		PartitionBoundSpec *spec = bf_bound_of(level);
		Relation	uprel;

		if (up == v->target && !spec->is_default)
			break;
		uprel = table_open(up, AccessShareLock);
		*inner_qual = list_concat(*inner_qual, level_qual(uprel, spec, shape));
		table_close(uprel, NoLock);
		level = up;
	}
	table_close(parent, NoLock);
}

char *
bf_bound_def(const BfPartition *p, Oid shape)
{
	Relation	parent = table_open(p->parent, AccessShareLock);
	Relation	rel = table_open(shape, AccessShareLock);
	List	   *qual = level_qual(parent, parse_bound(parent, p->bound), rel);
	char	   *text = NULL;

	qual = list_concat(qual, map_partition_varattnos(copyObject(RelationGetPartitionQual(parent)), 1, rel, parent));
	if (qual != NIL)
		text = deparse_expression((Node *) make_ands_explicit(qual),
								  deparse_context_for(get_rel_name(shape), shape), false, false);
	table_close(rel, NoLock);
	table_close(parent, NoLock);
	return text;
}

void
bf_bound_settings(const BfVersion *v)
{
	/* The time zone is the version's. */
	bf_version_apply_settings(v);
	bf_text_settings();
}

bool
bf_bound_implied(const BfPartition *p, Oid relid)
{
	Relation	parent = table_open(p->parent, AccessShareLock);
	Relation	rel = table_open(relid, AccessShareLock);
	List	   *qual = level_qual(parent, parse_bound(parent, p->bound), rel);
	bool		implied = true;

	qual = list_concat(qual, map_partition_varattnos(copyObject(RelationGetPartitionQual(parent)), 1, rel, parent));
	/* The same steps as in ATTACH, so that the answer is the same. */
	qual = (List *) eval_const_expressions(NULL, (Node *) qual);
	if (qual != NIL)
		implied = PartConstraintImpliedByRelConstraint(rel, list_make1(make_ands_explicit(qual)));
	table_close(rel, NoLock);
	table_close(parent, NoLock);
	return implied;
}

char *
bf_bound_excluding_def(List *partitions, Oid shape)
{
	Relation	rel = table_open(shape, AccessShareLock);
	List	   *outside = NIL;
	ListCell   *lc;
	char	   *text;

	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);
		Relation	parent = table_open(p->parent, AccessShareLock);
		Expr	   *inside = make_ands_explicit(level_qual(parent, parse_bound(parent, p->bound), rel));

		outside = lappend(outside, makeBoolExpr(NOT_EXPR, list_make1(inside), -1));
		table_close(parent, NoLock);
	}
	text = deparse_expression((Node *) make_ands_explicit(outside), deparse_context_for(get_rel_name(shape), shape),
							  false, false);
	table_close(rel, NoLock);
	return text;
}
