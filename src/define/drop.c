/*
 * drop.c
 *		backfill_drop: what a version leaves behind goes.
 */
#include "define/drop.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/guard.h"
#include "define/partition.h"
#include "define/version.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(backfill_drop);

/* A table that waits, staged or retired, where only we put tables; one taken away or attached by hand is the user's. */
static bool
is_ours(Oid relid)
{
	return OidIsValid(relid) && get_rel_name(relid) != NULL && !get_rel_relispartition(relid) &&
		get_rel_namespace(relid) == get_namespace_oid(BF_STAGING_SCHEMA, true);
}

static bool
is_used_by_others(const BfVersion *v, Oid relid)
{
	return bf_catalog("SELECT 1 FROM backfill.bf_partition WHERE version_id <> $1 AND state <> 'dropped'"
					  " AND (live = $2 OR staged = $2) LIMIT 1", BF_ARGS(INT8OID, OIDOID),
					  BF_VALS(Int64GetDatum(v->id), ObjectIdGetDatum(relid)), NULL)->nrows > 0;
}

/* A table that readers see, with guards that no other version needs. */
static bool
loses_guards(const BfVersion *v, Oid relid)
{
	return OidIsValid(relid) && get_rel_name(relid) != NULL && !is_ours(relid) && !is_used_by_others(v, relid);
}

static void
remove_guards(const BfVersion *v, List *partitions)
{
	List	   *live = NIL;
	ListCell   *lc;
	BfIdentity	id;

	foreach(lc, partitions)
		if (loses_guards(v, ((BfPartition *) lfirst(lc))->live))
			live = lappend_oid(live, ((BfPartition *) lfirst(lc))->live);
	bf_guard_lock(live, true);
	foreach(lc, live)
	{
		bf_owner_enter(&id, bf_relowner(lfirst_oid(lc)));
		bf_guard_remove(lfirst_oid(lc));
		bf_identity_leave(&id);
		bf_guard_forget_marks(lfirst_oid(lc));
	}
}

/* Drops a version's tables, what only it can bring back, and the guards on live leaves that no other version needs. */
static void
drop_tables(const BfVersion *v)
{
	List	   *partitions = bf_partition_list(v->id);
	ListCell   *lc;

	remove_guards(v, partitions);
	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);

		if (is_ours(p->staged))
			bf_partition_drop_table(p->staged);
		if (is_ours(p->live) && !is_used_by_others(v, p->live))
			bf_partition_drop_table(p->live);
	}
}

void
bf_drop_forget(const BfVersion *v)
{
	drop_tables(v);
	bf_catalog("DELETE FROM backfill.bf_version WHERE id = $1", BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(v->id)), NULL);
}

/* A version whose target is gone belongs to who made it; everything else is for members of the target's owner. */
static BfVersion *
lock_to_drop(const char *name)
{
	BfVersion  *v = bf_version_get(name);

	if (v == NULL || OidIsValid(v->owner))
		return bf_version_lock(name);
	bf_version_refuse_standby();
	bf_version_require_creator(v);
	bf_version_name_lock(name);
	return v;
}

static void
tell_what_is_lost(const BfVersion *v)
{
	BfRows	   *r = bf_catalog("SELECT pg_catalog.string_agg(DISTINCT pg_catalog.quote_ident(o.name), ', ')"
							   " FROM backfill.bf_partition p"
							   " JOIN backfill.bf_partition q ON q.live = p.staged AND q.state = 'live'"
							   " JOIN backfill.bf_version o ON o.id = q.version_id"
							   " WHERE p.version_id = $1 AND o.state = 'published'",
							   BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(v->id)), NULL);

	if (!BF_ISNULL(r, 0, 0))
		ereport(NOTICE,
				(errmsg("what was published over version \"%s\" can no longer be withdrawn", v->name),
				 errdetail("It replaced tables of this version: %s.", bf_rows_text(r, 0, 0))));
}

/*
 * A version that was never published leaves no trace and its name is free
 * again; of a published one only the tables go, the record stays.
 */
Datum
backfill_drop(PG_FUNCTION_ARGS)
{
	BfVersion  *v = lock_to_drop(bf_arg_text(fcinfo, 0, "version"));

	if (!bf_version_was_published(v) && v->state != BF_PUBLISHED)
	{
		bf_drop_forget(v);
		PG_RETURN_VOID();
	}
	if (v->state != BF_DROPPED)
		bf_version_advance(v, BF_DROPPED, v->state == BF_PUBLISHED && !OidIsValid(v->owner) ? "drop without target" : "drop");
	if (OidIsValid(v->owner))
		tell_what_is_lost(v);
	drop_tables(v);
	bf_partition_dropped(v);
	PG_RETURN_VOID();
}
