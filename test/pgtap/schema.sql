-- The contract of names: schemas, tables, views, functions, their columns, comments and properties.
BEGIN;
SET client_min_messages = warning;
SELECT no_plan();

CREATE SCHEMA api;
CREATE EXTENSION backfill SCHEMA api;

--
-- Extension
--
SELECT is((SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'backfill'), 'api',
		  'functions live in the schema of CREATE EXTENSION');
SELECT ok((SELECT NOT extrelocatable FROM pg_extension WHERE extname = 'backfill'), 'the extension is not relocatable');
SELECT ok((SELECT trusted AND superuser AND NOT relocatable
             FROM pg_available_extension_versions WHERE name = 'backfill' AND version = '0.1'),
		  'the extension is trusted');
SELECT is((SELECT default_version FROM pg_available_extensions WHERE name = 'backfill'), '0.1', 'default version');
SELECT isnt((SELECT comment FROM pg_available_extensions WHERE name = 'backfill'), NULL, 'the control file has a comment');

--
-- Schemas
--
SELECT has_schema('backfill');
SELECT has_schema('backfill_staging');
SELECT is((SELECT array_agg(privilege_type::text ORDER BY 1) FROM pg_namespace, aclexplode(nspacl)
            WHERE nspname = s AND grantee = 0), '{USAGE}', format('everybody may use schema %s, and no more', s))
  FROM unnest('{backfill,backfill_staging}'::text[]) s;

--
-- Tables.  A column that changes here changes what pg_dump restores.
--
CREATE FUNCTION columns_of(rel text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN '!' ELSE '' END, ', ' ORDER BY attnum)
	  FROM pg_attribute WHERE attrelid = rel::regclass AND attnum > 0 AND NOT attisdropped
$$;

SELECT tables_are('backfill', ARRAY['bf_version', 'bf_target', 'bf_partition', 'bf_pin', 'bf_mark', 'bf_rejection', 'bf_gate',
									'bf_evidence', 'bf_history']);
SELECT is(columns_of('backfill.bf_version'),
		  'id bigint!, name text!, state text!, parameters jsonb!, code_revision text, settings text[]!, late_changes text!,'
		  ' max_rejections bigint!, max_lost_keys bigint, max_gained_keys bigint, max_shrink double precision, created_by name!,'
		  ' created_at timestamp with time zone!, changed_at timestamp with time zone!, live_since timestamp with time zone',
		  'columns of bf_version');
SELECT is(columns_of('backfill.bf_target'),
		  'id bigint!, version_id bigint!, target regclass!, rule text!, rule_canonical text!, match_position boolean!, key text[]!,'
		  ' allow_volatile boolean!, sources_declared boolean!, sources_extra regclass[]!, swap text!,'
		  ' ignore_subscribers boolean!, stable_functions text[]!,'
		  ' volatile_functions text[]!, definition jsonb!', 'columns of bf_target');
SELECT is(columns_of('backfill.bf_partition'),
		  'id bigint!, version_id bigint!, ordinal integer!, live regclass, parent regclass!, name name!, bound text!, lower_bound text,'
		  ' upper_bound text, state text!, staged regclass, definition text, live_state text, published_file oid,'
		  ' swap text, swap_reason text, rows bigint, rejected bigint, fingerprint numeric,'
		  ' bytes bigint, elapsed interval, attempts integer!', 'columns of bf_partition');
SELECT is(columns_of('backfill.bf_pin'),
		  'version_id bigint!, snapshot pg_snapshot!, last_mark bigint!, xid xid8, lsn pg_lsn, taken_at timestamp with time zone!,'
		  ' system_identifier bigint!, database oid!, timeline integer!, server_version text!, sources jsonb!', 'columns of bf_pin');
SELECT is(columns_of('backfill.bf_mark'), 'id bigint!, relid oid!, xid xid8!, at timestamp with time zone!', 'columns of bf_mark');
SELECT is(columns_of('backfill.bf_rejection'), 'partition_id bigint!, row_data jsonb!, reason text!', 'columns of bf_rejection');
SELECT is(columns_of('backfill.bf_gate'),
		  'version_id bigint!, name text!, kind text!, expression text, expect text, scope text!, required boolean!, waived_reason text,'
		  ' waived_by name, waived_at timestamp with time zone', 'columns of bf_gate');
SELECT is(columns_of('backfill.bf_evidence'),
		  'id bigint!, version_id bigint!, gate text!, partition_id bigint, result text!, old text, new text, difference text,'
		  ' expect text, samples jsonb, binding text!, measured_at timestamp with time zone!, measured_by name!',
		  'columns of bf_evidence');
SELECT is(columns_of('backfill.bf_history'),
		  'id bigint!, at timestamp with time zone!, by_role name!, action text!, version_id bigint!, target regclass!, replaces text!,'
		  ' xid xid8!, swapped integer!, unchanged integer!, created integer!, attempts integer!, waited interval!, overrides jsonb!',
		  'columns of bf_history');

SELECT is_empty($$ SELECT relname, a.* FROM pg_class, aclexplode(relacl) a
                    WHERE relnamespace = 'backfill'::regnamespace AND relkind IN ('r', 'S') AND grantee <> relowner $$,
				'nobody has a privilege on a table or sequence of the catalog');
SELECT is_empty($$ SELECT c.relname FROM pg_class c, pg_extension e
                    WHERE c.relnamespace = 'backfill'::regnamespace AND c.relkind IN ('r', 'S') AND e.extname = 'backfill'
                      AND NOT coalesce(c.oid = ANY (e.extconfig), false) $$,
				'pg_dump keeps the content of every table and sequence of the catalog');
SELECT is_empty($$ SELECT c.oid::regclass FROM pg_class c, pg_extension e, unnest(e.extcondition) cond
                    WHERE e.extname = 'backfill' AND c.oid = ANY (e.extconfig) AND cond <> '' $$,
				'... whole');

--
-- Views
--
SELECT views_are('backfill', ARRAY['status', 'partition', 'evidence', 'rejection', 'history']);
SELECT is(columns_of('backfill.status'),
		  'version text, target regclass, state text, built text, gates text, size text, live bigint,'
		  ' since timestamp with time zone, next_step text', 'columns of view status');
SELECT is(columns_of('backfill.partition'),
		  'version text, target regclass, ordinal integer, partition name, bound text, state text, live regclass, staged regclass,'
		  ' rows bigint, rejected bigint, size text, elapsed interval, attempts integer, swap text, swap_reason text', 'columns of view partition');
SELECT is(columns_of('backfill.evidence'),
		  'version text, gate text, partition name, result text, old text, new text, difference text, expect text, samples jsonb,'
		  ' measured_at timestamp with time zone, measured_by name', 'columns of view evidence');
SELECT is(columns_of('backfill.rejection'), 'version text, partition name, reason text, row jsonb', 'columns of view rejection');
SELECT is(columns_of('backfill.history'),
		  'at timestamp with time zone, by_role name, action text, version text, target regclass, replaces text, swapped integer,'
		  ' unchanged integer, created integer, attempts integer, waited interval', 'columns of view history');
SELECT is_empty($$ SELECT relname FROM pg_class WHERE relnamespace = 'backfill'::regnamespace AND relkind = 'v'
                      AND NOT coalesce('security_barrier=true' = ANY (reloptions), false) $$, 'every view is a security barrier');
SELECT is_empty($$ SELECT relname FROM pg_class WHERE relnamespace = 'backfill'::regnamespace AND relkind = 'v'
                      AND (SELECT array_agg(privilege_type::text) FROM aclexplode(relacl) WHERE grantee = 0) IS DISTINCT FROM '{SELECT}' $$,
				'everybody may read every view, and no more');

--
-- Functions: arguments with defaults, results, and how the planner may use them
--
CREATE VIEW api_functions AS
SELECT p.*, pg_get_function_arguments(p.oid) AS arguments, pg_get_function_result(p.oid) AS result
  FROM pg_proc p WHERE p.pronamespace = 'api'::regnamespace;

SELECT functions_are('api', ARRAY['backfill_create', 'backfill_add_gate', 'backfill_waive', 'backfill_plan', 'backfill_build',
								  'backfill_validate', 'backfill_publish', 'backfill_rollback', 'backfill_drop', 'backfill_manifest']);
SELECT functions_are('backfill', ARRAY['owns', 'guard', 'differs']);
SELECT is(f.arguments, c.arguments, 'arguments of ' || c.name)
  FROM (VALUES
	('backfill_create', 'version text, target regclass, rule text, range_from "any" DEFAULT NULL::unknown,'
	 ' range_to "any" DEFAULT NULL::unknown, partitions regclass[] DEFAULT NULL::regclass[], all_partitions boolean DEFAULT false,'
	 ' parameters jsonb DEFAULT ''{}''::jsonb, code_revision text DEFAULT NULL::text, key text[] DEFAULT NULL::text[],'
	 ' match text DEFAULT ''name''::text, gaps text DEFAULT ''error''::text, step text DEFAULT NULL::text,'
	 ' partition_name text DEFAULT NULL::text, late_changes text DEFAULT NULL::text, sources regclass[] DEFAULT NULL::regclass[],'
	 ' allow_volatile boolean DEFAULT false, max_rejections bigint DEFAULT 0, max_lost_keys bigint DEFAULT 0,'
	 ' max_gained_keys bigint DEFAULT NULL::bigint, max_shrink text DEFAULT ''20%''::text,'
	 ' swap text DEFAULT ''auto''::text, ignore_subscribers boolean DEFAULT false, replace boolean DEFAULT false'),
	('backfill_add_gate', 'version text, name text, total text DEFAULT NULL::text, query text DEFAULT NULL::text,'
	 ' expect text DEFAULT ''equal''::text, scope text DEFAULT ''partition''::text, required boolean DEFAULT true'),
	('backfill_waive', 'version text, gate text, reason text'),
	('backfill_plan', 'version text, OUT severity text, OUT object text, OUT finding text, OUT hint text'),
	('backfill_build', 'version text, workers integer DEFAULT NULL::integer, OUT partition name, OUT state text, OUT rows bigint,'
	 ' OUT rejected bigint, OUT size text, OUT elapsed interval, OUT attempts integer, OUT error text'),
	('backfill_validate', 'version text, OUT gate text, OUT result text, OUT partitions integer, OUT old text, OUT new text,'
	 ' OUT difference text, OUT expect text, OUT worst name'),
	('backfill_publish', 'version text, again boolean DEFAULT false, OUT target regclass, OUT action text, OUT swapped integer,'
	 ' OUT unchanged integer, OUT created integer, OUT replaces text, OUT attempts integer, OUT waited interval, OUT held interval'),
	('backfill_rollback', 'version text DEFAULT NULL::text, target regclass DEFAULT NULL::regclass, "to" text DEFAULT NULL::text,'
	 ' on_writes text DEFAULT ''refuse''::text, OUT target regclass, OUT action text, OUT swapped integer, OUT unchanged integer,'
	 ' OUT created integer, OUT replaces text, OUT attempts integer, OUT waited interval, OUT held interval'),
	('backfill_drop', 'version text'),
	('backfill_manifest', 'version text')) AS c(name, arguments)
  LEFT JOIN api_functions f ON f.proname = c.name;
SELECT is(f.result, c.result, 'result of ' || c.name)
  FROM (VALUES ('backfill_create', 'void'), ('backfill_add_gate', 'void'), ('backfill_waive', 'void'), ('backfill_drop', 'void'),
			   ('backfill_plan', 'SETOF record'), ('backfill_build', 'SETOF record'), ('backfill_validate', 'SETOF record'),
			   ('backfill_publish', 'SETOF record'), ('backfill_rollback', 'SETOF record'), ('backfill_manifest', 'jsonb'))
	   AS c(name, result)
  LEFT JOIN api_functions f ON f.proname = c.name;
SELECT is(provolatile::text, CASE proname WHEN 'backfill_manifest' THEN 's' ELSE 'v' END, 'volatility of ' || proname)
  FROM api_functions ORDER BY proname;
SELECT is(proparallel::text, 'u', proname || ' is parallel unsafe') FROM api_functions ORDER BY proname;
SELECT is(proisstrict, false, proname || ' says what must not be NULL') FROM api_functions ORDER BY proname;
SELECT is_empty($$ SELECT proname FROM pg_proc p WHERE pronamespace IN ('api'::regnamespace, 'backfill'::regnamespace) AND prosecdef $$,
				'no function is SECURITY DEFINER: identities are switched in C');
SELECT is_empty($$ SELECT proname FROM pg_proc p, pg_language l WHERE pronamespace IN ('api'::regnamespace, 'backfill'::regnamespace)
                      AND l.oid = prolang AND lanname NOT IN ('c', 'internal') AND proconfig IS NULL $$,
				'every function that is not C fixes its search_path');
SELECT is((SELECT provolatile::text || proparallel::text FROM pg_proc WHERE oid = 'backfill.differs(anyelement, anyelement)'::regprocedure),
		  'is', 'differs is immutable and parallel safe');

--
-- Comments and members
--
SELECT is_empty($$ SELECT proname FROM pg_proc WHERE pronamespace IN ('api'::regnamespace, 'backfill'::regnamespace)
                      AND coalesce(obj_description(oid, 'pg_proc'), '') = '' $$, 'every function has a comment');
SELECT is_empty($$ SELECT relname FROM pg_class WHERE relnamespace = 'backfill'::regnamespace AND relkind IN ('r', 'v')
                      AND coalesce(obj_description(oid, 'pg_class'), '') = '' $$, 'every table and view has a comment');
SELECT is_empty($$ SELECT relname, attname FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0
                    WHERE relnamespace = 'backfill'::regnamespace AND relkind = 'v'
                      AND coalesce(col_description(c.oid, attnum), '') = '' $$, 'every column of a view has a comment');
SELECT is_empty($$ SELECT nspname FROM pg_namespace WHERE nspname LIKE 'backfill%'
                      AND coalesce(obj_description(oid, 'pg_namespace'), '') = '' $$, 'every schema has a comment');
SELECT is_empty($$ SELECT relname FROM pg_class c WHERE relnamespace = 'backfill'::regnamespace AND relkind IN ('r', 'v', 'S')
                      AND NOT EXISTS (SELECT FROM pg_depend d, pg_extension e WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                        AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'backfill'
                        AND d.deptype = 'e') AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'i') $$,
				'every relation is a member of the extension');
SELECT is((SELECT count(*) FROM pg_depend d, pg_extension e WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
              AND e.extname = 'backfill' AND d.deptype = 'e' AND d.classid = 'pg_namespace'::regclass), 2::bigint,
		  'both schemas are members of the extension');
SELECT is_empty($$ SELECT relname FROM pg_class WHERE relnamespace = 'backfill_staging'::regnamespace $$,
				'the staging schema starts empty');

DROP EXTENSION backfill;
SELECT hasnt_schema('backfill');
SELECT hasnt_schema('backfill_staging');
SELECT is_empty($$ SELECT proname FROM pg_proc WHERE pronamespace = 'api'::regnamespace $$, 'DROP EXTENSION leaves nothing');

SELECT * FROM finish();
ROLLBACK;
