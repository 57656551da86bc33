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
#include "common/catalog.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parse_utilcmd.h"
#include "parser/parser.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

/* A RANGE partition of the root while a range is matched against it. */
typedef struct RootPart
{
	Oid			relid;
	PartitionBoundSpec *spec;
} RootPart;

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

static List *
values_of(const PartitionKey key, List *texts)
{
	List	   *values = NIL;
	int			i = 0;
	ListCell   *lc;

	foreach(lc, texts)
	{
		Datum	   *d = palloc(sizeof(Datum));
		Oid			in,
					ioparam;

		getTypeInputInfo(key->parttypid[i], &in, &ioparam);
		*d = OidInputFunctionCall(in, lfirst(lc), ioparam, key->parttypmod[i]);
		values = lappend(values, d);
		i++;
	}
	return values;
}

/* Compares a RANGE bound with a row of values, columns left out counting as MINVALUE. */
static int
cmp_bound(const PartitionKey key, List *bound, List *values)
{
	int			i = 0;
	ListCell   *lc;

	foreach(lc, bound)
	{
		PartitionRangeDatum *d = lfirst(lc);
		int			cmp;

		if (d->kind == PARTITION_RANGE_DATUM_MINVALUE)
			return i < list_length(values) ? -1 : 0;
		if (d->kind == PARTITION_RANGE_DATUM_MAXVALUE || i >= list_length(values))
			return 1;
		cmp = DatumGetInt32(FunctionCall2Coll(&key->partsupfunc[i], key->partcollation[i],
											  castNode(Const, d->value)->constvalue,
											  *(Datum *) list_nth(values, i)));
		if (cmp != 0)
			return cmp;
		i++;
	}
	return 0;
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
		psprintf("SELECT ($1::%s + $2::pg_catalog.interval)::%s", type, type) :
		psprintf("SELECT ($1::%s + $2::pg_catalog.numeric)::%s", type, type);

	return bf_rows_text(bf_sql(sql, BF_ARGS(TEXTOID, TEXTOID), BF_VALS(bf_text(lower), bf_text(step)), NULL), 0, 0);
}

/* Cuts [lower, upper) into partitions of one step each. */
static List *
fill_gap(const BfVersion *v, const BfRange *range, const PartitionKey key, List *list, char *lower, char *upper)
{
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
		List	   *ends = values_of(key, list_make2(next, upper));
		int			cmp;

		CHECK_FOR_INTERRUPTS();
		cmp = DatumGetInt32(FunctionCall2Coll(&key->partsupfunc[0], key->partcollation[0],
											  *(Datum *) linitial(ends), *(Datum *) lsecond(ends)));
		if (cmp > 0 || strcmp(next, lower) == 0)
			bad_range("step does not end on the end of the gap",
					  psprintf("The gap ends at %s, the partition from %s would end at %s.", upper, lower, next),
					  "Choose a step that divides the gap.");
		if (OidIsValid(get_relname_relid(name, get_rel_namespace(v->target))))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_TABLE),
					 errmsg("relation \"%s\" already exists", name),
					 errdetail("It is the name of the partition to be created from %s to %s.", lower, next),
					 errhint("Give another pattern in partition_name.")));
		list = lappend(list, make_partition(InvalidOid, v->target, name,
											psprintf("FOR VALUES FROM (%s) TO (%s)", quote_literal_cstr(lower),
													 quote_literal_cstr(next)), lower, next));
		if (cmp == 0)
			return list;
		lower = next;
	}
}

static List *
handle_gap(const BfVersion *v, const BfRange *range, const PartitionKey key, List *list, char *lower, char *upper)
{
	if (strcmp(range->gaps, "skip") == 0)
		return list;
	if (strcmp(range->gaps, "create") == 0)
		return fill_gap(v, range, key, list, lower, upper);
	bad_range("no partition covers a part of the range",
			  psprintf("Nothing is there from %s to %s.", lower, upper),
			  "Use gaps => 'skip' to leave it out, or gaps => 'create' with a step.");
}

static void
check_contained(const PartitionKey key, const BfRange *range, List *from, List *to, Oid relid, PartitionBoundSpec *spec)
{
	bool		cut_low = from != NIL && cmp_bound(key, spec->lowerdatums, from) < 0;
	bool		cut_high = to != NIL && cmp_bound(key, spec->upperdatums, to) > 0;

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
	List	   *from = values_of(key, range->from);
	List	   *to = values_of(key, range->to);
	List	   *reached = from;	/* how far the range is covered, as values */
	char	   *reached_text = range->from ? texts(range->from, NULL) : NULL;
	List	   *list = NIL;

	if (from != NIL && to != NIL && list_length(from) == 1 && list_length(to) == 1 &&
		DatumGetInt32(FunctionCall2Coll(&key->partsupfunc[0], key->partcollation[0],
										*(Datum *) linitial(from), *(Datum *) linitial(to))) >= 0)
		bad_range("range runs backwards or is empty",
				  psprintf("It goes from %s to %s.", texts(range->from, ""), texts(range->to, "")),
				  "range_to is exclusive and must lie after range_from.");

	for (int i = 0; i < desc->nparts; i++)
	{
		PartitionBoundSpec *spec = relation_bound(desc->oids[i]);

		if (spec->is_default || (to != NIL && cmp_bound(key, spec->lowerdatums, to) >= 0) ||
			(from != NIL && cmp_bound(key, spec->upperdatums, from) <= 0))
			continue;
		check_contained(key, range, from, to, desc->oids[i], spec);
		if (reached != NIL && cmp_bound(key, spec->lowerdatums, reached) > 0)
			list = handle_gap(v, range, key, list, reached_text, bound_list_text(spec->lowerdatums));
		list = add_root_partition(list, key, desc->oids[i]);
		reached_text = bound_list_text(spec->upperdatums);
		reached = bound_text(spec->upperdatums) == NULL || key->partnatts > 1 ? NIL :
			values_of(key, list_make1(reached_text));
	}
	if (to != NIL && reached != NIL && list_length(to) == 1 && key->partnatts == 1 &&
		DatumGetInt32(FunctionCall2Coll(&key->partsupfunc[0], key->partcollation[0],
										*(Datum *) linitial(reached), *(Datum *) linitial(to))) < 0)
		list = handle_gap(v, range, key, list, reached_text, texts(range->to, NULL));
	if (list == NIL)
		bad_range("range touches no partition",
				  psprintf("It goes from %s to %s.", texts(range->from, "the start"), texts(range->to, "the end")),
				  "See the bounds with \\d+ of the target, or use gaps => 'create' with a step.");
	return list;
}

static List *
select_named(const BfVersion *v, const BfRange *range, Relation root, const PartitionKey key)
{
	List	   *list = NIL;
	ListCell   *lc;

	foreach(lc, range->partitions)
	{
		Oid			relid = lfirst_oid(lc);
		Oid			top = relid;
		List	   *leaves;
		ListCell   *l2;
		PartitionBoundSpec *spec;
		bool		one;

		while (get_rel_relispartition(top) && get_partition_parent(top, true) != RelationGetRelid(root))
			top = get_partition_parent(top, true);
		if (!get_rel_relispartition(top))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s is not a partition of %s", bf_relname(relid), bf_relname(v->target)),
					 errhint("List partitions of the target in partitions.")));
		spec = relation_bound(top);
		one = key->strategy == PARTITION_STRATEGY_RANGE && key->partnatts == 1 && !spec->is_default;
		leaves = add_leaves(NIL, relid, one ? bound_text(spec->lowerdatums) : NULL,
							one ? bound_text(spec->upperdatums) : NULL);
		foreach(l2, leaves)
		{
			BfPartition *p = lfirst(l2);
			ListCell   *l3;
			bool		twice = false;

			foreach(l3, list)
				twice |= ((BfPartition *) lfirst(l3))->live == p->live;
			if (!twice)
				list = lappend(list, p);
		}
	}
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

/* The bound text of a partition, parsed against its parent. */
static PartitionBoundSpec *
parse_bound(Relation parent, const char *bound)
{
	char	   *sql = psprintf("ALTER TABLE a ATTACH PARTITION b %s", bound);
	RawStmt    *raw = linitial_node(RawStmt, raw_parser(sql, RAW_PARSE_DEFAULT));
	AlterTableCmd *cmd = linitial_node(AlterTableCmd, castNode(AlterTableStmt, raw->stmt)->cmds);
	ParseState *pstate = make_parsestate(NULL);

	pstate->p_sourcetext = sql;
	return transformPartitionBound(pstate, parent, castNode(PartitionCmd, cmd->def)->bound);
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

	*inner_qual = level == v->target ? NIL : list_copy(own);
	*bound_qual = list_concat(own, above);
	/* NB: a partition of the root belongs to the bounds the rule may name, so the walk stops below it. */
	while (level != v->target)
	{
		Oid			up = get_partition_parent(level, true);
		Relation	uprel;

		if (up == v->target)
			break;
		uprel = table_open(up, AccessShareLock);
		*inner_qual = list_concat(*inner_qual, level_qual(uprel, relation_bound(level), shape));
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
