-- One row a flight: the plan is a scan, the work is writing.
\set target mart.flight
\set query 'SELECT id, departed, carrier, tail, delay, distance, origin, destination, delay > 10 AS late, round(distance * 0.19, 2) AS cost FROM raw.flight WHERE departed >= ''2001-01-01'' AND departed < ''2001-02-01'''
\set rule 'SELECT id, departed, carrier, tail, delay, distance, origin, destination, delay > 10 AS late, round(distance * 0.19, 2) AS cost FROM raw.flight WHERE departed >= partition_from AND departed < partition_to'
\set columns '(id bigint NOT NULL, departed timestamp NOT NULL, carrier text NOT NULL, tail text, delay int, distance int NOT NULL, origin int NOT NULL, destination int NOT NULL, late boolean, cost numeric NOT NULL)'
\set key '(id, departed)'
\set other '(origin, departed)'
