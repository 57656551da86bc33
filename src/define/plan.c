/*
 * plan.c
 *		Which partitions a version covers.
 */
#include "define/plan.h"

#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/bound.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parse_coerce.h"
#include "partitioning/partdesc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

/* More could not be locked at once anyway; a step mistaken by some digits ends here and not in the middle of the night. */
#define MAX_PARTITIONS 10000

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
	PartitionBoundSpec *spec = bf_bound_of(relid);
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

static bool
is_time(Oid type)
{
	type = getBaseType(type);
	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

static char *
name_for_gap(const BfVersion *v, const BfRange *range, Oid keytype, const char *lower)
{
	const char *pattern = range->partition_name;
	BfRows	   *r;

	if (!is_time(keytype))
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
	char	   *type = format_type_be_qualified(keytype);
	char	   *sql = is_time(keytype) ?
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

/* Cuts [lower, upper) into partitions of one step each. */
static List *
fill_gap(const BfVersion *v, const BfRange *range, Relation root, List *list, char *lower, char *upper)
{
	PartitionKey key = RelationGetPartitionKey(root);
	Oid			keytype = key->parttypid[0];

	if (key->partnatts != 1)
		bad_range("cannot create partitions for a key of several columns",
				  psprintf("No partition covers %s to %s.", lower, upper), "Create the partitions first, or use gaps => 'skip'.");
	if (!is_time(keytype) && TypeCategory(getBaseType(keytype)) != TYPCATEGORY_NUMERIC)
		bad_range(psprintf("cannot create partitions for a key of type %s", format_type_be(keytype)),
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
		if (list_length(list) >= MAX_PARTITIONS)
			bad_range(psprintf("range has more than %d partitions", MAX_PARTITIONS),
					  psprintf("Creating them with a step of %s got as far as %s.", range->step, lower),
					  "Use a larger step or a smaller range.");
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
		list = lappend(list, make_partition(InvalidOid, v->target, name, bf_bound_canonical(root, bound), lower, next));
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
		PartitionBoundSpec *spec = bf_bound_of(desc->oids[i]);

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

