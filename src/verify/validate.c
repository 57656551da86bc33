/*
 * validate.c
 *		backfill_validate: measures every gate of a version.
 *
 * Bindings are taken before the measuring: a change in between then makes the
 * evidence stale, never wrong.
 */
#include "verify/validate.h"

#include "build/pin.h"
#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/bound.h"
#include "define/expression.h"
#include "define/gate.h"
#include "define/guard.h"
#include "define/partition.h"
#include "define/reference.h"
#include "define/total.h"
#include "define/version.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "verify/compare.h"
#include "verify/evidence.h"
#include "verify/foreign_key.h"

PG_FUNCTION_INFO_V1(backfill_validate);

/* One validation. */
typedef struct Validation
{
	BfVersion  *v;
	List	   *gates;			/* of BfGate * */
	List	   *totals;			/* of BfTotal *, scope partition */
	List	   *whole_totals;	/* of BfTotal *, scope version */
	List	   *references;		/* of BfReference * */
	BfBindings *bindings;
	bool		foreign;		/* built in another database, see pin.h */
	List	   *altered;		/* of BfPartition * whose definition changed since the build */
	List	   *measures;		/* of BfMeasure *, in order of partition and gate */
	List	   *unchanged;		/* of BfPartition * where old and new are the same */
	const BfPartition *measuring;	/* for error contexts */
	int			place;			/* its position among the partitions */
	MemoryContext context;		/* what outlives a partition */
} Validation;

/* Arguments of judge_total. */
typedef struct TotalJudgement
{
	const BfTotal *total;
	const BfTotalValue *value;
	BfVerdict	verdict;
} TotalJudgement;

static const BfGate *
find_gate(const Validation *val, const char *name)
{
	ListCell   *lc;

	foreach(lc, val->gates)
		if (strcmp(((BfGate *) lfirst(lc))->name, name) == 0)
			return lfirst(lc);
	elog(ERROR, "version \"%s\" has no gate \"%s\"", val->v->name, name);
}

static char *
copy_text(const Validation *val, const char *s)
{
	return s ? MemoryContextStrdup(val->context, s) : NULL;
}

/* Appends a measure; p is NULL for the whole version. */
static BfMeasure *
note(Validation *val, const BfPartition *p, const char *gate, const char *result)
{
	MemoryContext old = MemoryContextSwitchTo(val->context);
	BfMeasure  *m = palloc0(sizeof(BfMeasure));

	m->gate = find_gate(val, gate);
	m->result = result;
	if (strcmp(result, "failed") == 0 && m->gate->waived && !BF_GATE_IS_INTEGRITY(m->gate))
		m->result = "waived";
	m->binding = val->bindings->whole;
	if (p != NULL)
	{
		m->partition_id = p->id;
		m->partition = pstrdup(p->name);
		for (int i = 0; i < val->bindings->n; i++)
			if (val->bindings->ids[i] == p->id)
				m->binding = val->bindings->bindings[i];
	}
	val->measures = lappend(val->measures, m);
	MemoryContextSwitchTo(old);
	return m;
}

static const char *
passed_if(bool passed)
{
	return passed ? "passed" : "failed";
}

static void
note_text(Validation *val, const BfPartition *p, const char *gate, bool passed, const char *new)
{
	note(val, p, gate, passed_if(passed))->new = copy_text(val, new);
}

/* A gate that counts; samples are looked for when it is red. */
static BfMeasure *
note_counts(Validation *val, const BfPartition *p, const char *gate, const char *result, BfCounted counted,
			int64 n_old, int64 n_new, int64 n_diff)
{
	BfMeasure  *m = note(val, p, gate, result);
	MemoryContext old = MemoryContextSwitchTo(val->context);

	m->counted = counted;
	m->n_old = n_old;
	m->n_new = n_new;
	m->n_diff = n_diff;
	m->weight = counted == BF_COUNT_ROWS ? (n_old > 0 ? fabs((double) (n_new - n_old)) / n_old : 0) :
		counted == BF_COUNT_FOUND ? n_new : n_diff;
	bf_evidence_describe(m);
	MemoryContextSwitchTo(old);
	return m;
}

static Jsonb *
copy_samples(const Validation *val, const Jsonb *samples)
{
	return samples ? memcpy(MemoryContextAlloc(val->context, VARSIZE(samples)), samples, VARSIZE(samples)) : NULL;
}

static void
add_samples(Validation *val, BfMeasure *m, const BfComparison *c, const BfPartition *p, BfSample which)
{
	Jsonb	   *samples;
	BfIdentity	id;

	if (strcmp(m->result, "failed") != 0 && strcmp(m->result, "waived") != 0)
		return;
	bf_compare_enter(&id, val->v);
	samples = bf_compare_samples(val->v, c, p->staged, which);
	bf_identity_leave(&id);
	m->samples = copy_samples(val, samples);
}

static bool
exists(Oid relid)
{
	return OidIsValid(relid) && get_rel_name(relid) != NULL;
}

/* Staged rows outside the partition: none can be where the server itself enforces the bounds. */
static int64
count_outside(const Validation *val, const BfPartition *p)
{
	BfIdentity	id;
	char	   *bound;
	BfRows	   *r = bf_catalog("SELECT 1 FROM pg_catalog.pg_constraint WHERE conrelid = $1 AND contype = 'c' AND convalidated"
							   " AND conname = '" BF_BOUND_CHECK "' UNION ALL"
							   " SELECT 1 FROM pg_catalog.pg_class WHERE oid = $1 AND relispartition",
							   BF_ARGS(OIDOID), BF_VALS(ObjectIdGetDatum(p->staged)), NULL);

	if (r->nrows > 0)
		return 0;
	bf_compare_enter(&id, val->v);
	bound = bf_bound_def(p, p->staged);
	r = bound ? bf_sql(psprintf("SELECT count(*) FROM ONLY %s WHERE NOT (%s)", bf_relname(p->staged), bound),
					   0, NULL, NULL, NULL) : NULL;
	bf_identity_leave(&id);
	return r ? DatumGetInt64(BF_VALUE(r, 0, 0)) : 0;
}

/* Has another version, or someone by hand, taken the live partition out of the target? */
static bool
was_replaced(const Validation *val, const BfPartition *p)
{
	return (val->v->state == BF_BUILT || val->v->state == BF_ROLLED_BACK) && !get_rel_relispartition(p->live);
}

static void
measure_live(Validation *val, const BfPartition *p)
{
	const char *found;

	/* What a published version left in place is live, and the pipeline may write to it. */
	if (!OidIsValid(p->live) || (val->v->state == BF_PUBLISHED && strcmp(p->state, "unchanged") == 0))
	{
		(void) note(val, p, "live unchanged", "n/a");
		return;
	}
	if (!exists(p->live))
		found = "dropped";
	else if (was_replaced(val, p))
		found = "detached";
	else if (val->foreign)
		found = "not known here";
	else if (bf_guard_written_since_pin(val->v->id, p->live))
		found = "written";
	else
		found = bf_partition_tampered(p);
	note_text(val, p, "live unchanged", found == NULL, found ? found : "not written");
}

static void
measure_definition(Validation *val, const BfPartition *p)
{
	bool		same = !list_member_ptr(val->altered, p);

	note_text(val, p, "definition unchanged", same, same ? "same" : "changed");
}

static void
measure_keys(Validation *val, const BfPartition *p, const BfComparison *c)
{
	BfMeasure  *m;

	if (val->v->key == NIL)
	{
		(void) note(val, p, "key not null", "n/a");
		(void) note(val, p, "key unique", "n/a");
		return;
	}
	m = note_counts(val, p, "key not null", passed_if(c->null_keys == 0), BF_COUNT_FOUND, 0, c->null_keys, 0);
	add_samples(val, m, c, p, BF_SAMPLE_NULL);
	m = note_counts(val, p, "key unique", passed_if(c->duplicates == 0), BF_COUNT_FOUND, 0, c->duplicates, 0);
	add_samples(val, m, c, p, BF_SAMPLE_DUPLICATE);
}

/* A filled partition that becomes empty is red whatever may be lost, short of no limit at all. */
static bool
shrinks_too_much(const BfVersion *v, const BfComparison *c)
{
	if (v->max_shrink < 0 || c->new_rows >= c->old_rows)
		return false;
	return c->new_rows == 0 || 100.0 * (c->old_rows - c->new_rows) / c->old_rows > v->max_shrink;
}

static void
measure_comparison(Validation *val, const BfPartition *p, const BfComparison *c)
{
	BfVersion  *v = val->v;
	bool		compared = c->old_rows > 0;
	const char *keys = v->key == NIL ? "n/a" : compared ? NULL : "no_baseline";
	bool		lost = v->max_lost_keys >= 0 && c->lost > v->max_lost_keys;
	bool		gained = v->max_gained_keys >= 0 && c->gained > v->max_gained_keys;
	BfMeasure  *m;

	(void) note_counts(val, p, "row count",
					   compared || c->new_rows == 0 ? passed_if(!shrinks_too_much(v, c)) : "no_baseline",
					   BF_COUNT_ROWS, c->old_rows, c->new_rows, v->key == NIL ? Max(c->lost, c->gained) : c->changed);
	m = note_counts(val, p, "lost keys", keys ? keys : passed_if(!lost), keys ? BF_NOT_COUNTED : BF_COUNT_LOST,
					c->old_rows, c->new_rows, c->lost);
	add_samples(val, m, c, p, BF_SAMPLE_LOST);
	m = note_counts(val, p, "gained keys", keys ? keys : passed_if(!gained), keys ? BF_NOT_COUNTED : BF_COUNT_GAINED,
					c->old_rows, c->new_rows, c->gained);
	add_samples(val, m, c, p, BF_SAMPLE_GAINED);
	(void) note_counts(val, p, "rejections", passed_if(p->rejected <= v->max_rejections), BF_COUNT_FOUND,
					   0, p->rejected, 0);
}

static void
judge_total(void *arg)
{
	TotalJudgement *j = arg;

	bf_expect_check(j->total->expect, j->value->old, j->value->oldnull, j->value->new, j->value->newnull, &j->verdict);
}

static char *
value_text(Oid type, Datum value, bool isnull)
{
	Oid			out;
	bool		varlena;

	if (isnull)
		return "NULL";
	getTypeOutputInfo(type, &out, &varlena);
	return OidOutputFunctionCall(out, value);
}

/* p is NULL for a total of the whole version. */
static void
measure_total(Validation *val, const BfPartition *p, const BfTotal *total, const BfTotalValue *value, bool baseline)
{
	TotalJudgement j = {total, value};
	bool		compared = baseline || !total->expect->needs_old;
	char	   *error = value->error;
	char	   *old = NULL;
	char	   *new = NULL;
	BfMeasure  *m;
	BfIdentity	id;

	bf_compare_enter(&id, val->v);
	if (error == NULL && compared)
		error = bf_expression_guard(judge_total, &j);
	if (value->error == NULL)
	{
		old = baseline ? value_text(total->type, value->old, value->oldnull) : NULL;
		new = value_text(total->type, value->new, value->newnull);
	}
	bf_identity_leave(&id);

	m = note(val, p, total->gate, error ? "failed" : !compared ? "no_baseline" : passed_if(j.verdict.passed));
	m->old = copy_text(val, old);
	m->new = copy_text(val, new);
	m->difference = copy_text(val, error ? psprintf("error: %s", error) : baseline ? j.verdict.difference : NULL);
	m->weight = error ? get_float8_infinity() : j.verdict.change;
}

/* The foreign key of a gate, where it is about the partition being measured; NULL: it is not, or is another one now. */
static const BfReference *
find_reference(const Validation *val, const BfGate *gate)
{
	ListCell   *lc;

	foreach(lc, val->references)
	{
		BfReference *ref = lfirst(lc);

		if (strcmp(ref->gate, gate->name) == 0 && strcmp(ref->definition, gate->expression) == 0 &&
			list_member_int(ref->places, val->place))
			return ref;
	}
	return NULL;
}

static void
measure_foreign_key(Validation *val, const BfPartition *p, const BfGate *gate, Oid live)
{
	const BfReference *ref = find_reference(val, gate);
	BfKeyCount *c;
	BfMeasure  *m;

	if (ref == NULL || !ref->validated || !exists(p->staged))
	{
		m = note(val, p, gate->name, "n/a");
		m->difference = copy_text(val, ref && !ref->validated ? "NOT VALID" : NULL);
		return;
	}
	c = bf_foreign_key_count(val->v, ref, live, p->staged);
	m = note_counts(val, p, gate->name, passed_if(c->rows == 0), ref->incoming ? BF_COUNT_VANISHING : BF_COUNT_UNMATCHED,
					c->keys, c->rows, c->rows);
	m->samples = copy_samples(val, c->samples);
}

static void
measure_foreign_keys(Validation *val, const BfPartition *p, Oid live)
{
	ListCell   *lc;

	foreach(lc, val->gates)
		if (BF_GATE_IS_FOREIGN_KEY((BfGate *) lfirst(lc)))
			measure_foreign_key(val, p, lfirst(lc), live);
}

/* The gate "built" is red; the others that need staged rows have nothing to say. */
static void
nothing_to_measure(Validation *val, const BfPartition *p)
{
	static const char *const names[] = {
		"bounds", "key not null", "key unique", "row count", "lost keys", "gained keys", "rejections"
	};
	ListCell   *lc;

	for (int i = 0; i < lengthof(names); i++)
		(void) note(val, p, names[i], "n/a");
	foreach(lc, val->totals)
		(void) note(val, p, ((BfTotal *) lfirst(lc))->gate, "n/a");
}

static void
measure_partition(Validation *val, const BfPartition *p)
{
	BfComparison *c;
	BfIdentity	id;
	Oid			live = exists(p->live) ? p->live : InvalidOid;
	int64		outside;
	int			i = 0;
	ListCell   *lc;
	MemoryContext old;

	note_text(val, p, "built", exists(p->staged), exists(p->staged) ? "built" : "missing");
	measure_live(val, p);
	measure_definition(val, p);
	measure_foreign_keys(val, p, live);
	if (!exists(p->staged))
	{
		nothing_to_measure(val, p);
		return;
	}
	outside = count_outside(val, p);
	(void) note_counts(val, p, "bounds", passed_if(outside == 0), BF_COUNT_FOUND, 0, outside, 0);

	bf_compare_enter(&id, val->v);
	c = bf_compare(val->v, live, p->staged, val->totals);
	bf_identity_leave(&id);
	measure_keys(val, p, c);
	measure_comparison(val, p, c);
	foreach(lc, val->totals)
		measure_total(val, p, lfirst(lc), &c->totals[i++], c->old_rows > 0);
	if (OidIsValid(live) && c->lost == 0 && c->gained == 0 && c->changed == 0 && c->duplicates == 0)
	{
		old = MemoryContextSwitchTo(val->context);
		val->unchanged = lappend(val->unchanged, (void *) p);
		MemoryContextSwitchTo(old);
	}
}

static void
measure_whole(Validation *val, List *partitions)
{
	List	   *live = NIL;
	List	   *staged = NIL;
	ListCell   *lc;

	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);

		if (exists(p->live))
			live = lappend_oid(live, p->live);
		if (exists(p->staged))
			staged = lappend_oid(staged, p->staged);
	}
	foreach(lc, val->whole_totals)
	{
		BfTotalValue value = {0};
		char	   *old_error;
		int64		old_rows;
		BfIdentity	id;

		bf_compare_enter(&id, val->v);
		old_rows = bf_compare_total(val->v, lfirst(lc), live, &value.old, &value.oldnull, &old_error);
		(void) bf_compare_total(val->v, lfirst(lc), staged, &value.new, &value.newnull, &value.error);
		bf_identity_leave(&id);
		if (value.error == NULL)
			value.error = old_error;
		measure_total(val, NULL, lfirst(lc), &value, old_rows != 0);
	}
}

static void
parse_totals(Validation *val)
{
	ListCell   *lc;
	BfIdentity	id;

	bf_compare_enter(&id, val->v);
	foreach(lc, val->gates)
	{
		BfGate	   *g = lfirst(lc);
		BfTotal    *total;

		if (!BF_GATE_IS_TOTAL(g))
			continue;
		total = bf_total_parse(val->v, g->name, g->expression, g->expect);
		if (g->whole_version)
			val->whole_totals = lappend(val->whole_totals, total);
		else
			val->totals = lappend(val->totals, total);
	}
	bf_identity_leave(&id);
}

/* A version that is live keeps its states: they say what was swapped. */
static void
record_unchanged(const Validation *val)
{
	if (val->v->state == BF_PUBLISHED)
		return;
	bf_partition_unchanged(val->v, val->unchanged);
}

static void
error_context(void *arg)
{
	Validation *val = arg;

	if (val->measuring != NULL)
		errcontext("measuring partition \"%s\" of version \"%s\"", val->measuring->name, val->v->name);
	else
		errcontext("measuring the gates of version \"%s\"", val->v->name);
}

static Validation *
validate(BfVersion *v, List *partitions)
{
	Validation *val = palloc0(sizeof(Validation));
	ErrorContextCallback callback = {error_context_stack, error_context, val};
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "backfill validation", ALLOCSET_DEFAULT_SIZES);
	ListCell   *lc;

	error_context_stack = &callback;
	val->v = v;
	val->context = CurrentMemoryContext;
	/* Those of a version that is live are part of its record. */
	if (v->state != BF_PUBLISHED)
		bf_reference_gates(v, partitions);
	val->gates = bf_gate_list(v->id);
	val->references = bf_reference_list(v, partitions);
	val->foreign = bf_pin_is_foreign(v);
	val->bindings = bf_evidence_bindings(v->id);
	val->altered = bf_gate_changed_definitions(v, partitions);
	parse_totals(val);
	foreach(lc, partitions)
	{
		MemoryContextSwitchTo(work);
		CHECK_FOR_INTERRUPTS();
		val->measuring = lfirst(lc);
		val->place = foreach_current_index(lc);
		measure_partition(val, val->measuring);
		MemoryContextSwitchTo(val->context);
		MemoryContextReset(work);
	}
	val->measuring = NULL;
	measure_whole(val, partitions);
	bf_evidence_insert(v->id, val->measures);
	record_unchanged(val);
	MemoryContextDelete(work);
	error_context_stack = callback.previous;
	return val;
}

void
bf_validate(BfVersion *v, List *partitions)
{
	(void) validate(v, partitions);
}

/* How bad a result is, by position: a gate that passed where it could compare has passed. */
static const char *const ranks[] = {"n/a", "no_baseline", "passed", "waived", "failed"};

/* Failures first; then what a reader should know before what is well. */
static const char *const shown[] = {"failed", "waived", "no_baseline", "passed", "n/a"};

#define RANK_PASSED 2
#define RANK_WAIVED 3

static int
rank(const BfMeasure *m)
{
	for (int i = 0; i < lengthof(ranks); i++)
		if (strcmp(m->result, ranks[i]) == 0)
			return i;
	elog(ERROR, "unknown result \"%s\"", m->result);
}

static bool
is_worse(const BfMeasure *a, const BfMeasure *b)
{
	return rank(a) > rank(b) || (rank(a) == rank(b) && a->weight > b->weight);
}

/* The worst measure of a gate, with counts that add up those of all partitions; NULL when it has none. */
static BfMeasure *
summarize(const Validation *val, const BfGate *gate)
{
	BfMeasure  *sum = NULL;
	int			partitions = 0;
	int64		n_old = 0,
				n_new = 0,
				n_diff = 0;
	ListCell   *lc;

	foreach(lc, val->measures)
	{
		BfMeasure  *m = lfirst(lc);

		if (m->gate != gate)
			continue;
		partitions++;
		if (m->counted != BF_NOT_COUNTED)
		{
			n_old += m->n_old;
			n_new += m->n_new;
			n_diff += m->n_diff;
		}
		if (sum == NULL || is_worse(m, sum))
			sum = m;
	}
	if (sum == NULL)
		return NULL;
	sum = memcpy(palloc(sizeof(BfMeasure)), sum, sizeof(BfMeasure));
	sum->n_old = n_old;
	sum->n_new = n_new;
	sum->n_diff = n_diff;
	sum->covers = gate->whole_version ? val->bindings->n : partitions;
	bf_evidence_describe(sum);
	return sum;
}

static void
return_row(ReturnSetInfo *rsinfo, const BfMeasure *m)
{
	const char *texts[] = {m->gate->name, m->result, NULL, m->old, m->new, m->difference, m->gate->expect};
	Datum		values[8] = {0};
	bool		nulls[8] = {0};

	for (int i = 0; i < lengthof(texts); i++)
	{
		nulls[i] = texts[i] == NULL;
		if (texts[i] != NULL)
			values[i] = bf_text(texts[i]);
	}
	nulls[2] = false;
	values[2] = Int32GetDatum(m->covers);
	nulls[7] = m->partition == NULL || rank(m) < RANK_PASSED || (rank(m) < RANK_WAIVED && m->weight == 0);
	if (!nulls[7])
		values[7] = DirectFunctionCall1(namein, CStringGetDatum(m->partition));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

static void
require_built(const BfVersion *v)
{
	if (v->state != BF_BUILT && v->state != BF_PUBLISHED && v->state != BF_ROLLED_BACK && v->state != BF_SUPERSEDED)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot validate version \"%s\"", v->name),
				 errdetail("The version is %s.", bf_state_name(v->state)),
				 v->state == BF_DROPPED ? errhint("Create a version of another name with backfill_create.") :
				 errhint("Call backfill_build(%s).", quote_literal_cstr(v->name))));
}

Datum
backfill_validate(PG_FUNCTION_ARGS)
{
	BfVersion  *v;
	Validation *val;
	List	   *sums = NIL;
	ListCell   *lc;

	v = bf_version_lock(bf_arg_text(fcinfo, 0, "version"));
	require_built(v);
	val = validate(v, bf_partition_list(v->id));
	foreach(lc, val->gates)
	{
		BfMeasure  *sum = summarize(val, lfirst(lc));

		if (sum != NULL)
			sums = lappend(sums, sum);
	}
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < lengthof(shown); i++)
		foreach(lc, sums)
			if (strcmp(((BfMeasure *) lfirst(lc))->result, shown[i]) == 0)
				return_row((ReturnSetInfo *) fcinfo->resultinfo, lfirst(lc));
	return (Datum) 0;
}
