/*
 * foreign_key.c
 *		Whether foreign keys to and from the target survive a switch.
 *
 * An exchange of storage leaves every constraint where it is and fires nothing,
 * so what it does to the data must keep each of them by itself.  Of an incoming
 * key only what vanishes matters: keys of the old data that the new data has not.
 * Of an outgoing one only what is new.  All the rest is as true afterwards as it
 * was before, and that is the server's to enforce.
 *
 * What was counted stays true until the switch only if the table at the other
 * end holds still: no new reference to a key that vanishes, no end of a row that
 * a new value refers to.  Nothing short of SHARE on that table promises it, and
 * it is asked for only where keys vanish or new ones come.  It belongs to an
 * attempt at the strong locks and goes with it: who has read the target and then
 * writes that table would otherwise wait for us while we wait for him.  So it is
 * counted again in each attempt, before the first strong lock; under those
 * nothing is left to scan.
 */
#include "verify/foreign_key.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/partition.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "verify/compare.h"

#define MAX_SAMPLES 10

/* Up to so many keys are remembered from one count to the next. */
#define MAX_KEPT 1000

/* One side of a comparison of keys, column by column. */
typedef struct Side
{
	List	   *terms;			/* of char * */
	List	   *types;
	List	   *collations;
} Side;

/* What a place held before all moves of it, and what it will hold after them. */
typedef struct Change
{
	BfPartition *partition;
	Oid			old;
	Oid			new;
} Change;

/* A change that depends on what others do to the other table. */
typedef struct Open
{
	Change	   *change;
	Datum	   *known;			/* its keys; NULL: they are to be looked for again */
} Open;

/* A foreign key and what the changes do to it. */
typedef struct Damage
{
	const BfReference *ref;
	List	   *open;			/* of Open * */
	int64		rows;
	List	   *partitions;		/* of char *: where rows are left without a match */
	Jsonb	   *samples;		/* of the first of them */
} Damage;

/* The key's columns of a side of a join: side.name. */
static List *
columns(const char *side, List *names)
{
	List	   *list = NIL;
	ListCell   *lc;

	foreach(lc, names)
		list = lappend(list, psprintf("%s.%s", side, quote_identifier(lfirst(lc))));
	return list;
}

/* As the subqueries call the key's columns. */
static List *
unqualified(const BfReference *ref)
{
	List	   *names = NIL;

	for (int i = 1; i <= list_length(ref->own_columns); i++)
		names = lappend(names, psprintf("c%d", i));
	return names;
}

static List *
numbered(const BfReference *ref, const char *side)
{
	return columns(side, unqualified(ref));
}

static char *
join(List *terms, const char *after, const char *between)
{
	StringInfoData s;
	ListCell   *lc;

	initStringInfo(&s);
	foreach(lc, terms)
		appendStringInfo(&s, "%s%s%s", s.len > 0 ? between : "", (char *) lfirst(lc), after);
	return s.data;
}

#define LISTED(terms) join(terms, "", ", ")

static Side
own(const BfReference *ref, List *terms)
{
	return (Side) {terms, ref->own_types, ref->own_collations};
}

static Side
other(const BfReference *ref)
{
	return (Side) {columns("r", ref->other_columns), ref->other_types, ref->other_collations};
}

/* One condition a column, by the constraint's operators and in the left side's collation, as the server itself asks. */
static char *
equality(List *operators, Side left, Side right)
{
	List	   *terms = NIL;

	for (int i = 0; i < list_length(operators); i++)
	{
		StringInfoData s;
		Oid			collation = list_nth_oid(left.collations, i);
		char	   *r = list_nth(right.terms, i);

		if (OidIsValid(collation) && collation != list_nth_oid(right.collations, i))
			r = psprintf("(%s COLLATE %s)", r, generate_collation_name(collation));
		initStringInfo(&s);
		generate_operator_clause(&s, list_nth(left.terms, i), list_nth_oid(left.types, i), list_nth_oid(operators, i), r,
								 list_nth_oid(right.types, i));
		terms = lappend(terms, s.data);
	}
	return join(terms, "", " AND ");
}

/* Does a key of ours match one of the other table?  The operator has the referenced side on its left. */
static char *
match(const BfReference *ref, List *terms)
{
	return ref->incoming ? equality(ref->equal, own(ref, terms), other(ref)) : equality(ref->equal, other(ref), own(ref, terms));
}

/* A row of a partitioned table may be in any partition; one of a plain table's children is not in the table. */
static char *
other_table(const BfReference *ref)
{
	return psprintf("%s%s", get_rel_relkind(ref->other) == RELKIND_PARTITIONED_TABLE ? "" : "ONLY ", bf_relname(ref->other));
}

/* affected: keys that vanish.  Those with NULLs nobody refers to. */
static char *
vanishing_sql(const BfReference *ref, Oid old, Oid new)
{
	List	   *o = columns("o", ref->own_columns);
	List	   *n = columns("n", ref->own_columns);

	return psprintf("SELECT * FROM (SELECT %s, NULL::bigint FROM ONLY %s o WHERE %s"
					" AND NOT EXISTS (SELECT FROM ONLY %s n WHERE %s)) x (%s, n)",
					LISTED(o), bf_relname(old), join(o, " IS NOT NULL", " AND "), bf_relname(new),
					equality(ref->own_equal, own(ref, o), own(ref, n)), LISTED(unqualified(ref)));
}

/*
 * affected: values that are new, and in how many rows.  With MATCH SIMPLE one NULL
 * is enough for a row to refer to nothing; with MATCH FULL all must be NULL, and
 * some only match nothing.
 */
static char *
new_sql(const BfReference *ref, Oid old, Oid new)
{
	List	   *n = columns("n", ref->own_columns);
	char	   *known = !OidIsValid(old) ? "" :
		psprintf(" WHERE NOT EXISTS (SELECT FROM ONLY %s o WHERE %s)", bf_relname(old),
				 equality(ref->own_equal, own(ref, columns("o", ref->own_columns)), own(ref, numbered(ref, "x"))));

	return psprintf("SELECT * FROM (SELECT %s, count(*) FROM ONLY %s n WHERE %s GROUP BY %s) x (%s, n)%s",
					LISTED(n), bf_relname(new), join(n, " IS NOT NULL", ref->match_full ? " OR " : " AND "), LISTED(n),
					LISTED(unqualified(ref)), known);
}

/* affected, when the keys are known: one array a column is given, the last one of how many rows have the value. */
static char *
known_sql(const BfReference *ref)
{
	List	   *arrays = NIL;

	for (int i = 1; i <= list_length(ref->own_columns) + 1; i++)
		arrays = lappend(arrays, psprintf("unnest($%d)", i));
	return psprintf("SELECT * FROM ROWS FROM (%s) x (%s, n)", LISTED(arrays), LISTED(unqualified(ref)));
}

/* broken: the keys of affected that leave rows without a match, and how many. */
static char *
broken_sql(const BfReference *ref)
{
	List	   *a = numbered(ref, "a");

	return ref->incoming ?
		psprintf("SELECT %s, count(*) AS n FROM affected a JOIN %s r ON %s GROUP BY %s", LISTED(a), other_table(ref),
				 match(ref, a), LISTED(a)) :
		psprintf("SELECT * FROM affected a WHERE NOT EXISTS (SELECT FROM %s r WHERE %s)", other_table(ref), match(ref, a));
}

/* Whether an array can hold the values of each column, one by one. */
static bool
fits_arrays(const BfReference *ref)
{
	ListCell   *lc;

	foreach(lc, ref->own_types)
		if (!OidIsValid(get_array_type(lfirst_oid(lc))) || OidIsValid(get_base_element_type(lfirst_oid(lc))))
			return false;
	return true;
}

/* Few keys are kept: asking for them again is then fast. */
static char *
kept_sql(const BfReference *ref)
{
	StringInfoData s;
	ListCell   *lc;

	initStringInfo(&s);
	foreach(lc, lappend(unqualified(ref), "n"))
		appendStringInfo(&s, ", CASE WHEN count <= %d THEN ARRAY(SELECT %s FROM affected) END", MAX_KEPT, (char *) lfirst(lc));
	return s.data;
}

/* Number of keys, of rows, sample keys as the target calls them, and arrays of the keys for known_sql. */
static char *
result_sql(const BfReference *ref, bool keep)
{
	List	   *b = numbered(ref, "b");
	List	   *pairs = NIL;

	for (int i = 0; i < list_length(b); i++)
		pairs = lappend(pairs, psprintf("%s, %s", quote_literal_cstr(list_nth(ref->own_columns, i)), (char *) list_nth(b, i)));
	return psprintf("SELECT count, (SELECT coalesce(sum(n), 0)::bigint FROM broken),"
					" (SELECT jsonb_agg(sample) FROM (SELECT jsonb_build_object(%s) AS sample FROM broken b ORDER BY %s LIMIT %d) s)"
					"%s FROM (SELECT count(*) FROM affected) c",
					LISTED(pairs), LISTED(b), MAX_SAMPLES, keep ? kept_sql(ref) : "");
}

/* How many keys vanish the planner cannot know; without an index a wrong guess is a scan of the other table for each. */
static void
enter(BfIdentity *id, const BfVersion *v, const BfReference *ref)
{
	bf_reference_require_readable(v, ref);
	bf_compare_enter(id, v);
	/* What is compared here need not come in the order of any index, and hashing is faster then. */
	bf_set_local("enable_hashjoin", "on");
	if (!ref->incoming || ref->indexed)
		bf_set_local("enable_nestloop", "on");
}

static BfKeyCount *
read_count(BfRows *r)
{
	BfKeyCount *c = palloc0(sizeof(BfKeyCount));

	c->keys = DatumGetInt64(BF_VALUE(r, 0, 0));
	c->rows = DatumGetInt64(BF_VALUE(r, 0, 1));
	c->samples = BF_ISNULL(r, 0, 2) ? NULL : DatumGetJsonbP(BF_VALUE(r, 0, 2));
	if (r->ncols > 3 && !BF_ISNULL(r, 0, 3))
		c->known = &BF_VALUE(r, 0, 3);
	return c;
}

BfKeyCount *
bf_foreign_key_count(const BfVersion *v, const BfReference *ref, Oid old, Oid new)
{
	BfKeyCount *c;
	BfIdentity	id;

	/* Where nothing was, nothing vanishes. */
	if (ref->incoming && !OidIsValid(old))
		return palloc0(sizeof(BfKeyCount));
	enter(&id, v, ref);
	c = read_count(bf_sql(psprintf("WITH affected AS MATERIALIZED (%s), broken AS MATERIALIZED (%s) %s",
								   ref->incoming ? vanishing_sql(ref, old, new) : new_sql(ref, old, new),
								   broken_sql(ref), result_sql(ref, fits_arrays(ref))), 0, NULL, NULL, NULL));
	bf_identity_leave(&id);
	return c;
}

/* The same for keys that are known already: only the other table is read. */
static BfKeyCount *
count_known(const BfVersion *v, const BfReference *ref, Datum *known)
{
	int			nargs = list_length(ref->own_types) + 1;
	Oid		   *types = palloc(sizeof(Oid) * nargs);
	BfKeyCount *c;
	BfIdentity	id;

	for (int i = 0; i < nargs - 1; i++)
		types[i] = get_array_type(list_nth_oid(ref->own_types, i));
	types[nargs - 1] = INT8ARRAYOID;
	enter(&id, v, ref);
	c = read_count(bf_sql(psprintf("WITH affected AS MATERIALIZED (%s), broken AS MATERIALIZED (%s) %s", known_sql(ref),
								   broken_sql(ref), result_sql(ref, false)), nargs, types, known, NULL));
	bf_identity_leave(&id);
	return c;
}

/* What the moves that exchange storage do to each place, one after the other. */
static List *
changes_of(List *moves)
{
	List	   *changes = NIL;
	ListCell   *lc;

	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);
		Change	   *change = NULL;
		ListCell   *before;

		if (m->partition->swap != BF_SWAP_STORAGE)
			continue;
		foreach(before, changes)
			if (((Change *) lfirst(before))->new == m->out)
				change = lfirst(before);
		if (change == NULL)
		{
			change = palloc0(sizeof(Change));
			change->partition = m->partition;
			change->old = m->out;
			changes = lappend(changes, change);
		}
		change->new = m->in;
	}
	return changes;
}

static List *
references_of(const BfVersion *v, List *changes)
{
	List	   *partitions = NIL;
	List	   *validated = NIL;
	ListCell   *lc;

	foreach(lc, changes)
		partitions = lappend(partitions, ((Change *) lfirst(lc))->partition);
	foreach(lc, bf_reference_list(v, partitions))
		if (((BfReference *) lfirst(lc))->validated)
			validated = lappend(validated, lfirst(lc));
	return validated;
}

static void
add_count(Damage *d, const Change *change, const BfKeyCount *c)
{
	if (c->rows == 0)
		return;
	d->rows += c->rows;
	d->partitions = lappend(d->partitions, change->partition->name);
	if (d->samples == NULL)
		d->samples = c->samples;
}

/* With `discard` the outgoing table may still be written, so no change is settled and no key known. */
static Damage *
count_damage(const BfVersion *v, const BfReference *ref, List *changes, bool discard)
{
	Damage	   *d = palloc0(sizeof(Damage));
	ListCell   *lc;

	d->ref = ref;
	foreach(lc, ref->places)
	{
		Change	   *change = list_nth(changes, lfirst_int(lc));
		BfKeyCount *c;
		Open	   *open;

		CHECK_FOR_INTERRUPTS();
		c = bf_foreign_key_count(v, ref, change->old, change->new);
		add_count(d, change, c);
		if (c->keys == 0 && !discard)
			continue;
		open = palloc(sizeof(Open));
		open->change = change;
		open->known = discard ? NULL : c->known;
		d->open = lappend(d->open, open);
	}
	return d;
}

static Damage *
count_again(const BfVersion *v, const Damage *before)
{
	Damage	   *d = palloc0(sizeof(Damage));
	ListCell   *lc;

	d->ref = before->ref;
	foreach(lc, before->open)
	{
		Open	   *open = lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		add_count(d, open->change, open->known ? count_known(v, d->ref, open->known) :
				  bf_foreign_key_count(v, d->ref, open->change->old, open->change->new));
	}
	return d;
}

static void
require_whole(const Damage *d)
{
	char	   *samples;
	char	   *table;

	if (d->rows == 0)
		return;
	samples = JsonbToCString(NULL, &d->samples->root, VARSIZE(d->samples));
	table = bf_relname(d->ref->other);
	ereport(ERROR,
			(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
			 errmsg("foreign key \"%s\" would be violated", d->ref->name),
			 d->ref->incoming ?
			 errdetail_plural(INT64_FORMAT " row of %s refers to a key that would vanish from %s: %s.",
							  INT64_FORMAT " rows of %s refer to keys that would vanish from %s: %s.",
							  d->rows, d->rows, table, join(d->partitions, "", ", "), samples) :
			 errdetail_plural(INT64_FORMAT " row of %s would have no match in %s: %s.",
							  INT64_FORMAT " rows of %s would have no match in %s: %s.",
							  d->rows, d->rows, join(d->partitions, "", ", "), table, samples),
			 d->ref->incoming ? errhint("Delete these rows or let them refer to other keys, then call again.") :
			 errhint("Add what is missing to %s, then call again.", table),
			 err_generic_string(PG_DIAG_CONSTRAINT_NAME, d->ref->name)));
}

/* SHARE keeps writers out, so the owner must hold what LOCK TABLE asks for. */
static void
require_may_lock(const BfVersion *v, const BfReference *ref)
{
	if (pg_class_aclmask(ref->other, v->owner, ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE, ACLMASK_ANY) != 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("role \"%s\" may not lock %s against writers", GetUserNameFromId(v->owner, false), bf_relname(ref->other)),
			 errdetail("Foreign key \"%s\" must hold until the new data is live.", ref->name),
			 errhint("Grant it UPDATE, DELETE or TRUNCATE on that table.")));
}

BfForeignKeys *
bf_foreign_key_check(const BfVersion *v, List *moves, bool discard)
{
	BfForeignKeys *keys = palloc0(sizeof(BfForeignKeys));
	List	   *changes = changes_of(moves);
	ListCell   *lc;

	if (changes == NIL)
		return keys;
	foreach(lc, references_of(v, changes))
	{
		BfReference *ref = lfirst(lc);
		Damage	   *d = count_damage(v, ref, changes, discard);

		require_whole(d);
		keys->checked = lappend_oid(keys->checked, ref->constraint);
		if (d->open == NIL)
			continue;
		require_may_lock(v, ref);
		keys->open = lappend(keys->open, d);
		keys->others = list_append_unique_oid(keys->others, ref->other);
	}
	return keys;
}

void
bf_foreign_key_confirm(const BfVersion *v, const BfForeignKeys *keys)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "backfill foreign keys", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	ListCell   *lc;

	foreach(lc, keys->open)
		require_whole(count_again(v, lfirst(lc)));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
}

void
bf_foreign_key_recheck(const BfVersion *v, List *moves, const BfForeignKeys *keys)
{
	List	   *changes = changes_of(moves);
	ListCell   *lc;

	if (changes == NIL)
		return;
	foreach(lc, references_of(v, changes))
	{
		BfReference *ref = lfirst(lc);

		if (!list_member_oid(keys->checked, ref->constraint))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("foreign key \"%s\" was made while this call waited for its locks", ref->name),
					 errdetail("Whether it would hold was not asked."),
					 errhint("Call again; this call changed nothing.")));
	}
}
