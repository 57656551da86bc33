/*
 * plan.c
 *		Which partitions a version covers (owns bf_partition).
 *
 * A partition is known by its parent and its bound, as text that any session
 * reads the same way (ISO dates).  Its constraint is always computed from
 * these two, so it is there for a staged or retired table as for a live one.
 */
#include "define/plan.h"

#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/tablecmds.h"
#include "common/catalog.h"
#include "define/version.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "optimizer/optimizer.h"
#include "parser/parse_utilcmd.h"
#include "parser/parser.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

static char *
const_text(const Const *c)
{
	Oid			out;
	bool		varlena;

	getTypeOutputInfo(c->consttype, &out, &varlena);
	return OidOutputFunctionCall(out, c->constvalue);
}

/* A RANGE bound datum as text; NULL when that side is open. */
static char *
bound_text(List *datums)
{
	PartitionRangeDatum *d = linitial(datums);

	return d->kind == PARTITION_RANGE_DATUM_VALUE ? const_text(castNode(Const, d->value)) : NULL;
}

static PartitionBoundSpec *
relation_bound(Oid relid)
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

static char *
relation_bound_text(Oid relid)
{
	BfRows	   *r = bf_sql("SELECT pg_catalog.pg_get_expr(relpartbound, oid) FROM pg_catalog.pg_class WHERE oid = $1",
						   BF_ARGS(OIDOID), BF_VALS(ObjectIdGetDatum(relid)), NULL);

	return r->nrows > 0 ? bf_rows_text(r, 0, 0) : NULL;
}

/* A RANGE bound of the values given, columns left out counting as MINVALUE; NIL when there are none. */
static List *
bound_of(const PartitionKey key, List *texts)
{
	List	   *bound = NIL;

	for (int i = 0; texts != NIL && i < key->partnatts; i++)
	{
		PartitionRangeDatum *d = makeNode(PartitionRangeDatum);
		Oid			in,
					ioparam;

		d->kind = PARTITION_RANGE_DATUM_MINVALUE;
		d->location = -1;
		if (i < list_length(texts))
		{
			getTypeInputInfo(key->parttypid[i], &in, &ioparam);
			d->kind = PARTITION_RANGE_DATUM_VALUE;
			d->value = (Node *) makeConst(key->parttypid[i], key->parttypmod[i], key->parttypcoll[i], key->parttyplen[i],
										  OidInputFunctionCall(in, list_nth(texts, i), ioparam, key->parttypmod[i]),
										  false, key->parttypbyval[i]);
		}
		bound = lappend(bound, d);
	}
	return bound;
}

static int
cmp_bounds(const PartitionKey key, List *a, List *b)
{
	for (int i = 0; i < key->partnatts; i++)
	{
		PartitionRangeDatum *x = list_nth(a, i);
		PartitionRangeDatum *y = list_nth(b, i);
		int			cmp;

		/* The kinds are numbered in their order. */
		if (x->kind != y->kind)
			return x->kind < y->kind ? -1 : 1;
		if (x->kind != PARTITION_RANGE_DATUM_VALUE)
			return 0;
		cmp = DatumGetInt32(FunctionCall2Coll(&key->partsupfunc[i], key->partcollation[i],
											  castNode(Const, x->value)->constvalue,
											  castNode(Const, y->value)->constvalue));
		if (cmp != 0)
			return cmp;
	}
	return 0;
}

/* False when a column of the bound is MINVALUE or MAXVALUE: then nobody can tell what lies beyond it. */
static bool
is_exact(List *bound)
{
	ListCell   *lc;

	foreach(lc, bound)
		if (((PartitionRangeDatum *) lfirst(lc))->kind != PARTITION_RANGE_DATUM_VALUE)
			return false;
	return true;
}

static BfPartition *
make_partition(Oid live, Oid parent, const char *name, char *bound, char *lower, char *upper)
{
	BfPartition *p = palloc0(sizeof(BfPartition));

	p->live = live;
	p->parent = parent;
	p->name = pstrdup(name);
	p->bound = bound;
	p->state = "pending";
	p->lower = lower;
	p->upper = upper;
	p->rows = -1;
	return p;
}

/* Appends the leaves below relid (itself when it is one), in bound order. */
static List *
add_leaves(List *list, Oid relid, char *lower, char *upper)
{
	Relation	rel;
	PartitionDesc desc;

	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		return lappend(list, make_partition(relid, get_partition_parent(relid, true), get_rel_name(relid),
											relation_bound_text(relid), lower, upper));
	rel = table_open(relid, AccessShareLock);
	desc = RelationGetPartitionDesc(rel, false);
	for (int i = 0; i < desc->nparts; i++)
		list = add_leaves(list, desc->oids[i], lower, upper);
	table_close(rel, NoLock);
	return list;
}

/* Leaves of one partition of the root, with the root-level bounds when the root is RANGE on one key. */
static List *
add_root_partition(List *list, const PartitionKey key, Oid relid)
{
	PartitionBoundSpec *spec = relation_bound(relid);
	bool		range = key->strategy == PARTITION_STRATEGY_RANGE && key->partnatts == 1 && !spec->is_default;

	return add_leaves(list, relid,
					  range ? bound_text(spec->lowerdatums) : NULL,
					  range ? bound_text(spec->upperdatums) : NULL);
}

static char *
texts(List *list, const char *open)
{
	StringInfoData s;
	ListCell   *lc;

	if (list == NIL)
		return pstrdup(open);
	initStringInfo(&s);
	foreach(lc, list)
		appendStringInfo(&s, "%s%s", s.len > 0 ? ", " : "", (char *) lfirst(lc));
	return s.data;
}

static char *
bound_list_text(List *datums)
{
	List	   *list = NIL;
	ListCell   *lc;

	foreach(lc, datums)
	{
		PartitionRangeDatum *d = lfirst(lc);

		list = lappend(list, d->kind == PARTITION_RANGE_DATUM_MINVALUE ? "MINVALUE" :
					   d->kind == PARTITION_RANGE_DATUM_MAXVALUE ? "MAXVALUE" : const_text(castNode(Const, d->value)));
	}
	return texts(list, "");
}

static pg_attribute_noreturn() void
bad_range(const char *msg, char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s", msg),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

static char *
name_for_gap(const BfVersion *v, const BfRange *range, Oid keytype, const char *lower)
{
	const char *pattern = range->partition_name;
	BfRows	   *r;

	if (keytype != DATEOID && keytype != TIMESTAMPOID && keytype != TIMESTAMPTZOID)
		return psprintf("%s_%s", pattern ? pattern : get_rel_name(v->target), lower);
	if (pattern == NULL)
		pattern = psprintf("\"%s_\"YYYY_MM_DD", get_rel_name(v->target));
	r = bf_sql("SELECT pg_catalog.to_char($1::pg_catalog.timestamptz, $2)",
			   BF_ARGS(TEXTOID, TEXTOID), BF_VALS(bf_text(lower), bf_text(pattern)), NULL);
	return bf_rows_text(r, 0, 0);
}

/* lower + step, as text in the key's type */
static char *
add_step(Oid keytype, const char *lower, const char *step)
{
	bool		time = keytype == DATEOID || keytype == TIMESTAMPOID || keytype == TIMESTAMPTZOID;
	char	   *type = format_type_be_qualified(keytype);
	char	   *sql = time ?
		psprintf("SELECT ($1::%s OPERATOR(pg_catalog.+) $2::pg_catalog.interval)::%s", type, type) :
		psprintf("SELECT ($1::%s OPERATOR(pg_catalog.+) $2::pg_catalog.numeric)::%s", type, type);

	return bf_rows_text(bf_sql(sql, BF_ARGS(TEXTOID, TEXTOID), BF_VALS(bf_text(lower), bf_text(step)), NULL), 0, 0);
}

static bool
has_name(List *partitions, const char *name)
{
	ListCell   *lc;

	foreach(lc, partitions)
		if (strcmp(((BfPartition *) lfirst(lc))->name, name) == 0)
			return true;
	return false;
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

/* The bound as the server will show it once the partition is attached: that is what it is found by later. */
static char *
canonical_bound(Relation parent, const char *bound)
{
	char	   *spec = nodeToString(parse_bound(parent, bound));

	return TextDatumGetCString(DirectFunctionCall2(pg_get_expr, bf_text(spec), ObjectIdGetDatum(RelationGetRelid(parent))));
}

/* Cuts [lower, upper) into partitions of one step each. */
static List *
fill_gap(const BfVersion *v, const BfRange *range, Relation root, List *list, char *lower, char *upper)
{
	PartitionKey key = RelationGetPartitionKey(root);
	Oid			keytype = key->parttypid[0];

	if (key->partnatts != 1)
		bad_range("cannot create partitions for a key of several columns",
				  psprintf("No partition covers %s to %s.", lower, upper), "Create the partitions first, or use gaps => 'skip'.");
	if (range->step == NULL)
		bad_range("gaps => 'create' needs a step",
				  psprintf("No partition covers %s to %s.", lower, upper), "Give one, such as step => '1 month'.");
	for (;;)
	{
		char	   *next = add_step(keytype, lower, range->step);
		char	   *name = name_for_gap(v, range, keytype, lower);
		List	   *end = bound_of(key, list_make1(next));
		int			cmp = cmp_bounds(key, end, bound_of(key, list_make1(upper)));
		char	   *bound;

		CHECK_FOR_INTERRUPTS();
		if (cmp_bounds(key, end, bound_of(key, list_make1(lower))) <= 0)
			bad_range("step must be greater than zero",
					  psprintf("%s and one step is %s.", lower, next), "Give one, such as step => '1 month'.");
		if (cmp > 0)
			bad_range("step does not end on the end of the gap",
					  psprintf("The gap ends at %s, the partition from %s would end at %s.", upper, lower, next),
					  "Choose a step that divides the gap.");
		if (name == NULL || strlen(name) >= NAMEDATALEN)
			bad_range(psprintf("name of a partition must have 1 to %d bytes", NAMEDATALEN - 1),
					  psprintf("The partition to be created from %s to %s would have %zu.", lower, next, name ? strlen(name) : 0),
					  "Give another pattern in partition_name.");
		if (has_name(list, name) || OidIsValid(get_relname_relid(name, get_rel_namespace(v->target))))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_TABLE),
					 errmsg("relation \"%s\" already exists", name),
					 errdetail("It is the name of the partition to be created from %s to %s.", lower, next),
					 errhint("Give another pattern in partition_name.")));
		bound = psprintf("FOR VALUES FROM (%s) TO (%s)", quote_literal_cstr(lower), quote_literal_cstr(next));
		list = lappend(list, make_partition(InvalidOid, v->target, name, canonical_bound(root, bound), lower, next));
		if (cmp == 0)
			return list;
		lower = next;
	}
}

static List *
handle_gap(const BfVersion *v, const BfRange *range, Relation root, List *list, char *lower, char *upper)
{
	if (strcmp(range->gaps, "skip") == 0)
		return list;
	if (strcmp(range->gaps, "create") == 0)
		return fill_gap(v, range, root, list, lower, upper);
	bad_range("no partition covers a part of the range",
			  psprintf("Nothing is there from %s to %s.", lower, upper),
			  "Use gaps => 'skip' to leave it out, or gaps => 'create' with a step.");
}

static void
check_contained(const PartitionKey key, const BfRange *range, List *from, List *to, Oid relid, PartitionBoundSpec *spec)
{
	bool		cut_low = from != NIL && cmp_bounds(key, spec->lowerdatums, from) < 0;
	bool		cut_high = to != NIL && cmp_bounds(key, spec->upperdatums, to) > 0;

	if (!cut_low && !cut_high)
		return;
	bad_range(psprintf("range cuts partition %s in two", bf_relname(relid)),
			  psprintf("The range goes from %s to %s, the partition from %s to %s.",
					   texts(range->from, "the start"), texts(range->to, "the end"),
					   bound_list_text(spec->lowerdatums), bound_list_text(spec->upperdatums)),
			  cut_low ? psprintf("The nearest bounds are range_from => '%s' or '%s'.",
								 bound_list_text(spec->lowerdatums), bound_list_text(spec->upperdatums)) :
			  psprintf("The nearest bounds are range_to => '%s' or '%s'.",
					   bound_list_text(spec->lowerdatums), bound_list_text(spec->upperdatums)));
}

/* RANGE: the partitions of the root inside [from, to), and what to do about gaps. */
static List *
select_range(const BfVersion *v, const BfRange *range, Relation root, const PartitionKey key)
{
	PartitionDesc desc = RelationGetPartitionDesc(root, false);
	List	   *from = bound_of(key, range->from);
	List	   *to = bound_of(key, range->to);
	List	   *reached = from;	/* how far the range is covered; NIL: no gap can follow */
	List	   *list = NIL;

	if (from != NIL && to != NIL && cmp_bounds(key, from, to) >= 0)
		bad_range("range runs backwards or is empty",
				  psprintf("It goes from %s to %s.", texts(range->from, ""), texts(range->to, "")),
				  "range_to is exclusive and must lie after range_from.");

	for (int i = 0; i < desc->nparts; i++)
	{
		PartitionBoundSpec *spec = relation_bound(desc->oids[i]);

		if (spec->is_default || (to != NIL && cmp_bounds(key, spec->lowerdatums, to) >= 0) ||
			(from != NIL && cmp_bounds(key, spec->upperdatums, from) <= 0))
			continue;
		check_contained(key, range, from, to, desc->oids[i], spec);
		if (reached != NIL && cmp_bounds(key, spec->lowerdatums, reached) > 0)
			list = handle_gap(v, range, root, list, bound_list_text(reached), bound_list_text(spec->lowerdatums));
		list = add_root_partition(list, key, desc->oids[i]);
		reached = is_exact(spec->upperdatums) ? spec->upperdatums : NIL;
	}
	if (to != NIL && reached != NIL && cmp_bounds(key, reached, to) < 0)
		list = handle_gap(v, range, root, list, bound_list_text(reached), bound_list_text(to));
	if (list == NIL)
		bad_range("range touches no partition",
				  psprintf("It goes from %s to %s.", texts(range->from, "the start"), texts(range->to, "the end")),
				  "See the bounds with \\d+ of the target, or use gaps => 'create' with a step.");
	return list;
}

/* Whether relid, or a partitioned table between it and root, is among the named ones. */
static bool
is_named(List *named, Oid relid, Oid root)
{
	for (; relid != root; relid = get_partition_parent(relid, true))
		if (list_member_oid(named, relid))
			return true;
	return false;
}

/* In bound order whatever the order of the names, as everything that takes locks relies on. */
static List *
select_named(const BfVersion *v, const BfRange *range, Relation root, const PartitionKey key)
{
	PartitionDesc desc = RelationGetPartitionDesc(root, false);
	List	   *all = NIL;
	List	   *list = NIL;
	ListCell   *lc;

	foreach(lc, range->partitions)
	{
		Oid			top = lfirst_oid(lc);

		while (top != v->target && get_rel_relispartition(top))
			top = get_partition_parent(top, true);
		if (top != v->target || lfirst_oid(lc) == v->target)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s is not a partition of %s", bf_relname(lfirst_oid(lc)), bf_relname(v->target)),
					 errhint("List partitions of the target in partitions, or use all_partitions => true.")));
	}
	for (int i = 0; i < desc->nparts; i++)
		all = add_root_partition(all, key, desc->oids[i]);
	foreach(lc, all)
	{
		BfPartition *p = lfirst(lc);

		if (is_named(range->partitions, p->live, v->target))
			list = lappend(list, p);
	}
	if (list == NIL)
		bad_range("the partitions named have no partition of their own",
				  psprintf("The target is %s.", bf_relname(v->target)), "Create their partitions first.");
	return list;
}

List *
bf_plan_select(const BfVersion *v, const BfRange *range)
{
	Relation	root = table_open(v->target, AccessShareLock);
	PartitionKey key = RelationGetPartitionKey(root);
	List	   *list = NIL;

	if (range->partitions != NIL)
		list = select_named(v, range, root, key);
	else if (range->all)
	{
		PartitionDesc desc = RelationGetPartitionDesc(root, false);

		for (int i = 0; i < desc->nparts; i++)
			list = add_root_partition(list, key, desc->oids[i]);
		if (list == NIL)
			bad_range("the target has no partition", bf_relname(v->target), "Create its partitions first.");
	}
	else if (range->from == NIL && range->to == NIL)
		bad_range("no range was given", psprintf("The target is %s.", bf_relname(v->target)),
				  "Give range_from and range_to, or partitions, or all_partitions => true.");
	else if (key->strategy != PARTITION_STRATEGY_RANGE)
		bad_range("range_from and range_to need a target partitioned by RANGE",
				  psprintf("The target is %s.", bf_relname(v->target)),
				  "Use partitions => '{...}' or all_partitions => true.");
	else
		list = select_range(v, range, root, key);
	table_close(root, NoLock);
	return list;
}

void
bf_plan_insert(const BfVersion *v, List *partitions)
{
	int			ordinal = 0;
	ListCell   *lc;

	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);
		BfRows	   *r;
		bool		nulls[] = {false, false, !OidIsValid(p->live), false, false, false, p->lower == NULL, p->upper == NULL};

		CHECK_FOR_INTERRUPTS();
		r = bf_catalog("INSERT INTO backfill.bf_partition"
					   " (version_id, ordinal, live, parent, name, bound, lower_bound, upper_bound)"
					   " VALUES ($1, $2, $3::pg_catalog.regclass, $4::pg_catalog.regclass, $5, $6, $7, $8) RETURNING id",
					   BF_ARGS(INT8OID, INT4OID, OIDOID, OIDOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID),
					   BF_VALS(Int64GetDatum(v->id), Int32GetDatum(++ordinal), ObjectIdGetDatum(p->live),
							   ObjectIdGetDatum(p->parent), bf_text(p->name), bf_text(p->bound),
							   p->lower ? bf_text(p->lower) : (Datum) 0, p->upper ? bf_text(p->upper) : (Datum) 0),
					   nulls);
		p->id = DatumGetInt64(BF_VALUE(r, 0, 0));
		p->version_id = v->id;
	}
}

List *
bf_plan_partitions(int64 version_id)
{
	List	   *list = NIL;
	BfRows	   *r = bf_catalog("SELECT id, live::oid, parent::oid, staged::oid, name::text, bound, state, lower_bound,"
							   " upper_bound, rows, rejected FROM backfill.bf_partition WHERE version_id = $1 ORDER BY ordinal",
							   BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(version_id)), NULL);

	for (int i = 0; i < r->nrows; i++)
	{
		BfPartition *p = palloc0(sizeof(BfPartition));

		p->id = DatumGetInt64(BF_VALUE(r, i, 0));
		p->version_id = version_id;
		p->live = BF_ISNULL(r, i, 1) ? InvalidOid : DatumGetObjectId(BF_VALUE(r, i, 1));
		p->parent = DatumGetObjectId(BF_VALUE(r, i, 2));
		p->staged = BF_ISNULL(r, i, 3) ? InvalidOid : DatumGetObjectId(BF_VALUE(r, i, 3));
		p->name = bf_rows_text(r, i, 4);
		p->bound = bf_rows_text(r, i, 5);
		p->state = bf_rows_text(r, i, 6);
		p->lower = bf_rows_text(r, i, 7);
		p->upper = bf_rows_text(r, i, 8);
		p->rows = BF_ISNULL(r, i, 9) ? -1 : DatumGetInt64(BF_VALUE(r, i, 9));
		p->rejected = BF_ISNULL(r, i, 10) ? 0 : DatumGetInt64(BF_VALUE(r, i, 10));
		list = lappend(list, p);
	}
	return list;
}

/* The constraint of `spec` below `parent` alone, over shape's attributes. */
static List *
level_qual(Relation parent, PartitionBoundSpec *spec, Relation shape)
{
	return map_partition_varattnos(get_qual_from_partbound(parent, spec), 1, shape, parent);
}

void
bf_plan_quals(const BfVersion *v, const BfPartition *p, Relation shape, List **bound_qual, List **inner_qual)
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
		PartitionBoundSpec *spec = relation_bound(level);
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
bf_plan_bound_def(const BfPartition *p, Oid shape)
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

/*
 * What follows is the chain of replacement.  Of every place (parent and bound)
 * one relation is attached; a partition's `live` is what lies below its own
 * relation in the chain, or would once it is published.  A relation is in the
 * chain at most once: published again over a newer one, it is taken out from
 * below and put on top, so that withdrawing step by step always ends.
 */

void
bf_plan_bound_settings(const BfVersion *v)
{
	/* The time zone is the version's. */
	bf_version_apply_settings(v);
	bf_text_settings();
}

Oid *
bf_plan_locate(const BfVersion *v, List *partitions)
{
	Oid		   *leaves = palloc0(sizeof(Oid) * Max(1, list_length(partitions)));
	List	   *parents = NIL;
	List	   *bounds = NIL;
	BfIdentity	id;
	BfRows	   *r;
	ListCell   *lc;

	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);

		parents = lappend_oid(parents, p->parent);
		bounds = lappend(bounds, p->bound);
	}
	bf_owner_enter(&id, v->owner);
	bf_plan_bound_settings(v);
	r = bf_sql("SELECT m.n::int, c.oid FROM unnest($1, $2) WITH ORDINALITY m(parent, bound, n)"
			   " JOIN (SELECT i.inhparent, c.oid, pg_get_expr(c.relpartbound, c.oid) AS bound FROM pg_inherits i"
			   " JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = ANY ($1) AND NOT i.inhdetachpending) c"
			   " ON c.inhparent = m.parent AND c.bound = m.bound",
			   BF_ARGS(OIDARRAYOID, TEXTARRAYOID),
			   BF_VALS(bf_oid_array(parents), bf_text_array(bounds)), NULL);
	bf_identity_leave(&id);
	for (int i = 0; i < r->nrows; i++)
		leaves[DatumGetInt32(BF_VALUE(r, i, 0)) - 1] = DatumGetObjectId(BF_VALUE(r, i, 1));
	return leaves;
}

bool
bf_plan_bound_implied(const BfPartition *p, Oid relid)
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
bf_plan_excluding_def(List *partitions, Oid shape)
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

void
bf_plan_replace(BfPartition *p, Oid live)
{
	p->live = live;
	if (strcmp(p->state, "unchanged") == 0)
		p->state = "staged";
	bf_catalog("UPDATE backfill.bf_partition SET live = nullif($2, 0::oid)::regclass,"
			   " state = CASE state WHEN 'unchanged' THEN 'staged' ELSE state END WHERE id = $1",
			   BF_ARGS(INT8OID, OIDOID), BF_VALS(Int64GetDatum(p->id), ObjectIdGetDatum(live)), NULL);
}

void
bf_plan_lock_rows(List *moves)
{
	List	   *relids = NIL;
	List	   *parents = NIL;
	ListCell   *lc;

	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);

		relids = lappend_oid(lappend_oid(relids, m->out), m->in);
		parents = list_append_unique_oid(parents, m->partition->parent);
	}
	(void) bf_catalog("SELECT 1 FROM backfill.bf_partition p JOIN backfill.bf_version v ON v.id = p.version_id"
					  " WHERE p.live = ANY ($1) OR p.staged = ANY ($1) OR (p.live IS NULL AND p.parent = ANY ($2))"
					  " ORDER BY v.id, p.id FOR NO KEY UPDATE",
					  BF_ARGS(OIDARRAYOID, OIDARRAYOID), BF_VALS(bf_oid_array(relids), bf_oid_array(parents)), NULL);
}

/* $1: version; $2 ...: the moves */
#define MOVES "unnest($2, $3, $4, $5) AS m(id, gone, came, previous)"
#define WAITING "o.version_id <> $1 AND o.state IN ('pending', 'staged', 'unchanged')"
#define NAMES " SELECT name FROM backfill.bf_version WHERE id IN (SELECT version_id FROM one UNION SELECT version_id FROM two)" \
	" ORDER BY id"

static const char *const forward_sql[] = {
	"UPDATE backfill.bf_partition o SET live = nullif(m.previous, 0::oid)::regclass FROM " MOVES
	" WHERE o.live = m.came AND o.version_id <> $1",

	"UPDATE backfill.bf_partition o SET state = 'live', live = nullif(m.gone, 0::oid)::regclass FROM " MOVES
	" WHERE o.id = m.id",

	"WITH one AS (UPDATE backfill.bf_partition o SET state = 'retired' FROM " MOVES
	" WHERE o.staged = m.gone AND o.state = 'live' AND o.version_id <> $1 RETURNING o.version_id),"
	" two AS (UPDATE backfill.bf_partition o SET live = m.came::regclass FROM " MOVES
	" WHERE o.live = m.gone AND " WAITING " RETURNING o.version_id)" NAMES
};

static const char *const backward_sql[] = {
	"UPDATE backfill.bf_partition o SET state = 'retired' FROM " MOVES " WHERE o.id = m.id",

	"WITH one AS (UPDATE backfill.bf_partition o SET state = 'live' FROM " MOVES
	" WHERE o.staged = m.came AND o.state = 'retired' AND o.version_id <> $1 RETURNING o.version_id),"
	" two AS (UPDATE backfill.bf_partition o SET live = nullif(m.came, 0::oid)::regclass FROM " MOVES
	" WHERE o.live = m.gone AND " WAITING " RETURNING o.version_id)" NAMES
};

/* Others that were to create a partition find it there now.  Each version reads bounds under its own settings. */
static void
adopt_created(const BfVersion *v, List *moves)
{
	List	   *created = NIL;
	List	   *parents = NIL;
	ListCell   *lc;
	BfRows	   *r;

	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);

		if (OidIsValid(m->out))
			continue;
		created = lappend_oid(created, m->in);
		parents = list_append_unique_oid(parents, m->partition->parent);
	}
	if (created == NIL)
		return;
	r = bf_catalog("SELECT DISTINCT v.name FROM backfill.bf_partition o JOIN backfill.bf_version v ON v.id = o.version_id"
				   " WHERE o.live IS NULL AND o.parent = ANY ($2) AND " WAITING,
				   BF_ARGS(INT8OID, OIDARRAYOID), BF_VALS(Int64GetDatum(v->id), bf_oid_array(parents)), NULL);
	for (int i = 0; i < r->nrows; i++)
	{
		BfVersion  *other = bf_version_get(bf_rows_text(r, i, 0));
		List	   *partitions = bf_plan_partitions(other->id);
		Oid		   *leaves = bf_plan_locate(other, partitions);

		foreach(lc, partitions)
		{
			BfPartition *p = lfirst(lc);
			Oid			leaf = leaves[foreach_current_index(lc)];

			if (!OidIsValid(p->live) && list_member_oid(created, leaf))
				bf_plan_replace(p, leaf);
		}
	}
}

List *
bf_plan_switched(const BfVersion *v, List *moves, bool forward)
{
	int			n = list_length(moves);
	Datum	   *ids = palloc(sizeof(Datum) * Max(1, n));
	List	   *gone = NIL,
			   *came = NIL,
			   *previous = NIL,
			   *names = NIL;
	Oid			types[] = {INT8OID, INT8ARRAYOID, OIDARRAYOID, OIDARRAYOID, OIDARRAYOID};
	Datum		values[5];
	BfRows	   *r = NULL;
	ListCell   *lc;

	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);

		ids[foreach_current_index(lc)] = Int64GetDatum(m->partition->id);
		gone = lappend_oid(gone, m->out);
		came = lappend_oid(came, m->in);
		previous = lappend_oid(previous, m->previous);
	}
	values[0] = Int64GetDatum(v->id);
	values[1] = PointerGetDatum(construct_array(ids, n, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	values[2] = bf_oid_array(gone);
	values[3] = bf_oid_array(came);
	values[4] = bf_oid_array(previous);
	for (int i = 0; i < (forward ? lengthof(forward_sql) : lengthof(backward_sql)); i++)
		r = bf_catalog(forward ? forward_sql[i] : backward_sql[i], 5, types, values, NULL);
	for (int i = 0; i < r->nrows; i++)
		names = lappend(names, bf_rows_text(r, i, 0));
	if (forward)
		adopt_created(v, moves);
	return names;
}

char *
bf_plan_definition(const BfPartition *p)
{
	BfRows	   *r = bf_catalog("SELECT definition FROM backfill.bf_partition WHERE id = $1",
							   BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(p->id)), NULL);

	return r->nrows > 0 ? bf_rows_text(r, 0, 0) : NULL;
}

bool
bf_plan_has(int64 version_id, const char *state)
{
	return bf_catalog("SELECT 1 FROM backfill.bf_partition WHERE version_id = $1 AND state = $2 LIMIT 1",
					  BF_ARGS(INT8OID, TEXTOID), BF_VALS(Int64GetDatum(version_id), bf_text(state)), NULL)->nrows > 0;
}

char *
bf_plan_owners(List *relids)
{
	BfRows	   *r = bf_catalog("SELECT coalesce(string_agg(name, ', ' ORDER BY name = 'original' DESC, name), 'original')"
							   " FROM (SELECT DISTINCT coalesce(v.name, 'original') AS name FROM unnest($1) AS m(relid)"
							   " LEFT JOIN backfill.bf_partition p ON p.staged = m.relid"
							   " LEFT JOIN backfill.bf_version v ON v.id = p.version_id) s",
							   BF_ARGS(OIDARRAYOID), BF_VALS(bf_oid_array(relids)), NULL);

	return bf_rows_text(r, 0, 0);
}

char *
bf_plan_newer(const BfVersion *v, List *withdrawn, char **partitions)
{
	List	   *names = NIL;
	ListCell   *lc;
	BfRows	   *r;

	foreach(lc, withdrawn)
		names = lappend(names, ((BfVersion *) lfirst(lc))->name);
	r = bf_catalog("SELECT w.name, string_agg(quote_ident(n.name), ', ' ORDER BY n.ordinal)"
				   " FROM backfill.bf_partition p JOIN backfill.bf_partition n ON n.live = p.staged AND n.state = 'live'"
				   " JOIN backfill.bf_version w ON w.id = n.version_id"
				   " WHERE p.version_id = $1 AND w.name <> ALL ($2) GROUP BY w.id, w.name ORDER BY w.id DESC LIMIT 1",
				   BF_ARGS(INT8OID, TEXTARRAYOID),
				   BF_VALS(Int64GetDatum(v->id), bf_text_array(names)), NULL);
	if (r->nrows == 0)
		return NULL;
	*partitions = bf_rows_text(r, 0, 1);
	return bf_rows_text(r, 0, 0);
}

List *
bf_plan_predecessors(const BfVersion *v)
{
	BfRows	   *r = bf_catalog("SELECT DISTINCT w.name FROM backfill.bf_partition p JOIN backfill.bf_partition o ON o.staged = p.live"
							   " JOIN backfill.bf_version w ON w.id = o.version_id"
							   " WHERE p.version_id = $1 AND o.version_id <> $1 AND p.state IN ('live', 'retired')",
							   BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(v->id)), NULL);
	List	   *names = NIL;

	for (int i = 0; i < r->nrows; i++)
		names = lappend(names, bf_rows_text(r, i, 0));
	return names;
}
