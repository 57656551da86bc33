/*
 * counters.c
 *		Cumulative statistics of tables that traded their contents.
 *
 * Live and dead rows, and what changed since the last ANALYZE and VACUUM, are
 * about the rows, and autovacuum acts on them; scans, and when the table was
 * vacuumed last, are about the name.  These counters know no transactions, so
 * they are exchanged when it is about to commit.  What other sessions have not
 * reported by then is counted under the old name; they report every second.
 */
#include "publish/counters.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/pgstat_internal.h"

typedef struct Exchange
{
	Oid			a;
	Oid			b;
	SubTransactionId subid;		/* forgotten when this one is rolled back */
} Exchange;

/* Of this transaction, in its context. */
static List *pending = NIL;

static PgStat_EntryRef *
shared_entry(Oid relid)
{
	return pgstat_get_entry_ref(PGSTAT_KIND_RELATION, MyDatabaseId, relid, true, NULL);
}

static void
exchange_shared(Oid a, Oid b)
{
	/* In one order, as locks are. */
	PgStat_EntryRef *x = shared_entry(Min(a, b));
	PgStat_EntryRef *y = shared_entry(Max(a, b));
	PgStat_StatTabEntry *s = &((PgStatShared_Relation *) x->shared_stats)->stats;
	PgStat_StatTabEntry *t = &((PgStatShared_Relation *) y->shared_stats)->stats;
	PgStat_StatTabEntry old;

	(void) pgstat_lock_entry(x, false);
	(void) pgstat_lock_entry(y, false);
	old = *s;
	s->BF_LIVE_TUPLES = t->BF_LIVE_TUPLES;
	s->BF_DEAD_TUPLES = t->BF_DEAD_TUPLES;
	s->BF_MOD_SINCE_ANALYZE = t->BF_MOD_SINCE_ANALYZE;
	s->BF_INS_SINCE_VACUUM = t->BF_INS_SINCE_VACUUM;
	t->BF_LIVE_TUPLES = old.BF_LIVE_TUPLES;
	t->BF_DEAD_TUPLES = old.BF_DEAD_TUPLES;
	t->BF_MOD_SINCE_ANALYZE = old.BF_MOD_SINCE_ANALYZE;
	t->BF_INS_SINCE_VACUUM = old.BF_INS_SINCE_VACUUM;
	pgstat_unlock_entry(y);
	pgstat_unlock_entry(x);
}

static PgStat_TableStatus *
own_entry(Oid relid)
{
	PgStat_EntryRef *entry = pgstat_fetch_pending_entry(PGSTAT_KIND_RELATION, MyDatabaseId, relid);

	return entry ? entry->pending : NULL;
}

static PgStat_TableStatus *
make_own_entry(Oid relid)
{
	return pgstat_prep_pending_entry(PGSTAT_KIND_RELATION, MyDatabaseId, relid, NULL)->pending;
}

/* What this session has not reported, such as the rows of a table that it has just built. */
static void
exchange_own(Oid a, Oid b)
{
	PgStat_TableStatus *x = own_entry(a);
	PgStat_TableStatus *y = own_entry(b);
	PgStat_TableCounts old;
	PgStat_TableXactStatus *trans;

	if (x == NULL && y == NULL)
		return;
	if (x == NULL)
		x = make_own_entry(a);
	if (y == NULL)
		y = make_own_entry(b);
	old = x->BF_COUNTS;
	x->BF_COUNTS.BF_DELTA_LIVE_TUPLES = y->BF_COUNTS.BF_DELTA_LIVE_TUPLES;
	x->BF_COUNTS.BF_DELTA_DEAD_TUPLES = y->BF_COUNTS.BF_DELTA_DEAD_TUPLES;
	x->BF_COUNTS.BF_CHANGED_TUPLES = y->BF_COUNTS.BF_CHANGED_TUPLES;
	y->BF_COUNTS.BF_DELTA_LIVE_TUPLES = old.BF_DELTA_LIVE_TUPLES;
	y->BF_COUNTS.BF_DELTA_DEAD_TUPLES = old.BF_DELTA_DEAD_TUPLES;
	y->BF_COUNTS.BF_CHANGED_TUPLES = old.BF_CHANGED_TUPLES;
	/* Of this transaction itself: added to the others when it has committed. */
	trans = x->trans;
	x->trans = y->trans;
	y->trans = trans;
	for (trans = x->trans; trans != NULL; trans = trans->upper)
		trans->parent = x;
	for (trans = y->trans; trans != NULL; trans = trans->upper)
		trans->parent = y;
}

static void
at_xact_event(XactEvent event, void *arg)
{
	ListCell   *lc;

	if (event == XACT_EVENT_PRE_COMMIT)
		foreach(lc, pending)
		{
			Exchange   *e = lfirst(lc);

			exchange_shared(e->a, e->b);
			exchange_own(e->a, e->b);
		}
	pending = NIL;
}

static void
at_subxact_event(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *arg)
{
	ListCell   *lc;

	if (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB)
		return;
	foreach(lc, pending)
	{
		Exchange   *e = lfirst(lc);

		if (e->subid != mine)
			continue;
		if (event == SUBXACT_EVENT_COMMIT_SUB)
			e->subid = parent;
		else
			pending = foreach_delete_current(pending, lc);
	}
}

void
bf_counters_exchange(Oid a, Oid b)
{
	static bool registered = false;
	MemoryContext old;
	Exchange   *e;

	if (!pgstat_track_counts)
		return;
	if (!registered)
	{
		RegisterXactCallback(at_xact_event, NULL);
		RegisterSubXactCallback(at_subxact_event, NULL);
		registered = true;
	}
	old = MemoryContextSwitchTo(TopTransactionContext);
	e = palloc(sizeof(Exchange));
	e->a = a;
	e->b = b;
	e->subid = GetCurrentSubTransactionId();
	pending = lappend(pending, e);
	MemoryContextSwitchTo(old);
}
