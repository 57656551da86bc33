-- What all parts of the benchmark share: the extension and the stop watch.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION backfill;
CREATE SCHEMA bench;

-- One row a phase of one run.  Unlogged, so that keeping time neither writes WAL nor waits for a disk.
CREATE UNLOGGED TABLE bench.lap (
	part text NOT NULL,
	round int NOT NULL,
	arm text NOT NULL,
	phase text NOT NULL,
	seconds float8 NOT NULL,
	wal float8 NOT NULL,				-- bytes
	at timestamptz NOT NULL DEFAULT clock_timestamp(),
	lsn pg_lsn NOT NULL DEFAULT pg_current_wal_insert_lsn()
);

-- Ends a phase: what passed since the last call in this run.  bench/run sets bench.part, bench.round and bench.arm.
CREATE FUNCTION bench.lap(phase text) RETURNS void
LANGUAGE sql
AS $$
	INSERT INTO bench.lap (part, round, arm, phase, seconds, wal)
	SELECT r.part, r.round, r.arm, lap.phase,
		   coalesce(extract(epoch FROM clock_timestamp() - l.at), 0),
		   coalesce(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), l.lsn), 0)
	  FROM (SELECT current_setting('bench.part') AS part, current_setting('bench.round')::int AS round,
				   current_setting('bench.arm') AS arm) r
	  LEFT JOIN LATERAL (SELECT at, lsn FROM bench.lap x WHERE x.part = r.part AND x.round = r.round AND x.arm = r.arm
						  ORDER BY at DESC LIMIT 1) l ON true
$$;

-- Seconds (or bytes of WAL) of some phases of every run; round 0 is the warm-up and does not count.
CREATE FUNCTION bench.runs(of_part text, of_arm text, phases text[], what text DEFAULT 'seconds')
RETURNS TABLE (round int, value float8)
LANGUAGE sql
AS $$
	SELECT round, sum(CASE what WHEN 'wal' THEN wal ELSE seconds END)
	  FROM bench.lap
	 WHERE part = of_part AND arm = of_arm AND phase = ANY (phases) AND round > 0
	 GROUP BY round
$$;

-- "median [least-greatest]"
CREATE FUNCTION bench.spread(v float8[], digits int DEFAULT 2) RETURNS text
LANGUAGE sql
AS $$
	SELECT format('%s [%s-%s]', round((percentile_cont(0.5) WITHIN GROUP (ORDER BY x))::numeric, digits),
				  round(min(x)::numeric, digits), round(max(x)::numeric, digits))
	  FROM unnest(v) x
$$;

-- The same of backfill's value divided by the arm's value of the same round.
CREATE FUNCTION bench.ratio(of_part text, phases text[], arm text, arm_phases text[], what text DEFAULT 'seconds') RETURNS text
LANGUAGE sql
AS $$
	SELECT bench.spread(array_agg(b.value / nullif(a.value, 0)))
	  FROM bench.runs(of_part, 'backfill', phases, what) b JOIN bench.runs(of_part, arm, arm_phases, what) a USING (round)
$$;
