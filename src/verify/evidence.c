/*
 * evidence.c
 *		What gates measured, and whether it still holds (owns bf_evidence).
 *
 * Evidence is only ever appended.  The last one of a gate and partition counts,
 * as long as its binding is that of what is there now: any change of the
 * definition, of a gate, of a file or a write to a staged table voids it.
 */
#include "verify/evidence.h"

#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/partition.h"
#include "define/reference.h"
#include "utils/array.h"
#include "utils/builtins.h"

#define MAX_LISTED 10

/* $1 is the version.  Files are compared by number: a rewrite or TRUNCATE changes it.  A guard switched off has a new xmin. */
#define BINDINGS \
"SELECT p.id, p.ordinal, p.name, pg_catalog.md5(pg_catalog.concat_ws('|', d.definition,\n" \
"        coalesce(p.definition, ''), coalesce(p.staged::oid, 0), coalesce(s.relfilenode, 0), coalesce(p.live::oid, 0),\n" \
"        coalesce(l.relfilenode, 0), coalesce((SELECT pg_catalog.max(m.id) FROM backfill.bf_mark m\n" \
"                                               WHERE m.relid = p.staged::oid), 0),\n" \
"        (SELECT pg_catalog.string_agg(pg_catalog.concat(t.xmin, t.tgenabled), '|' ORDER BY t.oid) FROM pg_catalog.pg_trigger t\n" \
"          WHERE t.tgrelid IN (p.staged::oid, p.live::oid) AND t.tgfoid = 'backfill.guard()'::pg_catalog.regprocedure))) AS binding\n" \
"  FROM backfill.bf_partition p\n" \
"  LEFT JOIN pg_catalog.pg_class s ON s.oid = p.staged::oid\n" \
"  LEFT JOIN pg_catalog.pg_class l ON l.oid = p.live::oid\n" \
" CROSS JOIN (SELECT pg_catalog.md5(pg_catalog.concat_ws('|', t.definition, t.rule_canonical, v.settings,\n" \
"                   (SELECT pg_catalog.string_agg(pg_catalog.concat_ws('|', g.name, g.kind, g.expression, g.expect, g.scope,\n" \
"                           g.required), '|' ORDER BY g.name) FROM backfill.bf_gate g WHERE g.version_id = v.id))) AS definition\n" \
"               FROM backfill.bf_version v JOIN backfill.bf_target t ON t.version_id = v.id WHERE v.id = $1) d\n" \
" WHERE p.version_id = $1"

#define WHOLE_BINDING "pg_catalog.md5(pg_catalog.string_agg(binding, '' ORDER BY ordinal))"

/* Every gate and partition ($2: their ids) whose evidence is not green. */
static const char judge_sql[] =
"WITH bound AS MATERIALIZED (" BINDINGS "),\n"
"latest AS (SELECT DISTINCT ON (gate, partition_id) * FROM backfill.bf_evidence WHERE version_id = $1\n"
"            ORDER BY gate, partition_id, id DESC),\n"
"due AS (SELECT g.*, b.id AS partition_id, b.ordinal, b.name AS partition, b.binding\n"
"          FROM backfill.bf_gate g CROSS JOIN bound b\n"
"         WHERE g.version_id = $1 AND g.scope = 'partition' AND b.id = ANY ($2)\n"
"         UNION ALL\n"
"        SELECT g.*, 0, 0, NULL, (SELECT " WHOLE_BINDING " FROM bound)\n"
"          FROM backfill.bf_gate g WHERE g.version_id = $1 AND g.scope = 'version'),\n"
"judged AS MATERIALIZED (\n"
"SELECT CASE WHEN e.id IS NULL THEN 'missing' WHEN e.binding <> d.binding THEN 'stale'\n"
"            WHEN e.result IN ('passed', 'n/a') THEN 'green' WHEN e.result = 'no_baseline' THEN 'no_baseline'\n"
"            WHEN d.waived_reason IS NOT NULL AND d.kind <> 'integrity' THEN 'green' ELSE 'red' END AS verdict,\n"
"       d.name, d.partition, d.kind, d.required, e.old, e.new, e.difference, e.expect, e.samples, d.ordinal, d.partition_id\n"
"  FROM due d LEFT JOIN latest e ON e.gate = d.name AND coalesce(e.partition_id, 0) = d.partition_id)\n"
"SELECT verdict, name, partition::text, kind, required, old, new, difference, expect, samples::text,\n"
"       kind = 'integrity' AS integrity, ordinal\n"
"  FROM judged WHERE verdict NOT IN ('green', 'no_baseline')\n"
" UNION ALL\n"
"SELECT 'no_baseline', pg_catalog.count(DISTINCT partition_id)::text, NULL, NULL, true, NULL, NULL, NULL, NULL, NULL, false, 0\n"
"  FROM judged WHERE verdict = 'no_baseline'\n"
" ORDER BY integrity DESC, ordinal, name";

/* Columns of judge_sql's result. */
enum
{
	J_VERDICT, J_GATE, J_PARTITION, J_KIND, J_REQUIRED, J_OLD, J_NEW, J_DIFFERENCE, J_EXPECT, J_SAMPLES
};

BfBindings *
bf_evidence_bindings(int64 version_id)
{
	BfBindings *b = palloc0(sizeof(BfBindings));
	BfRows	   *r = bf_catalog("WITH bound AS MATERIALIZED (" BINDINGS ") SELECT id, binding,"
							   " (SELECT " WHOLE_BINDING " FROM bound) FROM bound ORDER BY ordinal",
							   BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(version_id)), NULL);

	b->n = r->nrows;
	b->ids = palloc(sizeof(int64) * Max(1, b->n));
	b->bindings = palloc(sizeof(char *) * Max(1, b->n));
	for (int i = 0; i < b->n; i++)
	{
		b->ids[i] = DatumGetInt64(BF_VALUE(r, i, 0));
		b->bindings[i] = bf_rows_text(r, i, 1);
	}
	b->whole = b->n > 0 ? bf_rows_text(r, 0, 2) : "";
	return b;
}

/* "-12 (-0.50%), 7 changed" */
static char *
row_difference(int64 old, int64 new, int64 changed)
{
	StringInfoData s;

	initStringInfo(&s);
	appendStringInfo(&s, "%s" INT64_FORMAT, new > old ? "+" : "", new - old);
	if (old > 0)
		appendStringInfo(&s, " (%s%.2f%%)", new > old ? "+" : "", 100.0 * (new - old) / old);
	if (changed > 0)
		appendStringInfo(&s, ", " INT64_FORMAT " changed", changed);
	return s.data;
}

void
bf_evidence_describe(BfMeasure *m)
{
	if (m->counted == BF_NOT_COUNTED)
		return;
	m->new = psprintf(INT64_FORMAT, m->n_new);
	if (m->counted == BF_COUNT_FOUND)
		return;
	m->old = psprintf(INT64_FORMAT, m->n_old);
	if (m->counted == BF_COUNT_ROWS)
		m->difference = row_difference(m->n_old, m->n_new, m->n_diff);
	else if (m->counted == BF_COUNT_VANISHING)
		m->difference = psprintf(INT64_FORMAT " vanishing, " INT64_FORMAT " dangling", m->n_old, m->n_new);
	else if (m->counted == BF_COUNT_UNMATCHED)
		m->difference = psprintf(INT64_FORMAT " new, " INT64_FORMAT " dangling", m->n_old, m->n_new);
	else
		m->difference = psprintf(INT64_FORMAT " %s", m->n_diff, m->counted == BF_COUNT_LOST ? "lost" : "gained");
}

/* Columns of the insert, in its order; each becomes one text array. */
static char *
insert_value(const BfMeasure *m, int column)
{
	switch (column)
	{
		case 0:
			return m->gate->name;
		case 1:
			return m->partition_id != 0 ? psprintf(INT64_FORMAT, m->partition_id) : NULL;
		case 2:
			return (char *) m->result;
		case 3:
			return m->old;
		case 4:
			return m->new;
		case 5:
			return m->difference;
		case 6:
			return m->gate->expect;
		case 7:
			return m->samples ? JsonbToCString(NULL, &m->samples->root, VARSIZE(m->samples)) : NULL;
		default:
			return m->binding;
	}
}

#define INSERT_COLUMNS 9

static Datum
column_array(List *measures, int column)
{
	int			n = list_length(measures);
	Datum	   *values = palloc0(sizeof(Datum) * n);
	bool	   *nulls = palloc0(sizeof(bool) * n);
	int			lower = 1;
	int			i = 0;
	ListCell   *lc;

	foreach(lc, measures)
	{
		char	   *s = insert_value(lfirst(lc), column);

		nulls[i] = s == NULL;
		values[i++] = s ? bf_text(s) : (Datum) 0;
	}
	return PointerGetDatum(construct_md_array(values, nulls, 1, &n, &lower, TEXTOID, -1, false, TYPALIGN_INT));
}

void
bf_evidence_insert(int64 version_id, List *measures)
{
	Oid			types[INSERT_COLUMNS + 1] = {INT8OID};
	Datum		values[INSERT_COLUMNS + 1] = {Int64GetDatum(version_id)};

	if (measures == NIL)
		return;
	for (int i = 0; i < INSERT_COLUMNS; i++)
	{
		types[i + 1] = TEXTARRAYOID;
		values[i + 1] = column_array(measures, i);
	}
	bf_catalog("INSERT INTO backfill.bf_evidence"
			   " (version_id, gate, partition_id, result, old, new, difference, expect, samples, binding)"
			   " SELECT $1, gate, partition_id::bigint, result, old, new, difference, expect, samples::pg_catalog.jsonb, binding"
			   " FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4),"
			   " pg_catalog.unnest($5), pg_catalog.unnest($6), pg_catalog.unnest($7), pg_catalog.unnest($8),"
			   " pg_catalog.unnest($9), pg_catalog.unnest($10))"
			   " WITH ORDINALITY AS m(gate, partition_id, result, old, new, difference, expect, samples, binding, n) ORDER BY n",
			   INSERT_COLUMNS + 1, types, values, NULL);
}

static bool
has_verdict(BfRows *r, int row, const char *verdict)
{
	return strcmp(bf_rows_text(r, row, J_VERDICT), verdict) == 0;
}

/* "tax total of receipt_2026_04: old 10, new 12, ..." */
static char *
red_line(BfRows *r, int row)
{
	static const struct
	{
		int			column;
		const char *label;
	}			parts[] = {
		{J_OLD, "old"}, {J_NEW, "new"}, {J_DIFFERENCE, "difference"}, {J_EXPECT, "expected"}, {J_SAMPLES, "keys"}
	};
	StringInfoData s;
	char	   *partition = bf_rows_text(r, row, J_PARTITION);
	const char *between = ": ";

	initStringInfo(&s);
	appendStringInfo(&s, "%s%s%s", bf_rows_text(r, row, J_GATE), partition ? " of " : "", partition ? partition : "");
	for (int i = 0; i < lengthof(parts); i++)
	{
		char	   *text = bf_rows_text(r, row, parts[i].column);

		if (text == NULL)
			continue;
		appendStringInfo(&s, "%s%s %s", between, parts[i].label, text);
		between = ", ";
	}
	return s.data;
}

/* The red gates, one a line; NULL when there is none. */
static char *
red_lines(BfRows *r, bool required, int *first)
{
	StringInfoData s;
	int			n = 0;

	*first = -1;
	initStringInfo(&s);
	for (int i = 0; i < r->nrows; i++)
	{
		if (!has_verdict(r, i, "red") || DatumGetBool(BF_VALUE(r, i, J_REQUIRED)) != required)
			continue;
		if (*first < 0)
			*first = i;
		if (++n <= MAX_LISTED)
			appendStringInfo(&s, "%s%s", n > 1 ? "\n" : "", red_line(r, i));
	}
	if (n > MAX_LISTED)
		appendStringInfo(&s, "\nand %d more", n - MAX_LISTED);
	return n > 0 ? s.data : NULL;
}

static void
require_measured(const BfVersion *v, BfRows *r)
{
	for (int i = 0; i < r->nrows; i++)
	{
		bool		missing = has_verdict(r, i, "missing");
		char	   *partition = bf_rows_text(r, i, J_PARTITION);
		char	   *place;

		if (!missing && !has_verdict(r, i, "stale"))
			continue;
		place = partition ? psprintf(" of partition \"%s\"", partition) : "";
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("version \"%s\" has no evidence for what is there now", v->name),
				 missing ? errdetail("Gate \"%s\"%s was not measured.", bf_rows_text(r, i, J_GATE), place) :
				 errdetail("Gate \"%s\"%s was measured before something changed.", bf_rows_text(r, i, J_GATE), place),
				 errhint("Call backfill_validate(%s).", quote_literal_cstr(v->name))));
	}
}

/* The next call for the first red gate. */
static char *
red_hint(const BfVersion *v, BfRows *r, int row)
{
	char	   *name = quote_literal_cstr(v->name);
	char	   *gate = bf_rows_text(r, row, J_GATE);

	if (strcmp(bf_rows_text(r, row, J_KIND), "integrity") != 0 && v->state != BF_BUILT)
		return psprintf("Create and build a new version, or accept this with backfill_waive(%s, %s, 'reason').", name,
						quote_literal_cstr(gate));
	if (strcmp(bf_rows_text(r, row, J_KIND), "integrity") != 0)
		return psprintf("Mend the rule with backfill_create(%s, ..., replace => true) and build again, or accept this with"
						" backfill_waive(%s, %s, 'reason').", name, name, quote_literal_cstr(gate));
	if (v->state != BF_BUILT)
		return pstrdup("Create and build a new version.");
	if (strcmp(gate, "live unchanged") == 0 && strcmp(bf_rows_text(r, row, J_NEW), "detached") == 0)
		return psprintf("Attach it again and call backfill_validate(%s), or drop the version and create it again.", name);
	if (strcmp(gate, "live unchanged") == 0 && strcmp(bf_rows_text(r, row, J_NEW), "dropped") == 0)
		return pstrdup("Drop the version and create it again.");
	if (strncmp(gate, BF_GATE_FOREIGN_KEY, strlen(BF_GATE_FOREIGN_KEY)) == 0)
		return psprintf("Mend the rows at the other end and call backfill_validate(%s), or mend the rule with"
						" backfill_create(%s, ..., replace => true) and build again.", name, name);
	if (strcmp(gate, "live unchanged") == 0 || strcmp(gate, "built") == 0 || strcmp(gate, "definition unchanged") == 0)
		return psprintf("Call backfill_build(%s) to build it again.", name);
	return psprintf("Mend the rule with backfill_create(%s, ..., replace => true) and build again.", name);
}

int
bf_evidence_require_green(BfVersion *v, List *partitions)
{
	BfRows	   *r;
	char	   *red;
	int			first;

	/* A foreign key that came, went or changed makes the gates others, and what was measured before stale. */
	bf_reference_gates(v, partitions);
	r = bf_catalog(judge_sql, BF_ARGS(INT8OID, INT8ARRAYOID),
				   BF_VALS(Int64GetDatum(v->id), bf_partition_ids(partitions)), NULL);
	require_measured(v, r);
	red = red_lines(r, true, &first);
	if (red != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("backfill failed quality gates"),
				 errdetail("%s", red),
				 errhint("%s", red_hint(v, r, first))));
	red = red_lines(r, false, &first);
	if (red != NULL)
		ereport(WARNING,
				(errmsg("version \"%s\" is red in gates that are not required", v->name),
				 errdetail("%s", red)));
	for (int i = 0; i < r->nrows; i++)
		if (has_verdict(r, i, "no_baseline"))
			return atoi(bf_rows_text(r, i, J_GATE));
	return 0;
}
