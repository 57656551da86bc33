/*
 * create.c
 *		backfill_create: checks a definition, then records it.
 *
 * A version that could not be published is refused here, by name of the object
 * in the way, before anything is built.
 */
#include "backfill.h"

#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "common/catalog.h"
#include "define/bound.h"
#include "define/drop.h"
#include "define/gate.h"
#include "define/partition.h"
#include "define/plan.h"
#include "define/preflight.h"
#include "define/reference.h"
#include "define/rule.h"
#include "define/version.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(backfill_create);

/* Positions of backfill_create's arguments. */
enum
{
	A_VERSION, A_TARGET, A_RULE, A_FROM, A_TO, A_PARTITIONS, A_ALL, A_PARAMETERS, A_CODE_REVISION, A_KEY, A_MATCH,
	A_GAPS, A_STEP, A_PARTITION_NAME, A_LATE_CHANGES, A_SOURCES, A_ALLOW_VOLATILE, A_MAX_REJECTIONS, A_MAX_LOST,
	A_MAX_GAINED, A_MAX_SHRINK, A_SWAP, A_IGNORE_SUBSCRIBERS, A_REPLACE
};

/* The settings that change what a rule yields; recorded at create, in force for every build. */
static const char *const recorded_settings[] = {
	"TimeZone", "DateStyle", "IntervalStyle", "extra_float_digits", "lc_monetary", "lc_numeric", "lc_time",
	"bytea_output", "xmloption", "default_text_search_config", "array_nulls", "standard_conforming_strings"
};

static char *
arg_text(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(n));
}

static pg_attribute_noreturn() void
bad_argument(const char *msg, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s", msg), errhint("%s", hint)));
}

static char *
arg_choice(FunctionCallInfo fcinfo, int n, const char *what, const char *one, const char *two, const char *three)
{
	char	   *s = arg_text(fcinfo, n);

	if (s && (strcmp(s, one) == 0 || strcmp(s, two) == 0 || (three && strcmp(s, three) == 0)))
		return s;
	bad_argument(psprintf("invalid %s: %s", what, s ? quote_literal_cstr(s) : "NULL"),
				 three ? psprintf("Use '%s', '%s' or '%s'.", one, two, three) : psprintf("Use '%s' or '%s'.", one, two));
}

static void
check_name(const char *name)
{
	if (name == NULL || name[0] == '\0' || strlen(name) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("version name must have 1 to %d bytes", NAMEDATALEN - 1),
				 name ? errdetail("It has %zu.", strlen(name)) : 0,
				 errhint("Use a name such as 'receipt-rule-v47'.")));
	if (strcmp(name, "original") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_RESERVED_NAME),
				 errmsg("version name \"%s\" is reserved", name),
				 errdetail("It stands for what was there before any version."),
				 errhint("Use a name such as 'receipt-rule-v47'.")));
}

/* Is this a relation we can rebuild?  Errors say what to do instead. */
static void
check_target(BfVersion *v)
{
	char		kind = get_rel_relkind(v->target);

	if (kind == '\0')
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("target with OID %u does not exist", v->target)));
	if (IsCatalogRelationOid(v->target))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("%s is a system catalog", bf_relname(v->target)),
				 errhint("The target is a partitioned table of yours.")));
	if (get_rel_namespace(v->target) == get_namespace_oid(BF_STAGING_SCHEMA, true))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s is in the staging schema", bf_relname(v->target)),
				 errhint("Move the target to a schema of its own.")));
	if (kind == RELKIND_VIEW)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("view %s cannot be a target yet", bf_relname(v->target)),
				 errhint("Use a partitioned table; views come with a later release.")));
	if (kind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("%s is not a partitioned table", bf_relname(v->target)),
				 errhint("Partition it, so that its parts can be replaced.")));
	if (get_rel_persistence(v->target) != RELPERSISTENCE_PERMANENT)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is not a permanent table", get_rel_name(v->target)),
				 errhint("A temporary or unlogged target cannot be published safely.")));
	v->owner = bf_relowner(v->target);
	if (!has_privs_of_role(GetUserId(), v->owner))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(v->target));
}

static List *
given_key(Datum array)
{
	if (array_contains_nulls(DatumGetArrayTypeP(array)))
		bad_argument("key must not contain NULL", "Name columns of the target.");
	return bf_text_list(array);
}

/* The primary key's columns. */
static List *
infer_key(BfVersion *v)
{
	BfRows	   *r = bf_catalog("SELECT a.attname::text FROM pg_catalog.pg_index i,"
							   " pg_catalog.unnest(i.indkey) WITH ORDINALITY k(attnum, n), pg_catalog.pg_attribute a"
							   " WHERE i.indrelid = $1 AND i.indisprimary AND k.n <= i.indnkeyatts"
							   " AND a.attrelid = i.indrelid AND a.attnum = k.attnum ORDER BY k.n",
							   BF_ARGS(OIDOID), BF_VALS(ObjectIdGetDatum(v->target)), NULL);
	List	   *key = NIL;

	for (int i = 0; i < r->nrows; i++)
		key = lappend(key, bf_rows_text(r, i, 0));
	if (key == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("%s has no primary key to identify its rows", bf_relname(v->target)),
				 errhint("Name the columns in key, or use key => '{}' to compare as a multiset.")));
	return key;
}

static void
check_key(BfVersion *v)
{
	List	   *seen = NIL;
	ListCell   *lc;

	foreach(lc, v->key)
	{
		const char *col = lfirst(lc);
		AttrNumber	att = get_attnum(v->target, col);
		TypeCacheEntry *type;

		if (att <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("key column \"%s\" of %s does not exist", col, bf_relname(v->target)),
					 errhint("Name columns of the target.")));
		if (list_member_int(seen, att))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_COLUMN), errmsg("key column \"%s\" is named more than once", col),
					 errhint("Name each column of the key once.")));
		seen = lappend_int(seen, att);
		type = lookup_type_cache(get_atttype(v->target, att), TYPECACHE_LT_OPR | TYPECACHE_EQ_OPR);
		if (!OidIsValid(type->lt_opr) || !OidIsValid(type->eq_opr))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("key column \"%s\" cannot be unique", col),
					 errdetail("Type %s has no order.", format_type_be(type->type_id)),
					 errhint("Choose other columns, or use key => '{}' to compare as a multiset.")));
	}
}

/* max_shrink => '20%' */
static double
parse_percent(const char *s)
{
	char	   *end;
	double		x;

	if (s == NULL)
		return -1;
	x = strtod(s, &end);
	while (*end == ' ')
		end++;
	if (end == s || strcmp(end, "%") != 0 || !(x >= 0 && x <= 100))
		bad_argument(psprintf("invalid max_shrink: %s", quote_literal_cstr(s)),
					 "Give a percentage such as '20%', or NULL for no limit.");
	return x;
}

/* One value of a range argument, cast to the type of key column n, as text. */
static char *
key_text(PartitionKey key, int n, Oid type, Datum value, const char *what)
{
	Oid			out;
	bool		varlena;
	char	   *text;
	char	   *sql;
	Oid			cast;

	if (n >= key->partnatts)
		bad_argument(psprintf("%s has more columns than the partition key", what),
					 psprintf("The key has %d.", key->partnatts));
	if (type == UNKNOWNOID)
		text = DatumGetCString(value);
	else
	{
		getTypeOutputInfo(type, &out, &varlena);
		text = OidOutputFunctionCall(out, value);
	}
	if (type == UNKNOWNOID || type == TEXTOID || type == VARCHAROID || type == key->parttypid[n])
		type = TEXTOID;
	else if (find_coercion_pathway(key->parttypid[n], type, COERCION_EXPLICIT, &cast) == COERCION_PATH_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s is of type %s, but the partition key is of type %s", what, format_type_be(type),
						format_type_be(key->parttypid[n])),
				 errhint("Give a literal in quotes, or a value of that type.")));
	sql = psprintf("SELECT ($1::%s)::%s", format_type_be_qualified(type), format_type_be_qualified(key->parttypid[n]));
	return bf_rows_text(bf_sql(sql, BF_ARGS(TEXTOID), BF_VALS(bf_text(text)), NULL), 0, 0);
}

/* A literal, a value of any type, or ROW(...), as text a key column. */
static List *
range_texts(FunctionCallInfo fcinfo, int n, Oid target, const char *what)
{
	Relation	rel;
	PartitionKey key;
	Oid			type;
	List	   *list = NIL;

	if (PG_ARGISNULL(n))
		return NIL;
	type = get_fn_expr_argtype(fcinfo->flinfo, n);
	rel = table_open(target, AccessShareLock);
	key = RelationGetPartitionKey(rel);
	if (type_is_rowtype(type))
	{
		HeapTupleHeader rec = DatumGetHeapTupleHeader(PG_GETARG_DATUM(n));
		TupleDesc	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(rec), HeapTupleHeaderGetTypMod(rec));
		HeapTupleData tup = {.t_len = HeapTupleHeaderGetDatumLength(rec), .t_data = rec};

		for (int i = 0; i < desc->natts; i++)
		{
			bool		isnull;
			Datum		d = heap_getattr(&tup, i + 1, desc, &isnull);
			Oid			t = TupleDescAttr(desc, i)->atttypid;

			if (isnull)
				bad_argument(psprintf("%s must not contain NULL", what), "Give a value for each key column.");
			list = lappend(list, key_text(key, i, t, d, what));
		}
		ReleaseTupleDesc(desc);
	}
	else
		list = list_make1(key_text(key, 0, type, PG_GETARG_DATUM(n), what));
	table_close(rel, NoLock);
	return list;
}

/* Every setting that changes results; search_path with pg_temp last, so that no temporary table shadows a source. */
static List *
record_settings(void)
{
	List	   *list = NIL;
	const char *path = GetConfigOption("search_path", false, false);

	for (int i = 0; i < lengthof(recorded_settings); i++)
	{
		const char *value = GetConfigOption(recorded_settings[i], true, false);

		if (value != NULL)
			list = lappend(lappend(list, (char *) recorded_settings[i]), pstrdup(value));
	}
	path = path[0] ? psprintf("%s, pg_temp", path) : "pg_catalog, pg_temp";
	return lappend(lappend(list, "search_path"), (char *) path);
}

static void
read_range(FunctionCallInfo fcinfo, const BfVersion *v, BfRange *range)
{
	BfIdentity	id;

	range->gaps = arg_choice(fcinfo, A_GAPS, "gaps", "error", "skip", "create");
	range->step = arg_text(fcinfo, A_STEP);
	range->partition_name = arg_text(fcinfo, A_PARTITION_NAME);
	range->all = !PG_ARGISNULL(A_ALL) && PG_GETARG_BOOL(A_ALL);
	if (!PG_ARGISNULL(A_PARTITIONS))
		range->partitions = bf_oid_list(PG_GETARG_DATUM(A_PARTITIONS));
	if (((range->partitions != NIL) + range->all + !(PG_ARGISNULL(A_FROM) && PG_ARGISNULL(A_TO))) > 1)
		bad_argument("range, partitions and all_partitions exclude each other", "Give one of them.");
	bf_owner_enter(&id, v->owner);
	bf_version_apply_settings(v);
	bf_set_local("DateStyle", "ISO");
	if (get_rel_relkind(v->target) == RELKIND_PARTITIONED_TABLE)
	{
		range->from = range_texts(fcinfo, A_FROM, v->target, "range_from");
		range->to = range_texts(fcinfo, A_TO, v->target, "range_to");
	}
	bf_identity_leave(&id);
}

static void
read_version(FunctionCallInfo fcinfo, BfVersion *v)
{
	if (PG_ARGISNULL(A_TARGET) || PG_ARGISNULL(A_RULE))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("target and rule must not be null"),
						errhint("See the reference of backfill_create.")));
	v->target = PG_GETARG_OID(A_TARGET);
	check_target(v);
	v->rule = arg_text(fcinfo, A_RULE);
	v->match_position = strcmp(arg_choice(fcinfo, A_MATCH, "match", "name", "position", NULL), "position") == 0;
	if (PG_ARGISNULL(A_PARAMETERS) || !JB_ROOT_IS_OBJECT(PG_GETARG_JSONB_P(A_PARAMETERS)))
		bad_argument("parameters must be a JSON object", "Give one such as '{\"rate\": \"0.0825\"}'.");
	v->parameters = PG_GETARG_JSONB_P(A_PARAMETERS);
	v->key = PG_ARGISNULL(A_KEY) ? infer_key(v) : given_key(PG_GETARG_DATUM(A_KEY));
	check_key(v);
	v->late_changes = PG_ARGISNULL(A_LATE_CHANGES) ? "ignore" :
		arg_choice(fcinfo, A_LATE_CHANGES, "late_changes", "block", "ignore", "capture");
	if (strcmp(v->late_changes, "capture") == 0)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("late_changes => 'capture' is not there yet"),
						errhint("Use 'block' or 'ignore'.")));
	v->sources_declared = !PG_ARGISNULL(A_SOURCES);
	v->sources_extra = v->sources_declared ? bf_oid_list(PG_GETARG_DATUM(A_SOURCES)) : NIL;
	v->allow_volatile = !PG_ARGISNULL(A_ALLOW_VOLATILE) && PG_GETARG_BOOL(A_ALLOW_VOLATILE);
	v->swap = arg_choice(fcinfo, A_SWAP, "swap", "auto", "storage", "attach");
	v->ignore_subscribers = !PG_ARGISNULL(A_IGNORE_SUBSCRIBERS) && PG_GETARG_BOOL(A_IGNORE_SUBSCRIBERS);
	v->max_rejections = PG_ARGISNULL(A_MAX_REJECTIONS) ? 0 : PG_GETARG_INT64(A_MAX_REJECTIONS);
	v->max_lost_keys = PG_ARGISNULL(A_MAX_LOST) ? -1 : PG_GETARG_INT64(A_MAX_LOST);
	v->max_gained_keys = PG_ARGISNULL(A_MAX_GAINED) ? -1 : PG_GETARG_INT64(A_MAX_GAINED);
	if (v->max_rejections < 0 || (v->max_lost_keys < 0 && !PG_ARGISNULL(A_MAX_LOST)) ||
		(v->max_gained_keys < 0 && !PG_ARGISNULL(A_MAX_GAINED)))
		bad_argument("limits must not be negative", "Use NULL for no limit.");
	v->max_shrink = parse_percent(arg_text(fcinfo, A_MAX_SHRINK));
	v->settings = record_settings();
}

/* Everything the DBA said, for comparing two calls and for the manifest. */
static Datum
definition_json(FunctionCallInfo fcinfo, const BfVersion *v, const BfRange *range)
{
	bool		nulls[] = {
		false, false, range->from == NIL, range->to == NIL, range->partitions == NIL, false, false,
		PG_ARGISNULL(A_CODE_REVISION), false, false, false, range->step == NULL, range->partition_name == NULL,
		false, !v->sources_declared, false, false, v->max_lost_keys < 0, v->max_gained_keys < 0, v->max_shrink < 0,
		false, false
	};
	BfRows	   *r = bf_catalog("SELECT pg_catalog.jsonb_build_object('target', $1::pg_catalog.regclass, 'rule', $2,"
							   " 'range_from', $3, 'range_to', $4, 'partitions', $5::pg_catalog.regclass[],"
							   " 'all_partitions', $6, 'parameters', $7, 'code_revision', $8,"
							   " 'key', $9, 'match', $10, 'gaps', $11, 'step', $12, 'partition_name', $13, 'late_changes', $14,"
							   " 'sources', $15::pg_catalog.regclass[], 'allow_volatile', $16, 'max_rejections', $17,"
							   " 'max_lost_keys', $18, 'max_gained_keys', $19, 'max_shrink', $20,"
							   " 'swap', $21, 'ignore_subscribers', $22)",
							   BF_ARGS(OIDOID, TEXTOID, TEXTARRAYOID, TEXTARRAYOID, OIDARRAYOID, BOOLOID, JSONBOID, TEXTOID,
									   TEXTARRAYOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, OIDARRAYOID, BOOLOID,
									   INT8OID, INT8OID, INT8OID, FLOAT8OID, TEXTOID, BOOLOID),
							   BF_VALS(ObjectIdGetDatum(v->target), bf_text(v->rule), bf_text_array(range->from),
									   bf_text_array(range->to), bf_oid_array(range->partitions), BoolGetDatum(range->all),
									   JsonbPGetDatum(v->parameters),
									   nulls[7] ? (Datum) 0 : PG_GETARG_DATUM(A_CODE_REVISION), bf_text_array(v->key),
									   bf_text(v->match_position ? "position" : "name"), bf_text(range->gaps),
									   nulls[11] ? (Datum) 0 : bf_text(range->step),
									   nulls[12] ? (Datum) 0 : bf_text(range->partition_name), bf_text(v->late_changes),
									   bf_oid_array(v->sources_extra), BoolGetDatum(v->allow_volatile),
									   Int64GetDatum(v->max_rejections), Int64GetDatum(v->max_lost_keys),
									   Int64GetDatum(v->max_gained_keys), Float8GetDatum(v->max_shrink), bf_text(v->swap),
									   BoolGetDatum(v->ignore_subscribers)), nulls);

	return BF_VALUE(r, 0, 0);
}

/*
 * What a build would find out in the middle of its work: whether the owner may
 * read the sources, and, for every partition with an open side, that the key's
 * type has a value for it when the rule names bounds.
 */
static void
check_queries(const BfVersion *v, const BfRuleInfo *rule, List *partitions)
{
	ListCell   *lc;

	foreach(lc, partitions)
	{
		BfPartition *p = lfirst(lc);
		bool		first = lc == list_head(partitions);
		bool		open = rule->names_bounds && (p->lower == NULL || p->upper == NULL);
		List	   *bound_qual,
				   *inner_qual;
		Relation	rel;
		BfRuleQuery *rq;

		if (!first && !open)
			continue;
		rel = table_open(OidIsValid(p->live) ? p->live : v->target, AccessShareLock);
		bf_bound_quals(v, p, rel, &bound_qual, &inner_qual);
		rq = bf_rule_query(v, rel, bound_qual, inner_qual, p->lower, p->upper);
		if (first)
			bf_rule_check_privileges(rq);
		table_close(rel, NoLock);
	}
}

/* What the two definitions differ in; NULL: nothing. */
static char *
differences(const BfVersion *old, Datum definition)
{
	return bf_rows_text(bf_catalog("SELECT pg_catalog.string_agg(n.key, ', ' ORDER BY n.key) FROM backfill.bf_target t,"
								   " pg_catalog.jsonb_each($2) n WHERE t.version_id = $1"
								   " AND t.definition->n.key IS DISTINCT FROM n.value",
								   BF_ARGS(INT8OID, JSONBOID), BF_VALS(Int64GetDatum(old->id), definition), NULL), 0, 0);
}

/* What the same words mean by now: names may stand for other relations, the target may have other partitions. */
static char *
new_meaning(const BfVersion *old, const BfRuleInfo *rule, List *partitions)
{
	List	   *before = bf_partition_list(old->id);
	bool		same = list_length(before) == list_length(partitions);
	ListCell   *a,
			   *b;

	if (strcmp(rule->canonical, old->rule_canonical) != 0)
		return "what the rule's names stand for";
	forboth(a, before, b, partitions)
	{
		BfPartition *x = lfirst(a);
		BfPartition *y = lfirst(b);

		same = same && x->parent == y->parent && strcmp(x->bound, y->bound) == 0;
	}
	return same ? NULL : "the partitions of the target";
}

static void
derive(BfVersion *v, const BfRange *range, BfRuleInfo **rule, List **partitions)
{
	BfIdentity	id;

	bf_owner_enter(&id, v->owner);
	bf_version_apply_settings(v);
	*rule = bf_rule_analyze(v);
	v->rule_canonical = (*rule)->canonical;
	/* NB: from here on the search_path is safe: bounds and names are worked out by queries of ours. */
	bf_bound_settings(v);
	*partitions = bf_plan_select(v, range);
	check_queries(v, *rule, *partitions);
	bf_identity_leave(&id);
}

/*
 * Decides about a version of this name that is there already: true when the
 * call repeats its definition, false when it was thrown away.
 */
static bool
keep_old(BfVersion *v, const BfRange *range, Datum definition, bool replace)
{
	BfVersion  *old = bf_version_require(v->name);
	char	   *differ = differences(old, definition);
	BfRuleInfo *rule;
	List	   *partitions;

	if (differ == NULL && replace && !bf_version_was_published(old))
	{
		derive(v, range, &rule, &partitions);
		differ = new_meaning(old, rule, partitions);
	}
	if (differ == NULL)
	{
		ereport(NOTICE, (errmsg("version \"%s\" is defined like this already, skipping", v->name)));
		return true;
	}
	if (bf_version_was_published(old) || !replace)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("version \"%s\" already exists with another definition", v->name),
				 errdetail("Different: %s.", differ),
				 bf_version_was_published(old) ? errhint("It has been published and stays as it is; choose another name.") :
				 errhint("Choose another name, or use replace => true to throw the old definition away.")));
	ereport(NOTICE,
			(errmsg("replacing version \"%s\" and what was staged for it", v->name),
			 errdetail("Different: %s.", differ)));
	bf_drop_forget(old);
	return false;
}

static void
insert_version(FunctionCallInfo fcinfo, BfVersion *v, const BfRuleInfo *rule, Datum definition)
{
	bool		nulls[] = {false, false, PG_ARGISNULL(A_CODE_REVISION), false, false, false, v->max_lost_keys < 0,
	v->max_gained_keys < 0, v->max_shrink < 0};
	BfRows	   *r;

	r = bf_catalog("INSERT INTO backfill.bf_version (name, state, parameters, code_revision, settings, late_changes,"
				   " max_rejections, max_lost_keys, max_gained_keys, max_shrink)"
				   " VALUES ($1, 'defined', $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
				   BF_ARGS(TEXTOID, JSONBOID, TEXTOID, TEXTARRAYOID, TEXTOID, INT8OID, INT8OID, INT8OID, FLOAT8OID),
				   BF_VALS(bf_text(v->name), JsonbPGetDatum(v->parameters),
						   nulls[2] ? (Datum) 0 : PG_GETARG_DATUM(A_CODE_REVISION), bf_text_array(v->settings),
						   bf_text(v->late_changes), Int64GetDatum(v->max_rejections), Int64GetDatum(v->max_lost_keys),
						   Int64GetDatum(v->max_gained_keys), Float8GetDatum(v->max_shrink)), nulls);
	v->id = DatumGetInt64(BF_VALUE(r, 0, 0));
	v->state = BF_DEFINED;
	bf_catalog("INSERT INTO backfill.bf_target (version_id, target, rule, rule_canonical, match_position, key, allow_volatile,"
			   " sources_declared, sources_extra, stable_functions, volatile_functions, definition, swap,"
			   " ignore_subscribers)"
			   " VALUES ($1, $2::pg_catalog.regclass, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
			   BF_ARGS(INT8OID, OIDOID, TEXTOID, TEXTOID, BOOLOID, TEXTARRAYOID, BOOLOID, BOOLOID, OIDARRAYOID,
					   TEXTARRAYOID, TEXTARRAYOID, JSONBOID, TEXTOID, BOOLOID),
			   BF_VALS(Int64GetDatum(v->id), ObjectIdGetDatum(v->target), bf_text(v->rule), bf_text(rule->canonical),
					   BoolGetDatum(v->match_position), bf_text_array(v->key), BoolGetDatum(v->allow_volatile),
					   BoolGetDatum(v->sources_declared), bf_oid_array(v->sources_extra), bf_text_array(rule->stable),
					   bf_text_array(rule->volatile_), definition, bf_text(v->swap), BoolGetDatum(v->ignore_subscribers)), NULL);
}

Datum
backfill_create(PG_FUNCTION_ARGS)
{
	BfVersion  *v = palloc0(sizeof(BfVersion));
	BfRange		range = {0};
	BfRuleInfo *rule;
	List	   *partitions;
	Datum		definition;

	bf_version_refuse_standby();
	v->name = arg_text(fcinfo, A_VERSION);
	check_name(v->name);
	read_version(fcinfo, v);
	read_range(fcinfo, v, &range);
	bf_version_name_lock(v->name);
	definition = definition_json(fcinfo, v, &range);
	if (bf_version_get(v->name) != NULL &&
		keep_old(v, &range, definition, !PG_ARGISNULL(A_REPLACE) && PG_GETARG_BOOL(A_REPLACE)))
		PG_RETURN_VOID();

	derive(v, &range, &rule, &partitions);
	bf_preflight_require(v, partitions);
	insert_version(fcinfo, v, rule, definition);
	bf_partition_insert(v, partitions);
	bf_gate_defaults(v);
	bf_reference_gates(v, partitions);
	bf_partition_allow_staging(v->owner);
	bf_partition_guard(v, partitions);
	if (PG_ARGISNULL(A_LATE_CHANGES))
		ereport(NOTICE,
				(errmsg("source changes after the pin are not looked for"),
				 errdetail("late_changes is 'ignore' by default in this release."),
				 errhint("Use late_changes => 'block' to keep writers of the sources out until the build commits.")));
	PG_RETURN_VOID();
}
