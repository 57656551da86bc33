/*
 * compare.c
 *		Old and new side by side: one pass over both gives every count and total.
 *
 * The two sides meet in a merge join over the key, which reads the key indexes
 * in order; the planner left to itself hashes, which was 3.4 times slower.  A
 * row is known to be there by its ctid, which is never NULL.  Keys are matched
 * by their operator class, values by their stored image: 1.0 and 1.00 are the
 * same key but not the same value.
 */
#include "verify/compare.h"

#include "access/nbtree.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "define/expression.h"
#include "define/version.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#define MAX_SAMPLES 10

/* Column that numbers the rows of one key when keys repeat; no name that a target's column would have. */
#define NTH "\"........backfill.nth\""

/* A statement to run inside a guard, and what came of it. */
typedef struct GuardedSql
{
	const char *sql;
	BfRows	   *rows;
} GuardedSql;

void
bf_compare_enter(BfIdentity *id, const BfVersion *v)
{
	bf_owner_enter(id, v->owner);
	bf_version_apply_settings(v);
	/* NB: with any other schema in it, somebody's count(tid) would be a better match than pg_catalog's count("any"). */
	bf_set_local("search_path", "pg_catalog, pg_temp");
	bf_set_local("enable_hashjoin", "off");
	bf_set_local("enable_nestloop", "off");
	bf_set_local("enable_mergejoin", "on");
	bf_set_local("jit", "off");
}

static void
run_guarded(void *arg)
{
	GuardedSql *g = arg;

	g->rows = bf_sql(g->sql, 0, NULL, NULL, NULL);
}

/* "o.col" */
static char *
column(const char *side, const char *name)
{
	return psprintf("%s.%s", side, quote_identifier(name));
}

/* The text f makes of each column, joined. */
static char *
join_columns(List *columns, const char *between, char *(*f) (const char *name, void *arg), void *arg)
{
	StringInfoData s;
	ListCell   *lc;

	initStringInfo(&s);
	foreach(lc, columns)
		appendStringInfo(&s, "%s%s", s.len > 0 ? between : "", f(lfirst(lc), arg));
	return s.data;
}

static char *
plain(const char *name, void *side)
{
	return column(side, name);
}

static char *
is_null(const char *name, void *side)
{
	return psprintf("%s IS NULL", column(side, name));
}

static char *
is_not_null(const char *name, void *side)
{
	return psprintf("%s IS NOT NULL", column(side, name));
}

static char *
sample_pair(const char *name, void *side)
{
	return psprintf("%s, %s", quote_literal_cstr(name), column(side, name));
}

static Form_pg_attribute
find_column(Relation rel, const char *name)
{
	TupleDesc	desc = RelationGetDescr(rel);

	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped && strcmp(NameStr(TupleDescAttr(desc, i)->attname), name) == 0)
			return TupleDescAttr(desc, i);
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("column \"%s\" of %s does not exist", name, bf_relname(RelationGetRelid(rel))),
			 errhint("Build the version again.")));
}

static char *
keys_equal(const char *name, void *rel)
{
	return psprintf("%s %s %s", column("o", name), bf_expression_equal(find_column(rel, name)->atttypid), column("n", name));
}

/* Do equal values of this column have the same image?  btree deduplication asks the same question. */
static bool
equal_means_same(Form_pg_attribute att)
{
	TypeCacheEntry *entry = lookup_type_cache(att->atttypid, TYPECACHE_BTREE_OPFAMILY);
	Oid			proc = InvalidOid;

	if (OidIsValid(entry->btree_opf))
		proc = get_opfamily_proc(entry->btree_opf, entry->btree_opintype, entry->btree_opintype, BTEQUALIMAGE_PROC);
	return OidIsValid(proc) &&
		DatumGetBool(OidFunctionCall1Coll(proc, att->attcollation, ObjectIdGetDatum(entry->btree_opintype)));
}

static bool
is_key(const BfVersion *v, const char *name)
{
	ListCell   *lc;

	foreach(lc, v->key)
		if (strcmp(lfirst(lc), name) == 0)
			return true;
	return false;
}

/* Condition: rows o and n of one key differ in some value.  The key's columns too, where equal is not the same. */
static char *
differs(const BfVersion *v, Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	StringInfoData s;

	initStringInfo(&s);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		char	   *name = NameStr(att->attname);
		bool		plainly = !att->attisdropped && equal_means_same(att);

		if (att->attisdropped || (plainly && is_key(v, name)))
			continue;
		appendStringInfo(&s, s.len > 0 ? " OR " : "");
		if (plainly && att->atttypid < FirstGenbkiObjectId)
			appendStringInfo(&s, "%s IS DISTINCT FROM %s", column("o", name), column("n", name));
		else
			appendStringInfo(&s, "backfill.differs(%s, %s)", column("o", name), column("n", name));
	}
	return s.len > 0 ? s.data : "false";
}

/* Does a unique index promise that no key repeats? */
static bool
known_unique(const BfVersion *v, Oid relid)
{
	BfRows	   *r = bf_sql("SELECT (SELECT array_agg(a.attname::text) FROM pg_attribute a WHERE a.attrelid = i.indrelid"
						   " AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1])) FROM pg_index i WHERE i.indrelid = $1"
						   " AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL",
						   BF_ARGS(OIDOID), BF_VALS(ObjectIdGetDatum(relid)), NULL);

	for (int i = 0; i < r->nrows; i++)
	{
		bool		all = true;
		ListCell   *lc;

		foreach(lc, bf_text_list(BF_VALUE(r, i, 0)))
			all &= is_key(v, lfirst(lc));
		/* An index on some of the key's columns promises even more. */
		if (all)
			return true;
	}
	return false;
}

static char *
duplicates_from(const BfVersion *v, Oid relid)
{
	return psprintf("FROM ONLY %s n WHERE %s GROUP BY %s HAVING count(*) > 1", bf_relname(relid),
					join_columns(v->key, " AND ", is_not_null, "n"), join_columns(v->key, ", ", plain, "n"));
}

static int64
count_duplicates(const BfVersion *v, Oid relid)
{
	BfRows	   *r;

	if (known_unique(v, relid))
		return 0;
	r = bf_sql(psprintf("SELECT count(*) FROM (SELECT %s) x", duplicates_from(v, relid)), 0, NULL, NULL, NULL);
	return DatumGetInt64(BF_VALUE(r, 0, 0));
}

static bool
key_not_null(const BfVersion *v, Relation rel)
{
	ListCell   *lc;

	foreach(lc, v->key)
		if (!find_column(rel, lfirst(lc))->attnotnull)
			return false;
	return true;
}

/* One side of the join; numbered when keys repeat, so that each row meets at most one. */
static char *
side_sql(const BfVersion *v, Oid relid, char *side, bool numbered)
{
	char	   *keys;

	if (!numbered)
		return psprintf("ONLY %s %s", bf_relname(relid), side);
	keys = join_columns(v->key, ", ", plain, "t");
	return psprintf("(SELECT t.*, t.ctid, row_number() OVER (PARTITION BY %s ORDER BY t.ctid) AS " NTH
					" FROM ONLY %s t) %s", keys, bf_relname(relid), side);
}

static char *
join_sql(const BfVersion *v, Oid live, Relation staged, bool numbered)
{
	return psprintf("%s FULL JOIN %s ON (%s%s)", side_sql(v, live, "o", numbered),
					side_sql(v, RelationGetRelid(staged), "n", numbered), join_columns(v->key, " AND ", keys_equal, staged),
					numbered ? " AND o." NTH " = n." NTH : "");
}

/* A column as something whose equality is sameness of its image. */
static char *
image_sql(Form_pg_attribute att, const char *side)
{
	Oid			send;
	HeapTuple	tup;

	if (equal_means_same(att) && att->atttypid < FirstGenbkiObjectId)
		return column(side, NameStr(att->attname));
	tup = SearchSysCache1(TYPEOID, ObjectIdGetDatum(getBaseType(att->atttypid)));
	if (!HeapTupleIsValid(tup))
		elog(ERROR, "cache lookup failed for type %u", att->atttypid);
	send = ((Form_pg_type) GETSTRUCT(tup))->typsend;
	ReleaseSysCache(tup);
	if (!OidIsValid(send))
		return psprintf("%s::text", column(side, NameStr(att->attname)));
	return psprintf("%s(%s)", quote_qualified_identifier(get_namespace_name(get_func_namespace(send)), get_func_name(send)),
					column(side, NameStr(att->attname)));
}

/* Without a key: rows are counted by their whole image, and the surplus of either side is lost or gained. */
static void
compare_multiset(BfComparison *c, Oid live, Relation staged)
{
	TupleDesc	desc = RelationGetDescr(staged);
	StringInfoData columns;
	StringInfoData group;
	BfRows	   *r;

	initStringInfo(&columns);
	initStringInfo(&group);
	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attisdropped)
			continue;
		appendStringInfo(&columns, ", %s AS c%d", image_sql(TupleDescAttr(desc, i), "t"), i);
		appendStringInfo(&group, "%sc%d", group.len > 0 ? ", " : "", i);
	}
	r = bf_sql(psprintf("SELECT coalesce(sum(o), 0)::bigint, coalesce(sum(n), 0)::bigint,"
						" coalesce(sum(greatest(o - n, 0)), 0)::bigint, coalesce(sum(greatest(n - o, 0)), 0)::bigint"
						" FROM (SELECT count(*) FILTER (WHERE is_old) AS o, count(*) FILTER (WHERE NOT is_old) AS n"
						" FROM (SELECT true AS is_old%s FROM ONLY %s t UNION ALL SELECT false%s FROM ONLY %s t) both_sides"
						" GROUP BY %s) counted",
						columns.data, bf_relname(live), columns.data, bf_relname(RelationGetRelid(staged)), group.data),
			   0, NULL, NULL, NULL);
	c->old_rows = DatumGetInt64(BF_VALUE(r, 0, 0));
	c->new_rows = DatumGetInt64(BF_VALUE(r, 0, 1));
	c->lost = DatumGetInt64(BF_VALUE(r, 0, 2));
	c->gained = DatumGetInt64(BF_VALUE(r, 0, 3));
}

/* The counts of one pass, in the order read_counts expects. */
static char *
counts_sql(const BfVersion *v, Relation staged, bool with_old)
{
	char	   *nulls = v->key == NIL || key_not_null(v, staged) ? "0::bigint" :
		psprintf("count(*) FILTER (WHERE n.ctid IS NOT NULL AND (%s))", join_columns(v->key, " OR ", is_null, "n"));

	if (!with_old)
		return psprintf("0::bigint, count(*), count(*), 0::bigint, %s", nulls);
	return psprintf("count(o.ctid), count(n.ctid), count(*),"
					" count(*) FILTER (WHERE o.ctid IS NOT NULL AND n.ctid IS NOT NULL AND (%s)), %s",
					differs(v, staged), nulls);
}

static void
read_counts(BfComparison *c, BfRows *r)
{
	int64		all = DatumGetInt64(BF_VALUE(r, 0, 2));

	c->old_rows = DatumGetInt64(BF_VALUE(r, 0, 0));
	c->new_rows = DatumGetInt64(BF_VALUE(r, 0, 1));
	/* A matched pair is one row of the join. */
	c->lost = all - c->new_rows;
	c->gained = all - c->old_rows;
	c->changed = DatumGetInt64(BF_VALUE(r, 0, 3));
	c->null_keys = DatumGetInt64(BF_VALUE(r, 0, 4));
}

static void
read_side(BfRows *r, int col, Datum *value, bool *isnull)
{
	*value = BF_VALUE(r, 0, col);
	*isnull = BF_ISNULL(r, 0, col);
}

int64
bf_compare_total(const BfVersion *v, const BfTotal *total, List *relids, Datum *value, bool *isnull, char **error)
{
	char	   *columns = join_columns(bf_total_columns(v, total), ", ", plain, "t");
	StringInfoData from;
	ListCell   *lc;
	GuardedSql	g;

	*value = (Datum) 0;
	*isnull = true;
	*error = NULL;
	initStringInfo(&from);
	foreach(lc, relids)
		appendStringInfo(&from, "%sSELECT %s FROM ONLY %s t", from.len > 0 ? " UNION ALL " : "", columns,
						 bf_relname(lfirst_oid(lc)));
	if (relids == NIL)
		return 0;
	g.sql = psprintf("SELECT count(*), %s FROM (%s) x", bf_total_sql(v, total, v->target, "x", false), from.data);
	*error = bf_expression_guard(run_guarded, &g);
	if (*error != NULL)
		return -1;
	read_side(g.rows, 1, value, isnull);
	return DatumGetInt64(BF_VALUE(g.rows, 0, 0));
}

/* Each total in a statement of its own: there is no join, or one of them failed in it. */
static void
compare_totals_apart(const BfVersion *v, BfComparison *c, Oid live, Oid staged, List *totals)
{
	int			i = 0;
	ListCell   *lc;

	foreach(lc, totals)
	{
		BfTotalValue *t = &c->totals[i++];
		char	   *old_error = NULL;

		t->oldnull = true;
		if (OidIsValid(live))
			bf_compare_total(v, lfirst(lc), list_make1_oid(live), &t->old, &t->oldnull, &old_error);
		bf_compare_total(v, lfirst(lc), list_make1_oid(staged), &t->new, &t->newnull, &t->error);
		if (t->error == NULL)
			t->error = old_error;
	}
}

/* Counts and totals of one pass over `from`. */
static void
compare_once(const BfVersion *v, BfComparison *c, Oid live, Relation staged, List *totals)
{
	StringInfoData sql;
	bool		with_old = OidIsValid(live);
	char	   *counts = counts_sql(v, staged, with_old);
	GuardedSql	g;
	ListCell   *lc;
	int			i = 0;

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT %s", counts);
	foreach(lc, totals)
	{
		BfTotal    *total = lfirst(lc);

		appendStringInfo(&sql, ", %s", with_old ? bf_total_sql(v, total, live, "o", true) : "NULL");
		appendStringInfo(&sql, ", %s", bf_total_sql(v, total, RelationGetRelid(staged), "n", with_old));
	}
	appendStringInfo(&sql, " FROM %s", c->from);
	g.sql = sql.data;
	if (totals == NIL || bf_expression_guard(run_guarded, &g) != NULL)
	{
		compare_totals_apart(v, c, live, RelationGetRelid(staged), totals);
		g.sql = psprintf("SELECT %s FROM %s", counts, c->from);
		run_guarded(&g);
	}
	else
		foreach(lc, totals)
		{
			read_side(g.rows, 5 + 2 * i, &c->totals[i].old, &c->totals[i].oldnull);
			read_side(g.rows, 6 + 2 * i, &c->totals[i].new, &c->totals[i].newnull);
			i++;
		}
	read_counts(c, g.rows);
}

BfComparison *
bf_compare(const BfVersion *v, Oid live, Oid staged, List *totals)
{
	BfComparison *c = palloc0(sizeof(BfComparison));
	Relation	rel = table_open(staged, AccessShareLock);
	bool		numbered = false;

	c->totals = palloc0(sizeof(BfTotalValue) * Max(1, list_length(totals)));
	if (v->key != NIL)
	{
		c->duplicates = count_duplicates(v, staged);
		numbered = c->duplicates > 0 || (OidIsValid(live) && count_duplicates(v, live) > 0);
	}
	if (v->key == NIL && OidIsValid(live))
	{
		compare_multiset(c, live, rel);
		compare_totals_apart(v, c, live, staged, totals);
	}
	else
	{
		c->from = OidIsValid(live) ? join_sql(v, live, rel, numbered) : psprintf("ONLY %s n", bf_relname(staged));
		compare_once(v, c, live, rel, totals);
	}
	table_close(rel, NoLock);
	return c;
}

Jsonb *
bf_compare_samples(const BfVersion *v, const BfComparison *c, Oid staged, BfSample which)
{
	char	   *side = which == BF_SAMPLE_LOST ? "o" : "n";
	char	   *keys = join_columns(v->key, ", ", plain, side);
	char	   *object = psprintf("jsonb_build_object(%s)", join_columns(v->key, ", ", sample_pair, side));
	char	   *from = NULL;
	BfRows	   *r;

	switch (which)
	{
		case BF_SAMPLE_LOST:
			from = psprintf("FROM %s WHERE n.ctid IS NULL", c->from);
			break;
		case BF_SAMPLE_GAINED:
			from = psprintf("FROM %s WHERE o.ctid IS NULL", c->from);
			break;
		case BF_SAMPLE_DUPLICATE:
			from = duplicates_from(v, staged);
			break;
		case BF_SAMPLE_NULL:
			from = psprintf("FROM ONLY %s n WHERE %s", bf_relname(staged), join_columns(v->key, " OR ", is_null, "n"));
			break;
	}
	r = bf_sql(psprintf("SELECT jsonb_agg(sample) FROM (SELECT %s AS sample %s ORDER BY %s LIMIT %d) x",
						object, from, keys, MAX_SAMPLES), 0, NULL, NULL, NULL);
	return BF_ISNULL(r, 0, 0) ? NULL : DatumGetJsonbP(BF_VALUE(r, 0, 0));
}
