/*
 * partition.c
 *		The partitions of versions: what was built for each, and the chain of what replaced what (owns bf_partition).
 */
#include "define/partition.h"

#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/bound.h"
#include "define/guard.h"
#include "define/version.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

void
bf_partition_insert(const BfVersion *v, List *partitions)
{
	int			ordinal = 0;
	ListCell   *lc;

	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);
		BfRows	   *r;
		bool		nulls[] = {false, false, !OidIsValid(p->live), false, false, false, p->lower == NULL, p->upper == NULL};

		CHECK_FOR_INTERRUPTS();
		r = bf_catalog("INSERT INTO backfill.bf_partition"
					   " (version_id, ordinal, live, parent, name, bound, lower_bound, upper_bound)"
					   " VALUES ($1, $2, $3::pg_catalog.regclass, $4::pg_catalog.regclass, $5, $6, $7, $8) RETURNING id",
					   BF_ARGS(INT8OID, INT4OID, OIDOID, OIDOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID),
					   BF_VALS(Int64GetDatum(v->id), Int32GetDatum(++ordinal), ObjectIdGetDatum(p->live),
							   ObjectIdGetDatum(p->parent), bf_text(p->name), bf_text(p->bound),
							   p->lower ? bf_text(p->lower) : (Datum) 0, p->upper ? bf_text(p->upper) : (Datum) 0),
					   nulls);
		p->id = DatumGetInt64(BF_VALUE(r, 0, 0));
		p->version_id = v->id;
	}
}

List *
bf_partition_list(int64 version_id)
{
	List	   *list = NIL;
	BfRows	   *r = bf_catalog("SELECT id, live::oid, parent::oid, staged::oid, name::text, bound, state, lower_bound,"
							   " upper_bound, rows, rejected, swap = 'storage', swap_reason"
							   " FROM backfill.bf_partition WHERE version_id = $1 ORDER BY ordinal",
							   BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(version_id)), NULL);

	for (int i = 0; i < r->nrows; i++)
	{
		BfPartition *p = palloc0(sizeof(BfPartition));

		p->id = DatumGetInt64(BF_VALUE(r, i, 0));
		p->version_id = version_id;
		p->live = BF_ISNULL(r, i, 1) ? InvalidOid : DatumGetObjectId(BF_VALUE(r, i, 1));
		p->parent = DatumGetObjectId(BF_VALUE(r, i, 2));
		p->staged = BF_ISNULL(r, i, 3) ? InvalidOid : DatumGetObjectId(BF_VALUE(r, i, 3));
		p->name = bf_rows_text(r, i, 4);
		p->bound = bf_rows_text(r, i, 5);
		p->state = bf_rows_text(r, i, 6);
		p->lower = bf_rows_text(r, i, 7);
		p->upper = bf_rows_text(r, i, 8);
		p->rows = BF_ISNULL(r, i, 9) ? -1 : DatumGetInt64(BF_VALUE(r, i, 9));
		p->rejected = BF_ISNULL(r, i, 10) ? 0 : DatumGetInt64(BF_VALUE(r, i, 10));
		p->swap = !BF_ISNULL(r, i, 11) && DatumGetBool(BF_VALUE(r, i, 11)) ? BF_SWAP_STORAGE : BF_SWAP_ATTACH;
		p->swap_reason = bf_rows_text(r, i, 12);
		list = lappend(list, p);
	}
	return list;
}

Datum
bf_partition_ids(List *partitions)
{
	Datum	   *ids = palloc(sizeof(Datum) * Max(1, list_length(partitions)));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, partitions)
		ids[n++] = Int64GetDatum(((BfPartition *) lfirst(lc))->id);
	return PointerGetDatum(construct_array(ids, n, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

List *
bf_partition_live(List *partitions)
{
	List	   *live = NIL;
	ListCell   *lc;

	foreach(lc, partitions)
		if (OidIsValid(((BfPartition *) lfirst(lc))->live))
			live = lappend_oid(live, ((BfPartition *) lfirst(lc))->live);
	return live;
}

Oid *
bf_partition_locate(const BfVersion *v, List *partitions)
{
	Oid		   *leaves = palloc0(sizeof(Oid) * Max(1, list_length(partitions)));
	List	   *parents = NIL;
	List	   *bounds = NIL;
	BfIdentity	id;
	BfRows	   *r;
	ListCell   *lc;

	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);

		parents = lappend_oid(parents, p->parent);
		bounds = lappend(bounds, p->bound);
	}
	bf_owner_enter(&id, v->owner);
	bf_bound_settings(v);
	r = bf_sql("SELECT m.n::int, c.oid FROM unnest($1, $2) WITH ORDINALITY m(parent, bound, n)"
			   " JOIN (SELECT i.inhparent, c.oid, pg_get_expr(c.relpartbound, c.oid) AS bound FROM pg_inherits i"
			   " JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = ANY ($1) AND NOT i.inhdetachpending) c"
			   " ON c.inhparent = m.parent AND c.bound = m.bound",
			   BF_ARGS(OIDARRAYOID, TEXTARRAYOID),
			   BF_VALS(bf_oid_array(parents), bf_text_array(bounds)), NULL);
	bf_identity_leave(&id);
	for (int i = 0; i < r->nrows; i++)
		leaves[DatumGetInt32(BF_VALUE(r, i, 0)) - 1] = DatumGetObjectId(BF_VALUE(r, i, 1));
	return leaves;
}

/*
 * The owner creates the staged tables.  GRANT rewrites the schema's row even when it changes nothing, and two at
 * once fail ("tuple concurrently updated"), so it is left out where it can be, and waits for its turn where not.
 */
void
bf_partition_allow_staging(Oid owner)
{
	Oid			schema = get_namespace_oid(BF_STAGING_SCHEMA, false);

	if (bf_namespace_aclcheck(schema, owner, ACL_CREATE) == ACLCHECK_OK)
		return;
	LockDatabaseObject(NamespaceRelationId, schema, 0, ShareUpdateExclusiveLock);
	bf_catalog(psprintf("GRANT CREATE, USAGE ON SCHEMA backfill_staging TO %s",
						quote_identifier(GetUserNameFromId(owner, false))), 0, NULL, NULL, NULL);
}

/* As the table's owner: the target may have another by now, or be gone. */
void
bf_partition_drop_table(Oid relid)
{
	BfIdentity	id;

	bf_owner_enter(&id, bf_relowner(relid));
	bf_exec("DROP TABLE %s", bf_relname(relid));
	bf_identity_leave(&id);
	bf_guard_forget_marks(relid);
}

void
bf_partition_guard(const BfVersion *v, List *partitions)
{
	List	   *live = bf_partition_live(partitions);
	ListCell   *lc;
	BfIdentity	id;

	bf_owner_enter(&id, v->owner);
	bf_guard_lock(live, false);
	foreach(lc, live)
		bf_guard_install(lfirst_oid(lc));
	bf_identity_leave(&id);
}

/* A rewrite fires no trigger, and a guard that is switched off sees nothing: it has a new row version afterwards. */
#define LIVE_STATE \
"pg_catalog.concat(pg_catalog.pg_relation_filenode(live)," \
" (SELECT pg_catalog.string_agg(pg_catalog.concat('|', t.xmin, t.tgenabled), '' ORDER BY t.oid)" \
" FROM pg_catalog.pg_trigger t WHERE t.tgrelid = live AND t.tgfoid = 'backfill.guard()'::pg_catalog.regprocedure))"

void
bf_partition_note_live(int64 version_id)
{
	bf_catalog("UPDATE backfill.bf_partition SET live_state = " LIVE_STATE " WHERE version_id = $1 AND live IS NOT NULL",
			   BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(version_id)), NULL);
}

char *
bf_partition_tampered(const BfPartition *p)
{
	BfRows	   *r = bf_catalog("SELECT CASE pg_catalog.split_part(live_state, '|', 1)"
							   " WHEN pg_catalog.pg_relation_filenode(live)::text"
							   " THEN 'unguarded' ELSE 'rewritten' END"
							   " FROM backfill.bf_partition WHERE id = $1 AND live_state <> " LIVE_STATE,
							   BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(p->id)), NULL);

	return r->nrows > 0 ? bf_rows_text(r, 0, 0) : NULL;
}

void
bf_partition_built(const BfPartition *p, const char *fingerprint, const char *definition, TimestampTz started)
{
	bf_catalog("UPDATE backfill.bf_partition SET state = 'staged', staged = $2::pg_catalog.regclass, rows = $3, rejected = $4,"
			   " fingerprint = $5::pg_catalog.numeric, bytes = pg_catalog.pg_total_relation_size($2),"
			   " elapsed = pg_catalog.date_trunc('milliseconds', pg_catalog.clock_timestamp() - $6), attempts = attempts + 1,"
			   " definition = $7 WHERE id = $1",
			   BF_ARGS(INT8OID, OIDOID, INT8OID, INT8OID, TEXTOID, TIMESTAMPTZOID, TEXTOID),
			   BF_VALS(Int64GetDatum(p->id), ObjectIdGetDatum(p->staged), Int64GetDatum(p->rows), Int64GetDatum(p->rejected),
					   bf_text(fingerprint), TimestampTzGetDatum(started), bf_text(definition)), NULL);
}

void
bf_partition_unchanged(const BfVersion *v, List *unchanged)
{
	bf_catalog("UPDATE backfill.bf_partition SET state = CASE WHEN id = ANY ($2) THEN 'unchanged' ELSE 'staged' END"
			   " WHERE version_id = $1 AND state IN ('staged', 'unchanged')"
			   " AND state <> CASE WHEN id = ANY ($2) THEN 'unchanged' ELSE 'staged' END",
			   BF_ARGS(INT8OID, INT8ARRAYOID), BF_VALS(Int64GetDatum(v->id), bf_partition_ids(unchanged)), NULL);
}

void
bf_partition_dropped(const BfVersion *v)
{
	bf_catalog("UPDATE backfill.bf_partition SET state = 'dropped', staged = NULL WHERE version_id = $1",
			   BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(v->id)), NULL);
}

bool
bf_partition_in_state(int64 version_id, const char *state)
{
	return bf_catalog("SELECT 1 FROM backfill.bf_partition WHERE version_id = $1 AND state = $2 LIMIT 1",
					  BF_ARGS(INT8OID, TEXTOID), BF_VALS(Int64GetDatum(version_id), bf_text(state)), NULL)->nrows > 0;
}

/*
 * The chain of replacement: of every place (parent and bound)
 * one relation is attached; a partition's `live` is what lies below its own
 * relation in the chain, or would once it is published.  A relation is in the
 * chain at most once: published again over a newer one, it is taken out from
 * below and put on top, so that withdrawing step by step always ends.
 */

void
bf_partition_replace(BfPartition *p, Oid live)
{
	p->live = live;
	if (strcmp(p->state, "unchanged") == 0)
		p->state = "staged";
	bf_catalog("UPDATE backfill.bf_partition SET live = nullif($2, 0::oid)::regclass, live_state = NULL,"
			   " state = CASE state WHEN 'unchanged' THEN 'staged' ELSE state END WHERE id = $1",
			   BF_ARGS(INT8OID, OIDOID), BF_VALS(Int64GetDatum(p->id), ObjectIdGetDatum(live)), NULL);
}

void
bf_partition_lock_rows(List *moves)
{
	List	   *relids = NIL;
	List	   *parents = NIL;
	ListCell   *lc;

	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);

		relids = lappend_oid(lappend_oid(relids, m->out), m->in);
		parents = list_append_unique_oid(parents, m->partition->parent);
	}
	(void) bf_catalog("SELECT 1 FROM backfill.bf_partition p JOIN backfill.bf_version v ON v.id = p.version_id"
					  " WHERE p.live = ANY ($1) OR p.staged = ANY ($1) OR (p.live IS NULL AND p.parent = ANY ($2))"
					  " ORDER BY v.id, p.id FOR NO KEY UPDATE",
					  BF_ARGS(OIDARRAYOID, OIDARRAYOID), BF_VALS(bf_oid_array(relids), bf_oid_array(parents)), NULL);
}

/* $1: version; $2 ...: the moves */
#define MOVES "unnest($2, $3, $4, $5) AS m(id, gone, came, previous)"
#define WAITING "o.version_id <> $1 AND o.state IN ('pending', 'staged', 'unchanged')"
#define NAMES " SELECT name FROM backfill.bf_version WHERE id IN (SELECT version_id FROM one UNION SELECT version_id FROM two)" \
	" ORDER BY id"

static const char *const forward_sql[] = {
	"UPDATE backfill.bf_partition o SET live = nullif(m.previous, 0::oid)::regclass FROM " MOVES
	" WHERE o.live = m.came AND o.version_id <> $1",

	"UPDATE backfill.bf_partition o SET state = 'live', live = nullif(m.gone, 0::oid)::regclass, staged = m.came::regclass,"
	" published_file = pg_relation_filenode(m.came) FROM " MOVES
	" WHERE o.id = m.id",

	"WITH one AS (UPDATE backfill.bf_partition o SET state = 'retired' FROM " MOVES
	" WHERE o.staged = m.gone AND o.state = 'live' AND o.version_id <> $1 RETURNING o.version_id),"
	" two AS (UPDATE backfill.bf_partition o SET live = m.came::regclass, live_state = NULL FROM " MOVES
	" WHERE o.live = m.gone AND " WAITING " RETURNING o.version_id)" NAMES
};

static const char *const backward_sql[] = {
	"UPDATE backfill.bf_partition o SET state = 'retired', live = nullif(m.came, 0::oid)::regclass, staged = m.gone::regclass"
	" FROM " MOVES " WHERE o.id = m.id",

	"WITH one AS (UPDATE backfill.bf_partition o SET state = 'live' FROM " MOVES
	" WHERE o.staged = m.came AND o.state = 'retired' AND o.version_id <> $1 RETURNING o.version_id),"
	" two AS (UPDATE backfill.bf_partition o SET live = nullif(m.came, 0::oid)::regclass, live_state = NULL FROM " MOVES
	" WHERE o.live = m.gone AND " WAITING " RETURNING o.version_id)" NAMES
};

/* Others that were to create a partition find it there now.  Each version reads bounds under its own settings. */
static void
adopt_created(const BfVersion *v, List *moves)
{
	List	   *created = NIL;
	List	   *parents = NIL;
	ListCell   *lc;
	BfRows	   *r;

	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);

		if (OidIsValid(m->out))
			continue;
		created = lappend_oid(created, m->in);
		parents = list_append_unique_oid(parents, m->partition->parent);
	}
	if (created == NIL)
		return;
	r = bf_catalog("SELECT DISTINCT v.name FROM backfill.bf_partition o JOIN backfill.bf_version v ON v.id = o.version_id"
				   " WHERE o.live IS NULL AND o.parent = ANY ($2) AND " WAITING,
				   BF_ARGS(INT8OID, OIDARRAYOID), BF_VALS(Int64GetDatum(v->id), bf_oid_array(parents)), NULL);
	for (int i = 0; i < r->nrows; i++)
	{
		BfVersion  *other = bf_version_get(bf_rows_text(r, i, 0));
		List	   *partitions = bf_partition_list(other->id);
		Oid		   *leaves = bf_partition_locate(other, partitions);

		foreach(lc, partitions)
		{
			BfPartition *p = lfirst(lc);
			Oid			leaf = leaves[foreach_current_index(lc)];

			if (!OidIsValid(p->live) && list_member_oid(created, leaf))
				bf_partition_replace(p, leaf);
		}
	}
}

List *
bf_partition_switched(const BfVersion *v, List *moves, bool forward)
{
	List	   *replaced = NIL;
	List	   *gone = NIL,
			   *came = NIL,
			   *previous = NIL,
			   *names = NIL;
	Oid			types[] = {INT8OID, INT8ARRAYOID, OIDARRAYOID, OIDARRAYOID, OIDARRAYOID};
	Datum		values[5];
	BfRows	   *r = NULL;
	ListCell   *lc;

	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);

		replaced = lappend(replaced, m->partition);
		gone = lappend_oid(gone, m->out);
		came = lappend_oid(came, m->in);
		previous = lappend_oid(previous, m->previous);
	}
	values[0] = Int64GetDatum(v->id);
	values[1] = bf_partition_ids(replaced);
	values[2] = bf_oid_array(gone);
	values[3] = bf_oid_array(came);
	values[4] = bf_oid_array(previous);
	for (int i = 0; i < (forward ? lengthof(forward_sql) : lengthof(backward_sql)); i++)
		r = bf_catalog(forward ? forward_sql[i] : backward_sql[i], 5, types, values, NULL);
	for (int i = 0; i < r->nrows; i++)
		names = lappend(names, bf_rows_text(r, i, 0));
	if (forward)
		adopt_created(v, moves);
	return names;
}

/* NB: a row that one transaction changes twice has its foreign key checked, one by one, so the moves' own wait for the switch. */
void
bf_partition_exchanged(List *moves)
{
	List	   *out = NIL,
			   *in = NIL,
			   *moved = NIL;
	ListCell   *lc;

	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);

		out = lappend_oid(out, m->out);
		in = lappend_oid(in, m->in);
		moved = lappend(moved, m->partition);
	}
	bf_catalog("WITH traded AS (SELECT a, b FROM ROWS FROM (unnest($1 || $2), unnest($2 || $1)) AS m(a, b))"
			   " UPDATE backfill.bf_partition p SET live = coalesce(l.b::regclass, p.live),"
			   " staged = coalesce(s.b::regclass, p.staged) FROM backfill.bf_partition o"
			   " LEFT JOIN traded l ON l.a = o.live LEFT JOIN traded s ON s.a = o.staged"
			   " WHERE p.id = o.id AND (o.live = ANY ($1 || $2) OR o.staged = ANY ($1 || $2)) AND p.id <> ALL ($3)",
			   BF_ARGS(OIDARRAYOID, OIDARRAYOID, INT8ARRAYOID),
			   BF_VALS(bf_oid_array(out), bf_oid_array(in), bf_partition_ids(moved)), NULL);
	bf_guard_marks_exchanged(out, in);
}

List *
bf_partition_rewritten(List *relids)
{
	BfRows	   *r = bf_catalog("SELECT coalesce(array_agg(staged::oid), '{}') FROM backfill.bf_partition"
							   " WHERE staged = ANY ($1) AND published_file <> pg_relation_filenode(staged)",
							   BF_ARGS(OIDARRAYOID), BF_VALS(bf_oid_array(relids)), NULL);

	return bf_oid_list(BF_VALUE(r, 0, 0));
}

char *
bf_partition_owners(List *relids)
{
	BfRows	   *r = bf_catalog("SELECT coalesce(string_agg(name, ', ' ORDER BY name = 'original' DESC, name), 'original')"
							   " FROM (SELECT DISTINCT coalesce(v.name, 'original') AS name FROM unnest($1) AS m(relid)"
							   " LEFT JOIN backfill.bf_partition p ON p.staged = m.relid"
							   " LEFT JOIN backfill.bf_version v ON v.id = p.version_id) s",
							   BF_ARGS(OIDARRAYOID), BF_VALS(bf_oid_array(relids)), NULL);

	return bf_rows_text(r, 0, 0);
}

char *
bf_partition_newer(const BfVersion *v, List *withdrawn, char **partitions)
{
	List	   *names = NIL;
	ListCell   *lc;
	BfRows	   *r;

	foreach(lc, withdrawn)
		names = lappend(names, ((BfVersion *) lfirst(lc))->name);
	r = bf_catalog("SELECT w.name, string_agg(quote_ident(n.name), ', ' ORDER BY n.ordinal)"
				   " FROM backfill.bf_partition p JOIN backfill.bf_partition n ON n.live = p.staged AND n.state = 'live'"
				   " JOIN backfill.bf_version w ON w.id = n.version_id"
				   " WHERE p.version_id = $1 AND w.name <> ALL ($2) GROUP BY w.id, w.name ORDER BY w.id DESC LIMIT 1",
				   BF_ARGS(INT8OID, TEXTARRAYOID),
				   BF_VALS(Int64GetDatum(v->id), bf_text_array(names)), NULL);
	if (r->nrows == 0)
		return NULL;
	*partitions = bf_rows_text(r, 0, 1);
	return bf_rows_text(r, 0, 0);
}

List *
bf_partition_predecessors(const BfVersion *v)
{
	BfRows	   *r = bf_catalog("SELECT DISTINCT w.name FROM backfill.bf_partition p"
							   " JOIN backfill.bf_partition o ON o.staged = p.live"
							   " JOIN backfill.bf_version w ON w.id = o.version_id"
							   " WHERE p.version_id = $1 AND o.version_id <> $1 AND p.state IN ('live', 'retired')",
							   BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(v->id)), NULL);
	List	   *names = NIL;

	for (int i = 0; i < r->nrows; i++)
		names = lappend(names, bf_rows_text(r, i, 0));
	return names;
}
