/*
 * switch_storage.c
 *		The switch by exchange of storage.
 *
 * The attached leaf and the other table stay what they are, with their oids,
 * names, triggers, grants and places, and trade what is in them: the files of
 * the tables and of each index, the TOAST table, and all that the catalogs say
 * about the contents.  It is done row by row in the catalogs, without SQL text,
 * which has no words for it.  What CLUSTER does with a table and its new copy is
 * the model.
 *
 * Nobody sees a mix.  Whoever has read one of the leaves holds its lock until
 * the end of the transaction, so the first lock of ours on that leaf waits for
 * it, and no file is exchanged before all locks are there.  Whoever reads
 * through the target or a table below it holds that one's lock first, and so do
 * we: no reader can be between two leaves, past one that is exchanged and before
 * one that is not.  When the locks are given back everything has been committed,
 * and a reader that waited finds the new files of all leaves, because a lock that
 * is granted after a wait is followed by reading the invalidations.  A snapshot
 * older than the build sees the rows as well: they are frozen.
 *
 * Values in the main table name the TOAST table that holds their rest by its
 * oid.  So TOAST tables cannot trade files; they go along, and change owner.
 */
#include "publish/switch_storage.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/toast_internals.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_index.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_statistic_ext_data.h"
#include "commands/tablecmds.h"
#include "common/catalog.h"
#include "common/stop.h"
#include "define/partition.h"
#include "define/swap.h"
#include "miscadmin.h"
#include "publish/counters.h"
#include "storage/predicate.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

/* A catalog that is being changed. */
typedef struct Catalog
{
	Relation	rel;
	CatalogIndexState indexes;
	TupleTableSlot *slot;
} Catalog;

typedef struct Catalogs
{
	Catalog		class;
	Catalog		depend;
	Catalog		attribute;
	Catalog		index;
	Catalog		statistic;
	Catalog		statistic_ext_data;
} Catalogs;

static Catalog
open_catalog(Oid relid)
{
	Catalog		c = {.rel = table_open(relid, RowExclusiveLock)};

	c.indexes = CatalogOpenIndexes(c.rel);
	c.slot = MakeSingleTupleTableSlot(RelationGetDescr(c.rel), &TTSOpsHeapTuple);
	return c;
}

static void
close_catalog(Catalog *c)
{
	ExecDropSingleTupleTableSlot(c->slot);
	CatalogCloseIndexes(c->indexes);
	table_close(c->rel, RowExclusiveLock);
}

/*
 * As CatalogTupleUpdate does it, but unique indexes are not asked: rows that
 * trade keys are unique again when both have changed, and would need a third key
 * otherwise.  All that this file does to keys is to trade them between rows that
 * nobody else can change, for the locks on their relations.
 */
static void
update_row(Catalog *c, HeapTuple old, HeapTuple new)
{
	bf_heap_update(c->rel, &old->t_self, new);
	if (HeapTupleIsHeapOnly(new))
		return;
	ExecStoreHeapTuple(new, c->slot, false);
	for (int i = 0; i < c->indexes->ri_NumIndices; i++)
	{
		IndexInfo  *info = c->indexes->ri_IndexRelationInfo[i];
		Datum		values[INDEX_MAX_KEYS];
		bool		nulls[INDEX_MAX_KEYS];

		FormIndexDatum(info, c->slot, NULL, values, nulls);
		(void) index_insert(c->indexes->ri_IndexRelationDescs[i], values, nulls, &new->t_self, c->rel, UNIQUE_CHECK_NO,
							false, info);
	}
	ExecClearTuple(c->slot);
}

static HeapTuple
copy_row(int cache, Oid oid)
{
	HeapTuple	tup = SearchSysCacheCopy1(cache, ObjectIdGetDatum(oid));

	if (!HeapTupleIsValid(tup))
		elog(ERROR, "cache lookup failed for object %u", oid);
	return tup;
}

/* The row with some columns replaced; `columns` are numbered from 1. */
static HeapTuple
replace_columns(const Catalog *c, HeapTuple tup, int n, const AttrNumber *columns, const Datum *new_values,
				const bool *new_nulls)
{
	TupleDesc	desc = RelationGetDescr(c->rel);
	Datum	   *values = palloc0(sizeof(Datum) * desc->natts);
	bool	   *nulls = palloc0(sizeof(bool) * desc->natts);
	bool	   *replace = palloc0(sizeof(bool) * desc->natts);

	for (int i = 0; i < n; i++)
	{
		values[columns[i] - 1] = new_values[i];
		nulls[columns[i] - 1] = new_nulls[i];
		replace[columns[i] - 1] = true;
	}
	return heap_modify_tuple(tup, desc, values, nulls, replace);
}

static void
exchange_bytes(void *a, void *b, Size size)
{
	char		saved[sizeof(int64)];

	memcpy(saved, a, size);
	memcpy(a, b, size);
	memcpy(b, saved, size);
}

#define EXCHANGE(a, b, field) exchange_bytes(&(a)->field, &(b)->field, sizeof((a)->field))

/* Whether the file of rel was made in this transaction. */
static bool
is_new(Relation rel)
{
	return rel->rd_createSubid != InvalidSubTransactionId || bf_first_file_subid(rel) != InvalidSubTransactionId;
}

/*
 * What the relation cache knows of a file goes with the file.  It must not say
 * "new" of one that is not: changes would not be logged under wal_level =
 * minimal, and TRUNCATE would empty it at once.  For the latter's sake it never
 * says "new in this subtransaction": the file may be older than that, and come
 * back to its old relation when the subtransaction is rolled back.
 */
static void
note_file(Relation rel, bool new)
{
	rel->rd_createSubid = InvalidSubTransactionId;
	bf_first_file_subid(rel) = InvalidSubTransactionId;
	if (new)
		bf_assume_new_file(rel);
	bf_new_file_subid(rel) = InvalidSubTransactionId;
}

static void
note_files(Oid a, Oid b)
{
	Relation	x = relation_open(a, NoLock);
	Relation	y = relation_open(b, NoLock);
	bool		x_new = is_new(x);
	bool		y_new = is_new(y);

	if (x_new || y_new)
	{
		note_file(x, y_new);
		note_file(y, x_new);
	}
	relation_close(y, NoLock);
	relation_close(x, NoLock);
	bf_close_files(a);
	bf_close_files(b);
}

/* The rows of two tables or indexes in pg_class. */
static void
exchange_class(Catalogs *c, Oid a, Oid b)
{
	HeapTuple	x = copy_row(RELOID, a);
	HeapTuple	y = copy_row(RELOID, b);
	Form_pg_class s = (Form_pg_class) GETSTRUCT(x);
	Form_pg_class t = (Form_pg_class) GETSTRUCT(y);

	if (!OidIsValid(s->relfilenode) || !OidIsValid(t->relfilenode) || s->relpersistence != t->relpersistence ||
		s->relam != t->relam || OidIsValid(s->reltoastrelid) != OidIsValid(t->reltoastrelid))
		elog(ERROR, "relations %u and %u cannot exchange storage", a, b);
	note_files(a, b);
	EXCHANGE(s, t, relfilenode);
	EXCHANGE(s, t, reltablespace);
	EXCHANGE(s, t, relpages);
	EXCHANGE(s, t, reltuples);
	EXCHANGE(s, t, relallvisible);
	bf_with_allfrozen(EXCHANGE(s, t, relallfrozen));
	EXCHANGE(s, t, relfrozenxid);
	EXCHANGE(s, t, relminmxid);
	EXCHANGE(s, t, reltoastrelid);
	update_row(&c->class, x, x);
	update_row(&c->class, y, y);
	InvokeObjectPostAlterHook(RelationRelationId, a, 0);
	InvokeObjectPostAlterHook(RelationRelationId, b, 0);
	heap_freetuple(x);
	heap_freetuple(y);
}

/* An index that some snapshots must not use yet goes on being one.  Returns whether it is about expressions. */
static bool
exchange_index_flags(Catalogs *c, Oid a, Oid b)
{
	HeapTuple	x = copy_row(INDEXRELID, a);
	HeapTuple	y = copy_row(INDEXRELID, b);
	Form_pg_index s = (Form_pg_index) GETSTRUCT(x);
	Form_pg_index t = (Form_pg_index) GETSTRUCT(y);
	bool		expressions = !heap_attisnull(x, Anum_pg_index_indexprs, NULL);

	if (s->indcheckxmin != t->indcheckxmin)
	{
		EXCHANGE(s, t, indcheckxmin);
		update_row(&c->index, x, x);
		update_row(&c->index, y, y);
	}
	heap_freetuple(x);
	heap_freetuple(y);
	return expressions;
}

/* What a column that was added later has in the rows that are older. */
static void
exchange_missing_value(Catalogs *c, Oid a, Oid b, AttrNumber attnum)
{
	static const AttrNumber columns[] = {Anum_pg_attribute_atthasmissing, Anum_pg_attribute_attmissingval};
	HeapTuple	tups[2];
	Datum		values[2][2];
	bool		nulls[2][2];

	for (int i = 0; i < 2; i++)
	{
		tups[i] = SearchSysCacheCopy2(ATTNUM, ObjectIdGetDatum(i == 0 ? a : b), Int16GetDatum(attnum));
		if (!HeapTupleIsValid(tups[i]))
			elog(ERROR, "cache lookup failed for attribute %d of relation %u", attnum, i == 0 ? a : b);
		for (int k = 0; k < 2; k++)
			values[i][k] = heap_getattr(tups[i], columns[k], RelationGetDescr(c->attribute.rel), &nulls[i][k]);
	}
	for (int i = 0; i < 2; i++)
		update_row(&c->attribute, tups[i], replace_columns(&c->attribute, tups[i], 2, columns, values[1 - i], nulls[1 - i]));
}

static void
exchange_missing_values(Catalogs *c, Oid a, Oid b)
{
	Relation	x = table_open(a, NoLock);
	Relation	y = table_open(b, NoLock);
	List	   *missing = NIL;
	ListCell   *lc;

	for (int i = 0; i < RelationGetNumberOfAttributes(x); i++)
		if (TupleDescAttr(RelationGetDescr(x), i)->atthasmissing || TupleDescAttr(RelationGetDescr(y), i)->atthasmissing)
			missing = lappend_int(missing, i + 1);
	table_close(y, NoLock);
	table_close(x, NoLock);
	foreach(lc, missing)
		exchange_missing_value(c, a, b, lfirst_int(lc));
}

static List *
rows_with(Catalog *c, Oid index, int nkeys, ScanKey keys)
{
	SysScanDesc scan = systable_beginscan(c->rel, index, true, NULL, nkeys, keys);
	List	   *rows = NIL;
	HeapTuple	tup;

	while (HeapTupleIsValid(tup = systable_getnext(scan)))
		rows = lappend(rows, heap_copytuple(tup));
	systable_endscan(scan);
	return rows;
}

/* Rows about one relation or object, which the catalog's first column names. */
static List *
rows_of(Catalog *c, Oid index, Oid oid)
{
	ScanKeyData key;

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(oid));
	return rows_with(c, index, 1, &key);
}

static void
give_rows(Catalog *c, List *rows, Oid oid)
{
	static const AttrNumber first = 1;
	static const bool not_null = false;
	Datum		value = ObjectIdGetDatum(oid);
	ListCell   *lc;

	foreach(lc, rows)
		update_row(c, lfirst(lc), replace_columns(c, lfirst(lc), 1, &first, &value, &not_null));
}

/* What is known about the contents.  Only the rows' oids change, so values outside of the rows are not written again. */
static void
exchange_rows(Catalog *c, Oid index, Oid a, Oid b)
{
	List	   *x = rows_of(c, index, a);
	List	   *y = rows_of(c, index, b);

	give_rows(c, x, b);
	give_rows(c, y, a);
}

static void
exchange_contents(Catalogs *c, const BfMove *m)
{
	ListCell   *lc;

	exchange_missing_values(c, m->out, m->in);
	exchange_class(c, m->out, m->in);
	exchange_rows(&c->statistic, StatisticRelidAttnumInhIndexId, m->out, m->in);
	foreach(lc, m->pairs->indexes)
	{
		BfPair	   *pair = lfirst(lc);

		exchange_class(c, pair->out, pair->in);
		if (exchange_index_flags(c, pair->out, pair->in))
			exchange_rows(&c->statistic, StatisticRelidAttnumInhIndexId, pair->out, pair->in);
	}
	foreach(lc, m->pairs->statistics)
	{
		BfPair	   *pair = lfirst(lc);

		exchange_rows(&c->statistic_ext_data, StatisticExtDataStxoidInhIndexId, pair->out, pair->in);
	}
}

/* A TOAST table goes when its owner does, and depends on nothing else. */
static void
depend_on(Catalogs *c, Oid toast, Oid owner)
{
	ScanKeyData keys[3];
	List	   *rows;

	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(toast));
	ScanKeyInit(&keys[2], Anum_pg_depend_objsubid, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(0));
	rows = rows_with(&c->depend, DependDependerIndexId, 3, keys);
	if (list_length(rows) != 1)
		elog(ERROR, "TOAST table %u does not depend on its owner alone", toast);
	((Form_pg_depend) GETSTRUCT((HeapTuple) linitial(rows)))->refobjid = owner;
	update_row(&c->depend, linitial(rows), linitial(rows));
}

/* TOAST tables and their indexes are named after their owner: pg_upgrade looks for that.  toast.* options are the owner's. */
static void
exchange_names(Catalogs *c, Oid a, Oid b)
{
	static const AttrNumber columns[] = {Anum_pg_class_relname, Anum_pg_class_reloptions};
	Oid			relids[] = {a, b};
	HeapTuple	tups[2];
	Datum		values[2][2];
	bool		nulls[2][2];

	for (int i = 0; i < 2; i++)
	{
		tups[i] = copy_row(RELOID, relids[i]);
		for (int k = 0; k < 2; k++)
			values[i][k] = heap_getattr(tups[i], columns[k], RelationGetDescr(c->class.rel), &nulls[i][k]);
	}
	for (int i = 0; i < 2; i++)
		update_row(&c->class, tups[i], replace_columns(&c->class, tups[i], 2, columns, values[1 - i], nulls[1 - i]));
}

static void
exchange_toast(Catalogs *c, const BfMove *m, Oid out_toast, Oid in_toast)
{
	depend_on(c, out_toast, m->in);
	depend_on(c, in_toast, m->out);
	/* Nobody gets at the index of a TOAST table without that table's lock. */
	exchange_names(c, toast_get_valid_index(out_toast, AccessShareLock), toast_get_valid_index(in_toast, AccessShareLock));
	exchange_names(c, out_toast, in_toast);
}

static Oid
toast_of(Oid relid)
{
	HeapTuple	tup = copy_row(RELOID, relid);
	Oid			toast = ((Form_pg_class) GETSTRUCT(tup))->reltoastrelid;

	heap_freetuple(tup);
	return toast;
}

/* One command for each pair: what waits to be invalidated at its end is searched for every new entry. */
static void
exchange(Catalogs *c, const BfMove *m)
{
	Oid			out_toast = toast_of(m->out);
	Oid			in_toast = toast_of(m->in);

	CHECK_FOR_INTERRUPTS();
	if (OidIsValid(out_toast))
		exchange_toast(c, m, out_toast, in_toast);
	exchange_contents(c, m);
	CommandCounterIncrement();
	bf_counters_exchange(m->out, m->in);
}

static void
exchange_all(List *moves)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "backfill exchange", ALLOCSET_DEFAULT_SIZES);
	Catalogs	c = {
		open_catalog(RelationRelationId), open_catalog(DependRelationId), open_catalog(AttributeRelationId),
		open_catalog(IndexRelationId), open_catalog(StatisticRelationId), open_catalog(StatisticExtDataRelationId)
	};
	ListCell   *lc;

	foreach(lc, moves)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		exchange(&c, lfirst(lc));
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
		bf_stop_point("exchanging");
	}
	close_catalog(&c.statistic_ext_data);
	close_catalog(&c.statistic);
	close_catalog(&c.index);
	close_catalog(&c.attribute);
	close_catalog(&c.depend);
	close_catalog(&c.class);
	MemoryContextDelete(context);
}

/* Which oid is found under which from now on; oids of different catalogs may be the same. */
typedef struct Trades
{
	HTAB	   *relations;
	HTAB	   *statistics;
} Trades;

static HTAB *
create_trades(const char *name)
{
	HASHCTL		ctl = {.keysize = sizeof(Oid), .entrysize = 2 * sizeof(Oid), .hcxt = CurrentMemoryContext};

	return hash_create(name, 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void
add_trade(HTAB *traded, Oid a, Oid b)
{
	((Oid *) hash_search(traded, &a, HASH_ENTER, NULL))[1] = b;
	((Oid *) hash_search(traded, &b, HASH_ENTER, NULL))[1] = a;
}

static void
add_trades(HTAB *traded, List *pairs)
{
	ListCell   *lc;

	foreach(lc, pairs)
		add_trade(traded, ((BfPair *) lfirst(lc))->out, ((BfPair *) lfirst(lc))->in);
}

static Trades
trades_of(List *moves)
{
	Trades		t = {create_trades("backfill traded relations"), create_trades("backfill traded statistics")};
	ListCell   *lc;

	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);

		add_trade(t.relations, m->out, m->in);
		add_trades(t.relations, m->pairs->indexes);
		add_trades(t.statistics, m->pairs->statistics);
	}
	return t;
}

static void
follow_oid(HTAB *traded, Oid *oid)
{
	Oid		   *entry = hash_search(traded, oid, HASH_FIND, NULL);

	if (entry)
		*oid = entry[1];
}

static void
follow_pairs(HTAB *traded, List *pairs)
{
	ListCell   *lc;

	foreach(lc, pairs)
	{
		follow_oid(traded, &((BfPair *) lfirst(lc))->out);
		follow_oid(traded, &((BfPair *) lfirst(lc))->in);
	}
}

/* Moves name contents: what goes out and comes in has another oid now. */
static void
follow(const Trades *t, List *moves)
{
	ListCell   *lc;

	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);

		follow_oid(t->relations, &m->out);
		follow_oid(t->relations, &m->in);
		follow_oid(t->relations, &m->previous);
		follow_oid(t->relations, &m->partition->live);
		follow_oid(t->relations, &m->partition->staged);
		if (m->pairs == NULL)
			continue;
		follow_pairs(t->relations, m->pairs->indexes);
		follow_pairs(t->statistics, m->pairs->statistics);
	}
}

static pg_attribute_noreturn() void
not_alike(const BfVersion *v, const BfMove *m, const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("partition \"%s\" of version \"%s\" cannot exchange storage: %s", m->partition->name, v->name, reason),
			 errdetail("The tables are %s and %s.", bf_relname(m->out), bf_relname(m->in)),
			 v->state == BF_BUILT ? errhint("Call backfill_build(%s) to build it again.", quote_literal_cstr(v->name)) :
			 errhint("Undo what was changed on one of them, or create and build a new version.")));
}

/* Finds out what goes with what, and whether the tables are alike still. */
static void
pair_up(const BfVersion *v, List *moves)
{
	List	   *reasons;
	List	   *pairs = bf_swap_pairs(moves, &reasons);
	ListCell   *a,
			   *b,
			   *r;

	forthree(a, moves, b, pairs, r, reasons)
	{
		if (lfirst(r) != NULL)
			not_alike(v, lfirst(a), lfirst(r));
		((BfMove *) lfirst(a))->pairs = lfirst(b);
	}
}

/*
 * A file of this transaction is not logged under wal_level = minimal.  The
 * relation cache could not be told so again after its exchange is rolled back
 * and the transaction goes on.
 */
static void
refuse_unlogged_file(Relation rel)
{
	if (XLogIsNeeded() || GetCurrentTransactionNestLevel() == 1 || !is_new(rel))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot exchange the storage of %s after a savepoint of the transaction that built it",
					bf_relname(RelationGetRelid(rel))),
			 errdetail("wal_level is minimal."),
			 errhint("COMMIT after backfill_build, or create the version with swap => 'attach'.")));
}

static void
require_not_in_use(Relation rel)
{
	CheckTableNotInUse(rel, "exchange the storage of");
	refuse_unlogged_file(rel);
}

static bool
is_paired(List *pairs, bool out, Oid index)
{
	ListCell   *lc;

	foreach(lc, pairs)
		if ((out ? ((BfPair *) lfirst(lc))->out : ((BfPair *) lfirst(lc))->in) == index)
			return true;
	return false;
}

/* No query of this session reads the table or its indexes, and the indexes are those that were paired. */
static void
require_free(const BfMove *m, bool out)
{
	Relation	rel = table_open(out ? m->out : m->in, NoLock);
	List	   *indexes = RelationGetIndexList(rel);
	bool		changed = list_length(indexes) != list_length(m->pairs->indexes);
	ListCell   *lc;

	require_not_in_use(rel);
	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), NoLock);

		require_not_in_use(index);
		index_close(index, NoLock);
		changed = changed || !is_paired(m->pairs->indexes, out, lfirst_oid(lc));
	}
	if (changed)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("the indexes of %s changed while this call waited for its locks", bf_relname(RelationGetRelid(rel))),
				 errhint("Call again; this call changed nothing.")));
	/* What serializable transactions have read they have read, wherever it is now. */
	TransferPredicateLocksToHeapRelation(rel);
	table_close(rel, NoLock);
}

static void
apply(const BfVersion *v, List *moves, List *waiting)
{
	Trades		t = trades_of(moves);
	ListCell   *lc;

	foreach(lc, moves)
	{
		require_free(lfirst(lc), true);
		require_free(lfirst(lc), false);
	}
	exchange_all(moves);
	bf_partition_exchanged(moves);
	follow(&t, moves);
	follow(&t, waiting);
	hash_destroy(t.relations);
	hash_destroy(t.statistics);
}

/* Fills the caches with what will be read while readers wait. */
static void
warm(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	Oid			toast = rel->rd_rel->reltoastrelid;

	heap_freetuple(copy_row(RELOID, relid));
	if (OidIsValid(toast))
	{
		heap_freetuple(copy_row(RELOID, toast));
		heap_freetuple(copy_row(RELOID, toast_get_valid_index(toast, AccessShareLock)));
	}
	relation_close(rel, NoLock);
}

static void
warm_all(List *moves)
{
	ListCell   *lc,
			   *pair;

	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		warm(m->out);
		warm(m->in);
		foreach(pair, m->pairs->indexes)
		{
			warm(((BfPair *) lfirst(pair))->out);
			warm(((BfPair *) lfirst(pair))->in);
		}
	}
}

static void
prepare(const BfVersion *v, List *moves)
{
	pair_up(v, moves);
	warm_all(moves);
}

const BfSwitch bf_switch_storage = {prepare, pair_up, apply};
