\pset footer off
\pset title :title
SELECT a.what AS "backfill / hand-written", bench.ratio(:'part', '{compare}', a.arm, '{compare}') AS "time", a.goal,
	   (SELECT bench.spread(array_agg(value), 3) FROM bench.runs(:'part', a.arm, '{compare}')) AS "its seconds"
  FROM (VALUES ('merge_join', 'FULL JOIN, merge over the keys', '1.10'),
			   ('hash_join', 'FULL JOIN, hash', NULL),
			   ('except', 'EXCEPT, both ways', NULL),
			   ('except_all', 'EXCEPT ALL, both ways', NULL)) a(arm, what, goal);
