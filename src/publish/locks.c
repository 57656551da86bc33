/*
 * locks.c
 *		The strong locks of publish and rollback: taken in short attempts, held for a bounded time.
 *
 * Who waits for ACCESS EXCLUSIVE makes every later reader wait behind it.  So
 * one attempt lasts lock_attempt at most, all its waits together, and it is a
 * subtransaction: its abort leaves every queue and gives back every lock.  Its
 * deadlock_timeout is half of its lock_timeout: that makes autovacuum give way,
 * and a deadlock with a reader is ours to lose, long before the reader's own
 * deadlock_timeout makes it the victim.
 *
 * First come tables at the other end of foreign keys, which are to hold still
 * while it is asked whether the keys will hold; they do not count for the time
 * of the attempt.  Then the order is top down (the target, the partitioned tables below it, default
 * partitions, leaves in bound order, our tables, indexes and TOAST tables that
 * trade their contents), because every reader, writer
 * and build holds at least ACCESS SHARE on the target before it locks a leaf.
 * Under the target's lock there is therefore no build of another version over
 * the same leaves halfway: it has either committed, and its partitions are
 * seen and pointed at what is live now, or has not started to look at them.
 */
#include "publish/locks.h"

#include "access/table.h"
#include "access/twophase.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "common/pg_prng.h"
#include "common/stop.h"
#include "common/subxact.h"
#include "define/partition.h"
#include "miscadmin.h"
#include "publish/switch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

/* Keeps the advisory lock of a target apart from users' and from those of version names. */
#define TARGET_LOCK_CLASS 0xBE

typedef struct Lock
{
	Oid			relid;
	LOCKMODE	mode;
} Lock;

/* A partitioned table on the way down to a leaf. */
typedef struct Level
{
	Oid			relid;
	int			depth;
} Level;

/* max_xlock_time: this process's timeout slot, and whether it has fired. */
static TimeoutId hold_timeout = MAX_TIMEOUTS;
static volatile sig_atomic_t hold_expired = false;

/* The locks in their order; each relation once, under the first mode it was asked for. */
typedef struct LockPlan
{
	List	   *locks;			/* of Lock * */
	HTAB	   *relids;
} LockPlan;

static void
add_lock(LockPlan *plan, Oid relid, LOCKMODE mode)
{
	Lock	   *lock;
	bool		found;

	if (!OidIsValid(relid))
		return;
	(void) hash_search(plan->relids, &relid, HASH_ENTER, &found);
	if (found)
		return;
	lock = palloc(sizeof(Lock));
	lock->relid = relid;
	lock->mode = mode;
	plan->locks = lappend(plan->locks, lock);
}

static int
cmp_levels(const ListCell *a, const ListCell *b)
{
	const Level *x = lfirst(a);
	const Level *y = lfirst(b);

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->relid < y->relid ? -1 : x->relid > y->relid;
}

/* The partitioned tables from the target down to the parents of the moves, upper ones first. */
static List *
levels_of(Oid target, List *moves)
{
	List	   *seen = NIL;
	List	   *levels = NIL;
	ListCell   *lc;

	foreach(lc, moves)
	{
		Oid			parent = ((BfMove *) lfirst(lc))->partition->parent;

		for (; !list_member_oid(seen, parent); parent = get_partition_parent(parent, true))
		{
			List	   *above = parent == target ? NIL : get_partition_ancestors(parent);
			Level	   *level = palloc(sizeof(Level));

			seen = lappend_oid(seen, parent);
			level->relid = parent;
			level->depth = list_length(above);
			levels = lappend(levels, level);
			if (parent == target || above == NIL)
				break;
		}
	}
	list_sort(levels, cmp_levels);
	return levels;
}

/* ATTACH reads the default partition beside. */
static void
add_default(LockPlan *plan, Oid parent)
{
	Oid			deflt = get_default_partition_oid(parent);
	ListCell   *lc;

	add_lock(plan, deflt, AccessExclusiveLock);
	if (OidIsValid(deflt) && get_rel_relkind(deflt) == RELKIND_PARTITIONED_TABLE)
		foreach(lc, find_all_inheritors(deflt, NoLock, NULL))
			add_lock(plan, lfirst_oid(lc), AccessExclusiveLock);
}

/*
 * What trades contents beside a table can be got at without it: ALTER INDEX
 * locks the index alone, and autovacuum a TOAST table, whose row in pg_class it
 * changes in place.
 */
static void
add_satellites(LockPlan *plan, Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	List	   *indexes = RelationGetIndexList(rel);
	Oid			toast = rel->rd_rel->reltoastrelid;
	ListCell   *lc;

	table_close(rel, NoLock);
	foreach(lc, indexes)
		add_lock(plan, lfirst_oid(lc), AccessExclusiveLock);
	add_lock(plan, toast, AccessExclusiveLock);
}

static List *
plan_locks(const BfVersion *v, List *moves)
{
	HASHCTL		ctl = {.keysize = sizeof(Oid), .entrysize = sizeof(Oid), .hcxt = CurrentMemoryContext};
	LockPlan	plan = {NIL, hash_create("backfill locks", 1024, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT)};
	List	   *above = get_rel_relispartition(v->target) ? get_partition_ancestors(v->target) : NIL;
	ListCell   *lc;

	/* ATTACH reads the bounds above the target; asked for now, it cannot wait later. */
	for (int i = list_length(above) - 1; i >= 0; i--)
		add_lock(&plan, list_nth_oid(above, i), AccessShareLock);
	/* NB: the target even when all leaves hang lower: who has read another part of it must end first. */
	add_lock(&plan, v->target, moves == NIL ? AccessShareLock : AccessExclusiveLock);
	foreach(lc, levels_of(v->target, moves))
		add_lock(&plan, ((Level *) lfirst(lc))->relid, AccessExclusiveLock);
	foreach(lc, levels_of(v->target, bf_switch_moves(moves, BF_SWAP_ATTACH)))
		add_default(&plan, ((Level *) lfirst(lc))->relid);
	foreach(lc, moves)
		add_lock(&plan, ((BfMove *) lfirst(lc))->out, AccessExclusiveLock);
	foreach(lc, moves)
		add_lock(&plan, ((BfMove *) lfirst(lc))->in, AccessExclusiveLock);
	foreach(lc, bf_switch_moves(moves, BF_SWAP_STORAGE))
	{
		add_satellites(&plan, ((BfMove *) lfirst(lc))->out);
		add_satellites(&plan, ((BfMove *) lfirst(lc))->in);
	}
	hash_destroy(plan.relids);
	return plan.locks;
}

/* The lock table is shared: running it full hurts other sessions too, so say so before. */
static void
check_room(const BfLockWork *w, List *locks)
{
	List	   *relids = NIL;
	int64		have = (int64) max_locks_per_xact * (MaxBackends + max_prepared_xacts);
	int64		need;
	ListCell   *lc;
	BfRows	   *r;

	foreach(lc, locks)
		relids = lappend_oid(relids, ((Lock *) lfirst(lc))->relid);
	/* Indexes of the tables that are attached. */
	r = bf_sql("SELECT pg_catalog.count(*) FROM pg_catalog.pg_index WHERE indrelid = ANY ($1) AND indexrelid <> ALL ($1)",
			   BF_ARGS(OIDARRAYOID), BF_VALS(bf_oid_array(relids)), NULL);
	need = list_length(locks) + DatumGetInt64(BF_VALUE(r, 0, 0));
	if (need > have)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("the lock table is too small to %s version \"%s\"", w->action, w->version->name),
				 errdetail("About " INT64_FORMAT " locks are needed at once; there is room for " INT64_FORMAT
						   " in all sessions together.", need, have),
				 errhint("Raise max_locks_per_transaction, or use versions of a smaller range.")));
}

static pg_attribute_noreturn() void
target_in_use(const BfVersion *v, const char *action)
{
	BfRows	   *r = bf_catalog("SELECT l.pid FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = $1"
							   " AND l.classid = $2 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())",
							   BF_ARGS(INT4OID, OIDOID),
							   BF_VALS(Int32GetDatum(TARGET_LOCK_CLASS), ObjectIdGetDatum(v->target)), NULL);

	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not get the locks to %s version \"%s\"", action, v->name),
			 r->nrows > 0 && !BF_ISNULL(r, 0, 0) ?
			 errdetail("Process %d is publishing to %s, or withdrawing from it.", DatumGetInt32(BF_VALUE(r, 0, 0)),
					   bf_relname(v->target)) :
			 errdetail("Another transaction has published to %s, or withdrawn from it, and is not over.",
					   bf_relname(v->target)),
			 errhint("Call again when that transaction has ended, or raise backfill.publish_wait.")));
}

void
bf_locks_serialize(const BfVersion *v, const char *action)
{
	TimestampTz started = GetCurrentTimestamp();
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, v->target, 0, TARGET_LOCK_CLASS);
	/* Not a wait in the queue: who waits there with locks of its own transaction could be part of a deadlock. */
	while (LockAcquire(&tag, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
	{
		if (TimestampDifferenceExceeds(started, GetCurrentTimestamp(), bf_publish_wait_ms))
			target_in_use(v, action);
		bf_pause(bf_lock_attempt_ms);
	}
}

static void
set_timeout_setting(const char *name, int ms, GucContext context)
{
	char		value[16];

	snprintf(value, sizeof(value), "%d", Max(1, ms));
	(void) set_config_option(name, value, context, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

/* What is left of an attempt becomes the timeout of its next wait. */
static void
limit_wait(TimestampTz started)
{
	int			left = bf_lock_attempt_ms - (int) TimestampDifferenceMilliseconds(started, GetCurrentTimestamp());

	if (left <= 0)
		ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE), errmsg("lock attempt took too long")));
	set_timeout_setting("lock_timeout", left, PGC_USERSET);
	set_timeout_setting("deadlock_timeout", left / 2, PGC_SUSET);
}

static void
take_lock(Oid relid, LOCKMODE mode, TimestampTz started)
{
	CHECK_FOR_INTERRUPTS();
	if (ConditionalLockRelationOid(relid, mode))
		return;
	limit_wait(started);
	LockRelationOid(relid, mode);
}

/*
 * Keeps writers out of tables that do not take part in the switch.  With all
 * their partitions: a writer of one locks nothing above it, and none is attached
 * once what is above is locked.
 */
static void
hold_still(const BfLockWork *w, TimestampTz started)
{
	ListCell   *lc,
			   *child;

	foreach(lc, w->still)
	{
		take_lock(lfirst_oid(lc), ShareLock, started);
		if (get_rel_relkind(lfirst_oid(lc)) == RELKIND_PARTITIONED_TABLE)
			foreach(child, find_all_inheritors(lfirst_oid(lc), NoLock, NULL))
				take_lock(lfirst_oid(child), ShareLock, started);
	}
	limit_wait(started);
	w->confirm(w->arg);
}

static void
take_locks(const BfLockWork *w, List *locks, BfLockTimes *times)
{
	TimestampTz started = GetCurrentTimestamp();
	ListCell   *lc;

	times->first = 0;
	if (w->still != NIL)
	{
		hold_still(w, started);
		started = GetCurrentTimestamp();
	}
	foreach(lc, locks)
	{
		Lock	   *lock = lfirst(lc);

		take_lock(lock->relid, lock->mode, started);
		if (times->first == 0 && lock->mode == AccessExclusiveLock)
			times->first = GetCurrentTimestamp();
	}
	/* Rows that another version's build or create is changing: it wants the tables next, so waiting longer is a deadlock. */
	limit_wait(started);
	bf_partition_lock_rows(w->moves);
	times->granted = GetCurrentTimestamp();
	if (times->first == 0)
		times->first = times->granted;
}

/* One attempt, as an argument of bf_subxact. */
typedef struct Attempt
{
	const BfLockWork *work;
	List	   *locks;
	BfLockTimes *times;
} Attempt;

static void
run_attempt(void *arg)
{
	Attempt    *a = arg;
	int			nestlevel = NewGUCNestLevel();

	take_locks(a->work, a->locks, a->times);
	AtEOXact_GUC(false, nestlevel);
}

/* True when all locks are there; false leaves none behind. */
static bool
attempt(const BfLockWork *w, List *locks, BfLockTimes *times)
{
	Attempt		a = {w, locks, times};
	ErrorData  *error;

	times->attempts++;
	error = bf_subxact(run_attempt, &a);
	if (error == NULL)
		return true;
	if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE && error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
		ReThrowError(error);
	FreeErrorData(error);
	return false;
}

/* Who holds what we want, one line each; no query texts, which may not be the caller's to read. */
static char *
blockers(const BfLockWork *w, List *locks)
{
	List	   *relids = NIL;
	ListCell   *lc;
	BfRows	   *r;

	foreach(lc, locks)
		if (((Lock *) lfirst(lc))->mode == AccessExclusiveLock)
			relids = lappend_oid(relids, ((Lock *) lfirst(lc))->relid);
	r = bf_catalog("SELECT string_agg(line, E'\\n' ORDER BY line) FROM (SELECT DISTINCT ON (l.pid, l.virtualtransaction)"
				   " CASE WHEN l.pid IS NULL THEN format('Prepared transaction %L of role %s holds %s on %s; it was prepared %s ago.',"
				   "  x.gid, x.owner, l.mode, l.relation::regclass, justify_interval(date_trunc('second', clock_timestamp() - x.prepared)))"
				   " ELSE format('Process %s (%s, %s) holds %s on %s; its transaction is open for %s.', l.pid,"
				   "  coalesce('role ' || a.usename, a.backend_type), coalesce(a.state, 'state unknown'), l.mode, l.relation::regclass,"
				   "  justify_interval(date_trunc('second', clock_timestamp() - coalesce(a.xact_start, a.backend_start)))) END AS line"
				   " FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid"
				   " LEFT JOIN pg_prepared_xacts x ON l.pid IS NULL AND EXISTS (SELECT FROM pg_locks t WHERE t.locktype = 'transactionid'"
				   "  AND t.granted AND t.pid IS NULL AND t.virtualtransaction = l.virtualtransaction AND t.transactionid = x.transaction)"
				   " WHERE l.locktype = 'relation' AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid() AND (l.relation = ANY ($1)"
				   "  OR l.relation IN (SELECT s FROM unnest($2) s UNION SELECT t.relid FROM unnest($2) s, pg_partition_tree(s) t)"
				   "  AND l.mode NOT IN ('AccessShareLock', 'RowShareLock', 'ShareLock'))"
				   " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
				   " ORDER BY l.pid, l.virtualtransaction, l.relation LIMIT 10) s",
				   BF_ARGS(OIDARRAYOID, OIDARRAYOID), BF_VALS(bf_oid_array(relids), bf_oid_array(w->still)), NULL);
	return bf_rows_text(r, 0, 0);
}

static pg_attribute_noreturn() void
give_up(const BfLockWork *w, List *locks, const BfLockTimes *times)
{
	char	   *who = blockers(w, locks);

	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not get the locks to %s version \"%s\"", w->action, w->version->name),
			 errdetail("Tried %d times in %ld ms; nothing was changed.\n%s", times->attempts,
					   TimestampDifferenceMilliseconds(times->asked, GetCurrentTimestamp()),
					   who ? who : "None of the sessions that were in the way is there any more."),
			 errhint("Call again when these transactions have ended, or raise backfill.publish_wait.")));
}

static void
acquire(const BfLockWork *w, BfLockTimes *times)
{
	List	   *locks = plan_locks(w->version, w->moves);

	check_room(w, locks);
	times->attempts = 0;
	times->asked = GetCurrentTimestamp();
	while (!attempt(w, locks, times))
	{
		int64		left = bf_publish_wait_ms - TimestampDifferenceMilliseconds(times->asked, GetCurrentTimestamp());
		int64		pause = bf_lock_attempt_ms * 2 + pg_prng_uint64_range(&pg_global_prng_state, 0, bf_lock_attempt_ms * 4);

		if (left <= 0)
			give_up(w, locks, times);
		/* The queue that formed behind us must drain before we stand in its way again. */
		bf_pause(Min(left, pause));
	}
}

static void
on_hold_timeout(void)
{
	hold_expired = true;
	InterruptPending = true;
	QueryCancelPending = true;
	SetLatch(MyLatch);
}

static pg_attribute_noreturn() void
held_too_long(const BfLockWork *w)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("locks to %s version \"%s\" were held for too long", w->action, w->version->name),
			 errdetail("The limit is %d ms (backfill.max_xlock_time); everything was undone.", bf_max_xlock_ms),
			 errhint("Raise backfill.max_xlock_time, or use versions of a smaller range.")));
}

static void
run_limited(const BfLockWork *w, BfLockTimes *times)
{
	MemoryContext context = CurrentMemoryContext;

	if (hold_timeout == MAX_TIMEOUTS)
		hold_timeout = RegisterTimeout(USER_TIMEOUT, on_hold_timeout);
	hold_expired = false;
	enable_timeout_at(hold_timeout, TimestampTzPlusMilliseconds(times->first, bf_max_xlock_ms));
	PG_TRY();
	{
		w->work(w->arg);
	}
	PG_CATCH();
	{
		disable_timeout(hold_timeout, false);
		/* Whatever the error was: nothing that comes after it is to be cancelled. */
		if (hold_expired)
			QueryCancelPending = false;
		if (hold_expired && geterrcode() == ERRCODE_QUERY_CANCELED)
		{
			MemoryContextSwitchTo(context);
			FlushErrorState();
			held_too_long(w);
		}
		PG_RE_THROW();
	}
	PG_END_TRY();
	disable_timeout(hold_timeout, false);
	if (hold_expired)
	{
		/* It fired after the last place that looks for it. */
		QueryCancelPending = false;
		held_too_long(w);
	}
}

/* In the caller's transaction block the locks last as long as the block does. */
static void
warn_in_block(const BfLockWork *w)
{
	if (!IsTransactionBlock())
		return;
	if (IdleInTransactionSessionTimeout == 0 || IdleInTransactionSessionTimeout > 10000)
		(void) set_config_option("idle_in_transaction_session_timeout", "10s", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_LOCAL, true, 0, false);
	ereport(WARNING,
			(errmsg("readers of %s wait until this transaction ends", bf_relname(w->version->target)),
			 errdetail("Its locks are held until COMMIT or ROLLBACK. For the rest of the transaction"
					   " idle_in_transaction_session_timeout is 10 s at most."),
			 errhint("COMMIT now.")));
}

void
bf_locks_run(const BfLockWork *w, BfLockTimes *times)
{
	acquire(w, times);
	bf_stop_point("locked");
	run_limited(w, times);
	bf_stop_point("switched");
	times->done = GetCurrentTimestamp();
	if (w->moves != NIL)
		warn_in_block(w);
}
