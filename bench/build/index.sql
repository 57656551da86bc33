ALTER TABLE bench.result ADD PRIMARY KEY :key;
CREATE INDEX ON bench.result :other;
SELECT bench.lap('index');
ANALYZE bench.result;
SELECT bench.lap('analyze');
