/*
 * rollback.c
 *		backfill_rollback: withdraws a published version; what it replaced is live again.
 *
 * Several versions can be withdrawn in one call, the latest first, under one
 * set of locks.  A version can only go when nothing newer lies on top of it.
 */
#include "backfill.h"

#include "build/pin.h"
#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/guard.h"
#include "define/partition.h"
#include "define/swap.h"
#include "define/version.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "publish/history.h"
#include "publish/locks.h"
#include "publish/publish.h"
#include "publish/switch.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "verify/foreign_key.h"

PG_FUNCTION_INFO_V1(backfill_rollback);

/* What was there before any version. */
#define ORIGINAL "original"

/* Withdrawing one version. */
typedef struct Step
{
	BfVersion  *v;
	List	   *partitions;
	List	   *moves;
	BfOutcome	outcome;
} Step;

/* One call of backfill_rollback. */
typedef struct Rollback
{
	BfVersion  *first;			/* named by the caller, or live on the target */
	const char *to;				/* must be live afterwards; NULL: just withdraw `first` */
	bool		whole_target;	/* target => alone: other versions on it count too */
	bool		discard;		/* on_writes => 'discard' */
	List	   *steps;			/* of Step *, the latest publication first */
	BfForeignKeys *foreign_keys;	/* as they were before the locks */
	BfLockTimes times;			/* one set of locks for all steps */
} Rollback;

static pg_attribute_noreturn() void
bad_argument(const char *msg, const char *hint)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s", msg), errhint("%s", hint)));
}

static void
require_owner(Oid target)
{
	HeapTuple	tup = SearchSysCache1(RELOID, ObjectIdGetDatum(target));
	Oid			owner;

	if (!HeapTupleIsValid(tup))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("target with OID %u does not exist", target)));
	owner = ((Form_pg_class) GETSTRUCT(tup))->relowner;
	ReleaseSysCache(tup);
	if (!has_privs_of_role(GetUserId(), owner))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(target));
}

/* The version published last on the target; NULL when there is none and none is wanted. */
static BfVersion *
live_on(const Rollback *rb, Oid target)
{
	List	   *published;

	require_owner(target);
	published = bf_history_published(target);
	if (published == NIL)
	{
		if (rb->to && strcmp(rb->to, ORIGINAL) == 0)
			return NULL;
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no version is live on %s", bf_relname(target)),
				 errhint("See SELECT * FROM backfill.status.")));
	}
	return bf_version_lock(((BfVersion *) linitial(published))->name);
}

static void
read_arguments(FunctionCallInfo fcinfo, Rollback *rb)
{
	Oid			target = PG_ARGISNULL(1) ? InvalidOid : PG_GETARG_OID(1);
	char	   *on_writes = PG_ARGISNULL(3) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(3));

	if (on_writes == NULL || (strcmp(on_writes, "refuse") != 0 && strcmp(on_writes, "discard") != 0))
		bad_argument(psprintf("invalid on_writes: %s", on_writes ? quote_literal_cstr(on_writes) : "NULL"),
					 "Use 'refuse' or 'discard'.");
	if (PG_ARGISNULL(0) && PG_ARGISNULL(1))
		bad_argument("neither a version nor a target was given",
					 "Name the version to withdraw, or the target whose live version is to be withdrawn.");
	rb->discard = strcmp(on_writes, "discard") == 0;
	rb->to = PG_ARGISNULL(2) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(2));
	rb->whole_target = PG_ARGISNULL(0);
	rb->first = PG_ARGISNULL(0) ? live_on(rb, target) : bf_version_lock(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	if (OidIsValid(target) && rb->first && rb->first->target != target)
		bad_argument(psprintf("version \"%s\" is not about %s", rb->first->name, bf_relname(target)),
					 psprintf("Its target is %s.", bf_relname(rb->first->target)));
	if (rb->to && strcmp(rb->to, ORIGINAL) != 0)
		(void) bf_version_require(rb->to);
}

/* The member of a list of versions that was published last. */
static BfVersion *
latest(List *versions)
{
	BfVersion  *found = NULL;
	int64		found_at = -1;
	ListCell   *lc;

	foreach(lc, versions)
	{
		int64		at = bf_history_last(lfirst(lc));

		if (at > found_at)
		{
			found = lfirst(lc);
			found_at = at;
		}
	}
	return found;
}

static bool
has_version(List *versions, const char *name)
{
	ListCell   *lc;

	foreach(lc, versions)
		if (strcmp(((BfVersion *) lfirst(lc))->name, name) == 0)
			return true;
	return false;
}

/*
 * The versions to withdraw, the latest first: back in time through those that
 * lie below the first one (on the whole target: through all), until `to` would
 * be next.
 */
static List *
choose_versions(const Rollback *rb)
{
	List	   *open = rb->whole_target ? bf_history_published(rb->first->target) : list_make1(rb->first);
	List	   *chosen = NIL;
	BfVersion  *v;

	if (rb->to == NULL)
		return list_make1(rb->first);
	while ((v = latest(open)) != NULL && strcmp(v->name, rb->to) != 0)
	{
		ListCell   *lc;

		CHECK_FOR_INTERRUPTS();
		open = list_delete_ptr(open, v);
		chosen = lappend(chosen, v == rb->first ? v : bf_version_lock(v->name));
		foreach(lc, bf_partition_predecessors(v))
			if (!has_version(open, lfirst(lc)) && !has_version(chosen, lfirst(lc)))
				open = lappend(open, bf_version_require(lfirst(lc)));
	}
	if (v == NULL && strcmp(rb->to, ORIGINAL) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("version \"%s\" would not be live after withdrawing \"%s\"", rb->to, rb->first->name),
				 errdetail("It is not one of the versions that were replaced on the way."),
				 errhint("See SELECT * FROM backfill.history, or use \"to\" => 'original'.")));
	return chosen;
}

static List *
plan_moves(List *partitions)
{
	List	   *moves = NIL;
	ListCell   *lc;

	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);
		BfMove	   *m;

		/* NB: retired ones too: a version above this one, withdrawn just before, has given them back. */
		if (strcmp(p->state, "live") != 0 && strcmp(p->state, "retired") != 0)
			continue;
		m = palloc0(sizeof(BfMove));
		m->partition = p;
		m->out = p->staged;
		m->in = p->live;
		moves = lappend(moves, m);
	}
	return moves;
}

static void
require_top(const Rollback *rb, const BfVersion *v)
{
	List	   *above = NIL;
	char	   *partitions;
	char	   *newer;
	ListCell   *lc;

	foreach(lc, rb->steps)
		above = lappend(above, ((Step *) lfirst(lc))->v);
	newer = bf_partition_newer(v, above, &partitions);
	if (newer == NULL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot withdraw version \"%s\": withdraw \"%s\" first", v->name, newer),
			 errdetail("Version \"%s\" is newer and live in %s.", newer, partitions),
			 errhint("Call backfill_rollback(%s), or backfill_rollback(%s, \"to\" => ...) to withdraw several.",
					 quote_literal_cstr(newer), quote_literal_cstr(newer))));
}

/* What the version replaced must still be there, and what it put in its place. */
static void
require_tables(const Step *step)
{
	ListCell   *lc;

	foreach(lc, step->moves)
	{
		BfMove	   *m = lfirst(lc);

		if (OidIsValid(m->in) && get_rel_name(m->in) == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot withdraw version \"%s\": what it replaced is gone", step->v->name),
					 errdetail("The table that partition \"%s\" replaced was dropped.", m->partition->name),
					 errhint("Publish another version over it.")));
		if (OidIsValid(m->out) && get_rel_name(m->out) == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot withdraw version \"%s\": partition \"%s\" is gone", step->v->name, m->partition->name),
					 errdetail("It was dropped after the version was published."),
					 errhint("Publish another version over the partitions that are left.")));
	}
}

/* ATTACH would find this out under the locks, in words of its own. */
static void
require_same_columns(const Step *step)
{
	ListCell   *lc;

	foreach(lc, step->moves)
	{
		BfMove	   *m = lfirst(lc);
		BfRows	   *r = bf_catalog("SELECT string_agg(DISTINCT quote_ident(a.attname), ', ') FROM pg_attribute a WHERE a.attrelid IN ($1, $2)"
								   " AND a.attnum > 0 AND NOT a.attisdropped AND NOT EXISTS (SELECT FROM pg_attribute b"
								   "  WHERE b.attrelid = CASE a.attrelid WHEN $1 THEN $2 ELSE $1 END AND b.attnum > 0 AND NOT b.attisdropped"
								   "  AND b.attname = a.attname AND b.atttypid = a.atttypid AND b.atttypmod = a.atttypmod)",
								   BF_ARGS(OIDOID, OIDOID),
								   BF_VALS(ObjectIdGetDatum(m->partition->parent), ObjectIdGetDatum(m->in)), NULL);

		if (OidIsValid(m->in) && !BF_ISNULL(r, 0, 0))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot withdraw version \"%s\": the columns of its target changed", step->v->name),
					 errdetail("What partition \"%s\" replaced differs in: %s.", m->partition->name, bf_rows_text(r, 0, 0)),
					 errhint("Undo that change, or publish another version over it.")));
	}
}

/* Names of the partitions that go out and are in `relids`, as text for people; NULL: none.  `all` gets them too. */
static char *
partitions_among(const Step *step, List *relids, List **all)
{
	StringInfoData s;
	ListCell   *lc;

	initStringInfo(&s);
	foreach(lc, step->moves)
	{
		BfMove	   *m = lfirst(lc);

		if (!list_member_oid(relids, m->out))
			continue;
		*all = lappend(*all, m->partition->name);
		appendStringInfo(&s, "%s%s", s.len > 0 ? ", " : "", quote_identifier(m->partition->name));
	}
	return s.len > 0 ? s.data : NULL;
}

static void
check_writes(const Rollback *rb, Step *step)
{
	/* NB: of what was published in another database nobody knows, so all of it counts as written. */
	bool		foreign = bf_pin_is_foreign(step->v);
	List	   *names = NIL;
	List	   *out = NIL;
	char	   *written,
			   *rewritten;
	ListCell   *lc;

	foreach(lc, step->moves)
		out = lappend_oid(out, ((BfMove *) lfirst(lc))->out);
	written = partitions_among(step, foreign ? out : bf_guard_marked(out), &names);
	/* As ALTER TABLE ... USING does without firing a trigger. */
	rewritten = written ? NULL : partitions_among(step, bf_partition_rewritten(out), &names);
	if (names == NIL)
		return;
	if (!rb->discard)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("version \"%s\" was %s since it was published", step->v->name, written ? "written" : "rewritten"),
				 written ? errdetail("Withdrawing it would lose what was written to %s.", written) :
				 errdetail("Withdrawing it would lose what the rewrite changed in %s, if it was not VACUUM FULL or CLUSTER.",
						   rewritten),
				 errhint("Call backfill_rollback(%s, on_writes => 'discard') if these writes may be lost.",
						 quote_literal_cstr(step->v->name))));
	step->outcome.overrides =
		bf_rows_text(bf_catalog("SELECT jsonb_build_object('on_writes', 'discard', 'partitions', $1)::text",
								BF_ARGS(TEXTARRAYOID), BF_VALS(bf_text_array(names)), NULL), 0, 0);
}

/*
 * The way it was published is the way back, unless one of the tables was changed
 * since, as by a column that was added and dropped again.  DETACH and ATTACH
 * bridge more, and what they would lose on the leaf they do not replace quietly.
 */
static void
choose_ways(const Step *step)
{
	List	   *reasons;
	List	   *partitions = NIL;
	ListCell   *a,
			   *b;

	(void) bf_swap_pairs(step->moves, &reasons);
	forboth(a, step->moves, b, reasons)
	{
		BfPartition *p = ((BfMove *) lfirst(a))->partition;

		if (lfirst(b) == NULL)
			continue;
		p->swap = BF_SWAP_ATTACH;
		p->swap_reason = lfirst(b);
		partitions = lappend(partitions, p);
	}
	if (partitions != NIL)
		bf_swap_record(partitions);
}

static void
plan_steps(Rollback *rb)
{
	ListCell   *lc;

	foreach(lc, choose_versions(rb))
	{
		Step	   *step = palloc0(sizeof(Step));

		step->v = lfirst(lc);
		require_top(rb, step->v);
		if (step->v->state != BF_PUBLISHED && step->v->state != BF_SUPERSEDED)
			bf_version_advance(step->v, BF_ROLLED_BACK, "rollback");
		step->partitions = bf_partition_list(step->v->id);
		step->moves = plan_moves(step->partitions);
		require_tables(step);
		require_same_columns(step);
		check_writes(rb, step);
		choose_ways(step);
		bf_switch_prepare(step->v, step->moves);
		rb->steps = lappend(rb->steps, step);
	}
}

/* Moves of all steps from this one on. */
static List *
moves_from(const Rollback *rb, int first)
{
	List	   *moves = NIL;
	ListCell   *lc;

	for_each_from(lc, rb->steps, first)
		moves = list_concat(moves, ((Step *) lfirst(lc))->moves);
	return moves;
}

/* Versions that have partitions in place again are published again. */
static void
revive(List *names)
{
	ListCell   *lc;

	foreach(lc, names)
	{
		BfVersion  *other = bf_version_get(lfirst(lc));

		if (other->state == BF_SUPERSEDED && bf_partition_in_state(other->id, "live"))
			bf_version_advance(other, BF_PUBLISHED, "rollback");
	}
}

/* What will have been done; asked before the switch, which makes the catalog say what is live afterwards. */
static void
describe(Step *step)
{
	BfOutcome  *o = &step->outcome;
	List	   *in = NIL;
	ListCell   *lc;

	foreach(lc, step->moves)
	{
		BfMove	   *m = lfirst(lc);

		if (OidIsValid(m->in))
		{
			in = lappend_oid(in, m->in);
			o->swapped++;
		}
		else
			o->created++;
	}
	/* NB: read again, for an exchange of a step before this one has renamed what is live there. */
	foreach(lc, bf_partition_list(step->v->id))
	{
		BfPartition *p = lfirst(lc);

		if (strcmp(p->state, "unchanged") != 0)
			continue;
		in = lappend_oid(in, p->live);
		o->unchanged++;
	}
	o->action = "rolled_back";
	o->replaces = bf_partition_owners(in);
}

static void
record(Step *step)
{
	revive(bf_partition_switched(step->v, step->moves, false));
	bf_version_advance(step->v, BF_ROLLED_BACK, "rollback");
	bf_history_record(&step->outcome);
}

static void
withdraw(const Rollback *rb, Step *step, List *waiting)
{
	/* Steps before this one may have brought it back to life, as they should. */
	if (step->v->state == BF_SUPERSEDED)
		step->v = bf_version_get(step->v->name);
	step->outcome.version = step->v;
	step->outcome.times = rb->times;
	require_top(&(Rollback) {0}, step->v);
	check_writes(rb, step);
	describe(step);
	bf_switch_apply(step->v, step->moves, waiting);
	record(step);
}

static void
rollback_locked(void *arg)
{
	Rollback   *rb = arg;
	ListCell   *lc;

	/* The catalog's rows of all steps first: each step changes those of the next. */
	foreach(lc, rb->steps)
		bf_publish_recheck_rows(((Step *) lfirst(lc))->v, ((Step *) lfirst(lc))->partitions);
	if (bf_publish_noticed())
		bf_foreign_key_recheck(rb->first, moves_from(rb, 0), rb->foreign_keys);
	foreach(lc, rb->steps)
	{
		Step	   *step = lfirst(lc);

		bf_publish_recheck_target(step->v, step->moves);
		withdraw(rb, step, moves_from(rb, foreach_current_index(lc) + 1));
	}
}

static void
confirm(void *arg)
{
	bf_foreign_key_confirm(((Rollback *) arg)->first, ((Rollback *) arg)->foreign_keys);
}

static void
error_context(void *arg)
{
	errcontext("withdrawing version \"%s\"", ((Rollback *) arg)->first->name);
}

static void
rollback(Rollback *rb)
{
	ErrorContextCallback callback = {error_context_stack, error_context, rb};
	BfLockWork	work = {.version = rb->first, .action = "roll back", .confirm = confirm, .work = rollback_locked, .arg = rb};
	ListCell   *lc;

	error_context_stack = &callback;
	bf_locks_serialize(rb->first, "roll back");
	plan_steps(rb);
	work.moves = moves_from(rb, 0);
	bf_publish_watch();
	foreach(lc, rb->steps)
	{
		Step	   *step = lfirst(lc);

		/* The places of later steps are as they should be only when the first one is done. */
		if (foreach_current_index(lc) == 0)
			bf_publish_require_in_place(step->v, step->moves);
		bf_publish_check(step->v, step->moves);
	}
	rb->foreign_keys = bf_foreign_key_check(rb->first, work.moves, rb->discard);
	work.still = rb->foreign_keys->others;
	bf_locks_run(&work, &rb->times);
	foreach(lc, rb->steps)
		((Step *) lfirst(lc))->outcome.times = rb->times;
	error_context_stack = callback.previous;
}

static bool
is_done(const Rollback *rb)
{
	if (rb->first == NULL || rb->first->state == BF_ROLLED_BACK)
		return true;
	return rb->to && strcmp(rb->first->name, rb->to) == 0 && rb->first->state == BF_PUBLISHED;
}

Datum
backfill_rollback(PG_FUNCTION_ARGS)
{
	Rollback	rb = {0};
	BfVersion	none = {0};
	BfOutcome	nothing = {.action = "already_withdrawn"};
	List	   *outcomes = NIL;
	ListCell   *lc;

	bf_version_refuse_standby();
	bf_version_require_read_committed("rollback");
	read_arguments(fcinfo, &rb);
	none.target = PG_ARGISNULL(1) ? InvalidOid : PG_GETARG_OID(1);
	nothing.version = rb.first ? rb.first : &none;
	if (is_done(&rb))
		outcomes = list_make1(&nothing);
	else
	{
		rollback(&rb);
		foreach(lc, rb.steps)
			outcomes = lappend(outcomes, &((Step *) lfirst(lc))->outcome);
	}
	bf_history_return(fcinfo, outcomes);
	return (Datum) 0;
}
