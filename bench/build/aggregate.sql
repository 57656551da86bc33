-- One row a day and airport: the plan may be parallel, the work is reading.
\set target mart.daily
\set query 'SELECT day, origin, count(*) AS flights, count(*) FILTER (WHERE delay > 10) AS late, sum(distance) AS distance, avg(delay) AS delay FROM raw.flight WHERE day >= ''2001-01-01'' AND day < ''2001-02-01'' GROUP BY day, origin'
\set rule 'SELECT day, origin, count(*) AS flights, count(*) FILTER (WHERE delay > 10) AS late, sum(distance) AS distance, avg(delay) AS delay FROM raw.flight WHERE day >= partition_from AND day < partition_to GROUP BY day, origin'
\set columns '(day date NOT NULL, origin int NOT NULL, flights bigint NOT NULL, late bigint NOT NULL, distance bigint, delay numeric)'
\set key '(day, origin)'
\set other '(origin, day)'
