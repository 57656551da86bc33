/*
 * build.c
 *		backfill_build: builds a version and measures its gates.
 */
#include "backfill.h"

#include "access/xact.h"
#include "build/builder.h"
#include "build/load.h"
#include "build/pin.h"
#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/gate.h"
#include "define/guard.h"
#include "define/partition.h"
#include "define/version.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "verify/validate.h"

PG_FUNCTION_INFO_V1(backfill_build);

/* Why what was built can no longer be published; NULL: it can, as far as can be told without measuring. */
static const char *
out_of_date(const BfVersion *v)
{
	List	   *partitions = bf_partition_list(v->id);
	BlockNumber frozen,
				blocks;
	ListCell   *lc;

	if (bf_pin_is_foreign(v))
		return "It was built in another database and restored here.";
	if (bf_guard_late_write(v->id) != NULL)
		return "Live partitions were written since its snapshot was taken.";
	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);

		if (OidIsValid(p->live) && get_rel_name(p->live) != NULL && bf_partition_tampered(p))
			return "A live partition was rewritten, or its guard triggers were changed.";
		if (!OidIsValid(p->staged) || get_rel_name(p->staged) == NULL)
			return "A staged table was dropped.";
		if (!bf_guard_installed(p->staged) || !bf_load_is_frozen(p->staged, &frozen, &blocks))
			return "A staged table was written.";
	}
	if (bf_gate_changed_definitions(v, partitions) != NIL)
		return "The definition of the target changed after it was built.";
	return NULL;
}

static void
build(BfVersion *v)
{
	bf_build(v);
	bf_validate(v, bf_partition_list(v->id));
}

static void
check_workers(FunctionCallInfo fcinfo)
{
	int			workers = PG_ARGISNULL(1) ? 0 : PG_GETARG_INT32(1);

	if (workers < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("workers must not be negative"),
						errhint("Use workers => 0 to build in this transaction.")));
	if (workers > 0 && IsTransactionBlock())
		ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION), errmsg("workers cannot build inside a transaction block"),
						errdetail("They would not see what this transaction has done."),
						errhint("Use workers => 0.")));
	if (workers > 0)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("background workers are not there yet"),
						errhint("Use workers => 0.")));
}

Datum
backfill_build(PG_FUNCTION_ARGS)
{
	BfVersion  *v;
	const char *why;

	bf_version_refuse_standby();
	bf_version_require_read_committed("build");
	check_workers(fcinfo);
	v = bf_version_lock(bf_arg_text(fcinfo, 0, "version"));
	if (v->state == BF_BUILT && (why = out_of_date(v)) != NULL)
	{
		ereport(NOTICE, (errmsg("version \"%s\" is built again", v->name), errdetail("%s", why)));
		build(v);
	}
	else if (v->state == BF_DEFINED || v->state == BF_FAILED || v->state == BF_BUILDING || v->state == BF_DROPPED)
		build(v);
	bf_return_rows(fcinfo,
				   bf_catalog("SELECT name, state, rows, rejected, pg_catalog.pg_size_pretty(bytes), elapsed, attempts, NULL::text"
							  " FROM backfill.bf_partition WHERE version_id = $1 ORDER BY ordinal",
							  BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(v->id)), NULL));
	return (Datum) 0;
}
