-- Who may do and see what: members of the target's owner everything about its versions, pg_monitor that they exist, others nothing.
-- All that a user wrote runs as the target's owner, whoever makes the call, and never with more.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS backfill;
RESET client_min_messages;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
CREATE ROLE regress_priv_owner;
CREATE ROLE regress_priv_member IN ROLE regress_priv_owner;
CREATE ROLE regress_priv_monitor IN ROLE pg_monitor;
CREATE ROLE regress_priv_other;
CREATE SCHEMA priv_t;
GRANT CREATE, USAGE ON SCHEMA priv_t TO regress_priv_owner, regress_priv_other;
GRANT USAGE ON SCHEMA priv_t TO regress_priv_monitor;
SET search_path = priv_t, public;
SET ROLE regress_priv_owner;
CREATE TABLE src AS SELECT date '2026-01-01' + i % 31 AS d, i AS k, 'secret' AS note FROM generate_series(0, 61) i;
CREATE TABLE t (d date, k int, note text, PRIMARY KEY (d, k)) PARTITION BY RANGE (d);
CREATE TABLE t_01 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
INSERT INTO t SELECT * FROM src;
SELECT backfill_create('p', 't', 'SELECT d, k, note || ''!'' AS note FROM src WHERE k > 0', all_partitions => true, late_changes => 'ignore',
       parameters => '{}', max_lost_keys => 1);
SELECT partition, state FROM backfill_build('p');
SELECT target, action FROM backfill_publish('p');
RESET ROLE;

--
-- No grants on the catalog's tables; views for all, with only what is theirs in them
--
SELECT c.relname, c.relkind, c.relacl IS NULL AS owner_only FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'backfill' AND c.relkind IN ('r', 'S') ORDER BY 1;
SELECT c.relname, a.privilege_type, a.grantee::regrole, c.reloptions
  FROM pg_class c CROSS JOIN aclexplode(c.relacl) a WHERE c.relnamespace = 'backfill'::regnamespace AND c.relkind = 'v' AND a.grantee <> c.relowner ORDER BY 1, 2;
SELECT n.nspname, a.privilege_type, a.grantee::regrole FROM pg_namespace n, aclexplode(nspacl) a
 WHERE nspname ~ '^backfill' AND a.grantee <> nspowner AND a.grantee <> 'regress_priv_owner'::regrole ORDER BY 1, 2, 3;
CREATE FUNCTION seen() RETURNS text LANGUAGE sql AS $$
  SELECT format('status %s, partition %s, evidence %s, rejection %s, history %s', (SELECT count(*) FROM backfill.status), (SELECT count(*) FROM backfill.partition),
                (SELECT count(*) > 0 FROM backfill.evidence), (SELECT count(*) FROM backfill.rejection), (SELECT count(*) FROM backfill.history)) $$;
SET ROLE regress_priv_owner;
SELECT seen();
SET ROLE regress_priv_member;
SELECT seen();
SET ROLE regress_priv_monitor;
SELECT seen();
SELECT version, state FROM backfill.status;
SELECT backfill_manifest('p');
\echo :SQLSTATE
SET ROLE regress_priv_other;
SELECT seen();
SELECT * FROM backfill.bf_version;
\echo :SQLSTATE
SELECT * FROM backfill.bf_target;
\echo :SQLSTATE
INSERT INTO backfill.bf_mark (relid, xid) VALUES ('t_01'::regclass, '1');
\echo :SQLSTATE
CREATE TABLE backfill.mine (a int);
\echo :SQLSTATE
CREATE TABLE backfill_staging.mine (a int);
\echo :SQLSTATE
-- a cheap function that tells what it sees finds nothing behind the views
CREATE FUNCTION tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$;
SELECT version FROM backfill.status WHERE tell(version);
SELECT version FROM backfill.evidence WHERE tell(samples::text);

--
-- Every call but the reading of views needs membership
--
SELECT backfill_create('q', 't', 'SELECT d, k, note FROM src', all_partitions => true);
\echo :SQLSTATE
SELECT * FROM backfill_plan('p');
\echo :SQLSTATE
SELECT * FROM backfill_build('p');
\echo :SQLSTATE
SELECT * FROM backfill_validate('p');
\echo :SQLSTATE
SELECT backfill_add_gate('p', 'g', total => 'count(*)');
\echo :SQLSTATE
SELECT backfill_waive('p', 'lost keys', 'why');
\echo :SQLSTATE
SELECT * FROM backfill_publish('p');
\echo :SQLSTATE
SELECT * FROM backfill_rollback('p');
\echo :SQLSTATE
SELECT * FROM backfill_rollback(target => 't');
\echo :SQLSTATE
SELECT backfill_drop('p');
\echo :SQLSTATE
SELECT backfill_manifest('p');
\echo :SQLSTATE
SET ROLE regress_priv_member;
SELECT target, action FROM backfill_rollback('p');
SELECT target, action FROM backfill_publish('p', again => true);
SELECT target, action FROM backfill_rollback('p');
SELECT backfill_drop('p');
-- what a member builds belongs to the owner
SELECT backfill_create('q', 't', 'SELECT d, k, note || ''?'' AS note FROM src', all_partitions => true, late_changes => 'ignore');
SELECT partition, state FROM backfill_build('q');
SELECT relowner::regrole FROM pg_class WHERE relnamespace = 'backfill_staging'::regnamespace AND relkind = 'r';
SELECT created_by = session_user AS by_me FROM jsonb_to_record(backfill_manifest('q')) AS (created_by text);
SELECT backfill_drop('q');

--
-- A superuser's call runs the owner's code as the owner: rule, casts, defaults, CHECKs, gates
--
RESET ROLE;
CREATE TABLE log (who text, whose text);
GRANT INSERT, SELECT ON log TO PUBLIC;
SET ROLE regress_priv_owner;
-- a volatile function in an IMMUTABLE one may do anything
CREATE FUNCTION note(whose text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO priv_t.log VALUES (current_user, whose); END $$;
CREATE FUNCTION spy(whose text, anyelement) RETURNS anyelement LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM priv_t.note(whose); RETURN $2; END $$;
CREATE FUNCTION spy_check(whose text, int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM priv_t.note(whose); RETURN true; END $$;
CREATE TABLE traps (k int, v int CONSTRAINT c CHECK (spy_check('check', v)), g int GENERATED ALWAYS AS (spy('generated', v)) STORED, e int DEFAULT spy('default', 1))
  PARTITION BY RANGE (k);
CREATE TABLE traps_0 PARTITION OF traps FOR VALUES FROM (0) TO (10);
CREATE INDEX ON traps_0 (spy('index', v));
CREATE VIEW trap_view AS SELECT i AS k, spy('view', i) AS v FROM generate_series(1, 3) i;
-- an operator that shadows that of pg_catalog
CREATE FUNCTION always(int, int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM priv_t.note('operator'); RETURN $1 <= $2 AND $1 >= $2; END $$;
CREATE OPERATOR = (LEFTARG = int, RIGHTARG = int, FUNCTION = always);
RESET ROLE;
SET search_path = priv_t, pg_catalog, public;
TRUNCATE log;
SELECT backfill_create('traps', 'traps', 'SELECT k, spy(''rule'', v) AS v FROM trap_view', all_partitions => true, key => '{k}', late_changes => 'ignore', sources => '{}');
SELECT backfill_add_gate('traps', 'g', total => 'sum(spy(''gate'', v))', expect => 'spy(''expect'', new) > 0');
SELECT partition, state FROM backfill_build('traps');
SELECT result FROM backfill_validate('traps') WHERE gate OPERATOR(pg_catalog.=) 'g'::text;
SELECT target, action FROM backfill_publish('traps');
SELECT target, action FROM backfill_rollback('traps');
SET search_path = priv_t, public;
SELECT DISTINCT who, whose FROM log WHERE whose <> 'operator' ORDER BY 2;
SELECT DISTINCT who FROM log;

--
-- The owner's code may not do more than an owner's security-restricted code may
--
SET ROLE regress_priv_owner;
CREATE FUNCTION sets_role() RETURNS void LANGUAGE plpgsql AS $$ BEGIN SET ROLE NONE; END $$;
CREATE FUNCTION makes_temp() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CREATE TEMPORARY TABLE x (a int); END $$;
CREATE FUNCTION escape() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM priv_t.sets_role(); RETURN 1; END $$;
CREATE FUNCTION makes() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM priv_t.makes_temp(); RETURN 1; END $$;
CREATE FUNCTION escape(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM priv_t.sets_role(); RETURN 1; END $$;
RESET ROLE;
\set SHOW_CONTEXT never
-- at the load, and at planning, where constants are folded
SELECT backfill_create('escape', 'traps', 'SELECT k, escape(k) AS v FROM trap_view', all_partitions => true, key => '{k}', late_changes => 'ignore', sources => '{}');
SELECT * FROM backfill_build('escape');
\echo :SQLSTATE
SELECT backfill_create('escape1', 'traps', 'SELECT 1 AS k, escape() AS v', all_partitions => true, key => '{k}', late_changes => 'ignore', sources => '{}');
\echo :SQLSTATE
SELECT backfill_create('makes', 'traps', 'SELECT 1 AS k, makes() AS v', all_partitions => true, key => '{k}', late_changes => 'ignore', sources => '{}');
\echo :SQLSTATE
SELECT current_user = session_user AS still_me;

RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA priv_t CASCADE;
DROP EXTENSION backfill CASCADE;
DROP OWNED BY regress_priv_owner, regress_priv_member, regress_priv_monitor, regress_priv_other;
DROP ROLE regress_priv_owner, regress_priv_member, regress_priv_monitor, regress_priv_other;
