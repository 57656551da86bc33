-- One month of flights, and the two targets a rule fills from it: one row a flight, one row a day and airport.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE SCHEMA raw;
CREATE SCHEMA mart;

CREATE TABLE raw.flight (
	id bigint NOT NULL,
	day date NOT NULL,
	departed timestamp NOT NULL,
	carrier text NOT NULL,
	tail text,
	delay int,
	distance int NOT NULL,
	origin int NOT NULL,
	destination int NOT NULL
);
INSERT INTO raw.flight
SELECT i, departed::date, departed,
	   chr(65 + (h >> 3 & 15)::int) || chr(65 + (h >> 7 & 15)::int), 'N' || (h >> 11 & 65535),
	   (h >> 17 & 127) - 20, 100 + (h >> 5 & 2047), 10000 + h % 300, 10000 + (h >> 9) % 300
  FROM (SELECT i, timestamp '2001-01-01' + interval '1 second' * (i * 2678400.0 / (:rows + 1)) AS departed,
			   hashint8extended(i, 0) & 9007199254740991 AS h
		  FROM generate_series(1, :rows) i) g;
VACUUM (FREEZE, ANALYZE) raw.flight;

CREATE TABLE mart.flight (
	id bigint, departed timestamp, carrier text NOT NULL, tail text, delay int, distance int NOT NULL,
	origin int NOT NULL, destination int NOT NULL, late boolean, cost numeric NOT NULL,
	PRIMARY KEY (id, departed)
) PARTITION BY RANGE (departed);
CREATE INDEX ON mart.flight (origin, departed);
CREATE TABLE mart.flight_2001_01 PARTITION OF mart.flight FOR VALUES FROM ('2001-01-01') TO ('2001-02-01');
INSERT INTO mart.flight
SELECT id, departed, carrier, tail, delay, distance, origin, destination, delay > 15, round(distance * 0.19, 2)
  FROM raw.flight ORDER BY id;

CREATE TABLE mart.daily (
	day date, origin int, flights bigint NOT NULL, late bigint NOT NULL, distance bigint, delay numeric,
	PRIMARY KEY (day, origin)
) PARTITION BY RANGE (day);
CREATE INDEX ON mart.daily (origin, day);
CREATE TABLE mart.daily_2001_01 PARTITION OF mart.daily FOR VALUES FROM ('2001-01-01') TO ('2001-02-01');
INSERT INTO mart.daily
SELECT day, origin, count(*), count(*) FILTER (WHERE delay > 15), sum(distance), avg(delay)
  FROM raw.flight GROUP BY day, origin;
VACUUM (FREEZE, ANALYZE) mart.flight_2001_01, mart.daily_2001_01;
