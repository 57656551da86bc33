/*
 * catalog.h
 *		The one SPI wrapper: identity switches, safe settings, typed arguments.
 */
#ifndef BF_CATALOG_H
#define BF_CATALOG_H

#include "backfill.h"

#include "executor/spi.h"
#include "funcapi.h"

/* An open identity switch; close in reverse order.  Errors unwind it by (sub)transaction abort. */
typedef struct BfIdentity
{
	Oid			save_userid;
	int			save_sec_context;
	int			save_nestlevel;
} BfIdentity;

/* Role (target owner), security-restricted, row_security off; search_path = pg_catalog, pg_temp. */
extern void bf_owner_enter(BfIdentity *id, Oid role);
extern void bf_identity_leave(BfIdentity *id);

/*
 * The settings that SQL text we keep (rules, bounds) is written and read under, for a GUC nest level of the caller:
 * every name that pg_catalog does not hold comes out qualified, and no constant depends on how a session reads it.
 */
extern void bf_text_settings(void);

/* A result whose values live in the caller's memory context. */
typedef struct BfRows
{
	int			nrows;
	int			ncols;
	Datum	   *values;			/* nrows * ncols, row by row */
	bool	   *nulls;
	TupleDesc	tupdesc;		/* copied too */
} BfRows;

#define BF_VALUE(r, row, col) ((r)->values[(row) * (r)->ncols + (col)])
#define BF_ISNULL(r, row, col) ((r)->nulls[(row) * (r)->ncols + (col)])

/*
 * Runs one statement under the identity in force and returns its rows (NULL
 * result is never returned; a command without rows gives nrows = processed,
 * ncols = 0).  Arguments: nargs, then arrays (nulls may be NULL).
 */
extern BfRows *bf_sql(const char *sql, int nargs, Oid *types, Datum *values, const bool *nulls);
/* The same as the catalog's owner: the only way to read or write bf_* tables. */
extern BfRows *bf_catalog(const char *sql, int nargs, Oid *types, Datum *values, const bool *nulls);
/* A statement without arguments or interest in rows, e.g. DDL; %-formatted, quoting is the caller's. */
extern uint64 bf_exec(const char *fmt,...) pg_attribute_printf(1, 2);

/* "schema"."name", quoted; errors out when the relation is gone. */
extern char *bf_relname(Oid relid);
/* InvalidOid when the relation is gone. */
extern Oid	bf_relowner(Oid relid);
/* text of one value or NULL */
extern char *bf_rows_text(BfRows *rows, int row, int col);

/* Appends every row of a catalog query to the result of the set-returning function being executed. */
extern void bf_return_rows(FunctionCallInfo fcinfo, BfRows *rows);

/* Sleeps; a cancel ends it at once. */
extern void bf_pause(int64 ms);

/* A setting, until the GUC nest level of the caller is closed. */
extern void bf_set_local(const char *name, const char *value);

/* A text argument of the function being executed; 22004 when it is NULL. */
extern char *bf_arg_text(FunctionCallInfo fcinfo, int n, const char *what);

/* Argument helpers */
extern Datum bf_text(const char *s);
/* Lists of Oids and of C strings as oid[] and text[], and back; NULL elements are left out. */
extern Datum bf_oid_array(List *oids);
extern Datum bf_text_array(List *strings);
extern List *bf_oid_list(Datum array);
extern List *bf_text_list(Datum array);
#define BF_ARGS(...) lengthof(((Oid[]){__VA_ARGS__})), ((Oid[]){__VA_ARGS__})
#define BF_VALS(...) ((Datum[]){__VA_ARGS__})

#endif							/* BF_CATALOG_H */
