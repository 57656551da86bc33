/*
 * guard.c
 *		Guard triggers: writes to live leaves are marked, writes to staged and
 *		retired tables refused (owns bf_mark).
 *
 * What a trigger does follows from where its table is now, so a swap has
 * nothing to enable or disable: waiting in the staging schema means nobody may
 * write; anywhere else readers see it, so a write is let through and marked.
 * That includes a leaf that somebody has detached: it may be attached again,
 * with what was written to it meanwhile, before publish looks.
 * The triggers sit on the leaves, because a write through any parent fires the
 * row triggers of the leaf, and a write to the leaf fires no trigger of a
 * parent.  They are row level: only rows say which leaf was written.
 */
#include "define/guard.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "common/catalog.h"
#include "fmgr.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "storage/lmgr.h"
#include "utils/datum.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(bf_guard);
PG_FUNCTION_INFO_V1(bf_differs);

/* Leaves this transaction has marked; lives in TopTransactionContext. */
static HTAB *marked = NULL;

/* NB: a snapshot never lists its own transaction as running, so about that one only the mark's number can tell. */
#define LATE_FOR_PIN \
"CASE WHEN m.xid = n.xid THEN m.id > n.last_mark ELSE NOT pg_catalog.pg_visible_in_snapshot(m.xid, n.snapshot) END"

static const char late_marks[] = "backfill.bf_mark m JOIN backfill.bf_pin n ON n.version_id = $1 AND " LATE_FOR_PIN;

void
bf_guard_forget(void)
{
	/* NB: not left to the end of the transaction, in which many subtransactions may be rolled back. */
	if (marked != NULL)
		hash_destroy(marked);
	marked = NULL;
}

static void
at_xact_end(XactEvent event, void *arg)
{
	bf_guard_forget();
}

/* A mark made in an aborted subtransaction is gone; forgetting all of them costs one more mark a leaf. */
static void
at_subxact_end(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		bf_guard_forget();
}

void
bf_guard_init(void)
{
	RegisterXactCallback(at_xact_end, NULL);
	RegisterSubXactCallback(at_subxact_end, NULL);
}

static bool
first_write(Oid relid)
{
	bool		found;

	if (marked == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(Oid), .entrysize = sizeof(Oid), .hcxt = TopTransactionContext};

		marked = hash_create("backfill marks", 64, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	(void) hash_search(marked, &relid, HASH_ENTER, &found);
	return !found;
}

static void
mark(Oid relid)
{
	bool		push = !ActiveSnapshotSet();

	if (push)
		PushActiveSnapshot(GetTransactionSnapshot());
	bf_catalog("INSERT INTO backfill.bf_mark (relid, xid) VALUES ($1, pg_catalog.pg_current_xact_id())",
			   BF_ARGS(OIDOID), BF_VALS(ObjectIdGetDatum(relid)), NULL);
	if (push)
		PopActiveSnapshot();
}

Datum
bf_guard(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	Relation	rel;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("backfill.guard() can only be called as a trigger"),
				 errhint("The extension installs it by itself.")));
	rel = data->tg_relation;
	if (!rel->rd_rel->relispartition && RelationGetNamespace(rel) == get_namespace_oid(BF_STAGING_SCHEMA, true))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" is sealed by backfill", RelationGetRelationName(rel)),
				 errdetail("It is staged, or was replaced and is kept for rollback; its content is what its evidence was measured on."),
				 errhint("Write to the target. backfill_drop removes what is no longer needed.")));
	if (first_write(RelationGetRelid(rel)))
		mark(RelationGetRelid(rel));
	if (TRIGGER_FIRED_FOR_STATEMENT(data->tg_event))
		return PointerGetDatum(NULL);
	return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(data->tg_event) ? data->tg_newtuple : data->tg_trigtuple);
}

static bool
is_guard(const Trigger *t, Oid function)
{
	return t->tgfoid == function &&
		(strcmp(t->tgname, BF_GUARD_TRIGGER) == 0 || strcmp(t->tgname, BF_GUARD_TRUNCATE_TRIGGER) == 0);
}

static Oid
guard_function(void)
{
	return LookupFuncName(list_make2(makeString("backfill"), makeString("guard")), 0, NULL, false);
}

/* From the relation cache: publish asks this of every leaf. */
bool
bf_guard_installed(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	Oid			function = guard_function();
	int			found = 0;

	for (int i = 0; rel->trigdesc && i < rel->trigdesc->numtriggers; i++)
	{
		Trigger    *t = &rel->trigdesc->triggers[i];

		if (is_guard(t, function) && t->tgenabled == TRIGGER_FIRES_ALWAYS)
			found++;
	}
	table_close(rel, NoLock);
	return found == 2;
}

/* Names of our triggers on relid, quoted; not of a user's that happens to be called like them. */
static BfRows *
own_triggers(Oid relid)
{
	return bf_catalog("SELECT pg_catalog.quote_ident(tgname) FROM pg_catalog.pg_trigger WHERE tgrelid = $1"
					  " AND tgname IN ('" BF_GUARD_TRIGGER "', '" BF_GUARD_TRUNCATE_TRIGGER "')"
					  " AND tgfoid = 'backfill.guard()'::pg_catalog.regprocedure",
					  BF_ARGS(OIDOID), BF_VALS(ObjectIdGetDatum(relid)), NULL);
}

/* Takes the lock on all of them, or on none and says which one was in the way. */
static Oid
lock_all(List *relids, LOCKMODE mode)
{
	ListCell   *lc;

	foreach(lc, relids)
	{
		Oid			relid = lfirst_oid(lc);

		if (ConditionalLockRelationOid(relid, mode))
			continue;
		for (int i = 0; i < foreach_current_index(lc); i++)
			UnlockRelationOid(list_nth_oid(relids, i), mode);
		return relid;
	}
	return InvalidOid;
}

/*
 * Who waits for such a lock makes those who come later wait behind it, and who
 * has it on some tables while it waits for others stops the users of those.  So
 * ask for all of them at once, without queueing, until they are there.
 */
void
bf_guard_lock(List *relids, bool to_remove)
{
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), bf_publish_wait_ms);
	List	   *wanted = NIL;
	ListCell   *lc;
	Oid			blocked;

	foreach(lc, relids)
		if (to_remove ? own_triggers(lfirst_oid(lc))->nrows > 0 : !bf_guard_installed(lfirst_oid(lc)))
			wanted = lappend_oid(wanted, lfirst_oid(lc));
	while (OidIsValid(blocked = lock_all(wanted, to_remove ? AccessExclusiveLock : ShareRowExclusiveLock)))
	{
		if (GetCurrentTimestamp() >= until)
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("could not get the lock to change the guard triggers of %s", bf_relname(blocked)),
					 errdetail("Another transaction uses the table."),
					 errhint("Call again when it has ended, or raise backfill.publish_wait.")));
		bf_pause(10);
	}
}

static void
create_trigger(BfRows *own, const char *trigger, const char *event, const char *table, const char *each)
{
	const char *replace = "";

	for (int i = 0; i < own->nrows; i++)
		if (strcmp(bf_rows_text(own, i, 0), trigger) == 0)
			replace = "OR REPLACE ";
	bf_exec("CREATE %sTRIGGER %s BEFORE %s ON %s FOR EACH %s EXECUTE FUNCTION backfill.guard()", replace, trigger, event,
			table, each);
}

void
bf_guard_install(Oid relid)
{
	char	   *name;
	BfRows	   *own;

	if (bf_guard_installed(relid))
		return;
	name = bf_relname(relid);
	own = own_triggers(relid);
	create_trigger(own, BF_GUARD_TRIGGER, "INSERT OR UPDATE OR DELETE", name, "ROW");
	create_trigger(own, BF_GUARD_TRUNCATE_TRIGGER, "TRUNCATE", name, "STATEMENT");
	/* Also when session_replication_role = replica and in a subscription's apply worker. */
	bf_exec("ALTER TABLE ONLY %s ENABLE ALWAYS TRIGGER " BF_GUARD_TRIGGER
			", ENABLE ALWAYS TRIGGER " BF_GUARD_TRUNCATE_TRIGGER, name);
	/* What was written while there were no guards nobody knows; to versions pinned before, it counts as written. */
	if (get_rel_relispartition(relid))
		mark(relid);
}

void
bf_guard_remove(Oid relid)
{
	char	   *name = bf_relname(relid);
	BfRows	   *own = own_triggers(relid);

	for (int i = 0; i < own->nrows; i++)
		bf_exec("DROP TRIGGER %s ON %s", bf_rows_text(own, i, 0), name);
}

bool
bf_guard_written_since_pin(int64 version_id, Oid relid)
{
	return bf_catalog(psprintf("SELECT 1 FROM %s WHERE m.relid = $2 LIMIT 1", late_marks),
					  BF_ARGS(INT8OID, OIDOID), BF_VALS(Int64GetDatum(version_id), ObjectIdGetDatum(relid)), NULL)->nrows > 0;
}

char *
bf_guard_late_write(int64 version_id)
{
	BfRows	   *r = bf_catalog(psprintf("SELECT p.name FROM %s JOIN backfill.bf_partition p ON p.version_id = $1"
										" AND p.live::pg_catalog.oid = m.relid ORDER BY p.ordinal LIMIT 1", late_marks),
							   BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(version_id)), NULL);

	return r->nrows > 0 ? bf_rows_text(r, 0, 0) : NULL;
}

List *
bf_guard_marked(List *relids)
{
	BfRows	   *r = bf_catalog("SELECT coalesce(pg_catalog.array_agg(DISTINCT relid), '{}') FROM backfill.bf_mark"
							   " WHERE relid = ANY ($1)",
							   BF_ARGS(OIDARRAYOID), BF_VALS(bf_oid_array(relids)), NULL);

	return bf_oid_list(BF_VALUE(r, 0, 0));
}

void
bf_guard_forget_marks(Oid relid)
{
	bf_catalog("DELETE FROM backfill.bf_mark WHERE relid = $1", BF_ARGS(OIDOID), BF_VALS(ObjectIdGetDatum(relid)), NULL);
}

void
bf_guard_marks_exchanged(List *out, List *in)
{
	bf_catalog("UPDATE backfill.bf_mark k SET relid = m.b FROM ROWS FROM (unnest($1 || $2), unnest($2 || $1)) AS m(a, b)"
			   " WHERE k.relid = m.a",
			   BF_ARGS(OIDARRAYOID, OIDARRAYOID), BF_VALS(bf_oid_array(out), bf_oid_array(in)), NULL);
	bf_guard_forget();
}

/*
 * A leaf that is written all day has many marks, and only two things about them
 * matter: the newest, and for each pin whether some are late.  A build that has
 * not committed yet has a pin that is not seen here.  It sees what this version's
 * pin sees when it began after that was taken, as it has when all transactions
 * that are open now did.
 */
void
bf_guard_thin_marks(int64 version_id, List *relids)
{
	bf_catalog("WITH kept AS (SELECT max(id) AS id FROM backfill.bf_mark WHERE relid = ANY ($2) GROUP BY relid"
			   " UNION SELECT max(m.id) FROM backfill.bf_mark m JOIN backfill.bf_pin n ON " LATE_FOR_PIN
			   " WHERE m.relid = ANY ($2) GROUP BY m.relid, n.version_id)"
			   " DELETE FROM backfill.bf_mark m USING backfill.bf_pin n WHERE n.version_id = $1 AND m.relid = ANY ($2)"
			   " AND NOT " LATE_FOR_PIN " AND pg_snapshot_xmin(pg_current_snapshot()) >= pg_snapshot_xmax(n.snapshot)"
			   " AND m.id NOT IN (SELECT id FROM kept)",
			   BF_ARGS(INT8OID, OIDARRAYOID), BF_VALS(Int64GetDatum(version_id), bf_oid_array(relids)), NULL);
}

/* Whether two values differ in their stored image, whatever their equality operator says. */
Datum
bf_differs(PG_FUNCTION_ARGS)
{
	TypeCacheEntry *type;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_BOOL(PG_ARGISNULL(0) != PG_ARGISNULL(1));
	type = fcinfo->flinfo->fn_extra;
	if (type == NULL)
		type = fcinfo->flinfo->fn_extra = lookup_type_cache(get_fn_expr_argtype(fcinfo->flinfo, 0), 0);
	PG_RETURN_BOOL(!datum_image_eq(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), type->typbyval, type->typlen));
}
