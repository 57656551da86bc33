/*
 * gate.c
 *		Gates: the built-in ones, those a DBA adds, waivers (owns bf_gate).
 *
 * Integrity gates say that staged data is what the rule yields on the pin and
 * that nothing moved since; nobody can waive them.  Comparison gates and totals
 * set new against old and are a matter of judgement.
 */
#include "define/gate.h"

#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/total.h"
#include "define/version.h"
#include "fmgr.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(backfill_add_gate);
PG_FUNCTION_INFO_V1(backfill_waive);

static void
insert_gate(const BfVersion *v, const char *name, const char *kind, const char *expect)
{
	bf_catalog("INSERT INTO backfill.bf_gate (version_id, name, kind, expect) VALUES ($1, $2, $3, $4)",
			   BF_ARGS(INT8OID, TEXTOID, TEXTOID, TEXTOID),
			   BF_VALS(Int64GetDatum(v->id), bf_text(name), bf_text(kind), bf_text(expect)), NULL);
}

static char *
at_most(int64 limit)
{
	return limit < 0 ? pstrdup("any") : psprintf("at most " INT64_FORMAT, limit);
}

void
bf_gate_defaults(BfVersion *v)
{
	insert_gate(v, "built", "integrity", "built");
	insert_gate(v, "bounds", "integrity", "0 outside");
	insert_gate(v, "key not null", "integrity", "0 null");
	insert_gate(v, "key unique", "integrity", "0 repeated");
	insert_gate(v, "live unchanged", "integrity", "not written");
	insert_gate(v, "definition unchanged", "integrity", "same");
	insert_gate(v, "row count", "comparison",
				v->max_shrink < 0 ? "any" : psprintf("at most %g%% fewer", v->max_shrink));
	insert_gate(v, "lost keys", "comparison", at_most(v->max_lost_keys));
	insert_gate(v, "gained keys", "comparison", at_most(v->max_gained_keys));
	insert_gate(v, "rejections", "comparison", at_most(v->max_rejections));
}

/* Nothing is written where nothing changed: publish asks for this under its locks. */
void
bf_gate_derive(const BfVersion *v, List *gates)
{
	List	   *names = NIL;
	List	   *expressions = NIL;
	List	   *expects = NIL;
	ListCell   *lc;

	foreach(lc, gates)
	{
		BfGate	   *g = lfirst(lc);

		names = lappend(names, g->name);
		expressions = lappend(expressions, g->expression);
		expects = lappend(expects, g->expect);
	}
	bf_catalog("WITH wanted AS (SELECT * FROM ROWS FROM (unnest($2), unnest($3), unnest($4)) AS w(name, expression, expect)),"
			   " gone AS (DELETE FROM backfill.bf_gate g WHERE version_id = $1 AND kind = 'integrity' AND expression IS NOT NULL"
			   "  AND name NOT IN (SELECT name FROM wanted))"
			   " INSERT INTO backfill.bf_gate AS g (version_id, name, kind, expression, expect)"
			   " SELECT $1, name, 'integrity', expression, expect FROM wanted"
			   " ON CONFLICT (version_id, name) DO UPDATE SET expression = excluded.expression, expect = excluded.expect"
			   " WHERE (g.expression, g.expect) IS DISTINCT FROM (excluded.expression, excluded.expect)",
			   BF_ARGS(INT8OID, TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID),
			   BF_VALS(Int64GetDatum(v->id), bf_text_array(names), bf_text_array(expressions), bf_text_array(expects)), NULL);
}

List *
bf_gate_list(int64 version_id)
{
	List	   *list = NIL;
	BfRows	   *r = bf_catalog("SELECT name, kind, expression, expect, scope = 'version', required, waived_reason IS NOT NULL"
							   " FROM backfill.bf_gate WHERE version_id = $1"
							   " ORDER BY pg_catalog.array_position('{integrity,comparison,total}', kind),"
							   " pg_catalog.array_position('{built,bounds,key not null,key unique,live unchanged,"
							   "definition unchanged,row count,lost keys,gained keys,rejections}', name), name",
							   BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(version_id)), NULL);

	for (int i = 0; i < r->nrows; i++)
	{
		BfGate	   *g = palloc0(sizeof(BfGate));

		g->name = bf_rows_text(r, i, 0);
		g->kind = bf_rows_text(r, i, 1);
		g->expression = bf_rows_text(r, i, 2);
		g->expect = bf_rows_text(r, i, 3);
		g->whole_version = DatumGetBool(BF_VALUE(r, i, 4));
		g->required = DatumGetBool(BF_VALUE(r, i, 5));
		g->waived = DatumGetBool(BF_VALUE(r, i, 6));
		list = lappend(list, g);
	}
	return list;
}

/*
 * What a relation is, without the names of its indexes and of itself: a swap
 * changes those.  Our own triggers and CHECK come and go with it, too.
 */
#define DEFINITION \
"pg_catalog.md5(pg_catalog.concat_ws(E'\\n',\n" \
" (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),\n" \
"    a.attcollation::pg_catalog.regcollation, a.attnotnull, a.attidentity, a.attgenerated, a.attacl,\n" \
"    pg_catalog.pg_get_expr(d.adbin, d.adrelid)), E'\\n' ORDER BY a.attname)\n" \
"   FROM pg_catalog.pg_attribute a\n" \
"   LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum\n" \
"  WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),\n" \
" (SELECT pg_catalog.string_agg(s.def, E'\\n' ORDER BY s.def)\n" \
"   FROM (SELECT pg_catalog.concat_ws(' ', k.contype, k.convalidated, pg_catalog.pg_get_constraintdef(k.oid)) AS def\n" \
"           FROM pg_catalog.pg_constraint k\n" \
"          WHERE k.conrelid = c.oid AND k.contype IN ('c', 'f', 'p', 'u', 'x') AND k.conname <> '" BF_BOUND_CHECK "') s),\n" \
" (SELECT pg_catalog.string_agg(s.def, E'\\n' ORDER BY s.def)\n" \
"   FROM (SELECT pg_catalog.concat_ws(' ', i.indisunique, i.indisprimary, i.indisvalid, am.amname, i.indnkeyatts, i.indclass,\n" \
"                i.indcollation, i.indoption, pg_catalog.pg_get_expr(i.indpred, i.indrelid),\n" \
"                (SELECT pg_catalog.string_agg(pg_catalog.pg_get_indexdef(i.indexrelid, n, false), ', ' ORDER BY n)\n" \
"                   FROM pg_catalog.generate_series(1, i.indnatts) n)) AS def\n" \
"           FROM pg_catalog.pg_index i\n" \
"           JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid\n" \
"           JOIN pg_catalog.pg_am am ON am.oid = x.relam\n" \
"          WHERE i.indrelid = c.oid) s),\n" \
" (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', t.tgname, t.tgfoid::pg_catalog.regprocedure, t.tgtype, t.tgenabled),\n" \
"         E'\\n' ORDER BY t.tgname)\n" \
"   FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgparentid = 0\n" \
"    AND t.tgname NOT IN ('" BF_GUARD_TRIGGER "', '" BF_GUARD_TRUNCATE_TRIGGER "')),\n" \
" (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', p.polname, p.polcmd, p.polpermissive, p.polroles,\n" \
"         pg_catalog.pg_get_expr(p.polqual, p.polrelid), pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid)),\n" \
"         E'\\n' ORDER BY p.polname)\n" \
"   FROM pg_catalog.pg_policy p WHERE p.polrelid = c.oid),\n" \
" (SELECT pg_catalog.string_agg(s.def, E'\\n' ORDER BY s.def)\n" \
"   FROM (SELECT pg_catalog.concat_ws(' ', x.stxkind, pg_catalog.pg_get_statisticsobjdef_columns(x.oid)) AS def\n" \
"           FROM pg_catalog.pg_statistic_ext x WHERE x.stxrelid = c.oid AND c.relkind <> 'p') s),\n" \
" (SELECT pg_catalog.string_agg(o, ' ' ORDER BY o) FROM pg_catalog.unnest(c.reloptions) o),\n" \
" c.relowner, c.relacl, c.relrowsecurity, c.relforcerowsecurity, pg_catalog.pg_get_partkeydef(c.oid)))\n"

static char *
relation_definition(Oid relid)
{
	BfRows	   *r = bf_catalog("SELECT " DEFINITION " FROM pg_catalog.pg_class c WHERE c.oid = $1",
							   BF_ARGS(OIDOID), BF_VALS(ObjectIdGetDatum(relid)), NULL);

	return r->nrows > 0 ? bf_rows_text(r, 0, 0) : pstrdup("gone");
}

char *
bf_gate_definition(Oid leaf, Oid root)
{
	return psprintf("%s %s", OidIsValid(leaf) ? relation_definition(leaf) : "created", relation_definition(root));
}

/*
 * A partition that was to be created may be there by now, made by another
 * version: then only the root's part counts.
 */
List *
bf_gate_changed_definitions(const BfVersion *v, List *partitions)
{
	BfRows	   *r = bf_catalog("WITH now AS MATERIALIZED (SELECT c.oid, " DEFINITION " AS definition FROM pg_catalog.pg_class c"
							   "  WHERE c.oid = ANY (array_append(ARRAY(SELECT live::oid FROM backfill.bf_partition"
							   "   WHERE version_id = $1 AND live IS NOT NULL), $2))),"
							   " root AS (SELECT coalesce((SELECT definition FROM now WHERE oid = $2), 'gone') AS definition)"
							   " SELECT p.id FROM root, backfill.bf_partition p LEFT JOIN now ON now.oid = p.live::oid"
							   "  WHERE p.version_id = $1 AND p.definition IS DISTINCT FROM"
							   "  CASE WHEN p.live IS NULL OR p.definition LIKE 'created %' THEN 'created'"
							   "       ELSE coalesce(now.definition, 'gone') END || ' ' || root.definition",
							   BF_ARGS(INT8OID, OIDOID), BF_VALS(Int64GetDatum(v->id), ObjectIdGetDatum(v->target)), NULL);
	List	   *list = NIL;
	ListCell   *lc;

	foreach(lc, partitions)
		for (int i = 0; i < r->nrows; i++)
			if (DatumGetInt64(BF_VALUE(r, i, 0)) == ((BfPartition *) lfirst(lc))->id)
				list = lappend(list, lfirst(lc));
	return list;
}

static void
check_gate_name(const char *name)
{
	if (name[0] == '\0' || strlen(name) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("gate name must have 1 to %d bytes", NAMEDATALEN - 1),
				 errdetail("It has %zu.", strlen(name)),
				 errhint("Use a name such as 'tax total'.")));
}

static bool
is_derived_name(const char *name)
{
	return strncmp(name, BF_GATE_FOREIGN_KEY, strlen(BF_GATE_FOREIGN_KEY)) == 0;
}

/* True for scope => 'version'. */
static bool
parse_scope(const char *scope)
{
	if (strcmp(scope, "partition") != 0 && strcmp(scope, "version") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid scope: %s", quote_literal_cstr(scope)),
				 errhint("Use 'partition' or 'version'.")));
	return strcmp(scope, "version") == 0;
}

static char *
arg_total(FunctionCallInfo fcinfo)
{
	if (!PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("gates that run a query are not there yet"),
				 errhint("Use total => 'sum(amount)' or another aggregate over the target's columns.")));
	if (PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a gate needs a total"),
				 errhint("Use total => 'sum(amount)' or another aggregate over the target's columns.")));
	return text_to_cstring(PG_GETARG_TEXT_PP(2));
}

static void
check_may_change(const BfVersion *v)
{
	if (v->state == BF_PUBLISHED || v->state == BF_SUPERSEDED || v->state == BF_ROLLED_BACK || v->state == BF_DROPPED)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot add a gate to version \"%s\"", v->name),
				 errdetail("The version is %s; its gates are part of its record.", bf_state_name(v->state)),
				 errhint("Add the gate to a new version, made with backfill_create.")));
}

static BfGate *
find_gate(const BfVersion *v, const char *name)
{
	ListCell   *lc;

	foreach(lc, bf_gate_list(v->id))
		if (strcmp(((BfGate *) lfirst(lc))->name, name) == 0)
			return lfirst(lc);
	return NULL;
}

static bool
is_same(const BfGate *a, const BfGate *b)
{
	return strcmp(a->expression, b->expression) == 0 && strcmp(a->expect, b->expect) == 0 &&
		a->whole_version == b->whole_version && a->required == b->required;
}

/* Its text as the catalog keeps it; every mistake in it is found here. */
static char *
canonical_total(const BfVersion *v, const char *name, const char *total, const char *expect)
{
	BfIdentity	id;
	char	   *canonical;

	bf_owner_enter(&id, v->owner);
	bf_version_apply_settings(v);
	canonical = bf_total_parse(v, name, total, expect)->canonical;
	bf_identity_leave(&id);
	return canonical;
}

static void
store_gate(const BfVersion *v, const BfGate *g)
{
	bf_catalog("INSERT INTO backfill.bf_gate (version_id, name, kind, expression, expect, scope, required)"
			   " VALUES ($1, $2, 'total', $3, $4, $5, $6) ON CONFLICT (version_id, name) DO UPDATE SET"
			   " expression = excluded.expression, expect = excluded.expect, scope = excluded.scope,"
			   " required = excluded.required, waived_reason = NULL, waived_by = NULL, waived_at = NULL",
			   BF_ARGS(INT8OID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, BOOLOID),
			   BF_VALS(Int64GetDatum(v->id), bf_text(g->name), bf_text(g->expression), bf_text(g->expect),
					   bf_text(g->whole_version ? "version" : "partition"), BoolGetDatum(g->required)), NULL);
}

Datum
backfill_add_gate(PG_FUNCTION_ARGS)
{
	BfVersion  *v = bf_version_lock(bf_arg_text(fcinfo, 0, "version"));
	BfGate		g = {.kind = "total"};
	BfGate	   *old;

	g.name = bf_arg_text(fcinfo, 1, "gate name");
	g.expect = bf_arg_text(fcinfo, 4, "expect");
	check_gate_name(g.name);
	g.whole_version = parse_scope(bf_arg_text(fcinfo, 5, "scope"));
	g.required = PG_ARGISNULL(6) || PG_GETARG_BOOL(6);
	old = find_gate(v, g.name);
	if ((old != NULL && !BF_GATE_IS_TOTAL(old)) || is_derived_name(g.name))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("gate name \"%s\" is reserved", g.name),
				 is_derived_name(g.name) ? errdetail("Gates of foreign keys have such names.") :
				 errdetail("Every version has a gate of this name."),
				 errhint("Choose another name.")));
	g.expression = canonical_total(v, g.name, arg_total(fcinfo), g.expect);
	if (old != NULL && is_same(old, &g))
	{
		ereport(NOTICE, (errmsg("gate \"%s\" of version \"%s\" is defined like this already, skipping", g.name, v->name)));
		PG_RETURN_VOID();
	}
	check_may_change(v);
	store_gate(v, &g);
	if (old != NULL)
		ereport(NOTICE,
				(errmsg("replaced gate \"%s\" of version \"%s\"", g.name, v->name),
				 v->state == BF_BUILT ? errhint("Call backfill_validate(%s) to measure it.", quote_literal_cstr(v->name)) : 0));
	PG_RETURN_VOID();
}

static char *
gate_names(const BfVersion *v)
{
	StringInfoData s;
	ListCell   *lc;

	initStringInfo(&s);
	foreach(lc, bf_gate_list(v->id))
		appendStringInfo(&s, "%s\"%s\"", s.len > 0 ? ", " : "", ((BfGate *) lfirst(lc))->name);
	return s.data;
}

static void
check_may_waive(const BfVersion *v, const char *name, const BfGate *g)
{
	if (g == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("gate \"%s\" of version \"%s\" does not exist", name, v->name),
				 errhint("It has the gates %s.", gate_names(v))));
	if (BF_GATE_IS_INTEGRITY(g))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("gate \"%s\" cannot be waived", name),
				 errdetail("It guards the integrity of what is published."),
				 errhint("Call backfill_build(%s) after the cause is mended.", quote_literal_cstr(v->name))));
}

Datum
backfill_waive(PG_FUNCTION_ARGS)
{
	BfVersion  *v = bf_version_lock(bf_arg_text(fcinfo, 0, "version"));
	char	   *name = bf_arg_text(fcinfo, 1, "gate");
	char	   *reason = PG_ARGISNULL(2) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(2));

	check_may_waive(v, name, find_gate(v, name));
	if (reason[strspn(reason, " \t\r\n")] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a waiver needs a reason"),
				 errhint("It is kept in the manifest: say who accepted what, and why.")));
	if (bf_catalog("UPDATE backfill.bf_gate SET waived_reason = $3, waived_by = session_user,"
				   " waived_at = pg_catalog.clock_timestamp()"
				   " WHERE version_id = $1 AND name = $2 AND waived_reason IS DISTINCT FROM $3 RETURNING 1",
				   BF_ARGS(INT8OID, TEXTOID, TEXTOID),
				   BF_VALS(Int64GetDatum(v->id), bf_text(name), bf_text(reason)), NULL)->nrows == 0)
		ereport(NOTICE, (errmsg("gate \"%s\" of version \"%s\" is waived for this reason already, skipping", name, v->name)));
	PG_RETURN_VOID();
}
