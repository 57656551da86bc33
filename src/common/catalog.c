/*
 * catalog.c
 *		The one SPI wrapper: identity switches, safe settings, typed arguments.
 *
 * Only values of built-in types cross from a target owner's identity into the
 * catalog owner's: to_jsonb, output functions and casts have run before.
 */
#include "common/catalog.h"

#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

void
bf_set_local(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

void
bf_text_settings(void)
{
	static const char *const settings[][2] = {
		{"search_path", "pg_catalog, pg_temp"},
		{"DateStyle", "ISO"},
		{"IntervalStyle", "postgres"},
		{"extra_float_digits", "3"},
		{"bytea_output", "hex"},
		{"quote_all_identifiers", "off"},
		{"standard_conforming_strings", "on"},
	};

	for (int i = 0; i < lengthof(settings); i++)
		bf_set_local(settings[i][0], settings[i][1]);
}

static void
enter(BfIdentity *id, Oid role, int flags)
{
	GetUserIdAndSecContext(&id->save_userid, &id->save_sec_context);
	id->save_nestlevel = NewGUCNestLevel();
	bf_set_local("search_path", "pg_catalog, pg_temp");
	SetUserIdAndSecContext(role, id->save_sec_context | flags);
}

/* The role that owns the bf_* tables: the one that ran the install script. */
static Oid
catalog_owner(void)
{
	HeapTuple	tup;
	Oid			owner;

	tup = SearchSysCache1(NAMESPACENAME, CStringGetDatum("backfill"));
	if (!HeapTupleIsValid(tup))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"backfill\" is not installed in this database"),
				 errhint("Run CREATE EXTENSION backfill.")));
	owner = ((Form_pg_namespace) GETSTRUCT(tup))->nspowner;
	ReleaseSysCache(tup);
	return owner;
}

/* Owner of the backfill catalog, search_path = pg_catalog, pg_temp. */
static void
enter_catalog(BfIdentity *id)
{
	enter(id, catalog_owner(), SECURITY_LOCAL_USERID_CHANGE);
	/* Estimates over the system catalogs can be high enough to compile what then runs for a millisecond. */
	bf_set_local("jit", "off");
}

void
bf_owner_enter(BfIdentity *id, Oid role)
{
	enter(id, role, SECURITY_RESTRICTED_OPERATION);
	bf_set_local("row_security", "off");
	/* A session preference must not change how our own DDL and queries read. */
	bf_text_settings();
	bf_set_local("default_tablespace", "");
	bf_set_local("check_function_bodies", "on");
}

void
bf_identity_leave(BfIdentity *id)
{
	AtEOXact_GUC(false, id->save_nestlevel);
	SetUserIdAndSecContext(id->save_userid, id->save_sec_context);
}

/* Copies SPI's tuple table into `context`: it dies with SPI_finish. */
static BfRows *
copy_rows(int result, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	BfRows	   *r = palloc0(sizeof(BfRows));

	r->nrows = (int) SPI_processed;
	if (SPI_tuptable != NULL)
	{
		TupleDesc	desc = SPI_tuptable->tupdesc;

		r->ncols = desc->natts;
		r->tupdesc = CreateTupleDescCopy(desc);
		r->values = palloc0(sizeof(Datum) * Max(1, r->nrows * r->ncols));
		r->nulls = palloc0(sizeof(bool) * Max(1, r->nrows * r->ncols));
		for (int i = 0; i < r->nrows; i++)
			for (int j = 0; j < r->ncols; j++)
			{
				Form_pg_attribute att = TupleDescAttr(desc, j);
				int			at = i * r->ncols + j;
				Datum		d = SPI_getbinval(SPI_tuptable->vals[i], desc, j + 1, &r->nulls[at]);

				if (!r->nulls[at])
					r->values[at] = att->attlen == -1 ?
						PointerGetDatum(PG_DETOAST_DATUM_COPY(d)) :
						datumCopy(d, att->attbyval, att->attlen);
			}
	}
	MemoryContextSwitchTo(old);
	return r;
}

BfRows *
bf_sql(const char *sql, int nargs, Oid *types, Datum *values, const bool *nulls)
{
	MemoryContext context = CurrentMemoryContext;
	BfRows	   *rows;
	char	   *flags = NULL;
	int			rc;

	if (nargs > 0 && nulls != NULL)
	{
		flags = palloc(nargs);
		for (int i = 0; i < nargs; i++)
			flags[i] = nulls[i] ? 'n' : ' ';
	}
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	rc = SPI_execute_with_args(sql, nargs, types, values, flags, false, 0);
	if (rc < 0)
		elog(ERROR, "SPI failed with %s: %s", SPI_result_code_string(rc), sql);
	rows = copy_rows(rc, context);
	SPI_finish();
	return rows;
}

BfRows *
bf_catalog(const char *sql, int nargs, Oid *types, Datum *values, const bool *nulls)
{
	BfIdentity	id;
	BfRows	   *rows;

	enter_catalog(&id);
	rows = bf_sql(sql, nargs, types, values, nulls);
	bf_identity_leave(&id);
	return rows;
}

uint64
bf_exec(const char *fmt,...)
{
	StringInfoData sql;
	BfRows	   *rows;

	initStringInfo(&sql);
	for (;;)
	{
		va_list		args;
		int			needed;

		va_start(args, fmt);
		needed = appendStringInfoVA(&sql, fmt, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&sql, needed);
	}
	rows = bf_sql(sql.data, 0, NULL, NULL, NULL);
	pfree(sql.data);
	return rows->nrows;
}

Oid
bf_relowner(Oid relid)
{
	HeapTuple	tup = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner = InvalidOid;

	if (HeapTupleIsValid(tup))
	{
		owner = ((Form_pg_class) GETSTRUCT(tup))->relowner;
		ReleaseSysCache(tup);
	}
	return owner;
}

char *
bf_relname(Oid relid)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), name);
}

char *
bf_rows_text(BfRows *rows, int row, int col)
{
	Oid			out;
	bool		varlena;

	if (BF_ISNULL(rows, row, col))
		return NULL;
	getTypeOutputInfo(TupleDescAttr(rows->tupdesc, col)->atttypid, &out, &varlena);
	return OidOutputFunctionCall(out, BF_VALUE(rows, row, col));
}

void
bf_return_rows(FunctionCallInfo fcinfo, BfRows *rows)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < rows->nrows; i++)
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc,
							 &rows->values[i * rows->ncols], &rows->nulls[i * rows->ncols]);
}

Datum
bf_text(const char *s)
{
	return CStringGetTextDatum(s);
}

Datum
bf_oid_array(List *oids)
{
	Datum	   *d = palloc(sizeof(Datum) * Max(1, list_length(oids)));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, oids)
		d[n++] = ObjectIdGetDatum(lfirst_oid(lc));
	return PointerGetDatum(construct_array(d, n, OIDOID, sizeof(Oid), true, TYPALIGN_INT));
}

Datum
bf_text_array(List *strings)
{
	Datum	   *d = palloc(sizeof(Datum) * Max(1, list_length(strings)));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, strings)
		d[n++] = bf_text(lfirst(lc));
	return PointerGetDatum(construct_array(d, n, TEXTOID, -1, false, TYPALIGN_INT));
}

List *
bf_oid_list(Datum array)
{
	ArrayType  *a = DatumGetArrayTypeP(array);
	Datum	   *d;
	bool	   *nulls;
	int			n;
	List	   *list = NIL;

	/* oid[], regclass[]: all are stored alike */
	deconstruct_array(a, ARR_ELEMTYPE(a), sizeof(Oid), true, TYPALIGN_INT, &d, &nulls, &n);
	for (int i = 0; i < n; i++)
		if (!nulls[i])
			list = lappend_oid(list, DatumGetObjectId(d[i]));
	return list;
}

List *
bf_text_list(Datum array)
{
	Datum	   *d;
	bool	   *nulls;
	int			n;
	List	   *list = NIL;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, &d, &nulls, &n);
	for (int i = 0; i < n; i++)
		if (!nulls[i])
			list = lappend(list, TextDatumGetCString(d[i]));
	return list;
}

void
bf_pause(int64 ms)
{
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);

	for (;;)
	{
		long		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), until);

		CHECK_FOR_INTERRUPTS();
		if (left <= 0)
			return;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, left, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}

char *
bf_arg_text(FunctionCallInfo fcinfo, int n, const char *what)
{
	if (PG_ARGISNULL(n))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", what),
				 strcmp(what, "version") == 0 ? errhint("See SELECT version FROM backfill.status.") : 0));
	return text_to_cstring(PG_GETARG_TEXT_PP(n));
}
