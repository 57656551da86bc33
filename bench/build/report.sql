\pset footer off
\pset title :title
SELECT a.what AS "backfill / hand-written",
	   bench.ratio(:'part', '{build,commit}', a.arm, '{fill,index,analyze}') AS "ready",
	   bench.ratio(:'part', '{build,commit}', a.arm, '{fill,index,analyze,vacuum}') AS "with VACUUM",
	   a.goal,
	   bench.ratio(:'part', '{"build and gates",commit}', a.arm, '{fill,index,analyze,vacuum}') AS "gates too",
	   bench.ratio(:'part', '{"build and gates",commit}', a.arm, '{fill,index,analyze,vacuum}', 'wal') AS "WAL",
	   a.wal_goal AS "goal"
  FROM (VALUES ('insert_indexed', '(a) INSERT, indexes there', CASE :'part' WHEN 'rows' THEN '0.45' END, NULL),
			   ('insert_bare', '(b) INSERT, then indexes', CASE :'part' WHEN 'rows' THEN '0.78' ELSE '0.70' END,
				CASE :'part' WHEN 'rows' THEN '0.68' END),
			   ('ctas', '(c) CREATE TABLE AS', CASE :'part' WHEN 'rows' THEN '0.78' END, NULL),
			   ('copy_freeze', '(d) COPY ... FREEZE by pipe', NULL, NULL)) a(arm, what, goal, wal_goal);
\pset title 'seconds (MB of WAL) of each phase, medians'
SELECT arm, string_agg(format('%s %s (%s)', phase, seconds, wal), ', ' ORDER BY at) AS phases
  FROM (SELECT arm, phase, max(at) AS at, round((percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds))::numeric, 3) AS seconds,
			   round((percentile_cont(0.5) WITHIN GROUP (ORDER BY wal))::numeric / 1e6, 1) AS wal
		  FROM bench.lap WHERE part = :'part' AND round > 0 AND phase <> 'start' GROUP BY arm, phase) p
 GROUP BY arm ORDER BY arm;
\ir :part.sql
\pset title 'plan of the query'
\pset tuples_only on
EXPLAIN (COSTS off) :query;
