/*
 * publish.c
 *		backfill_publish: makes a built version the one that readers see.
 *
 * Everything slow comes before the strong locks; everything that must be true
 * at the moment of the switch is asked again under them.  Between the two any
 * session may have committed anything, so nothing read before is believed
 * after, and each question takes a snapshot of its own (hence READ COMMITTED).
 */
#include "publish/publish.h"

#include "build/load.h"
#include "build/pin.h"
#include "common/catalog.h"
#include "define/gate.h"
#include "define/guard.h"
#include "define/partition.h"
#include "define/preflight.h"
#include "define/swap.h"
#include "define/version.h"
#include "fmgr.h"
#include "publish/history.h"
#include "publish/locks.h"
#include "publish/switch.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "verify/evidence.h"
#include "verify/foreign_key.h"
#include "verify/validate.h"

PG_FUNCTION_INFO_V1(backfill_publish);

/* One call of backfill_publish. */
typedef struct PublishCall
{
	BfVersion  *v;
	List	   *partitions;
	List	   *moves;
	BfForeignKeys *foreign_keys;	/* as they were before the locks */
	BfOutcome	outcome;
} PublishCall;

/*
 * What is slow to ask (blockers, definitions, guards, evidence) is asked before
 * the locks; under them only again when some relation sent an invalidation in
 * between, as every change of a definition, a trigger, a bound or a file does, or
 * when a function or a subscription was made or changed.
 */
static bool watching = false;
static bool invalidated = false;

static void
on_invalidation(Datum arg, Oid relid)
{
	invalidated = true;
}

static void
on_catalog_invalidation(Datum arg, int cache, uint32 hash)
{
	invalidated = true;
}

void
bf_publish_watch(void)
{
	if (!watching)
	{
		CacheRegisterRelcacheCallback(on_invalidation, (Datum) 0);
		/* NB: these come to depend on a relation without a change of it. */
		CacheRegisterSyscacheCallback(PROCOID, on_catalog_invalidation, (Datum) 0);
		CacheRegisterSyscacheCallback(SUBSCRIPTIONRELMAP, on_catalog_invalidation, (Datum) 0);
	}
	watching = true;
	invalidated = false;
}

bool
bf_publish_noticed(void)
{
	return invalidated;
}

/* A version that was live once is not built again. */
static int
hint_build_again(const BfVersion *v)
{
	return v->state == BF_BUILT ?
		errhint("Call backfill_build(%s) to build it again.", quote_literal_cstr(v->name)) :
		errhint("Create and build a new version.");
}

/* What a partition of the target would be swapped as: the switch loses what hangs on `out` alone. */
static List *
outgoing(List *moves)
{
	List	   *list = NIL;
	ListCell   *lc;

	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);
		BfPartition *p = memcpy(palloc(sizeof(BfPartition)), m->partition, sizeof(BfPartition));

		p->live = m->out;
		list = lappend(list, p);
	}
	return list;
}

static void
require_unblocked(const BfVersion *v, List *moves)
{
	BfRows	   *r = bf_preflight_findings(v, outgoing(moves));

	/* Blockers come first. */
	if (r->nrows == 0 || strcmp(bf_rows_text(r, 0, 0), "blocker") != 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("partitions of version \"%s\" cannot be swapped: %s", v->name, bf_rows_text(r, 0, 2)),
			 errdetail("The object in the way is %s.", bf_rows_text(r, 0, 1)),
			 BF_ISNULL(r, 0, 3) ? 0 : errhint("%s", bf_rows_text(r, 0, 3))));
}

static pg_attribute_noreturn() void
changed_meanwhile(const BfVersion *v, char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("version \"%s\" changed while this call waited for its locks", v->name),
			 errdetail("%s", detail),
			 errhint("Call again; this call changed nothing.")));
}

void
bf_publish_recheck_rows(const BfVersion *v, List *partitions)
{
	BfVersion  *now = bf_version_get(v->name);
	List	   *rows;
	ListCell   *a,
			   *b;

	if (now == NULL || now->id != v->id || now->state != v->state)
		changed_meanwhile(v, psprintf("The version is %s now, it was %s.", now ? bf_state_name(now->state) : "gone",
									  bf_state_name(v->state)));
	rows = bf_partition_list(v->id);
	if (list_length(rows) != list_length(partitions))
		changed_meanwhile(v, pstrdup("Its partitions are others now."));
	forboth(a, partitions, b, rows)
	{
		BfPartition *before = lfirst(a);
		BfPartition *after = lfirst(b);

		if (before->id != after->id || before->live != after->live || before->staged != after->staged ||
			strcmp(before->state, after->state) != 0)
			changed_meanwhile(v, psprintf("Another call has changed partition \"%s\".", after->name));
	}
}

void
bf_publish_require_in_place(const BfVersion *v, List *moves)
{
	List	   *partitions = NIL;
	Oid		   *leaves;
	ListCell   *lc;

	foreach(lc, moves)
		partitions = lappend(partitions, ((BfMove *) lfirst(lc))->partition);
	leaves = bf_partition_locate(v, partitions);
	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);
		Oid			leaf = leaves[foreach_current_index(lc)];

		if (leaf == m->out)
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("version \"%s\" no longer fits its target", v->name),
				 OidIsValid(leaf) ?
				 errdetail("At the place of partition \"%s\" there is %s now.", m->partition->name, bf_relname(leaf)) :
				 errdetail("Partition \"%s\" is not attached any more.", m->partition->name),
				 errhint("Undo that change of the target, or create and build a new version.")));
	}
}

static void
require_guard(const BfVersion *v, Oid relid)
{
	if (!OidIsValid(relid))
		return;
	if (get_rel_name(relid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a table that version \"%s\" needs was dropped", v->name),
				 hint_build_again(v)));
	if (bf_guard_installed(relid))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the guard triggers of %s are missing or not enabled always", bf_relname(relid)),
			 errdetail("Without them nobody knows whether it was written."),
			 v->state == BF_BUILT ? errhint("Call backfill_build(%s) to build it again.", quote_literal_cstr(v->name)) :
			 v->state == BF_PUBLISHED && get_rel_relispartition(relid) ?
			 errhint("Create another version of this partition, which puts them back, and call again.") :
			 errhint("Create and build a new version.")));
}

void
bf_publish_check(const BfVersion *v, List *moves)
{
	ListCell   *lc;

	require_unblocked(v, moves);
	foreach(lc, moves)
	{
		require_guard(v, ((BfMove *) lfirst(lc))->out);
		require_guard(v, ((BfMove *) lfirst(lc))->in);
	}
}

void
bf_publish_recheck_target(const BfVersion *v, List *moves)
{
	if (!invalidated)
		return;
	bf_publish_require_in_place(v, moves);
	bf_publish_check(v, moves);
	bf_switch_recheck(v, moves);
}

/* ATTACH finds only the differences that it cannot bridge. */
static void
require_definitions(const BfVersion *v, List *moves)
{
	List	   *partitions = NIL;
	ListCell   *lc;

	foreach(lc, moves)
		partitions = lappend(partitions, ((BfMove *) lfirst(lc))->partition);
	partitions = bf_gate_changed_definitions(v, partitions);
	if (partitions == NIL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the definition of partition \"%s\" changed after version \"%s\" was built",
					((BfPartition *) linitial(partitions))->name, v->name),
			 errdetail("Columns, constraints, indexes, statistics, triggers, policies, options or privileges are others now."),
			 hint_build_again(v)));
}

static void
require_frozen(const BfVersion *v, List *moves)
{
	ListCell   *lc;

	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);
		BlockNumber frozen,
					blocks;

		if (bf_load_is_frozen(m->in, &frozen, &blocks))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("staged partition \"%s\" is not all-frozen", m->partition->name),
				 errdetail("%u of %u pages are; older snapshots would not see the rows of the others.", frozen, blocks),
				 v->state == BF_BUILT ? errhint("Call backfill_build(%s) to build it again.", quote_literal_cstr(v->name)) :
				 /* NB: nothing was committed to it, or its marks had said so: row locks, or an aborted write while it was live. */
				 errhint("VACUUM (FREEZE, INDEX_CLEANUP ON) %s, then call again.", bf_relname(m->in))));
	}
}

/* What goes out has not been written since it was read, what goes in has not been written at all. */
static void
require_unwritten(const BfVersion *v, List *partitions)
{
	char	   *late = bf_guard_late_write(v->id);
	List	   *staged = NIL;
	List	   *written,
			   *rewritten;
	ListCell   *lc;

	if (late != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("partition \"%s\" was written since the snapshot of version \"%s\" was taken", late, v->name),
				 errdetail("Publishing would lose these writes."),
				 hint_build_again(v)));
	foreach(lc, partitions)
		staged = lappend_oid(staged, ((BfPartition *) lfirst(lc))->staged);
	written = bf_guard_marked(staged);
	rewritten = bf_partition_rewritten(staged);
	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);
		bool		by_rows = list_member_oid(written, p->staged);

		if (!by_rows && !list_member_oid(rewritten, p->staged))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition \"%s\" of version \"%s\" was %s", p->name, v->name,
						by_rows ? "written while it was live" : "rewritten after it was published"),
				 errdetail("Its evidence says nothing about what it holds now."),
				 errhint("Create and build a new version.")));
	}
}

static void
supersede(List *names)
{
	ListCell   *lc;

	foreach(lc, names)
	{
		BfVersion  *other = bf_version_get(lfirst(lc));

		if (other->state == BF_PUBLISHED && !bf_partition_in_state(other->id, "live"))
			bf_version_advance(other, BF_SUPERSEDED, "publish");
	}
}

/* What will have been done; asked before the switch, which makes the catalog say what is live afterwards. */
static void
describe(PublishCall *pub)
{
	BfOutcome  *o = &pub->outcome;
	List	   *out = NIL;
	ListCell   *lc;

	foreach(lc, pub->moves)
	{
		BfMove	   *m = lfirst(lc);

		if (OidIsValid(m->out))
		{
			out = lappend_oid(out, m->out);
			o->swapped++;
		}
		else
			o->created++;
	}
	foreach(lc, pub->partitions)
	{
		BfPartition *p = lfirst(lc);

		if (strcmp(p->state, "unchanged") != 0)
			continue;
		out = lappend_oid(out, p->live);
		o->unchanged++;
	}
	o->replaces = bf_partition_owners(out);
}

static void
record(PublishCall *pub)
{
	supersede(bf_partition_switched(pub->v, pub->moves, true));
	bf_version_advance(pub->v, BF_PUBLISHED, "publish");
	bf_history_record(&pub->outcome);
}

/* What it warns of has been said before the locks. */
static void
require_green_quietly(PublishCall *pub)
{
	int			nestlevel = NewGUCNestLevel();

	bf_set_local("client_min_messages", "error");
	(void) bf_evidence_require_green(pub->v, pub->partitions);
	AtEOXact_GUC(false, nestlevel);
}

static void
publish_locked(void *arg)
{
	PublishCall *pub = arg;

	bf_publish_recheck_rows(pub->v, pub->partitions);
	bf_publish_recheck_target(pub->v, pub->moves);
	if (invalidated)
		require_definitions(pub->v, pub->moves);
	require_unwritten(pub->v, pub->partitions);
	require_frozen(pub->v, pub->moves);
	if (invalidated)
	{
		require_green_quietly(pub);
		bf_foreign_key_recheck(pub->v, pub->moves, pub->foreign_keys);
	}
	describe(pub);
	bf_switch_apply(pub->v, pub->moves, NIL);
	record(pub);
}

/*
 * A version that was live before may find something else at its places than
 * what it replaced then.  It is measured against that first; returns whether
 * it has to be.  `previous` gets what each partition replaced before.
 */
static bool
follow_target(const BfVersion *v, List *partitions, Oid *previous)
{
	Oid		   *leaves = bf_partition_locate(v, partitions);
	bool		moved = false;
	ListCell   *lc;

	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);
		int			i = foreach_current_index(lc);

		previous[i] = p->live;
		/* NB: one that is missing, or was to be created and is there, is not what was built: the re-check says so. */
		if (v->state == BF_BUILT || leaves[i] == p->live || !OidIsValid(leaves[i]) || !OidIsValid(p->live))
			continue;
		bf_partition_replace(p, leaves[i]);
		moved = true;
	}
	return moved;
}

static List *
plan_moves(List *partitions, const Oid *previous)
{
	List	   *moves = NIL;
	ListCell   *lc;

	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);
		BfMove	   *m;

		if (strcmp(p->state, "staged") != 0 && strcmp(p->state, "retired") != 0)
			continue;
		m = palloc0(sizeof(BfMove));
		m->partition = p;
		m->out = p->live;
		m->in = p->staged;
		m->previous = previous[foreach_current_index(lc)];
		moves = lappend(moves, m);
	}
	return moves;
}

/* The way of each partition is chosen anew: tables and event triggers may have changed since the build. */
static void
choose_ways(PublishCall *pub)
{
	List	   *partitions = NIL;
	List	   *exchanged = NIL;
	ListCell   *lc;

	foreach(lc, pub->moves)
		partitions = lappend(partitions, ((BfMove *) lfirst(lc))->partition);
	bf_swap_choose(pub->v, partitions);
	bf_swap_record(partitions);
	foreach(lc, bf_switch_moves(pub->moves, BF_SWAP_STORAGE))
	{
		BfMove	   *m = lfirst(lc);

		exchanged = lappend_oid(lappend_oid(exchanged, m->out), m->in);
	}
	if (exchanged != NIL)
		bf_guard_thin_marks(pub->v->id, exchanged);
}

static void
require_publishable(BfVersion *v, bool again)
{
	if (v->state == BF_ROLLED_BACK || v->state == BF_SUPERSEDED)
	{
		if (!again)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("version \"%s\" was live before and is %s", v->name, bf_state_name(v->state)),
					 errdetail("A script that is run again must not bring back what was withdrawn."),
					 errhint("Call backfill_publish(%s, again => true) if you mean it.", quote_literal_cstr(v->name))));
	}
	else if (v->state != BF_BUILT)
		bf_version_advance(v, BF_PUBLISHED, "publish");
}

static void
tell_no_baseline(const BfVersion *v, int partitions)
{
	if (partitions > 0)
		ereport(NOTICE,
				(errmsg_plural("%d partition of version \"%s\" had nothing to be compared with",
							   "%d partitions of version \"%s\" had nothing to be compared with",
							   partitions, partitions, v->name),
				 errdetail("Nothing is live there, or what is live is empty.")));
}

static void
prepare(PublishCall *pub)
{
	BfVersion  *v = pub->v;
	Oid		   *previous;
	bool		moved;

	bf_locks_serialize(v, "publish");
	bf_pin_refuse_foreign(v);
	/* The name's lock keeps the version's own rows as they are from here on. */
	bf_publish_watch();
	pub->partitions = bf_partition_list(v->id);
	previous = palloc0(sizeof(Oid) * Max(1, list_length(pub->partitions)));
	moved = follow_target(v, pub->partitions, previous);
	require_unwritten(v, pub->partitions);
	if (moved)
	{
		bf_validate(v, pub->partitions);
		pub->partitions = bf_partition_list(v->id);
	}
	tell_no_baseline(v, bf_evidence_require_green(v, pub->partitions));
	pub->moves = plan_moves(pub->partitions, previous);
	choose_ways(pub);
	bf_publish_check(v, pub->moves);
	bf_publish_require_in_place(v, pub->moves);
	require_definitions(v, pub->moves);
	/* Now as well, so that under the locks the files are open. */
	require_frozen(v, pub->moves);
	bf_switch_prepare(v, pub->moves);
	pub->foreign_keys = bf_foreign_key_check(v, pub->moves, false);
}

static void
confirm(void *arg)
{
	bf_foreign_key_confirm(((PublishCall *) arg)->v, ((PublishCall *) arg)->foreign_keys);
}

static void
error_context(void *arg)
{
	errcontext("publishing version \"%s\"", ((PublishCall *) arg)->v->name);
}

static void
publish(PublishCall *pub)
{
	ErrorContextCallback callback = {error_context_stack, error_context, pub};
	BfLockWork	work = {.version = pub->v, .action = "publish", .confirm = confirm, .work = publish_locked, .arg = pub};

	error_context_stack = &callback;
	prepare(pub);
	work.moves = pub->moves;
	work.still = pub->foreign_keys->others;
	pub->outcome.action = "published";
	bf_locks_run(&work, &pub->outcome.times);
	error_context_stack = callback.previous;
}

Datum
backfill_publish(PG_FUNCTION_ARGS)
{
	PublishCall pub = {0};

	bf_version_refuse_standby();
	bf_version_require_read_committed("publish");
	pub.v = bf_version_lock(bf_arg_text(fcinfo, 0, "version"));
	pub.outcome.version = pub.v;
	if (pub.v->state == BF_PUBLISHED)
		pub.outcome.action = "already_live";
	else
	{
		require_publishable(pub.v, !PG_ARGISNULL(1) && PG_GETARG_BOOL(1));
		publish(&pub);
	}
	bf_history_return(fcinfo, list_make1(&pub.outcome));
	return (Datum) 0;
}
