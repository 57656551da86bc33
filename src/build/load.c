/*
 * load.c
 *		Filling one staged table: the only per-tuple code.
 *
 * The rule's plan, parallel or not, ends in a DestReceiver that checks, counts
 * and hashes every row and hands batches to table_multi_insert.  Rows are
 * written frozen: they must be visible to snapshots older than this build,
 * for a reader that holds one may come to the table after the swap.
 */
#include "build/load.h"

#include "access/heapam.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "catalog/storage.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/bufmgr.h"
#include "tcop/dest.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/* As COPY does: enough to fill pages in one go, little enough to stay in cache. */
#define BATCH_ROWS 1000
#define BATCH_BYTES 65536

typedef struct BfCheck
{
	const char *name;
	ExprState  *state;
} BfCheck;

typedef struct Loader
{
	DestReceiver pub;			/* must be first */
	Relation	rel;
	BfLoadResult *result;
	MemoryContext context;		/* of the load */
	MemoryContext result_context;	/* outlives it: rejections */
	int64		max_rejections;

	/* checks */
	EState	   *estate;
	ExprContext *econtext;
	int			nnotnull;
	AttrNumber *notnull;
	int			nchecks;
	BfCheck    *checks;
	ExprState  *bound;

	/* the batch */
	MemoryContext batch_context;
	TupleTableSlot *slots[BATCH_ROWS];
	int			nslots;
	Size		bytes;
	BulkInsertState bulk;
	CommandId	cid;
} Loader;

static ExprState *
prepare_qual(Loader *l, List *qual)
{
	return ExecPrepareExpr((Expr *) make_ands_explicit(copyObject(qual)), l->estate);
}

static void
prepare_checks(Loader *l, List *bound_qual)
{
	TupleDesc	desc = RelationGetDescr(l->rel);
	TupleConstr *constr = desc->constr;

	l->estate = CreateExecutorState();
	l->econtext = GetPerTupleExprContext(l->estate);
	if (bound_qual != NIL)
		l->bound = prepare_qual(l, bound_qual);
	if (constr == NULL)
		return;
	l->notnull = palloc(sizeof(AttrNumber) * desc->natts);
	for (int i = 0; constr->has_not_null && i < desc->natts; i++)
		if (bf_stored_not_null(TupleDescAttr(desc, i)))
			l->notnull[l->nnotnull++] = i + 1;
	l->checks = palloc(sizeof(BfCheck) * Max(1, constr->num_check));
	for (int i = 0; i < constr->num_check; i++)
	{
		/* The bound is checked apart, and not at all when the query filters by it. */
		if (strcmp(constr->check[i].ccname, BF_BOUND_CHECK) == 0 || !bf_check_enforced(&constr->check[i]))
			continue;
		l->checks[l->nchecks].name = constr->check[i].ccname;
		l->checks[l->nchecks++].state = ExecPrepareExpr(stringToNode(constr->check[i].ccbin), l->estate);
	}
}

/* Why a row cannot be in the table, or NULL. */
static char *
broken(Loader *l, TupleTableSlot *slot)
{
	for (int i = 0; i < l->nnotnull; i++)
		if (slot->tts_isnull[l->notnull[i] - 1])
			return psprintf("null value in column \"%s\"",
							NameStr(TupleDescAttr(RelationGetDescr(l->rel), l->notnull[i] - 1)->attname));
	l->econtext->ecxt_scantuple = slot;
	for (int i = 0; i < l->nchecks; i++)
		if (!ExecCheck(l->checks[i].state, l->econtext))
			return psprintf("violates check constraint \"%s\"", l->checks[i].name);
	if (l->bound && !ExecCheck(l->bound, l->econtext))
		return pstrdup("outside the bounds of its partition");
	return NULL;
}

static void
reject(Loader *l, TupleTableSlot *slot, const char *reason)
{
	MemoryContext old = MemoryContextSwitchTo(l->result_context);
	BfRejection *rejection = palloc(sizeof(BfRejection));
	Datum		row = ExecFetchSlotHeapTupleDatum(slot);
	char	   *json = TextDatumGetCString(DirectFunctionCall1(row_to_json, row));

	if (l->result->rejected >= l->max_rejections)
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("rule yields a row that does not fit: %s", reason),
				 errdetail("Row: %s. Up to " INT64_FORMAT " may be rejected (max_rejections).", json, l->max_rejections),
				 errhint("Correct the rule, or define the version again with a higher max_rejections and replace => true.")));
	rejection->row = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(json)));
	rejection->reason = pstrdup(reason);
	l->result->rejections = lappend(l->result->rejections, rejection);
	l->result->rejected++;
	MemoryContextSwitchTo(old);
}

static void
flush(Loader *l)
{
	MemoryContext old = MemoryContextSwitchTo(l->batch_context);

	CHECK_FOR_INTERRUPTS();
	if (l->nslots > 0)
		table_multi_insert(l->rel, l->slots, l->nslots, l->cid, TABLE_INSERT_SKIP_FSM | TABLE_INSERT_FROZEN, l->bulk);
	MemoryContextSwitchTo(old);
	for (int i = 0; i < l->nslots; i++)
		ExecClearTuple(l->slots[i]);
	MemoryContextReset(l->batch_context);
	l->nslots = 0;
	l->bytes = 0;
}

/* Of the stored bytes after the header; where a value is kept out of line must not matter. */
static uint64
row_hash(Loader *l, HeapTuple tup)
{
	MemoryContext old;
	uint64		hash;

	if (HeapTupleHasExternal(tup))
	{
		old = MemoryContextSwitchTo(GetPerTupleMemoryContext(l->estate));
		tup = toast_flatten_tuple(tup, RelationGetDescr(l->rel));
		MemoryContextSwitchTo(old);
	}
	hash = hash_bytes_extended((unsigned char *) tup->t_data + SizeofHeapTupleHeader, tup->t_len - SizeofHeapTupleHeader, 0);
	return hash;
}

static bool
receive(TupleTableSlot *in, DestReceiver *self)
{
	Loader	   *l = (Loader *) self;
	TupleTableSlot *slot = l->slots[l->nslots];
	int			natts = RelationGetDescr(l->rel)->natts;
	HeapTuple	tup;
	char	   *reason;

	slot_getallattrs(in);
	if (slot == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(l->context);

		slot = l->slots[l->nslots] = table_slot_create(l->rel, NULL);
		MemoryContextSwitchTo(old);
	}
	ExecClearTuple(slot);
	memcpy(slot->tts_values, in->tts_values, sizeof(Datum) * natts);
	memcpy(slot->tts_isnull, in->tts_isnull, sizeof(bool) * natts);
	ExecStoreVirtualTuple(slot);

	ResetPerTupleExprContext(l->estate);
	reason = broken(l, slot);
	if (reason)
	{
		reject(l, slot, reason);
		return true;
	}
	tup = ExecFetchSlotHeapTuple(slot, true, NULL);
	l->result->fingerprint += row_hash(l, tup);
	l->result->rows++;
	l->bytes += tup->t_len;
	if (++l->nslots == BATCH_ROWS || l->bytes >= BATCH_BYTES)
		flush(l);
	return true;
}

static void
startup(DestReceiver *self, int operation, TupleDesc desc)
{
	Loader	   *l = (Loader *) self;

	if (desc->natts != RelationGetDescr(l->rel)->natts)
		elog(ERROR, "rule yields %d columns for a table of %d", desc->natts, RelationGetDescr(l->rel)->natts);
	l->bulk = GetBulkInsertState();
}

/*
 * The server extends a table by many pages at once (from 16 on).  Those it did
 * not come to use would stay: empty, and never all-frozen.
 */
static void
give_back_unused(Relation rel)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	BlockNumber used = blocks;

	while (used > 0)
	{
		Buffer		buffer = ReadBuffer(rel, used - 1);
		bool		empty;

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		empty = PageIsNew(BufferGetPage(buffer)) || PageIsEmpty(BufferGetPage(buffer));
		UnlockReleaseBuffer(buffer);
		if (!empty)
			break;
		used--;
	}
	if (used < blocks)
		RelationTruncate(rel, used);
}

static void
shutdown_receiver(DestReceiver *self)
{
	Loader	   *l = (Loader *) self;

	flush(l);
	FreeBulkInsertState(l->bulk);
	table_finish_bulk_insert(l->rel, TABLE_INSERT_SKIP_FSM | TABLE_INSERT_FROZEN);
	give_back_unused(l->rel);
	for (int i = 0; i < BATCH_ROWS && l->slots[i]; i++)
		ExecDropSingleTupleTableSlot(l->slots[i]);
	FreeExecutorState(l->estate);
}

static void
destroy(DestReceiver *self)
{
}

BfLoadResult *
bf_load(const BfRuleQuery *rq, Relation staged, List *bound_qual, Snapshot snapshot, int64 max_rejections)
{
	Loader		loader = {
		.pub = {.receiveSlot = receive, .rStartup = startup, .rShutdown = shutdown_receiver, .rDestroy = destroy,
		.mydest = DestNone},
		.rel = staged, .result_context = CurrentMemoryContext, .max_rejections = max_rejections
	};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "backfill load", ALLOCSET_DEFAULT_SIZES);
	PlannedStmt *plan;
	QueryDesc  *desc;

	if (staged->rd_createSubid != GetCurrentSubTransactionId())
		elog(ERROR, "table to load was not created in this subtransaction");
	loader.result = palloc0(sizeof(BfLoadResult));
	MemoryContextSwitchTo(context);
	loader.context = context;
	loader.batch_context = AllocSetContextCreate(context, "backfill batch", ALLOCSET_DEFAULT_SIZES);
	prepare_checks(&loader, rq->filtered ? NIL : bound_qual);

	/* A parallel plan cannot hand out either once it runs. */
	(void) GetCurrentTransactionId();
	loader.cid = GetCurrentCommandId(true);
	PushActiveSnapshot(snapshot);
	plan = bf_rule_plan(rq, NULL);
	desc = CreateQueryDesc(plan, "", GetActiveSnapshot(), InvalidSnapshot, &loader.pub, rq->params, NULL, 0);
	ExecutorStart(desc, 0);
	bf_executor_run(desc);
	ExecutorFinish(desc);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
	PopActiveSnapshot();
	MemoryContextSwitchTo(loader.result_context);
	MemoryContextDelete(context);
	return loader.result;
}

bool
bf_load_is_frozen(Oid relid, BlockNumber *frozen, BlockNumber *blocks)
{
	Relation	rel = table_open(relid, AccessShareLock);
	BlockNumber visible;

	*blocks = RelationGetNumberOfBlocks(rel);
	visibilitymap_count(rel, &visible, frozen);
	table_close(rel, NoLock);
	return *frozen == *blocks;
}
