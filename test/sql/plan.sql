-- backfill_plan is a dry run: blockers first, by name, then what to know, then the cost.  What it calls a blocker, create and
-- build refuse: everything that is tied to a partition and that a swap would lose.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS backfill;
RESET client_min_messages;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
SET max_parallel_workers_per_gather = 0;
CREATE ROLE regress_plan_owner;
CREATE ROLE regress_plan_other;
CREATE SCHEMA plan_t;
CREATE SCHEMA plan_u;
GRANT CREATE, USAGE ON SCHEMA plan_t, plan_u TO regress_plan_owner;
SET search_path = plan_t, public;
SET ROLE regress_plan_owner;
CREATE TABLE src (d date, k int, v numeric);
CREATE TABLE t (d date, k int, v numeric, PRIMARY KEY (d, k)) PARTITION BY RANGE (d);
CREATE TABLE t_01 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE t_02 PARTITION OF t FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
INSERT INTO t VALUES ('2026-01-05', 1, 1), ('2026-02-05', 1, 1), ('2026-02-06', 1, 1);
ANALYZE t_01, t_02;
\set rule 'SELECT d, k, v FROM src'
SELECT backfill_create('v', 't', :'rule', all_partitions => true, late_changes => 'ignore', swap => 'attach');
-- sizes differ between servers
CREATE FUNCTION plan(name text) RETURNS TABLE (severity text, object text, finding text, hint text) LANGUAGE sql AS $$
  SELECT severity, object, regexp_replace(finding, '\d+ (bytes|kB|MB)', 'N kB', 'g'), hint FROM backfill_plan(name) $$;
SELECT * FROM plan('v');
CREATE TABLE t_03 PARTITION OF t FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
SELECT backfill_create('more', 't', :'rule', '2026-02-01', '2026-06-01', gaps => 'create', step => '1 month', late_changes => 'ignore');
SELECT * FROM plan('more');
SELECT backfill_drop('more');
DROP TABLE t_03;
SELECT * FROM backfill_plan('unknown');
\echo :SQLSTATE
SELECT * FROM backfill_plan(NULL);
\echo :SQLSTATE
SET ROLE regress_plan_other;
SELECT * FROM backfill_plan('v');
\echo :SQLSTATE
RESET ROLE;
SET search_path = plan_t, public;

--
-- What stands in the way of DETACH and ATTACH: create and build refuse it, plan lists it.  Whether it stands in the way of
-- an exchange of storage too, the last line says.  Each is undone after its try.
--
CREATE FUNCTION blocked(variadic ddl text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  state text; message text; detail text; hint text; result text; command text;
BEGIN
  BEGIN
    FOREACH command IN ARRAY ddl LOOP
      EXECUTE command;
    END LOOP;
    SELECT string_agg(concat_ws(' | ', p.severity, p.object, p.finding, p.hint), E'\n') INTO result FROM plan('v') p WHERE p.severity = 'blocker';
    BEGIN
      PERFORM backfill_create('w', 't', 'SELECT d, k, v FROM src', all_partitions => true, key => '{d,k}', late_changes => 'ignore',
                              swap => 'attach');
      result := concat_ws(E'\n', result, 'create: not refused');
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
      result := concat_ws(E'\n', result, 'create: ' || state || ' ' || message, detail, hint);
    END;
    BEGIN
      PERFORM backfill_build('v');
      result := concat_ws(E'\n', result, 'build: not refused');
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
      result := concat_ws(E'\n', result, 'build: ' || state || ' ' || message);
    END;
    BEGIN
      PERFORM backfill_create('s', 't', 'SELECT d, k, v FROM src', all_partitions => true, key => '{d,k}', late_changes => 'ignore',
                              swap => 'storage');
      result := concat_ws(E'\n', result, 'storage: not refused');
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
      result := concat_ws(E'\n', result, 'storage: ' || state || ' ' || message);
    END;
    RAISE EXCEPTION USING ERRCODE = 'ZZ999', MESSAGE = result;
  EXCEPTION WHEN SQLSTATE 'ZZ999' THEN
    RETURN SQLERRM;
  END;
END $$;
CREATE FUNCTION trig() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE FOREIGN DATA WRAPPER regress_plan_fdw;
CREATE SERVER regress_plan_server FOREIGN DATA WRAPPER regress_plan_fdw;
\pset format unaligned
\pset tuples_only on
-- a foreign key that points at the target, at a partition, and those that go out
SELECT blocked('CREATE TABLE child (d date, k int, CONSTRAINT child_fk FOREIGN KEY (d, k) REFERENCES t)');
SELECT blocked('CREATE TABLE child (d date, k int, CONSTRAINT child_fk FOREIGN KEY (d, k) REFERENCES t_01)');
SELECT blocked('CREATE TABLE store (k int PRIMARY KEY)', 'INSERT INTO store VALUES (1)',
               'ALTER TABLE t ADD CONSTRAINT store_fk FOREIGN KEY (k) REFERENCES store');
SELECT blocked('CREATE TABLE store (k int PRIMARY KEY)', 'INSERT INTO store VALUES (1)',
               'ALTER TABLE t_02 ADD CONSTRAINT store_fk FOREIGN KEY (k) REFERENCES store');
-- publications
SET client_min_messages = error;		-- "wal_level is insufficient"
SELECT blocked('CREATE PUBLICATION regress_plan_pub FOR TABLE t');
SELECT blocked('CREATE PUBLICATION regress_plan_pub FOR TABLE t_02');
SELECT blocked('CREATE PUBLICATION regress_plan_pub FOR ALL TABLES');
SELECT blocked('CREATE PUBLICATION regress_plan_pub FOR TABLES IN SCHEMA plan_t');
RESET client_min_messages;
-- objects of a partition alone
SELECT blocked('CREATE TRIGGER only_here BEFORE INSERT ON t_01 FOR EACH ROW EXECUTE FUNCTION trig()');
SELECT blocked('CREATE TRIGGER everywhere BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION trig()', 'ALTER TABLE t_01 DISABLE TRIGGER everywhere');
SELECT blocked('CREATE TRIGGER everywhere BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION trig()', 'ALTER TABLE t_01 ENABLE REPLICA TRIGGER everywhere');
SELECT blocked('CREATE RULE only_here AS ON DELETE TO t_01 DO INSTEAD NOTHING');
SELECT blocked('CREATE POLICY only_here ON t_01 USING (true)');
SELECT blocked('ALTER TABLE t_01 ENABLE ROW LEVEL SECURITY');
SELECT blocked('ALTER TABLE t_01 FORCE ROW LEVEL SECURITY');
SELECT blocked('CREATE VIEW january AS SELECT k FROM t_01');
SELECT blocked('CREATE MATERIALIZED VIEW january AS SELECT k FROM t_01');
SELECT blocked('CREATE FUNCTION january() RETURNS bigint BEGIN ATOMIC SELECT count(*) FROM t_01; END');
SELECT blocked('CREATE FUNCTION january() RETURNS SETOF t_01 LANGUAGE sql AS ''SELECT * FROM plan_t.t_01''');
SELECT blocked('CREATE VIEW january AS SELECT NULL::t_01 AS one');
SELECT blocked('CREATE POLICY elsewhere ON src USING (k IN (SELECT k FROM t_01))');
SELECT blocked('CREATE TABLE holder (one t_01)');
SELECT blocked('CREATE TABLE holder (many t_01[])');
SELECT blocked('CREATE SEQUENCE counter', 'ALTER SEQUENCE counter OWNER TO regress_plan_owner',
               'ALTER SEQUENCE counter OWNED BY t_01.k');
SELECT blocked('ALTER TABLE t_01 SET UNLOGGED');
SELECT blocked('ALTER TABLE t DROP CONSTRAINT t_pkey',
               'CREATE FOREIGN TABLE t_far PARTITION OF t FOR VALUES FROM (''2026-03-01'') TO (''2026-04-01'') SERVER regress_plan_server',
               'ALTER TABLE t_far OWNER TO regress_plan_owner');
SELECT blocked('ALTER TABLE t_01 OWNER TO regress_plan_other');
SELECT blocked('REVOKE CREATE ON SCHEMA plan_t FROM regress_plan_owner');
SELECT blocked('GRANT CREATE ON SCHEMA plan_t TO regress_plan_owner', 'ALTER TABLE t_02 SET SCHEMA plan_u',
               'REVOKE CREATE ON SCHEMA plan_u FROM regress_plan_owner');
-- partitions that are not there any more, as far as a version that is not live needs them
SELECT blocked('ALTER TABLE t DETACH PARTITION t_02');
SELECT blocked('DROP TABLE t_02');
SELECT blocked('ALTER TABLE t DETACH PARTITION t_02', 'ALTER TABLE t ATTACH PARTITION t_02 FOR VALUES FROM (''2026-02-01'') TO (''2026-02-15'')');
SELECT blocked('ALTER TABLE t RENAME TO other', 'ALTER TABLE other RENAME TO t', 'ALTER TABLE t_02 RENAME TO february');
-- several at once, in a fixed order; create names the first
SELECT blocked('CREATE VIEW january AS SELECT k FROM t_01', 'CREATE RULE only_here AS ON DELETE TO t_01 DO INSTEAD NOTHING',
               'CREATE RULE here_too AS ON DELETE TO t_02 DO INSTEAD NOTHING');
-- on the partitioned table they stay, and are no blockers
SELECT blocked('CREATE TRIGGER everywhere BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION trig()', 'CREATE VIEW whole AS SELECT k FROM t',
               'CREATE POLICY everywhere ON t USING (true)', 'ALTER TABLE t ENABLE ROW LEVEL SECURITY', 'CREATE TABLE holder (one t)');
\pset format aligned
\pset tuples_only off

--
-- What to know: a default partition is scanned, invalid indexes are left out, functions of the rule, blocked writers
--
SET ROLE regress_plan_owner;
CREATE TABLE t_rest PARTITION OF t DEFAULT;
INSERT INTO t VALUES ('2030-01-01', 1, 1);
ANALYZE t_rest;
CREATE INDEX t_01_invalid ON ONLY t (v);
CREATE FUNCTION now_rate() RETURNS numeric LANGUAGE sql VOLATILE AS 'SELECT 1.0';
SELECT backfill_create('w', 't', 'SELECT d, k, v * now_rate() AS v FROM src WHERE d < now()', '2026-01-01', '2026-05-01', gaps => 'create',
       step => '1 month', late_changes => 'block', allow_volatile => true, sources => '{}');
SELECT * FROM plan('w');
-- a dry run: nothing was staged, the state is what it was
SELECT version, state, built FROM backfill.status ORDER BY 1;
SELECT backfill_drop('w');
SELECT backfill_drop('v');
DROP TABLE t_rest;

--
-- Disk and lock slots are compared with what is needed
--
RESET ROLE;
CREATE TABLE many (d date) PARTITION BY RANGE (d);
CREATE TABLE many_01 PARTITION OF many FOR VALUES FROM ('2026-01-01') TO ('2026-01-02');
DO $$
DECLARE hint text;
BEGIN
  PERFORM backfill_create('many', 'many', 'SELECT d FROM src', '2026-01-01', '2030-01-01', gaps => 'create', step => '1 day', key => '{}',
          late_changes => 'ignore');
EXCEPTION WHEN insufficient_resources THEN
  GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
  RAISE INFO '%', regexp_replace(SQLERRM, '\d+', 'N', 'g') USING HINT = hint;
END $$;

RESET ROLE;
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA plan_t, plan_u CASCADE;
DROP FOREIGN DATA WRAPPER regress_plan_fdw CASCADE;
DROP OWNED BY regress_plan_owner, regress_plan_other;
DROP ROLE regress_plan_owner, regress_plan_other;
