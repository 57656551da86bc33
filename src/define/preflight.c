/*
 * preflight.c
 *		What stands in the way of a version, and what it will cost.
 *
 * A partition keeps the objects that shape.c carries over; everything else that
 * is tied to the oid of the replaced leaf would be lost by DETACH/ATTACH, so it
 * is a blocker with its name, never a silent loss.  A leaf that exchanges storage
 * keeps its oid and with it all of them.
 */
#include "define/preflight.h"

#include <sys/statvfs.h>

#include "access/table.h"
#include "access/twophase.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "define/bound.h"
#include "define/partition.h"
#include "define/swap.h"
#include "define/version.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(backfill_plan);

/*
 * $1 target, $2 live leaves, $3 owner, $4 parents, $5 names and $6 bounds of partitions to be created; $7 leaves that
 * another table takes the place of, $8 names of all partitions and $9 why each attaches ('': it exchanges storage),
 * $10 the live leaf of each, $11 swap and $12
 * ignore_subscribers as asked for.  "replaced" leaves lose what hangs on their oid; the others keep it.
 */
static const char findings_sql[] =
"WITH leaf AS (SELECT c.* FROM pg_catalog.pg_class c WHERE c.oid = ANY ($2)),\n"
" replaced AS (SELECT c.* FROM pg_catalog.pg_class c WHERE c.oid = ANY ($7)),\n"
" way AS (SELECT * FROM ROWS FROM (pg_catalog.unnest($8), pg_catalog.unnest($9), pg_catalog.unnest($10)) w (name, reason, live)),\n"
" root AS (SELECT c.* FROM pg_catalog.pg_class c WHERE c.oid = $1),\n"
" tree AS (SELECT relid::oid AS oid FROM pg_catalog.pg_partition_ancestors($1)"
"  UNION SELECT relid::oid FROM pg_catalog.pg_partition_tree($1)),\n"
" above AS (SELECT relid::oid AS oid FROM pg_catalog.pg_partition_ancestors($1)"
"  UNION SELECT a.relid::oid FROM pg_catalog.unnest($10) l, pg_catalog.pg_partition_ancestors(l) a WHERE a.relid::oid <> l"
"  UNION SELECT a.relid::oid FROM pg_catalog.unnest($4) l, pg_catalog.pg_partition_ancestors(l) a),\n"
" publication_severity AS (SELECT CASE WHEN $12 THEN 'warning' ELSE 'blocker' END AS severity,\n"
"   CASE WHEN $12 THEN '.' ELSE ', or define the version with ignore_subscribers => true.' END AS alternative),\n"
" finding (severity, object, finding, hint) AS (\n"
"SELECT 'blocker', w.live::pg_catalog.regclass::text, 'cannot exchange storage: ' || w.reason,"
" 'Define the version with swap => ''auto'' or ''attach''.'"
"  FROM way w WHERE $11 = 'storage' AND w.reason <> '' AND w.live <> 0\n"
"UNION ALL SELECT 'blocker', c.conname::text, 'foreign key of ' || c.conrelid::regclass || ' points at the target',"
" CASE WHEN $11 <> 'attach' THEN 'Drop the foreign key, or leave out what cannot exchange storage.'"
" ELSE 'Use swap => ''auto'', or drop the foreign key, publish, and add it again.' END"
"  FROM pg_catalog.pg_constraint c WHERE c.contype = 'f' AND c.confrelid IN (SELECT oid FROM tree) AND c.conparentid = 0\n"
"   AND CASE WHEN c.confrelid = ANY ($2) THEN c.confrelid = ANY ($7) ELSE EXISTS (SELECT FROM way WHERE reason <> '') END\n"
"   AND c.conrelid NOT IN (SELECT oid FROM tree)\n"
"UNION ALL SELECT 'blocker', c.conname::text, 'foreign key of ' || c.conrelid::regclass || ' would be checked under the lock',"
" CASE WHEN $11 <> 'attach' THEN 'Drop the foreign key, or leave out what cannot exchange storage.'"
" ELSE 'Use swap => ''auto'', or drop the foreign key, publish, and add it again.' END"
"  FROM pg_catalog.pg_constraint c WHERE c.contype = 'f' AND c.conparentid = 0 AND c.confrelid NOT IN (SELECT oid FROM tree)"
"   AND CASE WHEN c.conrelid = ANY ($2) THEN c.conrelid = ANY ($7)"
"    ELSE c.conrelid IN (SELECT oid FROM above) AND EXISTS (SELECT FROM way WHERE reason <> '') END\n"
"UNION ALL SELECT 'blocker', c.conname::text, 'foreign key of ' || c.conrelid::regclass || ' points at its own table',"
" 'Drop the foreign key, publish, and add it again.'"
"  FROM pg_catalog.pg_constraint c WHERE c.contype = 'f' AND c.conparentid = 0 AND c.conrelid IN (SELECT oid FROM tree)"
"   AND c.confrelid IN (SELECT oid FROM tree)\n"
"UNION ALL SELECT 'blocker', c.conname::text, 'foreign key of ' || c.conrelid::regclass || ' has a PERIOD',"
" 'Drop the foreign key, publish, and add it again.'"
"  FROM pg_catalog.pg_constraint c WHERE c.contype = 'f' AND c.conparentid = 0 AND pg_catalog.to_jsonb(c) ->> 'conperiod' = 'true'"
"   AND (c.confrelid IN (SELECT oid FROM tree) OR c.conrelid = ANY ($2) OR c.conrelid IN (SELECT oid FROM above))\n"
"UNION ALL SELECT 'warning', c.conname::text, 'writers of ' || CASE WHEN c.conrelid IN (SELECT oid FROM tree) THEN c.confrelid"
"   ELSE c.conrelid END::regclass || ' may have to wait until publish commits',"
" 'They do when referenced keys vanish, or values that refer to other rows are new: see the gates.'"
"  FROM pg_catalog.pg_constraint c WHERE c.contype = 'f' AND c.conparentid = 0 AND c.convalidated"
"   AND (c.conrelid = ANY ($2) OR c.conrelid IN (SELECT oid FROM above)) <> (c.confrelid = ANY ($2) OR c.confrelid IN (SELECT oid FROM above))\n"
"UNION ALL SELECT 'blocker', p.pubname::text, 'publication of ' || r.prrelid::regclass || ' would be one of the replaced table',"
" 'Publish the partitioned table, or take the partition out of the publication.'"
"  FROM pg_catalog.pg_publication_rel r JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid WHERE r.prrelid = ANY ($7)\n"
"UNION ALL SELECT w.severity, p.pubname::text, 'publication of ' || r.prrelid::regclass || ': subscribers do not see a swap',"
" 'Take the table out of the publication' || w.alternative FROM publication_severity w,"
"  pg_catalog.pg_publication_rel r JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid"
"  WHERE r.prrelid IN (SELECT oid FROM tree) AND r.prrelid <> ALL ($7)\n"
"UNION ALL SELECT w.severity, p.pubname::text, 'publication of all tables: subscribers do not see a swap',"
" 'Publish single tables, without the target' || w.alternative FROM publication_severity w, pg_catalog.pg_publication p"
"  WHERE p.puballtables\n"
"UNION ALL SELECT w.severity, p.pubname::text, 'publication of schema ' || n.pnnspid::regnamespace || ': subscribers do not see a swap',"
" 'Publish single tables, without the target' || w.alternative FROM publication_severity w,"
"  pg_catalog.pg_publication_namespace n JOIN pg_catalog.pg_publication p ON p.oid = n.pnpubid"
"  WHERE n.pnnspid IN (SELECT relnamespace FROM leaf UNION SELECT relnamespace FROM root)\n"
"UNION ALL SELECT 'blocker', u.subname::text, 'subscription writes to partition ' || r.srrelid::regclass || ' and would lose it',"
" 'Let the publisher use publish_via_partition_root, or leave the partition out of the range.'"
"  FROM pg_catalog.pg_subscription_rel r JOIN pg_catalog.pg_subscription u ON u.oid = r.srsubid WHERE r.srrelid = ANY ($7)\n"
"UNION ALL SELECT 'blocker', t.tgname::text, 'trigger of partition ' || t.tgrelid::regclass || ' alone would be lost',"
" 'Create it on the partitioned table, or drop it.'"
"  FROM pg_catalog.pg_trigger t WHERE t.tgrelid = ANY ($7) AND NOT t.tgisinternal AND t.tgparentid = 0"
"   AND t.tgname NOT IN ('backfill_guard', 'backfill_guard_truncate')\n"
"UNION ALL SELECT 'blocker', t.tgname::text, 'trigger is ' || CASE t.tgenabled WHEN 'D' THEN 'disabled' ELSE 'enabled otherwise' END"
" || ' on partition ' || t.tgrelid::regclass || ' alone, which would be lost', 'Give it the same state on the partitioned table.'"
"  FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_trigger p ON p.oid = t.tgparentid"
"  WHERE t.tgrelid = ANY ($7) AND NOT t.tgisinternal AND t.tgenabled <> p.tgenabled\n"
"UNION ALL SELECT 'blocker', r.rulename::text, 'rule of partition ' || r.ev_class::regclass || ' would be lost', 'Drop it.'"
"  FROM pg_catalog.pg_rewrite r WHERE r.ev_class = ANY ($7)\n"
"UNION ALL SELECT 'blocker', p.polname::text, 'row security policy of partition ' || p.polrelid::regclass || ' would be lost',"
" 'Keep policies on the partitioned table.'"
"  FROM pg_catalog.pg_policy p WHERE p.polrelid = ANY ($7)\n"
"UNION ALL SELECT 'blocker', l.oid::regclass::text, 'row security of the partition would be lost',"
" 'Keep row security on the partitioned table.' FROM replaced l WHERE l.relrowsecurity OR l.relforcerowsecurity\n"
/* a view is described by its table, not by its rule; what depends on the row type depends on the partition */
"UNION ALL SELECT DISTINCT 'blocker', CASE WHEN r.oid IS NULL THEN pg_catalog.pg_describe_object(d.classid, d.objid, 0)"
" ELSE pg_catalog.pg_describe_object('pg_catalog.pg_class'::regclass, r.ev_class, 0) END,"
" 'depends on partition ' || l.oid::regclass || ' and would stay on the replaced table',"
" 'Let it name the partitioned table, or drop it.'"
"  FROM replaced l CROSS JOIN LATERAL (VALUES ('pg_catalog.pg_class'::regclass, l.oid), ('pg_catalog.pg_type'::regclass, l.reltype),"
"    ('pg_catalog.pg_type'::regclass, (SELECT typarray FROM pg_catalog.pg_type WHERE oid = l.reltype))) o (class, oid)"
"  JOIN pg_catalog.pg_depend d ON d.refclassid = o.class AND d.refobjid = o.oid AND d.deptype = 'n'"
"   AND d.classid IN ('pg_catalog.pg_rewrite'::regclass, 'pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_policy'::regclass)"
"  LEFT JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid"
"  LEFT JOIN pg_catalog.pg_policy y ON d.classid = 'pg_catalog.pg_policy'::regclass AND y.oid = d.objid"
"  WHERE coalesce(r.ev_class, y.polrelid, 0) <> l.oid\n"
"UNION ALL SELECT DISTINCT 'blocker', a.attrelid::regclass::text, 'has a column of the row type of partition ' || l.oid::regclass,"
" 'Use the row type of the partitioned table.'"
"  FROM replaced l JOIN pg_catalog.pg_type t ON t.oid = l.reltype CROSS JOIN LATERAL (VALUES (t.oid), (t.typarray)) y(oid)"
"  JOIN pg_catalog.pg_attribute a ON a.atttypid = y.oid WHERE a.attnum > 0 AND y.oid <> 0\n"
"UNION ALL SELECT 'blocker', s.objid::regclass::text, 'sequence owned by partition ' || s.refobjid::regclass || ' would go with the replaced table',"
" 'Let the sequence be owned by the partitioned table.'"
"  FROM pg_catalog.pg_depend s JOIN pg_catalog.pg_class q ON q.oid = s.objid AND q.relkind = 'S'"
"  WHERE s.classid = 'pg_catalog.pg_class'::regclass AND s.refclassid = s.classid AND s.refobjid = ANY ($7) AND s.deptype = 'a'\n"
"UNION ALL SELECT 'blocker', a.attrelid::regclass || '.' || a.attname, 'identity of the partition itself would start again',"
" 'Keep the identity on the partitioned table.'"
"  FROM pg_catalog.pg_attribute a WHERE a.attrelid = ANY ($7) AND a.attidentity <> '' AND pg_catalog.current_setting('server_version_num')::int < 170000\n"
"UNION ALL SELECT 'blocker', l.oid::regclass::text, 'partition is not a permanent table', 'Make it a logged table.'"
"  FROM leaf l WHERE l.relpersistence <> 'p'\n"
"UNION ALL SELECT 'blocker', l.oid::regclass::text, 'partition is a foreign table', 'Leave it out of the range.'"
"  FROM leaf l WHERE l.relkind <> 'r'\n"
"UNION ALL SELECT 'blocker', l.oid::regclass::text, 'partition belongs to ' || l.relowner::regrole || ', the target to ' || r.relowner::regrole,"
" 'Give both the same owner.' FROM leaf l, root r WHERE l.relowner <> r.relowner\n"
"UNION ALL SELECT 'blocker', i.inhrelid::regclass::text, 'partition is pending detach', 'ALTER TABLE ' || i.inhparent::regclass || ' DETACH PARTITION ' || i.inhrelid::regclass || ' FINALIZE.'"
"  FROM pg_catalog.pg_inherits i WHERE i.inhdetachpending AND i.inhparent IN (SELECT oid FROM tree)\n"
"UNION ALL SELECT 'blocker', s.objoid::regclass::text, 'security label would be lost', 'Remove it, or put it back after publishing.'"
"  FROM pg_catalog.pg_seclabel s WHERE s.classoid = 'pg_catalog.pg_class'::regclass AND s.objoid = ANY ($7)\n"
"UNION ALL SELECT DISTINCT 'blocker', n.nspname::text, 'role ' || $3::regrole || ' may not create tables in this schema',"
" pg_catalog.format('GRANT CREATE ON SCHEMA %I TO %s.', n.nspname, $3::regrole)"
"  FROM pg_catalog.pg_namespace n WHERE n.oid IN (SELECT relnamespace FROM replaced"
"    UNION SELECT relnamespace FROM root WHERE EXISTS (SELECT FROM way WHERE reason <> ''))"
"   AND NOT pg_catalog.has_schema_privilege($3, n.oid, 'CREATE')\n"
"UNION ALL SELECT 'warning', i.indexrelid::regclass::text, 'index is invalid and is not rebuilt', 'REINDEX or drop it.'"
"  FROM pg_catalog.pg_index i WHERE i.indrelid = ANY ($2) AND NOT i.indisvalid\n"
"UNION ALL SELECT 'warning', c.oid::regclass::text, 'default partition is scanned under the lock (about '"
" || greatest(c.reltuples, 0)::bigint || ' rows)', NULL FROM pg_catalog.pg_class c"
"  WHERE c.oid IN (SELECT partdefid FROM pg_catalog.pg_partitioned_table WHERE partrelid = ANY ($4))\n"
"UNION ALL SELECT 'info', l.oid::regclass::text, CASE WHEN l.reltuples < 0 THEN 'never analyzed, '"
" ELSE 'about ' || l.reltuples::bigint || ' rows, ' END"
" || pg_catalog.pg_size_pretty(pg_catalog.pg_total_relation_size(l.oid)) || ' to be rebuilt', NULL FROM leaf l\n"
"UNION ALL SELECT 'info', pg_catalog.format('%s.%I', r.relnamespace::regnamespace, n.name), 'to be created ' || n.bound || ', by ATTACH', NULL"
"  FROM root r CROSS JOIN ROWS FROM (pg_catalog.unnest($5), pg_catalog.unnest($6)) n (name, bound)\n"
"UNION ALL SELECT 'info', CASE WHEN pg_catalog.count(*) = 1 THEN pg_catalog.min(w.name) ELSE pg_catalog.count(*) || ' partitions' END,"
" 'swapped by exchange of storage', NULL FROM way w WHERE w.reason = '' HAVING pg_catalog.count(*) > 0\n"
/* Each partition with its reason, but only one row when all have the same; those to be created have a row that says so. */
"UNION ALL SELECT 'info', CASE WHEN w.reasons = 1 AND w.n > 1 THEN w.n || ' partitions' ELSE w.name END,"
" 'swapped by DETACH and ATTACH: ' || w.reason, NULL"
"  FROM (SELECT name, reason, pg_catalog.count(*) OVER () AS n, pg_catalog.row_number() OVER () AS nth,"
"     (SELECT pg_catalog.count(DISTINCT reason) FROM way WHERE live <> 0) AS reasons FROM way WHERE live <> 0) w"
"  WHERE w.reason <> '' AND (w.reasons > 1 OR w.nth = 1)\n"
")\n"
"SELECT severity, object, finding, hint FROM finding"
" ORDER BY pg_catalog.array_position(ARRAY['blocker', 'warning', 'info'], severity),"
" CASE severity WHEN 'info' THEN object ELSE finding END COLLATE \"C\", object COLLATE \"C\"";

/* Rows like those of findings_sql that take more than a query to find. */
typedef struct Findings
{
	int			n;
	int			room;
	Datum		(*values)[4];
	bool		(*nulls)[4];
} Findings;

static void
add(Findings *f, const char *severity, const char *object, char *finding, const char *hint)
{
	if (f->n == f->room)
	{
		f->room = Max(16, f->room * 2);
		f->values = f->n == 0 ? palloc(f->room * sizeof(*f->values)) : repalloc(f->values, f->room * sizeof(*f->values));
		f->nulls = f->n == 0 ? palloc(f->room * sizeof(*f->nulls)) : repalloc(f->nulls, f->room * sizeof(*f->nulls));
	}
	memset(f->nulls[f->n], 0, sizeof(*f->nulls));
	f->values[f->n][0] = bf_text(severity);
	f->values[f->n][1] = bf_text(object);
	f->values[f->n][2] = bf_text(finding);
	f->values[f->n][3] = hint ? bf_text(hint) : (Datum) 0;
	f->nulls[f->n][3] = hint == NULL;
	f->n++;
}

/* Bytes the build needs (as much again as the live leaves) against what the data directory's disk has. */
static void
check_disk(Findings *f, List *live)
{
	struct statvfs fs;
	BfRows	   *r;
	int64		need,
				have;

	r = bf_catalog("SELECT coalesce(pg_catalog.sum(pg_catalog.pg_total_relation_size(o)), 0)::bigint FROM pg_catalog.unnest($1) o",
				   BF_ARGS(OIDARRAYOID), BF_VALS(bf_oid_array(live)), NULL);
	need = DatumGetInt64(BF_VALUE(r, 0, 0));
	if (statvfs(DataDir, &fs) != 0)
		return;
	have = (int64) fs.f_bavail * fs.f_frsize;
	if (need > have)
		add(f, "blocker", "disk",
			psprintf("staging needs about " INT64_FORMAT " MB, the disk has " INT64_FORMAT " MB free", need >> 20, have >> 20),
			"Free space, or build a smaller range.");
}

/* Publish locks root, leaves and staged tables with their indexes and toast in one transaction. */
static void
check_locks(Findings *f, List *partitions)
{
	int64		need = 16 + 16 * (int64) list_length(partitions);
	int64		have = (int64) max_locks_per_xact * (MaxBackends + max_prepared_xacts);

	if (need > have)
		add(f, "blocker", "lock table",
			psprintf("publishing takes about " INT64_FORMAT " locks, the lock table has room for " INT64_FORMAT, need, have),
			"Raise max_locks_per_transaction, or publish a smaller range.");
}

/* How the rule runs, seen on the first partition. */
static void
plan_finding(Findings *f, const BfVersion *v, const BfPartition *p)
{
	Relation	rel = table_open(OidIsValid(p->live) ? p->live : v->target, AccessShareLock);
	List	   *bound_qual,
			   *inner_qual;
	const char *why_serial;

	bf_bound_quals(v, p, rel, &bound_qual, &inner_qual);
	(void) bf_rule_plan(bf_rule_query(v, rel, bound_qual, inner_qual, p->lower, p->upper), &why_serial);
	table_close(rel, NoLock);
	add(f, "info", v->name, why_serial == NULL ? "the rule runs in a parallel plan" :
		psprintf("the rule runs serially: %s", why_serial), NULL);
}

static void
rule_findings(Findings *f, const BfVersion *v, List *partitions)
{
	BfIdentity	id;
	BfRuleInfo *info;
	ListCell   *lc;

	bf_owner_enter(&id, v->owner);
	bf_version_apply_settings(v);
	info = bf_rule_analyze(v);
	if (partitions != NIL)
		plan_finding(f, v, linitial(partitions));
	bf_identity_leave(&id);
	foreach(lc, info->stable)
		add(f, "info", lfirst(lc), "function is STABLE: its result is taken at build time", NULL);
	foreach(lc, info->volatile_)
		add(f, "warning", lfirst(lc), "function is VOLATILE: a rebuild may give other rows", NULL);
	if (strcmp(v->late_changes, "block") == 0)
		add(f, "warning", v->name, "writers of the sources wait until the build's transaction ends", NULL);
	else
		add(f, "info", v->name, "source changes after the pin are not looked for (late_changes => 'ignore')", NULL);
}

/* Whether the version is still to be built or published for the first time; one that was live is never built again. */
static bool
is_waiting(const BfVersion *v)
{
	return v->state == BF_DEFINED || v->state == BF_BUILDING || v->state == BF_BUILT || v->state == BF_FAILED;
}

/* What is to be replaced must be where it was; a version that is or was live replaces nothing now. */
static bool
check_places(Findings *f, const BfVersion *v, List *partitions)
{
	Oid		   *leaves;
	int			before = f->n;
	ListCell   *lc;

	if (!is_waiting(v))
		return true;
	leaves = bf_partition_locate(v, partitions);
	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);

		if (!OidIsValid(p->live) || leaves[foreach_current_index(lc)] == p->live)
			continue;
		/* One whose detach is pending is a finding of its own, with its own remedy. */
		if (!get_rel_relispartition(p->live) || !PartitionHasPendingDetach(p->live))
			add(f, "blocker", p->name, get_rel_name(p->live) == NULL ? "partition was dropped" :
				"partition is not attached any more, or not with these bounds",
				"Undo that, or drop the version and create it again.");
	}
	return f->n == before;
}

BfRows *
bf_preflight_findings(const BfVersion *v, List *partitions)
{
	List	   *parents = NIL;
	List	   *names = NIL;
	List	   *bounds = NIL;
	List	   *replaced = NIL;
	List	   *all = NIL;
	List	   *reasons = NIL;
	List	   *leaves = NIL;
	ListCell   *lc;

	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);

		all = lappend(all, p->name);
		reasons = lappend(reasons, p->swap == BF_SWAP_STORAGE ? "" : p->swap_reason ? p->swap_reason : "not decided");
		leaves = lappend_oid(leaves, p->live);
		if (OidIsValid(p->live) && p->swap == BF_SWAP_ATTACH)
			replaced = lappend_oid(replaced, p->live);
		if (OidIsValid(p->live))
			continue;
		parents = list_append_unique_oid(parents, p->parent);
		names = lappend(names, p->name);
		bounds = lappend(bounds, p->bound);
	}
	return bf_catalog(findings_sql, BF_ARGS(OIDOID, OIDARRAYOID, OIDOID, OIDARRAYOID, TEXTARRAYOID, TEXTARRAYOID, OIDARRAYOID,
											TEXTARRAYOID, TEXTARRAYOID, OIDARRAYOID, TEXTOID, BOOLOID),
					  BF_VALS(ObjectIdGetDatum(v->target), bf_oid_array(bf_partition_live(partitions)), ObjectIdGetDatum(v->owner),
							  bf_oid_array(parents), bf_text_array(names), bf_text_array(bounds), bf_oid_array(replaced),
							  bf_text_array(all), bf_text_array(reasons), bf_oid_array(leaves), bf_text(v->swap),
							  BoolGetDatum(v->ignore_subscribers)), NULL);
}

static void
refuse(const BfVersion *v, const char *object, const char *finding, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("version \"%s\" could not be published: %s", v->name, finding),
			 errdetail("The object in the way is %s.", object),
			 hint ? errhint("%s", hint) : 0));
}

/* Partitions as a build will find them: what an earlier one left of them goes. */
static List *
unbuilt(List *partitions)
{
	List	   *list = NIL;
	ListCell   *lc;

	foreach(lc, partitions)
	{
		BfPartition *p = memcpy(palloc(sizeof(BfPartition)), lfirst(lc), sizeof(BfPartition));

		p->staged = InvalidOid;
		list = lappend(list, p);
	}
	return list;
}

void
bf_preflight_require(const BfVersion *v, List *partitions)
{
	List	   *planned = unbuilt(partitions);
	Findings   *f = palloc0(sizeof(Findings));
	BfRows	   *r;

	bf_swap_choose(v, planned);
	r = bf_preflight_findings(v, planned);

	if (!check_places(f, v, partitions))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("version \"%s\" no longer fits its target: %s", v->name, TextDatumGetCString(f->values[0][2])),
				 errdetail("It is partition \"%s\".", TextDatumGetCString(f->values[0][1])),
				 errhint("%s", TextDatumGetCString(f->values[0][3]))));
	if (r->nrows > 0 && strcmp(bf_rows_text(r, 0, 0), "blocker") == 0)
		refuse(v, bf_rows_text(r, 0, 1), bf_rows_text(r, 0, 2), bf_rows_text(r, 0, 3));
	check_locks(f, partitions);
	check_disk(f, bf_partition_live(partitions));
	if (f->n > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("version \"%s\" could not be published: %s", v->name, TextDatumGetCString(f->values[0][2])),
				 errhint("%s", TextDatumGetCString(f->values[0][3]))));
}

Datum
backfill_plan(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	BfVersion  *v;
	List	   *partitions;
	BfRows	   *r;
	Findings   *f = palloc0(sizeof(Findings));
	static const char *const severities[] = {"blocker", "warning", "info"};

	v = bf_version_require(bf_arg_text(fcinfo, 0, "version"));
	partitions = bf_partition_list(v->id);
	if (is_waiting(v))
		bf_swap_choose(v, partitions);
	r = bf_preflight_findings(v, partitions);
	check_locks(f, partitions);
	check_disk(f, bf_partition_live(partitions));
	if (is_waiting(v))
		rule_findings(f, v, check_places(f, v, partitions) ? partitions : NIL);
	else
		add(f, "info", v->name, psprintf("version is %s: it is not built again", bf_state_name(v->state)), NULL);
	InitMaterializedSRF(fcinfo, 0);
	/* Gravest first; the costs, which come from the catalog, last. */
	for (int s = 0; s < lengthof(severities); s++)
	{
		for (int i = 0; i < f->n; i++)
			if (strcmp(TextDatumGetCString(f->values[i][0]), severities[s]) == 0)
				tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, f->values[i], f->nulls[i]);
		for (int i = 0; i < r->nrows; i++)
			if (strcmp(bf_rows_text(r, i, 0), severities[s]) == 0 && (is_waiting(v) || strcmp(severities[s], "info") != 0))
				tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &r->values[i * 4], &r->nulls[i * 4]);
	}
	return (Datum) 0;
}
