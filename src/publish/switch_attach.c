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
#include "catalog/dependency.h"
#include "catalog/heap.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "commands/tablecmds.h"
#include "common/catalog.h"
#include "define/bound.h"
#include "define/partition.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "publish/names.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#define EXCLUDING_CHECK "backfill_excluding"

static bool
is_default(const BfMove *m)
{
	return strcmp(m->partition->bound, "DEFAULT") == 0;
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

		if (OidIsValid(m->out) && is_default(m))
			m->out_check = bf_bound_def(m->partition, m->out);
		if (m->out_check)
			add_proven_check(m->out, BF_BOUND_CHECK, m->out_check);
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
			bf_names_give(m->partition, m->in);
		else if (!OidIsValid(m->in))
			bf_names_take(m->partition, m->out);
		else
			bf_names_exchange(m->out, m->in);
	}
}

static bool
has_bound_check(Oid relid)
{
	return OidIsValid(get_relation_constraint_oid(relid, BF_BOUND_CHECK, true));
}

static void
drop_check(Oid relid, const char *name)
{
	ObjectAddress check = {ConstraintRelationId, get_relation_constraint_oid(relid, name, true), 0};

	if (OidIsValid(check.objectId))
		performDeletion(&check, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
}

static int
count_indexes(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	int			n = list_length(RelationGetIndexList(rel));

	table_close(rel, NoLock);
	return n;
}

static void
attach(const BfMove *m)
{
	int			indexes = count_indexes(m->in);

	CHECK_FOR_INTERRUPTS();
	bf_exec("ALTER TABLE %s ATTACH PARTITION %s %s", bf_relname(m->partition->parent), bf_relname(m->in),
			m->partition->bound);
	if (count_indexes(m->in) != indexes)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition \"%s\" lacks an index of %s", m->partition->name, bf_relname(m->partition->parent)),
				 errdetail("It would have been built while readers wait."),
				 errhint("Create a new version: the target's definition has changed.")));
	drop_check(m->in, BF_BOUND_CHECK);
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
apply(const BfVersion *v, List *moves, List *waiting)
{
	BfIdentity	id;
	List	   *marked;
	ListCell   *lc;

	bf_owner_enter(&id, v->owner);
	bf_bound_settings(v);
	marked = exclude_from_defaults(moves);
	detach_all(moves);
	move_names(moves);
	attach_all(moves);
	foreach(lc, marked)
		drop_check(lfirst_oid(lc), EXCLUDING_CHECK);
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
		else if (!is_default(m))
			m->out_check = bf_bound_def(m->partition, m->out);
		if (!OidIsValid(m->in) || bf_bound_implied(m->partition, m->in))
			continue;
		bf_exec("ALTER TABLE %s %s ADD CONSTRAINT " BF_BOUND_CHECK " CHECK (%s)", bf_relname(m->in),
				has_bound_check(m->in) ? "DROP CONSTRAINT " BF_BOUND_CHECK "," : "",
				bf_bound_def(m->partition, m->in));
	}
	bf_identity_leave(&id);
}

const BfSwitch bf_switch_attach = {prepare, NULL, apply};
