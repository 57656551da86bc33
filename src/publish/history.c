/*
 * history.c
 *		The record of publications and rollbacks (owns bf_history), and its announcement.
 */
#include "publish/history.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "commands/async.h"
#include "common/catalog.h"
#include "define/version.h"
#include "utils/timestamp.h"

static Datum
interval_between(TimestampTz from, TimestampTz to)
{
	Interval   *interval = palloc0(sizeof(Interval));

	/* Whole milliseconds: what is finer says nothing, and a row is to fit in a terminal. */
	interval->time = to > from ? (to - from + 500) / 1000 * 1000 : 0;
	return IntervalPGetDatum(interval);
}

/* Keys only: a listener reads the rest from the views. */
static void
announce(const BfOutcome *o)
{
	BfRows	   *r = bf_catalog("SELECT pg_catalog.jsonb_build_object('version', $1, 'target', $2::pg_catalog.regclass, 'action', $3)::text",
							   BF_ARGS(TEXTOID, OIDOID, TEXTOID),
							   BF_VALS(bf_text(o->version->name), ObjectIdGetDatum(o->version->target), bf_text(o->action)),
							   NULL);
	char	   *payload = bf_rows_text(r, 0, 0);

	Async_Notify("backfill", payload);
	(void) bf_log_message("backfill", payload, strlen(payload));
}

void
bf_history_record(const BfOutcome *o)
{
	bf_catalog("INSERT INTO backfill.bf_history (action, version_id, target, replaces, swapped, unchanged, created, attempts,"
			   " waited, overrides) VALUES ($1, $2, $3::pg_catalog.regclass, $4, $5, $6, $7, $8, $9, $10::pg_catalog.jsonb)",
			   BF_ARGS(TEXTOID, INT8OID, OIDOID, TEXTOID, INT4OID, INT4OID, INT4OID, INT4OID, INTERVALOID, TEXTOID),
			   BF_VALS(bf_text(o->action), Int64GetDatum(o->version->id), ObjectIdGetDatum(o->version->target),
					   bf_text(o->replaces), Int32GetDatum(o->swapped), Int32GetDatum(o->unchanged),
					   Int32GetDatum(o->created), Int32GetDatum(o->times.attempts),
					   interval_between(o->times.asked, o->times.granted), bf_text(o->overrides ? o->overrides : "{}")),
			   NULL);
	announce(o);
	/* "published" must survive a crash, whatever synchronous_commit says. */
	ForceSyncCommit();
}

void
bf_history_return(FunctionCallInfo fcinfo, List *outcomes)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell   *lc;

	InitMaterializedSRF(fcinfo, 0);
	foreach(lc, outcomes)
	{
		BfOutcome  *o = lfirst(lc);
		bool		nulls[9] = {false, false, false, false, false, o->replaces == NULL, false, false, false};
		Datum		values[] = {
			ObjectIdGetDatum(o->version->target), bf_text(o->action), Int32GetDatum(o->swapped),
			Int32GetDatum(o->unchanged), Int32GetDatum(o->created), o->replaces ? bf_text(o->replaces) : (Datum) 0,
			Int32GetDatum(o->times.attempts), interval_between(o->times.asked, o->times.granted),
			interval_between(o->times.first, o->times.done)
		};

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}

List *
bf_history_published(Oid target)
{
	BfRows	   *r = bf_catalog("SELECT v.name FROM backfill.bf_version v JOIN backfill.bf_target t ON t.version_id = v.id"
							   " WHERE t.target = $1 AND v.state = 'published'"
							   " ORDER BY (SELECT max(h.id) FROM backfill.bf_history h WHERE h.version_id = v.id AND h.action = 'published') DESC",
							   BF_ARGS(OIDOID), BF_VALS(ObjectIdGetDatum(target)), NULL);
	List	   *versions = NIL;

	for (int i = 0; i < r->nrows; i++)
		versions = lappend(versions, bf_version_require(bf_rows_text(r, i, 0)));
	return versions;
}

int64
bf_history_last(const BfVersion *v)
{
	BfRows	   *r = bf_catalog("SELECT coalesce(max(id), 0) FROM backfill.bf_history WHERE version_id = $1 AND action = 'published'",
							   BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(v->id)), NULL);

	return DatumGetInt64(BF_VALUE(r, 0, 0));
}
