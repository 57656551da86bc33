CHECKPOINT;
SELECT bench.lap('start');
SELECT (SELECT count(*) FROM (TABLE bench.old EXCEPT ALL TABLE bench.new) x),
	   (SELECT count(*) FROM (TABLE bench.new EXCEPT ALL TABLE bench.old) x);
SELECT bench.lap('compare');
