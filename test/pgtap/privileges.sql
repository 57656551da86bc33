-- Who may do and see what, and under whose name code of others runs.
BEGIN;
SET client_min_messages = error;
SELECT no_plan();

CREATE ROLE bft_admin;
CREATE ROLE bft_owner;
CREATE ROLE bft_member IN ROLE bft_owner;
CREATE ROLE bft_noinherit NOINHERIT IN ROLE bft_owner;
CREATE ROLE bft_other;
CREATE ROLE bft_monitor IN ROLE pg_monitor;
CREATE ROLE bft_mallory;
GRANT CREATE ON DATABASE :"DBNAME" TO bft_admin, bft_owner;
GRANT CREATE ON SCHEMA public TO bft_mallory;

--
-- A role that is no superuser installs the extension and does the whole job
--
SET ROLE bft_admin;
SELECT lives_ok('CREATE EXTENSION backfill', 'a role with CREATE on the database may install the extension');
CREATE SCHEMA shop;
CREATE TABLE shop.ticket (id int, day date, price numeric(10,2));
INSERT INTO shop.ticket SELECT i, date '2026-01-01' + i % 59, i FROM generate_series(1, 590) i;
CREATE TABLE shop.daily (day date PRIMARY KEY, tickets bigint, total numeric) PARTITION BY RANGE (day);
CREATE TABLE shop.daily_jan PARTITION OF shop.daily FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE shop.daily_feb PARTITION OF shop.daily FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
INSERT INTO shop.daily SELECT day, count(*), sum(price) FROM shop.ticket GROUP BY day;
SELECT lives_ok($$ SELECT backfill_create('tickets', 'shop.daily',
	'SELECT day, count(*) AS tickets, sum(price) * 2 AS total FROM shop.ticket GROUP BY day', all_partitions => true) $$, 'it creates');
SELECT lives_ok($$ SELECT backfill_add_gate('tickets', 'price', total => 'sum(total)', expect => 'between 99% and 101%') $$, 'adds a gate');
SELECT is((SELECT count(*) FROM backfill_plan('tickets') WHERE severity = 'blocker'), 0::bigint, 'plans');
SELECT is((SELECT count(*) FROM backfill_build('tickets') WHERE state = 'staged'), 2::bigint, 'builds');
SELECT is((SELECT count(*) FROM backfill_validate('tickets') WHERE result NOT IN ('passed', 'n/a')), 0::bigint, 'validates');
SELECT is((SELECT action || ' ' || swapped FROM backfill_publish('tickets')), 'published 2', 'publishes');
SELECT is((SELECT sum(total) FROM shop.daily), (SELECT sum(price) * 2 FROM shop.ticket), 'the new version is live');
SELECT is((SELECT action FROM backfill_rollback('tickets')), 'rolled_back', 'rolls back');
SELECT is((SELECT sum(total) FROM shop.daily), (SELECT sum(price) FROM shop.ticket), 'the old version is live');
SELECT isnt(backfill_manifest('tickets'), NULL, 'reads the manifest');
SELECT lives_ok($$ SELECT backfill_drop('tickets') $$, 'drops');
SELECT is_empty($$ SELECT relname FROM pg_class c WHERE relnamespace = 'backfill_staging'::regnamespace AND relkind = 'r' $$,
				'nothing is left in the staging schema');
SELECT throws_ok('SELECT * FROM backfill.bf_version', '42501', NULL, 'not even the owner of the extension reads its tables');
SELECT throws_ok($$ UPDATE backfill.bf_version SET state = 'published' $$, '42501', NULL, '... or writes them');
RESET ROLE;

--
-- Versions of one owner, seen by others
--
SET ROLE bft_owner;
CREATE SCHEMA bft;
CREATE TABLE bft.src (id int, grp int, secret text);
INSERT INTO bft.src SELECT i, i % 10, 'secret ' || i FROM generate_series(1, 200) i;
CREATE TABLE bft.tgt (id int PRIMARY KEY, grp int NOT NULL, secret text) PARTITION BY RANGE (id);
CREATE TABLE bft.tgt_1 PARTITION OF bft.tgt FOR VALUES FROM (0) TO (100);
CREATE TABLE bft.tgt_2 PARTITION OF bft.tgt FOR VALUES FROM (100) TO (201);
INSERT INTO bft.tgt SELECT * FROM bft.src;
SELECT backfill_create('mine', 'bft.tgt', $$ SELECT id, nullif(grp, 3) AS grp, secret || (parameters->>'suffix') AS secret FROM bft.src $$,
	all_partitions => true, parameters => '{"suffix": "!"}', max_rejections => 20, max_shrink => NULL, max_lost_keys => NULL);
SELECT backfill_add_gate('mine', 'ids', total => 'sum(id)', expect => 'within 50%');
SELECT count(*) FROM backfill_build('mine') \g /dev/null
SELECT is((SELECT count(*) FROM backfill.status), 1::bigint, 'the owner sees the version');
SELECT is((SELECT count(*) FROM backfill.partition), 2::bigint, '... its partitions');
SELECT is((SELECT count(*) FROM backfill.rejection), 20::bigint, '... rejected rows');
SELECT cmp_ok((SELECT count(*) FROM backfill.evidence), '>=', 20::bigint, '... evidence');

SET ROLE bft_member;
SELECT is((SELECT count(*) FROM backfill.status), 1::bigint, 'a member of the owner sees the version');
SELECT is((SELECT count(*) FROM backfill.rejection), 20::bigint, '... rejected rows');
SELECT lives_ok($$ SELECT * FROM backfill_validate('mine') $$, '... and may act on it');
SELECT lives_ok($$ SELECT backfill_waive('mine', 'ids', 'known') $$, '... and waive');

SET ROLE bft_noinherit;
SELECT is_empty('SELECT * FROM backfill.status', 'a member that does not inherit has to SET ROLE first');
SELECT throws_ok($$ SELECT * FROM backfill_validate('mine') $$, '42501', NULL, '... to act, too');

SET ROLE bft_other;
SELECT is_empty('SELECT * FROM backfill.' || v, 'others see nothing in view ' || v)
  FROM unnest('{status,partition,evidence,rejection,history}'::text[]) v;
SELECT throws_ok(call, '42501', NULL, 'others may not call ' || call) FROM unnest(ARRAY[
	$$SELECT backfill_add_gate('mine', 'x', total => 'sum(id)')$$, $$SELECT backfill_waive('mine', 'ids', 'x')$$,
	$$SELECT * FROM backfill_plan('mine')$$, $$SELECT * FROM backfill_build('mine')$$, $$SELECT * FROM backfill_validate('mine')$$,
	$$SELECT * FROM backfill_publish('mine')$$, $$SELECT * FROM backfill_rollback('mine')$$, $$SELECT backfill_drop('mine')$$,
	$$SELECT backfill_manifest('mine')$$, $$SELECT * FROM backfill_rollback(target => 'bft.tgt')$$,
	$$SELECT backfill_create('mine', 'bft.tgt', 'SELECT 1', all_partitions => true)$$,
	$$SELECT backfill_create('other', 'bft.tgt', 'SELECT 1', all_partitions => true)$$]) call;
SELECT throws_ok(format('SELECT * FROM backfill_staging.%I', relname), '42501', NULL, 'others may not read staged table ' || n)
  FROM (SELECT relname, row_number() OVER (ORDER BY relname) n FROM pg_class
         WHERE relnamespace = 'backfill_staging'::regnamespace AND relkind = 'r') s;
SELECT throws_ok($$ CREATE TABLE backfill_staging.x () $$, '42501', NULL, 'others may not create staged tables');

/* The name of a version is unique in the database, so its existence shows; nothing else does. */
CREATE FUNCTION pg_temp.leak(v text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE EXCEPTION 'leak: %', v; END $$;
SELECT is_empty('SELECT 1 FROM backfill.evidence WHERE pg_temp.leak(old)', 'a cheap function in WHERE does not see hidden rows');
SELECT is_empty('SELECT 1 FROM backfill.rejection WHERE pg_temp.leak(row::text)', '... of rejections');

SET ROLE bft_monitor;
SELECT is((SELECT count(*) FROM backfill.status WHERE version = 'mine'), 1::bigint, 'pg_monitor sees the status of all versions');
SELECT is_empty('SELECT * FROM backfill.' || v, 'pg_monitor sees nothing in view ' || v)
  FROM unnest('{partition,evidence,rejection}'::text[]) v;
SELECT is_empty($$ SELECT 1 FROM backfill.status s WHERE s::text ~ 'secret|suffix|nullif' $$, 'the status has no rule, parameter or sample');
SELECT throws_ok($$ SELECT backfill_manifest('mine') $$, '42501', NULL, 'pg_monitor may not read manifests');
SELECT throws_ok($$ SELECT * FROM backfill_publish('mine') $$, '42501', NULL, 'pg_monitor may not publish');

RESET ROLE;
SET ROLE bft_owner;
SELECT is((SELECT action FROM backfill_publish('mine')), 'published', 'the owner publishes');
SET ROLE bft_monitor;
SELECT is((SELECT count(*) FROM backfill.history WHERE version = 'mine'), 1::bigint, 'pg_monitor sees the history');
SET ROLE bft_other;
SELECT is_empty('SELECT * FROM backfill.history', 'others do not');
RESET ROLE;

--
-- Staged tables and their privileges
--
SET ROLE bft_owner;
ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC;
CREATE TABLE bft.pay (id int PRIMARY KEY, salary int) PARTITION BY RANGE (id);
CREATE TABLE bft.pay_1 PARTITION OF bft.pay FOR VALUES FROM (0) TO (10);
REVOKE ALL ON bft.pay, bft.pay_1 FROM PUBLIC;
GRANT SELECT (id) ON bft.pay_1 TO bft_other;
INSERT INTO bft.pay VALUES (1, 100);
SELECT backfill_create('pay', 'bft.pay', 'SELECT id, salary + 1 AS salary FROM (VALUES (1, 100)) v(id, salary)', all_partitions => true);
SELECT count(*) FROM backfill_build('pay') \g /dev/null
SELECT is((SELECT array_agg(has_column_privilege('bft_other', staged, c, 'SELECT') ORDER BY c) FROM backfill.partition, unnest('{id,salary}'::text[]) c
            WHERE version = 'pay'), '{t,f}', 'default privileges open no staged table; grants of the leaf are there');
SELECT is((SELECT array_agg(s.relacl IS NOT DISTINCT FROM l.relacl AND s.relowner = l.relowner) FROM backfill.partition p
             JOIN pg_class s ON s.oid = p.staged JOIN pg_class l ON l.oid = p.live WHERE version = 'pay'), '{t}',
		  'owner and privileges are those of the leaf');
ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM PUBLIC;
SELECT throws_ok(format('UPDATE %s SET salary = 0', staged), '55000', NULL, 'not even its owner writes to a staged table')
  FROM backfill.partition WHERE version = 'pay';
SELECT throws_ok(format('TRUNCATE %s', staged), '55000', NULL, '... or truncates it') FROM backfill.partition WHERE version = 'pay';
RESET ROLE;

--
-- Objects named like those of pg_catalog, in a schema of the caller's search_path and in pg_temp
--
CREATE TABLE public.proof (who text, what text);
GRANT ALL ON public.proof TO PUBLIC;
SET ROLE bft_mallory;
CREATE FUNCTION public.caught(what text) RETURNS void LANGUAGE sql AS $$ INSERT INTO public.proof VALUES (current_user, what) $$;
CREATE FUNCTION public.bad_count(bigint, tid) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM public.caught('count(tid)'); RETURN 42; END $$;
CREATE AGGREGATE public.count(tid) (SFUNC = bad_count, STYPE = bigint, INITCOND = '42');
CREATE FUNCTION public.bad_max(text, varchar) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM public.caught('max(varchar)'); RETURN 'bad'; END $$;
CREATE AGGREGATE public.max(varchar) (SFUNC = bad_max, STYPE = text);
CREATE FUNCTION public.bad_names(text[], text) RETURNS text[] LANGUAGE plpgsql AS $$ BEGIN PERFORM public.caught('array_agg(text)'); RETURN '{}'; END $$;
CREATE AGGREGATE public.array_agg(text) (SFUNC = bad_names, STYPE = text[]);
CREATE FUNCTION public.bad_string(text, name, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM public.caught('string_agg(name)'); RETURN ''; END $$;
CREATE AGGREGATE public.string_agg(name, text) (SFUNC = bad_string, STYPE = text);
CREATE FUNCTION public.bad_json(jsonb, jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$ BEGIN PERFORM public.caught('jsonb_agg(jsonb)'); RETURN '[]'; END $$;
CREATE AGGREGATE public.jsonb_agg(jsonb) (SFUNC = bad_json, STYPE = jsonb);
CREATE FUNCTION public.jsonb_build_object(text, int) RETURNS jsonb LANGUAGE plpgsql AS $$ BEGIN PERFORM public.caught('jsonb_build_object'); RETURN '{}'; END $$;
CREATE FUNCTION public.bad_eq(varchar, varchar) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM public.caught('varchar = varchar'); RETURN true; END $$;
CREATE OPERATOR public.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = public.bad_eq);
CREATE FUNCTION public.bad_eq(name, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM public.caught('name = text'); RETURN true; END $$;
CREATE FUNCTION public.bad_plus(int, numeric) RETURNS numeric LANGUAGE plpgsql AS $$ BEGIN PERFORM public.caught('int + numeric'); RETURN $1 + $2::int; END $$;
CREATE OPERATOR public.+ (LEFTARG = int, RIGHTARG = numeric, FUNCTION = public.bad_plus);
CREATE FUNCTION public.bad_eq(text[], text[]) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM public.caught('text[] = text[]'); RETURN true; END $$;
CREATE OPERATOR public.= (LEFTARG = text[], RIGHTARG = text[], FUNCTION = public.bad_eq);

SET ROLE bft_owner;
CREATE SCHEMA trap;
CREATE TABLE trap.src (id int, name varchar(20), amount numeric);
INSERT INTO trap.src SELECT i, 'name ' || i, i FROM generate_series(0, 29) i WHERE i <> 7;
CREATE TABLE trap.tgt (id int PRIMARY KEY, name varchar(20), amount numeric) PARTITION BY RANGE (id);
CREATE TABLE trap.tgt_1 PARTITION OF trap.tgt FOR VALUES FROM (0) TO (10);
CREATE TABLE trap.tgt_2 PARTITION OF trap.tgt FOR VALUES FROM (10) TO (20);
CREATE INDEX ON trap.tgt (name);
INSERT INTO trap.tgt SELECT i, 'old ' || i, i FROM generate_series(0, 19) i;
/* pg_temp: tables and views there hide those of pg_catalog unless it is last. */
CREATE TEMP TABLE pg_class (oid oid, relname name);
CREATE TEMP TABLE pg_constraint (oid oid, conname name);
CREATE TEMP TABLE pg_index (indexrelid oid, indrelid oid);
CREATE TEMP TABLE src (id int, name varchar(20), amount numeric);
SELECT lives_ok($$ SELECT backfill_create('trapped', 'trap.tgt', 'SELECT id, name, amount FROM src', range_from => 0, range_to => 30,
	gaps => 'create', step => '10', max_lost_keys => 1, max_shrink => '50%') $$, 'create with hostile objects in public and pg_temp')
  FROM set_config('search_path', 'public, trap', true);
SELECT is((SELECT definition->>'rule_canonical' ~ 'trap\.src' FROM backfill_manifest('trapped') definition), true,
		  'a temporary table does not take the place of a source');
SELECT lives_ok($$ SELECT backfill_add_gate('trapped', 'names', total => 'count(DISTINCT name)', expect => 'within 60%') $$, 'add_gate');
SELECT lives_ok($$ SELECT backfill_add_gate('trapped', 'amount', total => 'sum(amount)', expect => 'within 90%') $$, 'another gate');
SELECT lives_ok($$ SELECT * FROM backfill_plan('trapped') $$, 'plan');
SELECT is((SELECT string_agg(state || ' ' || rows, ', ' ORDER BY partition) FROM backfill_build('trapped')), 'staged 9, staged 10, staged 10',
		  'build with hostile objects in public and pg_temp');
SELECT lives_ok($$ SELECT * FROM backfill_validate('trapped') $$, 'validate');
SELECT is((SELECT old || ' ' || new || ' ' || difference FROM backfill.evidence WHERE gate = 'lost keys' AND partition = 'tgt_1' ORDER BY measured_at DESC LIMIT 1),
		  '10 9 1 lost', 'the comparison counts right');
SELECT is((SELECT swapped || ' ' || created FROM backfill_publish('trapped')), '2 1', 'publish with hostile objects in public and pg_temp');
SELECT is((SELECT count(*) FROM trap.tgt WHERE name LIKE 'name %'), 29::bigint, 'the rows are right');
SELECT lives_ok($$ SELECT * FROM backfill_rollback('trapped') $$, 'rollback');
SELECT lives_ok($$ SELECT * FROM backfill_manifest('trapped') $$, 'manifest');
SELECT lives_ok($$ TABLE backfill.status $$, 'status');
SELECT lives_ok($$ SELECT backfill_drop('trapped') $$, 'drop');
RESET search_path;
DROP TABLE pg_temp.pg_class, pg_temp.pg_constraint, pg_temp.pg_index, pg_temp.src;
RESET ROLE;
/* What the rule and the totals themselves say in unqualified names is the DBA's own business; these did not. */
SELECT is_empty('SELECT DISTINCT who, what FROM public.proof', 'no planted function or operator was called');

--
-- Code of a target's owner runs as that owner, whoever calls
--
TRUNCATE public.proof;
CREATE SCHEMA mal AUTHORIZATION bft_mallory;
SET ROLE bft_mallory;
CREATE FUNCTION mal.note(what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	BEGIN EXECUTE 'SET ROLE postgres'; what := what || ' set role'; EXCEPTION WHEN OTHERS THEN NULL; END;
	BEGIN EXECUTE 'RESET ROLE'; what := what || ' reset role'; EXCEPTION WHEN OTHERS THEN NULL; END;
	BEGIN EXECUTE 'SET SESSION AUTHORIZATION postgres'; what := what || ' session'; EXCEPTION WHEN OTHERS THEN NULL; END;
	BEGIN EXECUTE 'SELECT 1 FROM backfill.bf_version'; what := what || ' catalog'; EXCEPTION WHEN OTHERS THEN NULL; END;
	BEGIN EXECUTE 'CREATE TABLE backfill.planted ()'; what := what || ' create'; EXCEPTION WHEN OTHERS THEN NULL; END;
	BEGIN EXECUTE 'CREATE TEMP TABLE planted ()'; what := what || ' temp'; EXCEPTION WHEN OTHERS THEN NULL; END;
	INSERT INTO public.proof VALUES (current_user, what);
END $$;
CREATE FUNCTION mal.spy(what text, v bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM mal.note(what); RETURN v; END $$;
CREATE DOMAIN mal.checked AS bigint CHECK (mal.spy('domain', VALUE) IS NOT NULL);
CREATE FUNCTION mal.on_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM mal.note('trigger'); RETURN NEW; END $$;
CREATE TABLE mal.src (id bigint, v bigint);
INSERT INTO mal.src SELECT i, i FROM generate_series(1, 5) i;
CREATE TABLE mal.tgt (id bigint NOT NULL, v bigint DEFAULT mal.spy('default', 1), d mal.checked, c bigint CHECK (mal.spy('check', c) IS NOT NULL),
	g bigint GENERATED ALWAYS AS (mal.spy('generated', id)) STORED) PARTITION BY RANGE (mal.spy('bound', id));
CREATE TABLE mal.tgt_1 PARTITION OF mal.tgt FOR VALUES FROM (0) TO (100);
CREATE INDEX ON mal.tgt (mal.spy('index', v));
CREATE TABLE mal.by_domain (k mal.checked, v int) PARTITION BY RANGE (k);
CREATE TABLE mal.by_domain_1 PARTITION OF mal.by_domain FOR VALUES FROM (1) TO (5);
CREATE STATISTICS mal.tgt_s ON (mal.spy('statistics', v)), id FROM mal.tgt_1;
CREATE TRIGGER on_row BEFORE INSERT ON mal.tgt FOR EACH ROW EXECUTE FUNCTION mal.on_row();
INSERT INTO mal.tgt (id, d, c) SELECT id, id, id FROM mal.src;
RESET ROLE;
TRUNCATE public.proof;
SELECT ok((SELECT usesuper FROM pg_user WHERE usename = current_user), 'a superuser makes all calls that follow');
SELECT lives_ok($$ SELECT backfill_create('spied', 'mal.tgt',
	$r$ SELECT id, mal.spy('rule', id) AS d, coalesce((parameters->>'x')::bigint, mal.spy('null', id)) AS c FROM mal.src $r$,
	range_from => 0, range_to => 100, key => '{id}', parameters => '{"x": null}', sources => '{}', allow_volatile => true) $$, 'create');
SELECT lives_ok($$ SELECT backfill_add_gate('spied', 'total', total => $t$ sum(mal.spy('total', v)) $t$, expect => $e$ mal.spy('expect', 1) = 1 $e$) $$, 'add_gate');
SELECT lives_ok($$ SELECT * FROM backfill_plan('spied') $$, 'plan');
SELECT lives_ok($$ SELECT * FROM backfill_build('spied') $$, 'build');
SELECT lives_ok($$ SELECT * FROM backfill_validate('spied') $$, 'validate');
SELECT is((SELECT action FROM backfill_publish('spied')), 'published', 'publish');
SELECT is((SELECT action FROM backfill_rollback('spied')), 'rolled_back', 'rollback');
SELECT is((SELECT action FROM backfill_publish('spied', again => true)), 'published', 'publish again');
SELECT lives_ok($$ SELECT backfill_create('domain', 'mal.by_domain', 'SELECT partition_from AS k, 1 AS v', range_from => 1, range_to => 15,
	gaps => 'create', step => '5', key => '{k}') $$, 'a domain as partition key: create');
SELECT is((SELECT sum(rows) FROM backfill_build('domain')), 3::numeric, '... build');
SELECT is((SELECT created FROM backfill_publish('domain')), 2, '... publish');
SELECT is((SELECT created FROM backfill_rollback('domain')), 2, '... rollback');
SELECT lives_ok($$ SELECT backfill_manifest('spied'), count(*) FROM backfill.evidence, backfill.partition, backfill.status, backfill.history $$, 'manifest and views');
SELECT is_empty($$ SELECT DISTINCT who FROM public.proof WHERE who <> 'bft_mallory' $$, 'all code of the owner ran as the owner');
SELECT is_empty($$ SELECT DISTINCT what FROM public.proof WHERE what LIKE '% %' $$, '... and could neither change roles, read the catalog nor create anything there');
SELECT set_eq('SELECT DISTINCT what FROM public.proof',
	ARRAY['default', 'domain', 'check', 'generated', 'bound', 'index', 'statistics', 'rule', 'null', 'total', 'expect'],
	'the places where code of the owner runs; triggers do not fire on staged tables');

--
-- Row security: an error, never fewer rows
--
SET ROLE bft_owner;
CREATE TABLE bft.hidden (id int, grp int, secret text);
INSERT INTO bft.hidden SELECT * FROM bft.src;
ALTER TABLE bft.hidden ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY few ON bft.hidden USING (id < 10);
SELECT throws_ok($$ SELECT backfill_create('hidden', 'bft.tgt', 'SELECT id, grp, secret FROM bft.hidden', all_partitions => true) $$, '42501',
				 'query would be affected by row-level security policy for table "hidden"', 'a policy on a source is an error');
RESET ROLE;
SELECT throws_ok($$ SELECT backfill_create('hidden', 'bft.tgt', 'SELECT id, grp, secret FROM bft.hidden', all_partitions => true) $$, '42501',
				 'query would be affected by row-level security policy for table "hidden"', '... for a superuser too');

--
-- The owner must be able to read the sources and to create tables where the target is
--
CREATE TABLE public.private AS SELECT 1 AS id, 1 AS grp, 'x'::text AS secret;
SELECT throws_ok($$ SELECT backfill_create('unreadable', 'bft.tgt', 'SELECT id, grp, secret FROM public.private', all_partitions => true) $$,
				 '42501', 'permission denied for table private', 'the rule reads with the rights of the owner of the target, not of the caller');
GRANT SELECT ON public.private TO bft_owner;
SELECT backfill_create('unreadable', 'bft.tgt', 'SELECT id, grp, secret FROM public.private', all_partitions => true);
REVOKE SELECT ON public.private FROM bft_owner;
SELECT throws_ok($$ SELECT * FROM backfill_build('unreadable') $$, '42501', 'permission denied for table private', '... at the build, too');
CREATE SCHEMA fenced;
CREATE TABLE fenced.tgt (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE fenced.tgt_1 PARTITION OF fenced.tgt FOR VALUES FROM (0) TO (10);
ALTER TABLE fenced.tgt OWNER TO bft_owner;
ALTER TABLE fenced.tgt_1 OWNER TO bft_owner;
GRANT USAGE ON SCHEMA fenced TO bft_owner;
SELECT throws_like($$ SELECT backfill_create('fenced', 'fenced.tgt', 'SELECT 1 AS id', all_partitions => true, swap => 'attach') $$,
				   '%role bft_owner may not create tables in this schema%', 'create says that the owner lacks CREATE on the schema');
GRANT CREATE ON SCHEMA fenced TO bft_owner;
SELECT lives_ok($$ SELECT backfill_create('fenced', 'fenced.tgt', 'SELECT 1 AS id', all_partitions => true, swap => 'attach') $$, 'with it, it works');
ALTER TABLE fenced.tgt_1 OWNER TO bft_other;
SELECT throws_like($$ SELECT * FROM backfill_build('fenced') $$, '%partition belongs to bft_other, the target to bft_owner%',
				   'a leaf of another owner is refused');

SELECT * FROM finish();
ROLLBACK;
