/*
 * version.c
 *		Versions: the state table, lock-and-fetch, advance (owns bf_version, bf_target).
 *
 * Exclusion between sessions is an advisory lock on the name, not a row lock:
 * it also covers a version that another transaction has just created, and a
 * second caller is refused at once instead of waiting.
 */
#include "define/version.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/guc.h"

/* Keeps our advisory locks apart from users' (which have 1 or 2 here). */
#define BF_LOCK_CLASS 0xBF

static const char *const state_names[] = {
	"defined", "building", "built", "failed", "published", "rolled_back", "superseded", "dropped"
};

/* Which state may follow which, and through which call. */
static const struct
{
	BfState		from;
	BfState		to;
	const char *by;
}			transitions[] =
{
	{BF_DEFINED, BF_BUILDING, "build"},
	{BF_FAILED, BF_BUILDING, "build"},
	{BF_BUILT, BF_BUILDING, "build"},
	{BF_BUILDING, BF_BUILDING, "build"},
	{BF_BUILDING, BF_BUILT, "build"},
	{BF_BUILDING, BF_FAILED, "build"},
	{BF_BUILT, BF_PUBLISHED, "publish"},
	{BF_ROLLED_BACK, BF_PUBLISHED, "publish"},
	{BF_SUPERSEDED, BF_PUBLISHED, "publish"},
	{BF_SUPERSEDED, BF_PUBLISHED, "rollback"},
	{BF_PUBLISHED, BF_SUPERSEDED, "publish"},
	{BF_PUBLISHED, BF_ROLLED_BACK, "rollback"},
	{BF_ROLLED_BACK, BF_DROPPED, "drop"},
	{BF_SUPERSEDED, BF_DROPPED, "drop"},
	{BF_PUBLISHED, BF_DROPPED, "drop without target"},
};

const char *
bf_state_name(BfState s)
{
	return state_names[s];
}

static BfState
parse_state(const char *s)
{
	for (int i = 0; i < lengthof(state_names); i++)
		if (strcmp(s, state_names[i]) == 0)
			return (BfState) i;
	elog(ERROR, "unknown version state \"%s\"", s);
}

/* The next sensible call for a version in this state. */
static char *
next_call(const BfVersion *v)
{
	const char *call;

	switch (v->state)
	{
		case BF_DEFINED:
		case BF_BUILDING:
		case BF_FAILED:
			call = "backfill_build(%s)";
			break;
		case BF_BUILT:
			call = "backfill_publish(%s)";
			break;
		case BF_PUBLISHED:
			call = "backfill_rollback(%s)";
			break;
		case BF_DROPPED:
			return pstrdup("Create a version of another name with backfill_create.");
		default:
			call = "backfill_publish(%s, again => true)";
			break;
	}
	return psprintf("Call %s.", psprintf(call, quote_literal_cstr(v->name)));
}

void
bf_version_advance(BfVersion *v, BfState to, const char *by)
{
	BfRows	   *r;

	for (int i = 0; i < lengthof(transitions); i++)
	{
		if (transitions[i].from != v->state || transitions[i].to != to || strcmp(transitions[i].by, by) != 0)
			continue;
		/* NB: publish and rollback of one version change the state of others, whose names they do not lock. */
		r = bf_catalog("UPDATE backfill.bf_version SET state = $2, changed_at = pg_catalog.clock_timestamp(),"
					   " live_since = CASE WHEN $2 = 'published' THEN pg_catalog.clock_timestamp() END"
					   " WHERE id = $1 AND state = $3 RETURNING 1",
					   BF_ARGS(INT8OID, TEXTOID, TEXTOID),
					   BF_VALS(Int64GetDatum(v->id), bf_text(bf_state_name(to)), bf_text(bf_state_name(v->state))), NULL);
		if (r->nrows == 0)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("version \"%s\" changed while this call waited for another", v->name),
					 errdetail("It was %s before.", bf_state_name(v->state)),
					 errhint("Call again; this call changed nothing.")));
		v->state = to;
		return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot %s version \"%s\"", strcmp(by, "rollback") == 0 ? "roll back" : by, v->name),
			 errdetail("The version is %s.", bf_state_name(v->state)),
			 errhint("%s", next_call(v))));
}

void
bf_version_name_lock(const char *name)
{
	uint64		key = hash_bytes_extended((const unsigned char *) name, strlen(name), 0);
	LOCKTAG		tag;
	BfRows	   *holder;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) (key >> 32), (uint32) key, BF_LOCK_CLASS);
	if (LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL)
		return;
	holder = bf_catalog("SELECT l.pid FROM pg_catalog.pg_locks l WHERE l.locktype = 'advisory' AND l.granted"
						" AND l.objsubid = $1 AND l.classid = $2 AND l.objid = $3 AND l.database ="
						" (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())",
						BF_ARGS(INT4OID, OIDOID, OIDOID),
						BF_VALS(Int32GetDatum(BF_LOCK_CLASS), ObjectIdGetDatum((uint32) (key >> 32)),
								ObjectIdGetDatum((uint32) key)), NULL);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("version \"%s\" is in use by another session", name),
			 holder->nrows > 0 && !BF_ISNULL(holder, 0, 0) ?
			 errdetail("Process %d is working on it.", DatumGetInt32(BF_VALUE(holder, 0, 0))) : 0,
			 errhint("Wait for that call to end, or cancel it.")));
}

static int64
limit_or(BfRows *r, int col)
{
	return BF_ISNULL(r, 0, col) ? -1 : DatumGetInt64(BF_VALUE(r, 0, col));
}

BfVersion *
bf_version_get(const char *name)
{
	BfVersion  *v;
	BfRows	   *r;

	r = bf_catalog("SELECT v.id, v.name, v.state, t.target::oid, t.rule, t.rule_canonical, t.match_position, t.key,"
				   " v.parameters, t.allow_volatile, t.sources_declared, t.sources_extra, v.late_changes,"
				   " t.swap, t.ignore_subscribers,"
				   " v.max_rejections, v.max_lost_keys, v.max_gained_keys, v.max_shrink, v.settings"
				   " FROM backfill.bf_version v JOIN backfill.bf_target t ON t.version_id = v.id WHERE v.name = $1",
				   BF_ARGS(TEXTOID), BF_VALS(bf_text(name)), NULL);
	if (r->nrows == 0)
		return NULL;
	v = palloc0(sizeof(BfVersion));
	v->id = DatumGetInt64(BF_VALUE(r, 0, 0));
	v->name = bf_rows_text(r, 0, 1);
	v->state = parse_state(bf_rows_text(r, 0, 2));
	v->target = DatumGetObjectId(BF_VALUE(r, 0, 3));
	v->owner = bf_relowner(v->target);
	v->rule = bf_rows_text(r, 0, 4);
	v->rule_canonical = bf_rows_text(r, 0, 5);
	v->match_position = DatumGetBool(BF_VALUE(r, 0, 6));
	v->key = bf_text_list(BF_VALUE(r, 0, 7));
	v->parameters = DatumGetJsonbP(BF_VALUE(r, 0, 8));
	v->allow_volatile = DatumGetBool(BF_VALUE(r, 0, 9));
	v->sources_declared = DatumGetBool(BF_VALUE(r, 0, 10));
	v->sources_extra = bf_oid_list(BF_VALUE(r, 0, 11));
	v->late_changes = bf_rows_text(r, 0, 12);
	v->swap = bf_rows_text(r, 0, 13);
	v->ignore_subscribers = DatumGetBool(BF_VALUE(r, 0, 14));
	v->max_rejections = DatumGetInt64(BF_VALUE(r, 0, 15));
	v->max_lost_keys = limit_or(r, 16);
	v->max_gained_keys = limit_or(r, 17);
	v->max_shrink = BF_ISNULL(r, 0, 18) ? -1 : DatumGetFloat8(BF_VALUE(r, 0, 18));
	v->settings = bf_text_list(BF_VALUE(r, 0, 19));
	return v;
}

BfVersion *
bf_version_require(const char *name)
{
	BfVersion  *v = bf_version_get(name);

	if (v == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("version \"%s\" does not exist", name),
				 errhint("Define it with backfill_create, or see SELECT version FROM backfill.status.")));
	if (!OidIsValid(v->owner))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the target of version \"%s\" no longer exists", name),
				 errhint("Call backfill_drop(%s) to clear it away.", quote_literal_cstr(name))));
	if (!has_privs_of_role(GetUserId(), v->owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for version \"%s\"", name),
				 errdetail("Its target %s belongs to role \"%s\".", bf_relname(v->target),
						   GetUserNameFromId(v->owner, false)),
				 errhint("Ask a member of that role to make this call.")));
	return v;
}

BfVersion *
bf_version_lock(const char *name)
{
	bf_version_refuse_standby();
	(void) bf_version_require(name);
	bf_version_name_lock(name);
	/* The state may have changed before we had the lock. */
	return bf_version_require(name);
}

void
bf_version_refuse_standby(void)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("backfill cannot write on a standby"),
				 errhint("Make this call on the primary; the views and backfill_manifest work here.")));
	PreventCommandIfReadOnly("backfill");
}

void
bf_version_require_read_committed(const char *what)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("backfill_%s must run in a READ COMMITTED transaction", what),
				 errdetail("It re-checks data committed by others after it holds its locks, which an older snapshot cannot see."),
				 errhint("Use BEGIN ISOLATION LEVEL READ COMMITTED.")));
}

/* Settings that change what the rule yields, as they were at create; undone with the caller's GUC nest level. */
void
bf_version_apply_settings(const BfVersion *v)
{
	ListCell   *lc;

	for (lc = list_head(v->settings); lc != NULL; lc = lnext(v->settings, lc))
	{
		const char *name = lfirst(lc);

		lc = lnext(v->settings, lc);
		bf_set_local(name, lfirst(lc));
	}
}

bool
bf_version_was_published(const BfVersion *v)
{
	return bf_catalog("SELECT 1 FROM backfill.bf_history WHERE version_id = $1 LIMIT 1",
					  BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(v->id)), NULL)->nrows > 0;
}

void
bf_version_require_creator(const BfVersion *v)
{
	BfRows	   *r;
	Oid			creator;

	r = bf_catalog("SELECT created_by::text FROM backfill.bf_version WHERE id = $1", BF_ARGS(INT8OID),
				   BF_VALS(Int64GetDatum(v->id)), NULL);
	creator = get_role_oid(bf_rows_text(r, 0, 0), true);
	if (!superuser() && !(OidIsValid(creator) && has_privs_of_role(GetUserId(), creator)))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for version \"%s\"", v->name),
				 errdetail("Its target is gone; role \"%s\" has created it.", bf_rows_text(r, 0, 0)),
				 errhint("Ask a member of that role to make this call.")));
}
