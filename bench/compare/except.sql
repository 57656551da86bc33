CHECKPOINT;
SELECT bench.lap('start');
SELECT (SELECT count(*) FROM (TABLE bench.old EXCEPT TABLE bench.new) x),
	   (SELECT count(*) FROM (TABLE bench.new EXCEPT TABLE bench.old) x);
SELECT bench.lap('compare');
