-- Rows on each side, lost, gained and changed keys, exactly.
CHECKPOINT;
SELECT bench.lap('start');
SELECT count(o.id), count(n.id), count(*) FILTER (WHERE n.id IS NULL), count(*) FILTER (WHERE o.id IS NULL),
	   count(*) FILTER (WHERE o.id IS NOT NULL AND n.id IS NOT NULL AND
			(o.carrier IS DISTINCT FROM n.carrier OR o.tail IS DISTINCT FROM n.tail OR o.delay IS DISTINCT FROM n.delay
			 OR o.distance IS DISTINCT FROM n.distance OR o.origin IS DISTINCT FROM n.origin
			 OR o.destination IS DISTINCT FROM n.destination OR o.late IS DISTINCT FROM n.late OR o.cost IS DISTINCT FROM n.cost))
  FROM bench.old o FULL JOIN bench.new n USING (id, departed);
SELECT bench.lap('compare');
