/*
 * reference.c
 *		The foreign keys to and from the partitions of a version, and the gates that follow from them.
 *
 * A foreign key of a partitioned table has rows in pg_constraint for each
 * partition too; the one on top, which has no parent, stands for all of them.
 * It may be on the target, above it, or on one leaf, and the table at the other
 * end may be partitioned itself.
 *
 * Gates of foreign keys come and go with the constraints, without anybody who
 * declares them.  Their expression is the constraint's definition, so that
 * another constraint of the same name is another gate to the evidence.
 */
#include "define/reference.h"

#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/gate.h"
#include "miscadmin.h"
#include "utils/array.h"

/* Places, their parents, and the tables that are or will be there: $1, $2, $3.  $4: who reads the other table. */
static const char list_sql[] =
"WITH place AS (SELECT * FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3))\n"
"  WITH ORDINALITY p (parent, live, staged, n)),\n"
" own AS (SELECT p.n, a.relid::oid AS oid FROM (SELECT DISTINCT parent FROM place) d\n"
"   CROSS JOIN LATERAL pg_catalog.pg_partition_ancestors(d.parent) a JOIN place p USING (parent)\n"
"  UNION SELECT n, live FROM place UNION SELECT n, staged FROM place),\n"
" found AS (SELECT k.oid, false AS incoming, pg_catalog.array_agg(o.n::int - 1 ORDER BY o.n) AS places\n"
"   FROM own o JOIN pg_catalog.pg_constraint k ON k.conrelid = o.oid WHERE k.contype = 'f' AND k.conparentid = 0 GROUP BY k.oid\n"
"  UNION ALL SELECT k.oid, true, pg_catalog.array_agg(o.n::int - 1 ORDER BY o.n)\n"
"   FROM own o JOIN pg_catalog.pg_constraint k ON k.confrelid = o.oid WHERE k.contype = 'f' AND k.conparentid = 0 GROUP BY k.oid)\n"
"SELECT k.oid, k.conname::text,\n"
"  pg_catalog.format('foreign key %s', k.conname) || CASE WHEN pg_catalog.count(*) OVER (PARTITION BY k.conname) > 1\n"
"   THEN ' of ' || k.conrelid::regclass ELSE '' END,\n"
"  k.conrelid::regclass || ' ' || pg_catalog.pg_get_constraintdef(k.oid), f.incoming, k.convalidated, k.confmatchtype = 'f',\n"
"  EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = k.conrelid AND i.indisvalid AND i.indpred IS NULL\n"
"   AND i.indkey[0] = ANY (k.conkey)),\n"
"  CASE WHEN f.incoming THEN k.conrelid ELSE k.confrelid END,\n"
"  CASE WHEN f.incoming THEN c.pk ELSE c.fk END, CASE WHEN f.incoming THEN c.fk ELSE c.pk END,\n"
"  CASE WHEN f.incoming THEN c.pk_type ELSE c.fk_type END, CASE WHEN f.incoming THEN c.fk_type ELSE c.pk_type END,\n"
"  CASE WHEN f.incoming THEN c.pk_coll ELSE c.fk_coll END, CASE WHEN f.incoming THEN c.fk_coll ELSE c.pk_coll END,\n"
"  CASE WHEN f.incoming THEN k.conppeqop ELSE k.conffeqop END, k.conpfeqop,\n"
"  CASE WHEN NOT pg_catalog.has_schema_privilege($4, t.relnamespace, 'USAGE') THEN\n"
"    pg_catalog.format('GRANT USAGE ON SCHEMA %I TO %s', t.relnamespace::regnamespace, $4::regrole)\n"
"   WHEN NOT (SELECT pg_catalog.bool_and(pg_catalog.has_column_privilege($4, t.oid, n.n, 'SELECT'))\n"
"     FROM pg_catalog.unnest(CASE WHEN f.incoming THEN k.conkey ELSE k.confkey END) n (n)) THEN\n"
"    pg_catalog.format('GRANT SELECT ON %s TO %s', t.oid::regclass, $4::regrole) END, f.places\n"
"  FROM found f JOIN pg_catalog.pg_constraint k ON k.oid = f.oid\n"
"  JOIN pg_catalog.pg_class t ON t.oid = CASE WHEN f.incoming THEN k.conrelid ELSE k.confrelid END\n"
"  CROSS JOIN LATERAL (SELECT pg_catalog.array_agg(p.attname::text ORDER BY i) AS pk, pg_catalog.array_agg(a.attname::text ORDER BY i) AS fk,\n"
"    pg_catalog.array_agg(p.atttypid ORDER BY i) AS pk_type, pg_catalog.array_agg(a.atttypid ORDER BY i) AS fk_type,\n"
"    pg_catalog.array_agg(p.attcollation ORDER BY i) AS pk_coll, pg_catalog.array_agg(a.attcollation ORDER BY i) AS fk_coll\n"
"   FROM pg_catalog.generate_subscripts(k.conkey, 1) i\n"
"   JOIN pg_catalog.pg_attribute p ON p.attrelid = k.confrelid AND p.attnum = k.confkey[i]\n"
"   JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[i]) c\n"
" WHERE coalesce(pg_catalog.pg_partition_root(k.conrelid)::oid, k.conrelid)\n"
"   <> coalesce(pg_catalog.pg_partition_root(k.confrelid)::oid, k.confrelid)\n"
/* one with a PERIOD (18) is a blocker as well */
"  AND pg_catalog.to_jsonb(k) ->> 'conperiod' IS DISTINCT FROM 'true'\n"
" ORDER BY k.conname, k.conrelid::regclass::text, f.incoming";

/* Columns of its result. */
enum
{
	R_CONSTRAINT, R_NAME, R_GATE, R_DEFINITION, R_INCOMING, R_VALIDATED, R_MATCH_FULL, R_INDEXED, R_OTHER, R_OWN_COLUMNS,
	R_OTHER_COLUMNS, R_OWN_TYPES, R_OTHER_TYPES, R_OWN_COLLATIONS, R_OTHER_COLLATIONS, R_OWN_EQUAL, R_EQUAL,
	R_MISSING_GRANT, R_PLACES
};

static List *
int_list(Datum array)
{
	ArrayType  *a = DatumGetArrayTypeP(array);
	int32	   *values = (int32 *) ARR_DATA_PTR(a);
	List	   *list = NIL;

	for (int i = 0; i < ArrayGetNItems(ARR_NDIM(a), ARR_DIMS(a)); i++)
		list = lappend_int(list, values[i]);
	return list;
}

static BfReference *
read_reference(BfRows *r, int row)
{
	BfReference *ref = palloc0(sizeof(BfReference));

	ref->constraint = DatumGetObjectId(BF_VALUE(r, row, R_CONSTRAINT));
	ref->name = bf_rows_text(r, row, R_NAME);
	ref->gate = bf_rows_text(r, row, R_GATE);
	ref->definition = bf_rows_text(r, row, R_DEFINITION);
	ref->incoming = DatumGetBool(BF_VALUE(r, row, R_INCOMING));
	ref->validated = DatumGetBool(BF_VALUE(r, row, R_VALIDATED));
	ref->match_full = DatumGetBool(BF_VALUE(r, row, R_MATCH_FULL));
	ref->indexed = DatumGetBool(BF_VALUE(r, row, R_INDEXED));
	ref->other = DatumGetObjectId(BF_VALUE(r, row, R_OTHER));
	ref->own_columns = bf_text_list(BF_VALUE(r, row, R_OWN_COLUMNS));
	ref->other_columns = bf_text_list(BF_VALUE(r, row, R_OTHER_COLUMNS));
	ref->own_types = bf_oid_list(BF_VALUE(r, row, R_OWN_TYPES));
	ref->other_types = bf_oid_list(BF_VALUE(r, row, R_OTHER_TYPES));
	ref->own_collations = bf_oid_list(BF_VALUE(r, row, R_OWN_COLLATIONS));
	ref->other_collations = bf_oid_list(BF_VALUE(r, row, R_OTHER_COLLATIONS));
	ref->own_equal = bf_oid_list(BF_VALUE(r, row, R_OWN_EQUAL));
	ref->equal = bf_oid_list(BF_VALUE(r, row, R_EQUAL));
	ref->missing_grant = bf_rows_text(r, row, R_MISSING_GRANT);
	ref->places = int_list(BF_VALUE(r, row, R_PLACES));
	return ref;
}

List *
bf_reference_list(const BfVersion *v, List *partitions)
{
	List	   *parents = NIL;
	List	   *live = NIL;
	List	   *staged = NIL;
	List	   *list = NIL;
	BfRows	   *r;
	ListCell   *lc;

	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);

		parents = lappend_oid(parents, p->parent);
		live = lappend_oid(live, p->live);
		staged = lappend_oid(staged, p->staged);
	}
	r = bf_catalog(list_sql, BF_ARGS(OIDARRAYOID, OIDARRAYOID, OIDARRAYOID, OIDOID),
				   BF_VALS(bf_oid_array(parents), bf_oid_array(live), bf_oid_array(staged), ObjectIdGetDatum(v->owner)), NULL);
	for (int i = 0; i < r->nrows; i++)
		list = lappend(list, read_reference(r, i));
	return list;
}

void
bf_reference_require_readable(const BfVersion *v, const BfReference *ref)
{
	if (ref->missing_grant != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("role \"%s\" may not read %s", GetUserNameFromId(v->owner, false), bf_relname(ref->other)),
				 errdetail("The owner of the target must see whether foreign key \"%s\" holds.", ref->name),
				 errhint("%s.", ref->missing_grant)));
}

void
bf_reference_gates(const BfVersion *v, List *partitions)
{
	List	   *gates = NIL;
	ListCell   *lc;

	foreach(lc, bf_reference_list(v, partitions))
	{
		BfReference *ref = lfirst(lc);
		BfGate	   *g = palloc0(sizeof(BfGate));

		bf_reference_require_readable(v, ref);
		g->name = ref->gate;
		g->expression = ref->definition;
		g->expect = pstrdup("0 dangling");
		gates = lappend(gates, g);
	}
	bf_gate_derive(v, gates);
}
