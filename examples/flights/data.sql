-- Real departures and the live daily aggregate that readers use: a flight is late from 15 minutes on.
-- Reads the file from psql's standard input: xz -dc flights-sample.csv.xz | psql -f data.sql

CREATE EXTENSION backfill;
CREATE SCHEMA raw;
CREATE SCHEMA mart;

-- The source, as the file has it.
CREATE TABLE raw.flight (
	departed timestamp NOT NULL,
	delay int NOT NULL,
	distance int NOT NULL,
	origin text NOT NULL,
	destination text NOT NULL
);

\copy raw.flight (departed, delay, distance, origin, destination) FROM pstdin CSV

CREATE INDEX ON raw.flight USING brin (departed);

-- Airports, for the rule that comes out broken: in March the entries of eight large ones had run out.
CREATE TABLE raw.airport (
	code text NOT NULL,
	valid_from date NOT NULL,
	valid_to date NOT NULL,
	PRIMARY KEY (code, valid_from)
);

INSERT INTO raw.airport
SELECT code, valid_from, valid_to
  FROM (SELECT DISTINCT origin FROM raw.flight) AS o (code),
	   (VALUES (date '2001-01-01', date '2001-03-01'), ('2001-03-01', '2001-04-01'), ('2001-04-01', '2002-01-01')) AS v (valid_from, valid_to)
 WHERE NOT (valid_from = '2001-03-01' AND code IN ('ATL', 'DFW', 'ORD', 'LAX', 'PHX', 'DEN', 'STL', 'DTW'));

-- The target.
CREATE TABLE mart.departure_daily (
	flown_on date NOT NULL,
	origin text NOT NULL,
	departures bigint NOT NULL,
	late bigint NOT NULL,
	worst_delay int,
	PRIMARY KEY (flown_on, origin)
) PARTITION BY RANGE (flown_on);

CREATE TABLE mart.departure_daily_2001_01 PARTITION OF mart.departure_daily FOR VALUES FROM ('2001-01-01') TO ('2001-02-01');
CREATE TABLE mart.departure_daily_2001_02 PARTITION OF mart.departure_daily FOR VALUES FROM ('2001-02-01') TO ('2001-03-01');
CREATE TABLE mart.departure_daily_2001_03 PARTITION OF mart.departure_daily FOR VALUES FROM ('2001-03-01') TO ('2001-04-01');
CREATE TABLE mart.departure_daily_2001_04 PARTITION OF mart.departure_daily FOR VALUES FROM ('2001-04-01') TO ('2001-05-01');
CREATE TABLE mart.departure_daily_2001_05 PARTITION OF mart.departure_daily FOR VALUES FROM ('2001-05-01') TO ('2001-06-01');
CREATE TABLE mart.departure_daily_2001_06 PARTITION OF mart.departure_daily FOR VALUES FROM ('2001-06-01') TO ('2001-07-01');
CREATE TABLE mart.departure_daily_2001_07 PARTITION OF mart.departure_daily FOR VALUES FROM ('2001-07-01') TO ('2001-08-01');

-- The old rule: late means 15 minutes or more.
INSERT INTO mart.departure_daily
SELECT departed::date, origin, count(*), count(*) FILTER (WHERE delay >= 15), max(delay)
  FROM raw.flight
 GROUP BY 1, 2;

ANALYZE;

-- Who reads.
CREATE ROLE analyst LOGIN;
GRANT USAGE ON SCHEMA mart TO analyst;
GRANT SELECT ON mart.departure_daily TO analyst;

-- What the two complete versions add up to, by plain SQL: at the end every read is held against these.
CREATE SCHEMA demo;
CREATE TABLE demo.complete (version text PRIMARY KEY, rows bigint, total numeric);

WITH daily AS (
	SELECT count(*) FILTER (WHERE delay >= 15) AS old, count(*) FILTER (WHERE delay >= 10) AS new
	  FROM raw.flight
	 GROUP BY departed::date, origin
)
INSERT INTO demo.complete
SELECT 'original', count(*), sum(old) FROM daily
UNION ALL
SELECT 'late-from-10', count(*), sum(new) FROM daily;
