/*
 * builder.c
 *		Claim -> load -> finish, one partition after the other.
 *
 * Here everything runs in the caller's transaction on one registered snapshot,
 * all or nothing.  The three steps share no state but the catalog and the pin,
 * so that background workers can run them in transactions of their own.
 */
#include "build/builder.h"

#include "access/table.h"
#include "access/xact.h"
#include "build/load.h"
#include "build/pin.h"
#include "build/shape.h"
#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/bound.h"
#include "define/gate.h"
#include "define/partition.h"
#include "define/preflight.h"
#include "define/swap.h"
#include "define/version.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

/* What one partition's error is about. */
typedef struct BuildContext
{
	const BfVersion *version;
	const BfPartition *partition;
} BuildContext;

static void
build_error_context(void *arg)
{
	BuildContext *c = arg;

	errcontext("building partition \"%s\" of version \"%s\"", c->partition->name, c->version->name);
}

/* The table a staged partition is modelled on: the live leaf, or for a new partition its parent. */
static Oid
model_of(const BfPartition *p)
{
	return OidIsValid(p->live) ? p->live : p->parent;
}

static char *
suffix_of(const BfPartition *p)
{
	return psprintf("b" INT64_FORMAT, p->id);
}

/* Claim: what an earlier build left of this partition goes. */
static void
claim(BfPartition *p)
{
	if (OidIsValid(p->staged) && get_rel_name(p->staged) != NULL)
		bf_partition_drop_table(p->staged);
	p->staged = InvalidOid;
	bf_catalog("DELETE FROM backfill.bf_rejection WHERE partition_id = $1",
			   BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(p->id)), NULL);
}

/* Load: create the table and fill it, in one subtransaction so that its rows may be written frozen. */
static BfLoadResult *
load(const BfVersion *v, BfPartition *p, Snapshot pin)
{
	BfIdentity	id;
	BfLoadResult *result;
	Relation	staged;
	List	   *bound_qual,
			   *inner_qual;
	BfRuleQuery *rq;
	int			nestlevel;

	bf_owner_enter(&id, v->owner);
	p->staged = bf_shape_create(bf_shape_name(p->name, suffix_of(p)), model_of(p),
								bf_bound_def(p, model_of(p)));
	CommandCounterIncrement();
	staged = table_open(p->staged, AccessExclusiveLock);
	bf_bound_quals(v, p, staged, &bound_qual, &inner_qual);

	nestlevel = NewGUCNestLevel();
	bf_version_apply_settings(v);
	rq = bf_rule_query(v, staged, bound_qual, inner_qual, p->lower, p->upper);
	result = bf_load(rq, staged, bound_qual, pin, v->max_rejections);
	AtEOXact_GUC(false, nestlevel);

	table_close(staged, NoLock);
	bf_identity_leave(&id);
	p->rows = result->rows;
	p->rejected = result->rejected;
	return result;
}

/* Finish: indexes, statistics, privileges, seal. */
static void
finish(const BfVersion *v, BfPartition *p)
{
	BfIdentity	id;
	bool		unique;

	bf_owner_enter(&id, v->owner);
	bf_shape_finish(p->staged, model_of(p), suffix_of(p), v->key, &unique);
	bf_identity_leave(&id);
	if (!unique)
		ereport(WARNING,
				(errmsg("partition \"%s\" has duplicate keys", p->name),
				 errdetail("Its unique index was built without UNIQUE, and the gate \"key unique\" will be red.")));
}

static void
record(const BfVersion *v, const BfPartition *p, const BfLoadResult *result, TimestampTz started)
{
	ListCell   *lc;
	char		fingerprint[32];

	foreach(lc, result->rejections)
	{
		BfRejection *rejection = lfirst(lc);

		bf_catalog("INSERT INTO backfill.bf_rejection VALUES ($1, $2, $3)", BF_ARGS(INT8OID, JSONBOID, TEXTOID),
				   BF_VALS(Int64GetDatum(p->id), JsonbPGetDatum(rejection->row), bf_text(rejection->reason)), NULL);
	}
	snprintf(fingerprint, sizeof(fingerprint), UINT64_FORMAT, result->fingerprint);
	bf_partition_built(p, fingerprint, bf_gate_definition(p->live, v->target), started);
}

static void
build_partition(const BfVersion *v, BfPartition *p, Snapshot pin)
{
	TimestampTz started = GetCurrentTimestamp();
	BuildContext context = {v, p};
	ErrorContextCallback callback = {error_context_stack, build_error_context, &context};
	BfLoadResult *result;

	error_context_stack = &callback;
	claim(p);
	result = load(v, p, pin);
	finish(v, p);
	record(v, p, result, started);
	error_context_stack = callback.previous;
}

static BfRuleInfo *
analyze(const BfVersion *v)
{
	BfIdentity	id;
	BfRuleInfo *rule;

	bf_owner_enter(&id, v->owner);
	bf_version_apply_settings(v);
	rule = bf_rule_analyze(v);
	bf_identity_leave(&id);
	if (strcmp(rule->canonical, v->rule_canonical) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the rule of version \"%s\" now means something else", v->name),
				 errdetail("When it was defined its names stood for: %s", v->rule_canonical),
				 errhint("Create the version again with replace => true, or undo the change of the relations it names.")));
	return rule;
}

void
bf_build(BfVersion *v)
{
	List	   *partitions = bf_partition_list(v->id);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "backfill partition", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;
	Snapshot	pin;
	ListCell   *lc;

	bf_preflight_require(v, partitions);
	/* The target may have been given to another role since create. */
	bf_partition_allow_staging(v->owner);
	bf_version_advance(v, BF_BUILDING, "build");
	/* Somebody may have switched guards off since create. */
	bf_partition_guard(v, partitions);
	bf_partition_note_live(v->id);
	pin = bf_pin_take(v, analyze(v));
	foreach(lc, partitions)
	{
		CHECK_FOR_INTERRUPTS();
		old = MemoryContextSwitchTo(context);
		build_partition(v, lfirst(lc), pin);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	bf_pin_release(pin);
	bf_swap_choose(v, partitions);
	bf_swap_record(partitions);
	bf_version_advance(v, BF_BUILT, "build");
	MemoryContextDelete(context);
}
