/*
 * swap.c
 *		Which way each partition is switched, and what of two tables is exchanged.
 *
 * Two tables may trade files only when each reads the other's as its own: every
 * column is stored alike, dropped ones too; both have a TOAST table or none; and
 * every index has one on the other side that was made by the same rules.  What
 * the files hold must satisfy the constraints of the table they go to as well.
 * Names do not matter: a renamed column keeps its number and its data.
 *
 * All partitions of a version are looked at in one query.
 */
#include "define/swap.h"

#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/partition.h"

/*
 * $1, $2: attached and other tables (0: not built yet), $3: whether event
 * triggers matter, $4: whether pairs are wanted.  Reasons of one pair come with
 * the first thing to say about it first.
 *
 * Expressions of both tables are deparsed with the columns of the attached one,
 * so that a column renamed on one of them makes no difference.  Two equal
 * indexes of one table are told apart by their age alone.
 */
static const char compare_sql[] =
"WITH side AS MATERIALIZED (\n"
" SELECT m.n, m.out AS names, m.out AS oid, false AS other, c.oid IS NOT NULL AS paired FROM\n"
"  ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) WITH ORDINALITY m (out, \"in\", n)\n"
"  LEFT JOIN pg_catalog.pg_class c ON c.oid = m.\"in\"\n"
" UNION ALL SELECT m.n, m.out, c.oid, true, true FROM\n"
"  ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) WITH ORDINALITY m (out, \"in\", n)\n"
"  JOIN pg_catalog.pg_class c ON c.oid = m.\"in\"),\n"
" relation AS (SELECT s.n, s.paired, s.other, c.* FROM side s JOIN pg_catalog.pg_class c ON c.oid = s.oid),\n"
" attribute AS (SELECT s.n, a.attnum, pg_catalog.min(a.attname::text COLLATE \"C\") FILTER (WHERE NOT a.attisdropped) AS name\n"
"  FROM side s JOIN pg_catalog.pg_attribute a ON a.attrelid = s.oid AND a.attnum > 0\n"
"  LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.attgenerated <> ''\n"
"  CROSS JOIN LATERAL (SELECT ROW(a.attlen, a.attalign, a.attbyval, a.attisdropped)::text || CASE WHEN NOT a.attisdropped THEN\n"
"   ROW(a.atttypid, a.atttypmod, a.attcollation, a.attnotnull, a.attgenerated,\n"
"    pg_catalog.pg_get_expr(d.adbin, s.names))::text ELSE '' END COLLATE \"C\" AS stored) x\n"
"  WHERE s.paired GROUP BY s.n, a.attnum\n"
"  HAVING pg_catalog.count(*) < 2 OR pg_catalog.min(x.stored) <> pg_catalog.max(x.stored)),\n"
" constr AS (SELECT s.n, pg_catalog.min(k.conname::text COLLATE \"C\") AS name\n"
"  FROM side s JOIN pg_catalog.pg_constraint k ON k.conrelid = s.oid AND k.contype IN ('c', 'n') AND k.convalidated\n"
"   AND k.conname <> '" BF_BOUND_CHECK "'\n"
"  WHERE s.paired GROUP BY s.n, k.contype, coalesce(pg_catalog.pg_get_expr(k.conbin, s.names), k.conkey::text)\n"
"  HAVING pg_catalog.count(DISTINCT s.other) < 2),\n"
" index AS MATERIALIZED (SELECT s.n, s.paired, s.other, i.indexrelid AS oid, x.rules,\n"
"   i.indisvalid AND i.indisready AND i.indislive AS valid,\n"
"   pg_catalog.row_number() OVER (PARTITION BY s.n, s.other, x.rules ORDER BY i.indexrelid) AS nth\n"
"  FROM side s JOIN pg_catalog.pg_index i ON i.indrelid = s.oid JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid\n"
"  LEFT JOIN pg_catalog.pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid AND k.contype = 'x'\n"
"  CROSS JOIN LATERAL (SELECT ROW(c.relam, i.indnatts, i.indnkeyatts, i.indisunique, i.indnullsnotdistinct, i.indkey,\n"
"   i.indclass, i.indcollation, i.indoption, k.conexclop, pg_catalog.pg_get_expr(i.indexprs, s.names),\n"
"   pg_catalog.pg_get_expr(i.indpred, s.names),\n"
/* Options of operator classes are part of what an index holds; its storage parameters are not.  pg_attver: see shape.c. */
"   (SELECT pg_catalog.string_agg(ROW(a.attnum, o.option_name, o.option_value)::text, ',' ORDER BY a.attnum, o.option_name)\n"
"    FROM pg_catalog.pg_attribute a, pg_catalog.pg_options_to_table(a.attoptions) o\n"
"    WHERE a.attrelid = i.indexrelid AND o.option_name <> 'pg_attver'))::text COLLATE \"C\" AS rules) x),\n"
" index_pair AS (SELECT n, o.oid AS out, i.oid AS \"in\" FROM (SELECT * FROM index WHERE paired AND NOT other) o\n"
"  FULL JOIN (SELECT * FROM index WHERE other) i USING (n, rules, nth)),\n"
" statistics AS MATERIALIZED (SELECT s.n, s.other, e.oid, x.rules,\n"
"   pg_catalog.row_number() OVER (PARTITION BY s.n, s.other, x.rules ORDER BY e.oid) AS nth\n"
"  FROM side s JOIN pg_catalog.pg_statistic_ext e ON e.stxrelid = s.oid\n"
"  CROSS JOIN LATERAL (SELECT ROW((SELECT pg_catalog.array_agg(t ORDER BY t) FROM pg_catalog.unnest(e.stxkind) t),\n"
"   e.stxkeys, pg_catalog.pg_get_expr(e.stxexprs, s.names))::text COLLATE \"C\" AS rules) x WHERE $4),\n"
" fact (n, rank, detail, kind, out, \"in\", reason) AS (\n"
"SELECT r.n, 1, 0, 'reason', 0::oid, 0::oid, CASE WHEN m.amname IS NULL THEN 'it is no table' ELSE\n"
"  pg_catalog.format('its access method is %I', m.amname) END\n"
"  FROM relation r LEFT JOIN pg_catalog.pg_am m ON m.oid = r.relam\n"
"  WHERE NOT r.other AND m.amname IS DISTINCT FROM 'heap'\n"
"UNION ALL SELECT n, 2, 0, 'reason', 0, 0, 'it is a system relation' FROM relation\n"
"  WHERE oid < 16384 OR (relfilenode = 0 AND relkind = 'r')\n"
"UNION ALL SELECT n, 3, oid::bigint, 'reason', 0, 0, 'index ' || oid::regclass || ' is invalid' FROM index WHERE NOT valid\n"
"UNION ALL SELECT s.n, 4, 0, 'reason', 0, 0,\n"
"  pg_catalog.format('event trigger %I on ALTER TABLE would not see it', pg_catalog.min(e.evtname::text COLLATE \"C\"))\n"
"  FROM side s, pg_catalog.pg_event_trigger e WHERE $3 AND NOT s.other AND e.evtenabled <> 'D'\n"
"   AND e.evtevent IN ('ddl_command_start', 'ddl_command_end') AND (e.evttags IS NULL OR 'ALTER TABLE' = ANY (e.evttags))\n"
"  GROUP BY s.n\n"
"UNION ALL SELECT n, 5, attnum, 'reason', 0, 0, CASE WHEN name IS NULL THEN\n"
"  pg_catalog.format('dropped column %s is not stored alike in both tables', attnum)\n"
"  ELSE pg_catalog.format('column %I is not stored alike in both tables', name) END FROM attribute\n"
"UNION ALL SELECT n, 6, 0, 'reason', 0, 0, 'only one of both tables is logged' FROM relation WHERE paired GROUP BY n\n"
"  HAVING pg_catalog.count(DISTINCT relpersistence) > 1\n"
"UNION ALL SELECT n, 7, 0, 'reason', 0, 0, 'only one of both tables has a TOAST table' FROM relation WHERE paired GROUP BY n\n"
"  HAVING pg_catalog.count(DISTINCT reltoastrelid = 0) > 1\n"
"UNION ALL SELECT n, 8, 0, 'reason', 0, 0, pg_catalog.format('constraint %I is on one of both tables only', name) FROM constr\n"
"UNION ALL SELECT n, 9, coalesce(out, \"in\")::bigint, 'reason', 0, 0,\n"
"  'index ' || coalesce(out, \"in\")::regclass || ' has no equal on the other table'\n"
"  FROM index_pair WHERE out IS NULL OR \"in\" IS NULL\n"
"UNION ALL SELECT n, 10, out::bigint, 'index', out, \"in\", NULL FROM index_pair\n"
"  WHERE $4 AND out IS NOT NULL AND \"in\" IS NOT NULL\n"
"UNION ALL SELECT n, 11, o.oid::bigint, 'statistics', o.oid, i.oid, NULL FROM (SELECT * FROM statistics WHERE NOT other) o\n"
"  JOIN (SELECT * FROM statistics WHERE other) i USING (n, rules, nth)\n"
")\n"
"SELECT n::int, kind, out, \"in\", reason FROM fact ORDER BY n, rank, detail, reason COLLATE \"C\"";

static BfRows *
compare(List *outs, List *ins, bool event_triggers, bool pairs)
{
	return bf_catalog(compare_sql, BF_ARGS(OIDARRAYOID, OIDARRAYOID, BOOLOID, BOOLOID),
					  BF_VALS(bf_oid_array(outs), bf_oid_array(ins), BoolGetDatum(event_triggers), BoolGetDatum(pairs)), NULL);
}

void
bf_swap_choose(const BfVersion *v, List *partitions)
{
	bool		attach = strcmp(v->swap, "attach") == 0;
	List	   *asked = NIL;
	List	   *live = NIL;
	List	   *staged = NIL;
	BfRows	   *r;
	ListCell   *lc;

	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);

		p->swap = !OidIsValid(p->live) || attach ? BF_SWAP_ATTACH : BF_SWAP_STORAGE;
		p->swap_reason = !OidIsValid(p->live) ? BF_SWAP_CREATED : attach ? "asked for" : NULL;
		if (p->swap == BF_SWAP_ATTACH)
			continue;
		asked = lappend(asked, p);
		live = lappend_oid(live, p->live);
		staged = lappend_oid(staged, p->staged);
	}
	if (asked == NIL)
		return;
	r = compare(live, staged, strcmp(v->swap, "auto") == 0, false);
	for (int i = 0; i < r->nrows; i++)
	{
		BfPartition *p = list_nth(asked, DatumGetInt32(BF_VALUE(r, i, 0)) - 1);

		if (p->swap_reason != NULL)
			continue;
		p->swap = BF_SWAP_ATTACH;
		p->swap_reason = bf_rows_text(r, i, 4);
	}
}

void
bf_swap_record(List *partitions)
{
	List	   *ways = NIL;
	List	   *reasons = NIL;
	ListCell   *lc;

	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);

		ways = lappend(ways, p->swap == BF_SWAP_STORAGE ? "storage" : "attach");
		reasons = lappend(reasons, p->swap_reason ? p->swap_reason : "");
	}
	bf_catalog("UPDATE backfill.bf_partition p SET swap = m.swap, swap_reason = nullif(m.reason, '')"
			   " FROM ROWS FROM (unnest($1), unnest($2), unnest($3)) AS m(id, swap, reason)"
			   " WHERE p.id = m.id AND (p.swap, p.swap_reason) IS DISTINCT FROM (m.swap, nullif(m.reason, ''))",
			   BF_ARGS(INT8ARRAYOID, TEXTARRAYOID, TEXTARRAYOID),
			   BF_VALS(bf_partition_ids(partitions), bf_text_array(ways), bf_text_array(reasons)), NULL);
}

/* The moves that exchange storage, and their tables. */
static List *
exchanging(List *moves, List **outs, List **ins)
{
	List	   *list = NIL;
	ListCell   *lc;

	*outs = *ins = NIL;
	foreach(lc, moves)
	{
		BfMove	   *m = lfirst(lc);

		if (m->partition->swap != BF_SWAP_STORAGE)
			continue;
		list = lappend(list, m);
		*outs = lappend_oid(*outs, m->out);
		*ins = lappend_oid(*ins, m->in);
	}
	return list;
}

static BfPair *
make_pair(BfRows *r, int row)
{
	BfPair	   *pair = palloc(sizeof(BfPair));

	pair->out = DatumGetObjectId(BF_VALUE(r, row, 2));
	pair->in = DatumGetObjectId(BF_VALUE(r, row, 3));
	return pair;
}

List *
bf_swap_pairs(List *moves, List **reasons)
{
	List	   *outs,
			   *ins;
	int			n = list_length(exchanging(moves, &outs, &ins));
	BfPairs    *pairs = palloc0(sizeof(BfPairs) * Max(1, n));
	char	  **why = palloc0(sizeof(char *) * Max(1, n));
	List	   *result = NIL;
	BfRows	   *r = n > 0 ? compare(outs, ins, false, true) : NULL;
	ListCell   *lc;

	for (int i = 0; r && i < r->nrows; i++)
	{
		int			k = DatumGetInt32(BF_VALUE(r, i, 0)) - 1;
		char	   *kind = bf_rows_text(r, i, 1);

		if (strcmp(kind, "index") == 0)
			pairs[k].indexes = lappend(pairs[k].indexes, make_pair(r, i));
		else if (strcmp(kind, "statistics") == 0)
			pairs[k].statistics = lappend(pairs[k].statistics, make_pair(r, i));
		else if (why[k] == NULL)
			why[k] = bf_rows_text(r, i, 4);
	}
	*reasons = NIL;
	n = 0;
	foreach(lc, moves)
	{
		bool		storage = ((BfMove *) lfirst(lc))->partition->swap == BF_SWAP_STORAGE;

		result = lappend(result, storage ? &pairs[n] : NULL);
		*reasons = lappend(*reasons, storage ? why[n++] : NULL);
	}
	return result;
}
