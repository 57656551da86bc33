/*
 * shape.c
 *		A staged table like the live leaf: layout before the load; indexes,
 *		statistics targets, comments, privileges after it.
 *
 * LIKE would leave out dropped columns, and a table without them could never
 * stand in for the leaf's storage.  So the statements are written out from the
 * catalog: each query below returns DDL, which is then run in order.
 */
#include "build/shape.h"

#include "access/attmap.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "common/hashfn.h"
#include "common/subxact.h"
#include "define/guard.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_utilcmd.h"
#include "storage/lmgr.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* $1: oid of the table to imitate, $2: name of the new one, $3: bound CHECK or NULL */
static const char create_sql[] =
"SELECT format('CREATE %sTABLE %s (%s) %s WITH (%s) %s',\n"
" CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED ' END, $2,\n"
/* Columns; a dropped one is held open by a column of some type of the same length and alignment. */
" concat_ws(', ', (SELECT string_agg(CASE WHEN a.attisdropped\n"
"   THEN format('%I %s', '........backfill.dropped.' || a.attnum,\n"
"     coalesce((SELECT format_type(t.oid, NULL) FROM pg_type t WHERE t.typlen = a.attlen AND t.typalign = a.attalign\n"
"       AND t.typbyval = a.attbyval AND t.typtype = 'b' AND t.typnamespace = 'pg_catalog'::regnamespace\n"
"       ORDER BY t.oid LIMIT 1), 'text'))\n"
"   ELSE concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),\n"
"     CASE a.attcompression WHEN 'p' THEN 'COMPRESSION pglz' WHEN 'l' THEN 'COMPRESSION lz4' END,\n"
"     (SELECT format('COLLATE %I.%I', n.nspname, l.collname) FROM pg_collation l JOIN pg_namespace n ON n.oid = l.collnamespace\n"
"       JOIN pg_type t ON t.oid = a.atttypid WHERE l.oid = a.attcollation AND l.oid <> t.typcollation),\n"
"     CASE WHEN a.attgenerated = 's' THEN format('GENERATED ALWAYS AS (%s) STORED', pg_get_expr(d.adbin, d.adrelid))\n"
"       WHEN a.attgenerated = 'v' THEN format('GENERATED ALWAYS AS (%s) VIRTUAL', pg_get_expr(d.adbin, d.adrelid))\n"
"       WHEN d.adbin IS NOT NULL THEN 'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) END,\n"
"     CASE WHEN a.attnotnull THEN concat((SELECT format('CONSTRAINT %I ', k.conname) FROM pg_constraint k\n"
"       WHERE k.conrelid = c.oid AND k.contype = 'n' AND k.conkey[1] = a.attnum), 'NOT NULL') END) END, ', ' ORDER BY a.attnum)\n"
"   FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum\n"
"   WHERE a.attrelid = c.oid AND a.attnum > 0),\n"
"  (SELECT string_agg(format('CONSTRAINT %I %s', k.conname, pg_get_constraintdef(k.oid)), ', ' ORDER BY k.conname)\n"
"   FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'c' AND k.convalidated AND k.conname <> '" BF_BOUND_CHECK "'),\n"
"  'CONSTRAINT " BF_BOUND_CHECK " CHECK (' || $3 || ')'),\n"
" (SELECT format('USING %I', m.amname) FROM pg_am m WHERE m.oid = c.relam),\n"
" concat((SELECT string_agg(format('%s%I=%L, ', o.prefix, o.option_name, o.option_value), '') FROM\n"
"   (SELECT '' AS prefix, (pg_options_to_table(c.reloptions)).*\n"
"    UNION ALL SELECT 'toast.', (pg_options_to_table(t.reloptions)).* FROM pg_class t WHERE t.oid = c.reltoastrelid) o\n"
"   WHERE o.option_name <> 'autovacuum_enabled'), 'autovacuum_enabled=off, toast.autovacuum_enabled=off'),\n"
" (SELECT format('TABLESPACE %I', s.spcname) FROM pg_tablespace s WHERE s.oid = c.reltablespace))\n"
" FROM pg_class c WHERE c.oid = $1";

/* What CREATE TABLE cannot say. */
static const char *const layout_sql[] = {
	"SELECT format('ALTER TABLE %s DROP COLUMN %I', $2, '........backfill.dropped.' || attnum) FROM pg_attribute"
	" WHERE attrelid = $1 AND attnum > 0 AND attisdropped ORDER BY attnum",

	"SELECT format('ALTER TABLE %s ALTER COLUMN %I SET STORAGE %s', $2, a.attname, CASE a.attstorage"
	" WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END)"
	" FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid"
	" WHERE a.attrelid = $1 AND a.attnum > 0 AND a.attstorage <> t.typstorage ORDER BY a.attnum",

	"SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', $2, conname, pg_get_constraintdef(oid)) FROM pg_constraint"
	" WHERE conrelid = $1 AND contype = 'c' AND NOT convalidated AND conname <> '" BF_BOUND_CHECK "' ORDER BY conname"
};

/* $3, $4: oids of the indexes of `like` and of their copies */
static const char *const finish_sql[] = {
	"SELECT format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS %s', $2, attname, attstattarget) FROM pg_attribute"
	" WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attstattarget >= 0 ORDER BY attnum",

	/* pg_attver is an entry that some servers keep for themselves in every user column */
	"SELECT format('ALTER TABLE %s ALTER COLUMN %I SET (%s)', $2, attname,"
	" string_agg(format('%I=%L', option_name, option_value), ', '))"
	" FROM pg_attribute, pg_options_to_table(attoptions) WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped"
	" AND option_name <> 'pg_attver' GROUP BY attnum, attname ORDER BY attnum",

	"SELECT format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS %s', i.copy::regclass, a.attnum, a.attstattarget)"
	" FROM unnest($3, $4) AS i(original, copy) JOIN pg_attribute a ON a.attrelid = i.original AND a.attstattarget >= 0",

	"SELECT format('ALTER TABLE %s CLUSTER ON %I', $2, x.relname) FROM unnest($3, $4) AS i(original, copy)"
	" JOIN pg_index o ON o.indexrelid = i.original AND o.indisclustered JOIN pg_class x ON x.oid = i.copy",

	"SELECT format('ALTER TABLE %s REPLICA IDENTITY %s', $2, CASE c.relreplident WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING'"
	" ELSE (SELECT format('USING INDEX %I', x.relname) FROM unnest($3, $4) AS i(original, copy)"
	"   JOIN pg_index o ON o.indexrelid = i.original AND o.indisreplident JOIN pg_class x ON x.oid = i.copy) END)"
	" FROM pg_class c WHERE c.oid = $1 AND c.relreplident <> 'd'",

	"SELECT format('COMMENT ON TABLE %s IS %L', $2, obj_description($1, 'pg_class'))"
	" WHERE obj_description($1, 'pg_class') IS NOT NULL",

	"SELECT format('COMMENT ON COLUMN %s.%I IS %L', $2, a.attname, col_description($1, a.attnum)) FROM pg_attribute a"
	" WHERE a.attrelid = $1 AND a.attnum > 0 AND col_description($1, a.attnum) IS NOT NULL",

	"SELECT format('COMMENT ON CONSTRAINT %I ON %s IS %L', conname, $2, obj_description(oid, 'pg_constraint')) FROM pg_constraint"
	" WHERE conrelid = $1 AND contype = 'c' AND obj_description(oid, 'pg_constraint') IS NOT NULL",

	"SELECT format('COMMENT ON INDEX %s IS %L', copy::regclass, obj_description(original, 'pg_class'))"
	" FROM unnest($3, $4) AS i(original, copy) WHERE obj_description(original, 'pg_class') IS NOT NULL",

	"SELECT format('COMMENT ON CONSTRAINT %I ON %s IS %L', n.conname, $2, obj_description(o.oid, 'pg_constraint'))"
	" FROM unnest($3, $4) AS i(original, copy) JOIN pg_constraint o ON o.conindid = i.original AND o.conrelid = $1"
	" JOIN pg_constraint n ON n.conindid = i.copy WHERE obj_description(o.oid, 'pg_constraint') IS NOT NULL",

	/* The leaf's own autovacuum settings: the load is over. */
	"SELECT format('ALTER TABLE %s %s', $2, string_agg("
	"CASE WHEN o.option_value IS NULL THEN format('RESET (%sautovacuum_enabled)', w.prefix)"
	" ELSE format('SET (%sautovacuum_enabled=%L)', w.prefix, o.option_value) END, ', '))"
	" FROM pg_class c LEFT JOIN pg_class t ON t.oid = c.reltoastrelid"
	" CROSS JOIN LATERAL (VALUES ('', c.reloptions), ('toast.', t.reloptions)) AS w(prefix, options)"
	" LEFT JOIN LATERAL (SELECT option_value FROM pg_options_to_table(w.options)"
	"  WHERE option_name = 'autovacuum_enabled') o ON true"
	" WHERE c.oid = $1"
};

static void
run_each(const char *sql, int nargs, Oid *types, Datum *values, const bool *nulls)
{
	BfRows	   *r = bf_sql(sql, nargs, types, values, nulls);

	for (int i = 0; i < r->nrows; i++)
		bf_exec("%s", bf_rows_text(r, i, 0));
}

char *
bf_shape_name(const char *name, const char *suffix)
{
	int			room = NAMEDATALEN - 2 - strlen(suffix);
	int			len = strlen(name);

	if (len <= room)
		return psprintf("%s_%s", name, suffix);
	/* Names that differ only in what is cut off must not become the same. */
	return psprintf("%.*s_%08x_%s", pg_mbcliplen(name, len, room - 9), name,
					hash_bytes((const unsigned char *) name, len), suffix);
}

/* Puts an ACL in place as it is, grantors and all, which GRANT cannot. */
static void
set_acl(Oid catalog, HeapTuple tup, AttrNumber column, Oid relid, AttrNumber attnum, Oid owner, const Acl *acl)
{
	Relation	rel = table_open(catalog, RowExclusiveLock);
	TupleDesc	desc = RelationGetDescr(rel);
	Datum	   *values = palloc0(sizeof(Datum) * desc->natts);
	bool	   *nulls = palloc0(sizeof(bool) * desc->natts);
	bool	   *replace = palloc0(sizeof(bool) * desc->natts);
	bool		wasnull;
	Datum		before = heap_getattr(tup, column, desc, &wasnull);
	Oid		   *old_members = NULL,
			   *new_members = NULL;
	int			nold = wasnull ? 0 : aclmembers(DatumGetAclP(before), &old_members);
	int			nnew = acl == NULL ? 0 : aclmembers(acl, &new_members);
	HeapTuple	copy;

	replace[column - 1] = true;
	nulls[column - 1] = acl == NULL;
	values[column - 1] = PointerGetDatum(acl);
	copy = heap_modify_tuple(tup, desc, values, nulls, replace);
	CatalogTupleUpdate(rel, &copy->t_self, copy);
	updateAclDependencies(RelationRelationId, relid, attnum, owner, nold, old_members, nnew, new_members);
	table_close(rel, RowExclusiveLock);
}

static Acl *
acl_of(int cache, HeapTuple tup, AttrNumber column)
{
	bool		isnull;
	Datum		d = SysCacheGetAttr(cache, tup, column, &isnull);

	return isnull ? NULL : DatumGetAclPCopy(d);
}

/* Privileges of `like`, or none at all (whatever ALTER DEFAULT PRIVILEGES gave) when it is invalid. */
static void
copy_privileges(Oid relid, Oid like)
{
	HeapTuple	tup = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(relid));
	HeapTuple	from = OidIsValid(like) ? SearchSysCache1(RELOID, ObjectIdGetDatum(like)) : NULL;
	int			natts = ((Form_pg_class) GETSTRUCT(tup))->relnatts;
	Oid			owner = ((Form_pg_class) GETSTRUCT(tup))->relowner;

	set_acl(RelationRelationId, tup, Anum_pg_class_relacl, relid, 0, owner,
			from ? acl_of(RELOID, from, Anum_pg_class_relacl) : NULL);
	for (int i = 1; from && i <= natts; i++)
	{
		HeapTuple	from_att = SearchSysCache2(ATTNUM, ObjectIdGetDatum(like), Int16GetDatum(i));
		Acl		   *acl = HeapTupleIsValid(from_att) ? acl_of(ATTNUM, from_att, Anum_pg_attribute_attacl) : NULL;

		if (acl)
			set_acl(AttributeRelationId,
					SearchSysCacheCopy2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(i)),
					Anum_pg_attribute_attacl, relid, i, owner, acl);
		if (HeapTupleIsValid(from_att))
			ReleaseSysCache(from_att);
	}
	if (from)
		ReleaseSysCache(from);
	CommandCounterIncrement();
}

Oid
bf_shape_create(const char *name, Oid like, const char *bound_def)
{
	Oid			types[] = {OIDOID, TEXTOID, TEXTOID};
	Datum		values[] = {ObjectIdGetDatum(like),
		bf_text(quote_qualified_identifier(BF_STAGING_SCHEMA, name)),
	bound_def ? bf_text(bound_def) : (Datum) 0};
	bool		nulls[] = {false, false, bound_def == NULL};
	Oid			relid;

	LockRelationOid(like, AccessShareLock);
	run_each(create_sql, 3, types, values, nulls);
	for (int i = 0; i < lengthof(layout_sql); i++)
		run_each(layout_sql[i], 3, types, values, nulls);
	CommandCounterIncrement();
	relid = get_relname_relid(name, get_namespace_oid(BF_STAGING_SCHEMA, false));
	copy_privileges(relid, InvalidOid);
	return relid;
}

/* Whether an index covers the key columns, in any order, and nothing else. */
static bool
is_key_index(Relation index, Oid table, List *key)
{
	Form_pg_index form = index->rd_index;

	if (form->indnatts != list_length(key))
		return false;
	for (int i = 0; i < form->indnatts; i++)
	{
		char	   *column = form->indkey.values[i] > 0 ? get_attname(table, form->indkey.values[i], true) : NULL;
		ListCell   *lc;
		bool		found = false;

		foreach(lc, key)
			found = found || (column && strcmp(column, lfirst(lc)) == 0);
		if (!found)
			return false;
	}
	return true;
}

static void
run_index(void *stmt)
{
	PlannedStmt *wrapper = makeNode(PlannedStmt);

	wrapper->commandType = CMD_UTILITY;
	wrapper->utilityStmt = copyObject((Node *) stmt);
	wrapper->stmt_len = -1;
	/* Not SUBCOMMAND: event triggers are to see it. */
	ProcessUtility(wrapper, "backfill index", false, PROCESS_UTILITY_QUERY, NULL, NULL, None_Receiver, NULL);
	CommandCounterIncrement();
}

/* Builds a unique index; false, and nothing built, when there are duplicates. */
static bool
try_unique(IndexStmt *stmt)
{
	ErrorData  *error = bf_subxact(run_index, stmt);

	if (error != NULL && error->sqlerrcode != ERRCODE_UNIQUE_VIOLATION)
		ReThrowError(error);
	return error == NULL;
}

/* One index like `original` on the staged table; returns its oid. */
static Oid
copy_index(Oid original, Oid staged, const char *suffix, List *key, AttrMap *map, bool *unique)
{
	Relation	index = index_open(original, AccessShareLock);
	RangeVar   *table = makeRangeVar(pstrdup(BF_STAGING_SCHEMA), get_rel_name(staged), -1);
	Oid			constraint;
	IndexStmt  *stmt = generateClonedIndexStmt(table, index, map, &constraint);
	bool		is_key = stmt->unique && is_key_index(index, index->rd_index->indrelid, key);

	index_close(index, NoLock);
	stmt->idxname = bf_shape_name(get_rel_name(original), suffix);
	if (is_key && !try_unique(stmt))
	{
		*unique = false;
		stmt->unique = stmt->primary = stmt->isconstraint = stmt->deferrable = stmt->initdeferred = false;
		run_index(stmt);
	}
	else if (!is_key)
		run_index(stmt);
	return get_relname_relid(stmt->idxname, get_namespace_oid(BF_STAGING_SCHEMA, false));
}

/* Every valid index of `like`; fills the pairs (original, copy). */
static void
copy_indexes(Oid staged, Oid like, const char *suffix, List *key, bool *unique, List **originals, List **copies)
{
	Relation	rel = table_open(like, AccessShareLock);
	List	   *indexes = RelationGetIndexList(rel);
	AttrMap    *map = make_attrmap(RelationGetNumberOfAttributes(rel));
	ListCell   *lc;

	for (int i = 0; i < map->maplen; i++)
		map->attnums[i] = TupleDescAttr(RelationGetDescr(rel), i)->attisdropped ? 0 : i + 1;
	foreach(lc, indexes)
	{
		CHECK_FOR_INTERRUPTS();
		if (!get_index_isvalid(lfirst_oid(lc)))
			continue;
		*originals = lappend_oid(*originals, lfirst_oid(lc));
		*copies = lappend_oid(*copies, copy_index(lfirst_oid(lc), staged, suffix, key, map, unique));
	}
	table_close(rel, NoLock);
}

/* Extended statistics: no clause of CREATE TABLE or LIKE gives them names of ours. */
static void
copy_statistics(Oid staged, Oid like, const char *suffix)
{
	BfRows	   *r = bf_sql("SELECT s.stxname::text, '(' || (SELECT string_agg(CASE k WHEN 'd' THEN 'ndistinct'"
						   " WHEN 'f' THEN 'dependencies' WHEN 'm' THEN 'mcv' END, ', ')"
						   " FROM unnest(s.stxkind) k WHERE k <> 'e') || ')',"
						   " pg_get_statisticsobjdef_columns(s.oid), nullif(s.stxstattarget, -1)::text,"
						   " quote_literal(obj_description(s.oid, 'pg_statistic_ext'))"
						   " FROM pg_statistic_ext s WHERE s.stxrelid = $1 ORDER BY s.oid",
						   BF_ARGS(OIDOID), BF_VALS(ObjectIdGetDatum(like)), NULL);

	for (int i = 0; i < r->nrows; i++)
	{
		char	   *name = quote_qualified_identifier(BF_STAGING_SCHEMA, bf_shape_name(bf_rows_text(r, i, 0), suffix));
		char	   *kinds = bf_rows_text(r, i, 1);

		bf_exec("CREATE STATISTICS %s %s ON %s FROM %s", name, kinds ? kinds : "", bf_rows_text(r, i, 2), bf_relname(staged));
		if (!BF_ISNULL(r, i, 3))
			bf_exec("ALTER STATISTICS %s SET STATISTICS %s", name, bf_rows_text(r, i, 3));
		if (!BF_ISNULL(r, i, 4))
			bf_exec("COMMENT ON STATISTICS %s IS %s", name, bf_rows_text(r, i, 4));
	}
}

void
bf_shape_finish(Oid staged, Oid like, const char *suffix, List *key, bool *unique)
{
	Oid			types[] = {OIDOID, TEXTOID, OIDARRAYOID, OIDARRAYOID};
	List	   *originals = NIL,
			   *copies = NIL;
	Datum		values[4];
	char	   *name = bf_relname(staged);

	*unique = true;
	copy_indexes(staged, like, suffix, key, unique, &originals, &copies);
	values[0] = ObjectIdGetDatum(like);
	values[1] = bf_text(name);
	values[2] = bf_oid_array(originals);
	values[3] = bf_oid_array(copies);
	for (int i = 0; i < lengthof(finish_sql); i++)
		run_each(finish_sql[i], 4, types, values, NULL);
	copy_statistics(staged, like, suffix);
	if (get_rel_relkind(like) == RELKIND_RELATION)
		copy_privileges(staged, like);
	bf_exec("ANALYZE %s", name);
	bf_guard_install(staged);
}
