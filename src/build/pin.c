/*
 * pin.c
 *		The snapshot all partitions of a version are built on (owns bf_pin).
 *
 * Sources are locked before the snapshot is taken: a TRUNCATE that commits
 * between the two would make a source read as empty, without any error.
 */
#include "build/pin.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/guard.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* SHARE keeps writers out, so the owner must hold what LOCK TABLE asks for. */
static void
check_may_block(const BfVersion *v, Oid relid)
{
	if (pg_class_aclmask(relid, v->owner, ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE, ACLMASK_ANY) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("role \"%s\" may not lock source %s against writers", GetUserNameFromId(v->owner, false),
						bf_relname(relid)),
				 errhint("Grant it UPDATE, DELETE or TRUNCATE on the source, or use late_changes => 'ignore'.")));
}

static List *
lock_sources(const BfVersion *v, const BfRuleInfo *rule)
{
	bool		block = strcmp(v->late_changes, "block") == 0;
	LOCKMODE	mode = block ? ShareLock : AccessShareLock;
	List	   *sources = list_concat_unique_oid(list_copy(rule->sources), v->sources_extra);
	ListCell   *lc;

	list_sort(sources, list_oid_cmp);
	foreach(lc, sources)
	{
		Oid			relid = lfirst_oid(lc);
		char		kind = get_rel_relkind(relid);

		if (kind == RELKIND_VIEW || kind == '\0')
			continue;
		if (block)
			check_may_block(v, relid);
		LockRelationOid(relid, mode);
		if (kind == RELKIND_RELATION || kind == RELKIND_PARTITIONED_TABLE)
			(void) find_all_inheritors(relid, mode, NULL);
	}
	return sources;
}

static Datum
sources_json(List *sources)
{
	BfRows	   *r;

	r = bf_catalog("SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object("
				   "'name', c.oid::pg_catalog.regclass, 'oid', c.oid::bigint,"
				   " 'columns', (SELECT pg_catalog.jsonb_object_agg(a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod))"
				   " FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))"
				   " ORDER BY c.oid::pg_catalog.regclass::text), '[]')"
				   " FROM pg_catalog.pg_class c WHERE c.oid = ANY ($1)",
				   BF_ARGS(OIDARRAYOID),
				   BF_VALS(bf_oid_array(sources)), NULL);
	return BF_VALUE(r, 0, 0);
}

static void
record(const BfVersion *v, Snapshot pin, List *sources)
{
	Datum		snapshot;

	PushActiveSnapshot(pin);
	snapshot = DirectFunctionCall1(pg_snapshot_out, pg_current_snapshot(NULL));
	PopActiveSnapshot();
	bf_catalog("DELETE FROM backfill.bf_pin WHERE version_id = $1", BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(v->id)), NULL);
	bf_catalog("INSERT INTO backfill.bf_pin (version_id, snapshot, last_mark, xid, lsn, taken_at, system_identifier,"
			   " database, timeline, server_version, sources)"
			   " SELECT $1, $2::pg_catalog.pg_snapshot, coalesce((SELECT pg_catalog.max(id) FROM backfill.bf_mark), 0),"
			   " pg_catalog.pg_current_xact_id(), $3::pg_catalog.pg_lsn, pg_catalog.clock_timestamp(), $4, $7, $5,"
			   " pg_catalog.version(), $6",
			   BF_ARGS(INT8OID, TEXTOID, LSNOID, INT8OID, INT4OID, JSONBOID, OIDOID),
			   BF_VALS(Int64GetDatum(v->id), bf_text(DatumGetCString(snapshot)), LSNGetDatum(GetXLogInsertRecPtr()),
					   Int64GetDatum((int64) GetSystemIdentifier()), Int32GetDatum((int32) GetWALInsertionTimeLine()),
					   sources_json(sources), ObjectIdGetDatum(MyDatabaseId)), NULL);
}

Snapshot
bf_pin_take(const BfVersion *v, const BfRuleInfo *rule)
{
	List	   *sources = lock_sources(v, rule);
	Snapshot	pin;

	CommandCounterIncrement();
	pin = RegisterSnapshot(GetTransactionSnapshot());
	/* This transaction's later writes to live leaves are news to the pin: let them be marked again. */
	bf_guard_forget();
	record(v, pin, sources);
	return pin;
}

void
bf_pin_release(Snapshot pin)
{
	UnregisterSnapshot(pin);
}

bool
bf_pin_is_foreign(const BfVersion *v)
{
	return bf_catalog("SELECT 1 FROM backfill.bf_pin WHERE version_id = $1 AND (system_identifier <> $2 OR database <> $3)",
					  BF_ARGS(INT8OID, INT8OID, OIDOID),
					  BF_VALS(Int64GetDatum(v->id), Int64GetDatum((int64) GetSystemIdentifier()),
							  ObjectIdGetDatum(MyDatabaseId)), NULL)->nrows > 0;
}

void
bf_pin_refuse_foreign(const BfVersion *v)
{
	if (!bf_pin_is_foreign(v))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("version \"%s\" was built in another database and restored here", v->name),
			 errdetail("What was written to its live partitions after its snapshot is not known here."),
			 v->state == BF_BUILT ? errhint("Call backfill_build(%s) to build it again.", quote_literal_cstr(v->name)) :
			 errhint("Create and build a new version.")));
}
