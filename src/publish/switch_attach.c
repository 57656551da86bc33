/*
 * switch_attach.c
 *		The switch by DETACH and ATTACH.
 *
 * ATTACH scans the new partition, and the default partition beside it, unless
 * CHECK constraints prove that it need not.  A staged table is created with
 * such a CHECK.  A leaf that goes out, and a default partition that stays,
 * satisfy theirs by being attached: their partition constraint says the same.
 * So the CHECK is put in the catalog as valid without a scan, as core does for
 * DETACH CONCURRENTLY.  That is the one change not made through SQL text, which
 * has no words for it.  A retired table keeps its CHECK, which is what lets
 * rollback attach it without a scan.
 *
 * All DETACHes come before all ATTACHes: with many partitions that was faster
 * than pair by pair, and a new bound never meets the old one.
 */
#include "publish/switch_attach.h"

#include "access/table.h"
#include "access/xact.h"
#include "build/shape.h"
#include "catalog/heap.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "common/catalog.h"
#include "define/bound.h"
#include "define/partition.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#define EXCLUDING_CHECK "backfill_excluding"

static bool
is_default(const BfMove *m)
{
	return strcmp(m->partition->bound, "DEFAULT") == 0;
}

/* "schema"."parent" and so on are looked up again each time: names change on the way. */
static void
rename_relation(const char *kind, Oid relid, const char *name)
{
	bf_exec("ALTER %s %s RENAME TO %s", kind, bf_relname(relid), quote_identifier(name));
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
set_schema(Oid relid, Oid namespace)
{
	char	   *schema = pstrdup(quote_identifier(get_namespace_name(namespace)));
	char	   *name = get_rel_name(relid);

	/*
	 * RENAME finds a free name for the array type, SET SCHEMA does not.  Long
	 * names that differ in the last bytes only have array types of one name.
	 */
	if (!array_type_collides(relid, namespace))
	{
		bf_exec("ALTER TABLE %s SET SCHEMA %s", bf_relname(relid), schema);
		return;
	}
	rename_relation("TABLE", relid, psprintf("backfill_moving_%u", relid));
	bf_exec("ALTER TABLE %s SET SCHEMA %s", bf_relname(relid), schema);
	rename_relation("TABLE", relid, name);
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
		rename_relation("INDEX", lfirst_oid(lc), suffixed);
		rename_relation("INDEX", twin, plain);
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
static void
exchange_names(Oid out, Oid in)
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
	rename_relation("TABLE", out, kept);
	rename_relation("TABLE", in, name);
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

/* A created partition comes in: it takes the names it was planned with. */
static void
give_names(const BfPartition *p, Oid in)
{
	Oid			schema = get_rel_namespace(p->parent);
	Satellites	s = satellites_of(in);
	ListCell   *lc;

	set_schema(in, schema);
	rename_relation("TABLE", in, p->name);
	foreach(lc, s.indexes)
		rename_relation("INDEX", lfirst_oid(lc), new_index_name(p->name, lfirst_oid(lc), schema));
	foreach(lc, s.statistics)
		set_statistics_name(lfirst_oid(lc), schema,
							makeObjectName(p->name, psprintf("%d", foreach_current_index(lc) + 1), "stat"));
}

/* A created partition goes out again. */
static void
take_names(const BfPartition *p, Oid out)
{
	Oid			staging = get_namespace_oid(BF_STAGING_SCHEMA, false);
	char	   *name = get_rel_name(out);
	char	   *suffix = free_suffix(p, name);
	Satellites	s = satellites_of(out);
	ListCell   *lc;

	set_schema(out, staging);
	rename_relation("TABLE", out, bf_shape_name(name, suffix));
	foreach(lc, s.indexes)
		rename_relation("INDEX", lfirst_oid(lc), bf_shape_name(get_rel_name(lfirst_oid(lc)), suffix));
	foreach(lc, s.statistics)
	{
		Oid			schema;

		set_statistics_name(lfirst_oid(lc), staging, bf_shape_name(statistics_name(lfirst_oid(lc), &schema), suffix));
	}
}

/* Adds a CHECK that is known to hold, as valid and without a scan. */
static void
add_proven_check(Oid relid, const char *name, const char *def)
{
	char	   *sql = psprintf("ALTER TABLE t ADD CONSTRAINT %s CHECK (%s)", name, def);
	RawStmt    *raw = linitial_node(RawStmt, raw_parser(sql, RAW_PARSE_DEFAULT));
	AlterTableCmd *cmd = linitial_node(AlterTableCmd, castNode(AlterTableStmt, raw->stmt)->cmds);
	Relation	rel = table_open(relid, AccessExclusiveLock);

	/* What ALTER TABLE would check before it lets a constraint change. */
	CheckTableNotInUse(rel, "ALTER TABLE");
	(void) AddRelationNewConstraints(rel, NIL, list_make1(cmd->def), false, true, false, sql);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/* The leaves of the default partition beside these moves, when it stays where it is. */
static List *
staying_default(Oid parent, List *moves)
{
	Oid			deflt = get_default_partition_oid(parent);
	List	   *leaves = NIL;
	ListCell   *lc;

	foreach(lc, moves)
		if (((BfMove *) lfirst(lc))->out == deflt)
			return NIL;
	if (!OidIsValid(deflt))
		return NIL;
	foreach(lc, find_all_inheritors(deflt, NoLock, NULL))
		if (get_rel_relkind(lfirst_oid(lc)) == RELKIND_RELATION)
			leaves = lappend_oid(leaves, lfirst_oid(lc));
	return leaves;
}

static List *
parents_of(List *moves)
{
	List	   *parents = NIL;
	ListCell   *lc;

	foreach(lc, moves)
		parents = list_append_unique_oid(parents, ((BfMove *) lfirst(lc))->partition->parent);
	return parents;
}

/* Returns the tables that got a CHECK for the time of the switch only. */
static List *
exclude_from_defaults(List *moves)
{
	List	   *marked = NIL;
	ListCell   *lc;

	foreach(lc, parents_of(moves))
	{
		List	   *replaced = NIL;
		ListCell   *cell;

		/* NB: not the created ones: rows of theirs may well be in the default partition. */
		foreach(cell, moves)
		{
			BfMove	   *m = lfirst(cell);

			if (m->partition->parent == lfirst_oid(lc) && OidIsValid(m->out) && OidIsValid(m->in))
				replaced = lappend(replaced, m->partition);
		}
		if (replaced == NIL)
			continue;
		foreach(cell, staying_default(lfirst_oid(lc), moves))
		{
			add_proven_check(lfirst_oid(cell), EXCLUDING_CHECK, bf_bound_excluding_def(replaced, lfirst_oid(cell)));
			marked = lappend_oid(marked, lfirst_oid(cell));
		}
	}
	return marked;
}

static void
detach_all(List *moves)
{
	ListCell   *lc;

	/* While everything is attached, so that a default partition's constraint knows all its neighbours. */
	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);
		char	   *def = OidIsValid(m->out) ? bf_bound_def(m->partition, m->out) : NULL;

		if (def)
			add_proven_check(m->out, BF_BOUND_CHECK, def);
	}
	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (OidIsValid(m->out))
			bf_exec("ALTER TABLE %s DETACH PARTITION %s", bf_relname(m->partition->parent), bf_relname(m->out));
	}
}

static void
move_names(List *moves)
{
	ListCell   *lc;

	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (!OidIsValid(m->out))
			give_names(m->partition, m->in);
		else if (!OidIsValid(m->in))
			take_names(m->partition, m->out);
		else
			exchange_names(m->out, m->in);
	}
}

static bool
has_bound_check(Oid relid)
{
	return OidIsValid(get_relation_constraint_oid(relid, BF_BOUND_CHECK, true));
}

static void
attach(const BfMove *m)
{
	int			indexes = list_length(satellites_of(m->in).indexes);

	CHECK_FOR_INTERRUPTS();
	bf_exec("ALTER TABLE %s ATTACH PARTITION %s %s", bf_relname(m->partition->parent), bf_relname(m->in),
			m->partition->bound);
	if (list_length(satellites_of(m->in).indexes) != indexes)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition \"%s\" lacks an index of %s", m->partition->name, bf_relname(m->partition->parent)),
				 errdetail("It would have been built while readers wait."),
				 errhint("Create a new version: the target's definition has changed.")));
	if (has_bound_check(m->in))
		bf_exec("ALTER TABLE %s DROP CONSTRAINT " BF_BOUND_CHECK, bf_relname(m->in));
}

/* The default partition last: before, its bound would not be what its CHECK says. */
static void
attach_all(List *moves)
{
	ListCell   *lc;

	foreach(lc, moves)
		if (OidIsValid(((BfMove *) lfirst(lc))->in) && !is_default(lfirst(lc)))
			attach(lfirst(lc));
	foreach(lc, moves)
		if (OidIsValid(((BfMove *) lfirst(lc))->in) && is_default(lfirst(lc)))
			attach(lfirst(lc));
}

static void
apply(const BfVersion *v, List *moves)
{
	BfIdentity	id;
	List	   *marked;
	ListCell   *lc;

	if (moves == NIL)
		return;
	bf_owner_enter(&id, v->owner);
	bf_bound_settings(v);
	marked = exclude_from_defaults(moves);
	detach_all(moves);
	move_names(moves);
	attach_all(moves);
	foreach(lc, marked)
		bf_exec("ALTER TABLE %s DROP CONSTRAINT " EXCLUDING_CHECK, bf_relname(lfirst_oid(lc)));
	CommandCounterIncrement();
	bf_identity_leave(&id);
}

/* Rows of a partition to be created must not be in the default partition already. */
static void
check_default_rows(const BfPartition *p)
{
	Oid			deflt = get_default_partition_oid(p->parent);
	BfRows	   *r;
	char	   *def;

	if (!OidIsValid(deflt) || (def = bf_bound_def(p, deflt)) == NULL)
		return;
	r = bf_sql(psprintf("SELECT pg_catalog.count(*) FROM %s WHERE %s", bf_relname(deflt), def), 0, NULL, NULL, NULL);
	if (DatumGetInt64(BF_VALUE(r, 0, 0)) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("default partition %s has " INT64_FORMAT " rows of the new partition \"%s\"", bf_relname(deflt),
						DatumGetInt64(BF_VALUE(r, 0, 0)), p->name),
				 errdetail("The new partition is %s.", p->bound),
				 errhint("Move these rows out of the default partition, then publish again.")));
}

/*
 * A table that has lost its CHECK, or whose neighbours changed when it is a
 * default partition, is scanned now, when nobody reads it.
 */
static void
prepare(const BfVersion *v, List *moves)
{
	BfIdentity	id;
	ListCell   *lc;

	bf_owner_enter(&id, v->owner);
	bf_bound_settings(v);
	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (!OidIsValid(m->out))
			check_default_rows(m->partition);
		if (!OidIsValid(m->in) || bf_bound_implied(m->partition, m->in))
			continue;
		bf_exec("ALTER TABLE %s %s ADD CONSTRAINT " BF_BOUND_CHECK " CHECK (%s)", bf_relname(m->in),
				has_bound_check(m->in) ? "DROP CONSTRAINT " BF_BOUND_CHECK "," : "",
				bf_bound_def(m->partition, m->in));
	}
	bf_identity_leave(&id);
}

const BfSwitch bf_switch_attach = {"attach", prepare, apply};
