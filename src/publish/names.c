/*
 * names.c
 *		Names of tables, indexes and statistics objects go from the table that was attached to the one that is.
 */
#include "publish/names.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "build/shape.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "common/catalog.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/*
 * Through the functions behind ALTER ... RENAME and SET SCHEMA rather than SQL
 * text: readers wait meanwhile, and this is the greater part of what a switch
 * does beside DETACH and ATTACH.
 */
static void
rename_relation(Oid relid, const char *name)
{
	RenameRelationInternal(relid, name, false, get_rel_relkind(relid) == RELKIND_INDEX);
	CommandCounterIncrement();
}

/* Whether the schema has a type of the same name as the array type of this table. */
static bool
array_type_collides(Oid relid, Oid namespace)
{
	HeapTuple	tup = SearchSysCache1(TYPEOID, ObjectIdGetDatum(get_array_type(get_rel_type_id(relid))));
	bool		collides = false;

	if (HeapTupleIsValid(tup))
	{
		collides = SearchSysCacheExists2(TYPENAMENSP, NameGetDatum(&((Form_pg_type) GETSTRUCT(tup))->typname),
										 ObjectIdGetDatum(namespace));
		ReleaseSysCache(tup);
	}
	return collides;
}

static void
move_to_schema(Oid relid, Oid namespace)
{
	Relation	rel = table_open(relid, AccessExclusiveLock);
	ObjectAddresses *moved = new_object_addresses();

	AlterTableNamespaceInternal(rel, RelationGetNamespace(rel), namespace, moved);
	free_object_addresses(moved);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

static void
set_schema(Oid relid, Oid namespace)
{
	char	   *name = get_rel_name(relid);

	/*
	 * RENAME finds a free name for the array type, SET SCHEMA does not.  Long
	 * names that differ in the last bytes only have array types of one name.
	 */
	if (!array_type_collides(relid, namespace))
	{
		move_to_schema(relid, namespace);
		return;
	}
	rename_relation(relid, psprintf("backfill_moving_%u", relid));
	move_to_schema(relid, namespace);
	rename_relation(relid, name);
}

/* Every table of ours that is not attached is named <name>_<suffix>, and so is everything on it. */
static char *
suffix_of(Oid relid)
{
	char	   *name = get_rel_name(relid);
	char	   *b = name ? strrchr(name, 'b') : NULL;

	if (b == NULL || b == name || b[-1] != '_' || b[1] == '\0' || strspn(b + 1, "0123456789_") != strlen(b + 1))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("staged or retired table %s was renamed", bf_relname(relid)),
				 errhint("Give it back the name it had, or create a new version.")));
	return b;
}

/* A suffix under which this table's name is still free in the staging schema. */
static char *
free_suffix(const BfPartition *p, const char *name)
{
	Oid			staging = get_namespace_oid(BF_STAGING_SCHEMA, false);
	char	   *suffix = psprintf("b" INT64_FORMAT, p->id);

	for (int n = 2; OidIsValid(get_relname_relid(bf_shape_name(name, suffix), staging)); n++)
		suffix = psprintf("b" INT64_FORMAT "_%d", p->id, n);
	return suffix;
}

/* What hangs on a table under a name of its own.  From the relation cache: this runs while readers wait. */
typedef struct Satellites
{
	List	   *indexes;		/* Oids */
	List	   *statistics;		/* Oids of extended statistics */
} Satellites;

static Satellites
satellites_of(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	Satellites	s = {RelationGetIndexList(rel), RelationGetStatExtList(rel)};

	table_close(rel, NoLock);
	return s;
}

static Oid
index_named(List *indexes, const char *name)
{
	ListCell   *lc;

	foreach(lc, indexes)
		if (strcmp(get_rel_name(lfirst_oid(lc)), name) == 0)
			return lfirst_oid(lc);
	return InvalidOid;
}

static char *
statistics_name(Oid statistics, Oid *namespace)
{
	HeapTuple	tup = SearchSysCache1(STATEXTOID, ObjectIdGetDatum(statistics));
	Form_pg_statistic_ext form;
	char	   *name;

	if (!HeapTupleIsValid(tup))
		elog(ERROR, "cache lookup failed for statistics object %u", statistics);
	form = (Form_pg_statistic_ext) GETSTRUCT(tup);
	name = pstrdup(NameStr(form->stxname));
	*namespace = form->stxnamespace;
	ReleaseSysCache(tup);
	return name;
}

static void
set_statistics_name(Oid statistics, Oid namespace, const char *name)
{
	Oid			old_namespace;
	char	   *old = statistics_name(statistics, &old_namespace);
	char	   *schema = get_namespace_name(old_namespace);

	bf_exec("ALTER STATISTICS %s RENAME TO %s", quote_qualified_identifier(schema, old), quote_identifier(name));
	if (namespace != old_namespace)
		bf_exec("ALTER STATISTICS %s SET SCHEMA %s", quote_qualified_identifier(schema, name),
				quote_identifier(get_namespace_name(namespace)));
}

static void
exchange_index_names(List *out, List *in, const char *suffix)
{
	ListCell   *lc;

	foreach(lc, out)
	{
		char	   *plain = get_rel_name(lfirst_oid(lc));
		char	   *suffixed = bf_shape_name(plain, suffix);
		Oid			twin = index_named(in, suffixed);

		if (!OidIsValid(twin))
			continue;
		rename_relation(lfirst_oid(lc), suffixed);
		rename_relation(twin, plain);
	}
}

static void
exchange_statistics_names(List *out, List *in, const char *suffix)
{
	ListCell   *a,
			   *b;

	foreach(a, out)
	{
		Oid			schema,
					staging;
		char	   *plain = statistics_name(lfirst_oid(a), &schema);
		char	   *suffixed = bf_shape_name(plain, suffix);

		foreach(b, in)
		{
			if (strcmp(statistics_name(lfirst_oid(b), &staging), suffixed) != 0)
				continue;
			/* Out of the way first: both may be in one schema. */
			set_statistics_name(lfirst_oid(b), staging, bf_shape_name(suffixed, "x"));
			set_statistics_name(lfirst_oid(a), staging, suffixed);
			set_statistics_name(lfirst_oid(b), schema, plain);
			break;
		}
	}
}

/*
 * The attached table's names pass to the incoming one and the other way round,
 * index by index.  An index without a counterpart (an invalid one was not
 * copied) keeps its name and comes back with its table.  Each name is free at
 * its moment: the two schemas hold one table of the pair each.
 */
void
bf_names_exchange(Oid out, Oid in)
{
	char	   *name = get_rel_name(out);
	char	   *kept = get_rel_name(in);
	char	   *suffix = suffix_of(in);
	Oid			schema = get_rel_namespace(out);
	Oid			staging = get_rel_namespace(in);
	Satellites	of_out = satellites_of(out);
	Satellites	of_in = satellites_of(in);

	/* NB: renamed where they stay, because RENAME finds a free name for the array type there and SET SCHEMA does not. */
	set_schema(out, staging);
	set_schema(in, schema);
	rename_relation(out, kept);
	rename_relation(in, name);
	exchange_index_names(of_out.indexes, of_in.indexes, suffix);
	exchange_statistics_names(of_out.statistics, of_in.statistics, suffix);
}

/* The name that ATTACH would have given to an index of a new partition. */
static char *
new_index_name(const char *table, Oid index, Oid namespace)
{
	BfRows	   *r = bf_sql("SELECT pg_catalog.string_agg(a.attname, '_' ORDER BY a.attnum), i.indisprimary, i.indisexclusion, c.oid IS NOT NULL"
						   " FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indexrelid"
						   " LEFT JOIN pg_catalog.pg_constraint c ON c.conindid = i.indexrelid AND c.conrelid = i.indrelid"
						   " WHERE i.indexrelid = $1 GROUP BY i.indisprimary, i.indisexclusion, c.oid",
						   BF_ARGS(OIDOID), BF_VALS(ObjectIdGetDatum(index)), NULL);
	bool		primary = DatumGetBool(BF_VALUE(r, 0, 1));
	bool		exclusion = DatumGetBool(BF_VALUE(r, 0, 2));
	bool		constraint = DatumGetBool(BF_VALUE(r, 0, 3));

	return ChooseRelationName(table, primary ? NULL : bf_rows_text(r, 0, 0),
							  primary ? "pkey" : exclusion ? "excl" : constraint ? "key" : "idx", namespace, constraint);
}

void
bf_names_give(const BfPartition *p, Oid in)
{
	Oid			schema = get_rel_namespace(p->parent);
	Satellites	s = satellites_of(in);
	ListCell   *lc;

	set_schema(in, schema);
	rename_relation(in, p->name);
	foreach(lc, s.indexes)
		rename_relation(lfirst_oid(lc), new_index_name(p->name, lfirst_oid(lc), schema));
	foreach(lc, s.statistics)
		set_statistics_name(lfirst_oid(lc), schema,
							makeObjectName(p->name, psprintf("%d", foreach_current_index(lc) + 1), "stat"));
}

void
bf_names_take(const BfPartition *p, Oid out)
{
	Oid			staging = get_namespace_oid(BF_STAGING_SCHEMA, false);
	char	   *name = get_rel_name(out);
	char	   *suffix = free_suffix(p, name);
	Satellites	s = satellites_of(out);
	ListCell   *lc;

	set_schema(out, staging);
	rename_relation(out, bf_shape_name(name, suffix));
	foreach(lc, s.indexes)
		rename_relation(lfirst_oid(lc), bf_shape_name(get_rel_name(lfirst_oid(lc)), suffix));
	foreach(lc, s.statistics)
	{
		Oid			schema;

		set_statistics_name(lfirst_oid(lc), staging, bf_shape_name(statistics_name(lfirst_oid(lc), &schema), suffix));
	}
}
