\pset footer off
\pset title :title
SELECT a.what AS "backfill / hand-written",
	   bench.ratio(:'part', '{publish,commit}', a.arm, '{publish}') AS "time",
	   bench.ratio(:'part', '{held,commit}', a.arm, '{publish}') AS "locks held", a.goal,
	   (SELECT bench.spread(array_agg(value * 1000), 1) FROM bench.runs(:'part', a.arm, '{publish}')) AS "its ms"
  FROM (VALUES ('detach_attach', 'all DETACH, all ATTACH', '1.00'),
			   ('pairwise', 'DETACH, ATTACH one by one', '1.00'),
			   ('same_names', 'the same, leaving names as they were', '1.00')) a(arm, what, goal)
UNION ALL
SELECT 'backfill itself, ms', (SELECT bench.spread(array_agg(value * 1000), 1) FROM bench.runs(:'part', 'backfill', '{publish,commit}')),
	   (SELECT bench.spread(array_agg(value * 1000), 1) FROM bench.runs(:'part', 'backfill', '{held,commit}')), NULL, NULL;
