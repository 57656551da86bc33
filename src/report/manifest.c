/*
 * manifest.c
 *		The whole record of a version, as jsonb.
 */
#include "backfill.h"

#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/version.h"
#include "fmgr.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(backfill_manifest);

static const char manifest_sql[] =
"SELECT pg_catalog.jsonb_build_object(\n"
" 'version', v.name, 'state', v.state, 'created_by', v.created_by, 'created_at', v.created_at,\n"
" 'code_revision', v.code_revision, 'parameters', v.parameters, 'settings', pg_catalog.jsonb_object(v.settings),\n"
" 'definition', t.definition, 'rule_canonical', t.rule_canonical,\n"
" 'rule_fingerprint', pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(t.rule_canonical, 'UTF8')), 'hex'),\n"
" 'stable_functions', t.stable_functions, 'volatile_functions', t.volatile_functions,\n"
" 'pin', (SELECT pg_catalog.jsonb_build_object('snapshot', p.snapshot::text, 'taken_at', p.taken_at,\n"
"   'lsn_not_exact', p.lsn, 'system_identifier', p.system_identifier::text, 'timeline', p.timeline,\n"
"   'server_version', p.server_version, 'sources', p.sources) FROM backfill.bf_pin p WHERE p.version_id = v.id),\n"
" 'partitions', (SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('name', p.name, 'bound', p.bound,\n"
"   'state', p.state, 'live', p.live, 'staged', p.staged, 'rows', p.rows, 'rejected', p.rejected,\n"
"   'fingerprint', p.fingerprint::text, 'bytes', p.bytes, 'elapsed', p.elapsed, 'attempts', p.attempts,\n"
"   'swap', p.swap, 'swap_reason', p.swap_reason)\n"
"   ORDER BY p.ordinal), '[]') FROM backfill.bf_partition p WHERE p.version_id = v.id),\n"
" 'gates', (SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('name', g.name, 'kind', g.kind,\n"
"   'expression', g.expression, 'expect', g.expect, 'scope', g.scope, 'required', g.required,\n"
"   'waived_reason', g.waived_reason, 'waived_by', g.waived_by, 'waived_at', g.waived_at) ORDER BY g.name), '[]')\n"
"   FROM backfill.bf_gate g WHERE g.version_id = v.id),\n"
" 'evidence', (SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('gate', e.gate, 'partition', p.name,\n"
"   'result', e.result, 'old', e.old, 'new', e.new, 'difference', e.difference, 'expect', e.expect,\n"
"   'samples', e.samples, 'measured_at', e.measured_at, 'measured_by', e.measured_by) ORDER BY e.id), '[]')\n"
"   FROM backfill.bf_evidence e LEFT JOIN backfill.bf_partition p ON p.id = e.partition_id WHERE e.version_id = v.id),\n"
" 'history', (SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('at', h.at, 'by', h.by_role,\n"
"   'action', h.action, 'replaces', h.replaces, 'swapped', h.swapped, 'unchanged', h.unchanged, 'created', h.created,\n"
"   'attempts', h.attempts, 'waited', h.waited, 'overrides', h.overrides) ORDER BY h.id), '[]')\n"
"   FROM backfill.bf_history h WHERE h.version_id = v.id))\n"
" FROM backfill.bf_version v JOIN backfill.bf_target t ON t.version_id = v.id WHERE v.id = $1";

Datum
backfill_manifest(PG_FUNCTION_ARGS)
{
	char	   *name = bf_arg_text(fcinfo, 0, "version");
	BfVersion  *v = bf_version_get(name);
	BfRows	   *r;

	/* A version can be explained when its target is gone, too. */
	if (v == NULL || OidIsValid(v->owner))
		v = bf_version_require(name);
	else
		bf_version_require_creator(v);
	r = bf_catalog(manifest_sql, BF_ARGS(INT8OID), BF_VALS(Int64GetDatum(v->id)), NULL);

	PG_RETURN_DATUM(BF_VALUE(r, 0, 0));
}
