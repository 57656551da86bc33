-- backfill 0.1: catalog, views, functions

\echo Use "CREATE EXTENSION backfill" to load this file. \quit

CREATE SCHEMA backfill;
CREATE SCHEMA backfill_staging;
GRANT USAGE ON SCHEMA backfill, backfill_staging TO PUBLIC;

COMMENT ON SCHEMA backfill IS 'catalog and views of the backfill extension';
COMMENT ON SCHEMA backfill_staging IS 'staged and retired partitions of backfill versions';

--
-- Catalog.  Written only by the extension; no grants.  Each table is owned by one C file, named above it.
--

-- src/define/version.c
CREATE TABLE backfill.bf_version (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text NOT NULL UNIQUE CHECK (octet_length(name) BETWEEN 1 AND 63),
	state text NOT NULL,
	parameters jsonb NOT NULL CHECK (jsonb_typeof(parameters) = 'object'),
	code_revision text,
	settings text[] NOT NULL,			-- name, value, ...: the GUCs that change results
	late_changes text NOT NULL,
	max_rejections bigint NOT NULL,
	max_lost_keys bigint,
	max_gained_keys bigint,
	max_shrink float8,					-- percent
	created_by name NOT NULL DEFAULT session_user,
	created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	live_since timestamptz
);

CREATE TABLE backfill.bf_target (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	version_id bigint NOT NULL REFERENCES backfill.bf_version ON DELETE CASCADE,
	target regclass NOT NULL,
	rule text NOT NULL,
	rule_canonical text NOT NULL,
	match_position boolean NOT NULL,
	key text[] NOT NULL,				-- '{}': no key, multiset
	allow_volatile boolean NOT NULL,
	sources_declared boolean NOT NULL,
	sources_extra regclass[] NOT NULL,
	swap text NOT NULL,					-- auto, storage, attach: as asked for
	ignore_subscribers boolean NOT NULL,
	stable_functions text[] NOT NULL,
	volatile_functions text[] NOT NULL,
	definition jsonb NOT NULL			-- range_from, range_to, partitions, gaps, step, partition_name as given
);

-- src/define/partition.c
CREATE TABLE backfill.bf_partition (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	version_id bigint NOT NULL REFERENCES backfill.bf_version ON DELETE CASCADE,
	ordinal int NOT NULL,				-- bound order
	live regclass,						-- what this version replaces; NULL: created
	parent regclass NOT NULL,
	name name NOT NULL,
	bound text NOT NULL,
	lower_bound text,					-- root level, key's type; NULL: open
	upper_bound text,
	state text NOT NULL DEFAULT 'pending',
	staged regclass,
	definition text,					-- fingerprint of the live leaf's definition at build
	live_state text,					-- its file and guard triggers at the pin; NULL: not built, or another leaf now
	published_file oid,					-- of the table as it was published last; another now: it was rewritten
	swap text,							-- storage, attach: the way it is or was switched; NULL: not built
	swap_reason text,					-- why attach; NULL: storage, or not built
	rows bigint,
	rejected bigint,
	fingerprint numeric,				-- of the rows, whatever their order
	bytes bigint,
	elapsed interval,
	attempts int NOT NULL DEFAULT 0,
	UNIQUE (version_id, ordinal)
);
CREATE INDEX ON backfill.bf_partition (staged);
CREATE INDEX ON backfill.bf_partition (live);

-- src/build/pin.c
CREATE TABLE backfill.bf_pin (
	version_id bigint PRIMARY KEY REFERENCES backfill.bf_version ON DELETE CASCADE,
	snapshot pg_snapshot NOT NULL,
	last_mark bigint NOT NULL,			-- marks of the pinning transaction up to this one are seen by the pin
	xid xid8,							-- that transaction
	lsn pg_lsn,							-- WAL position read just after the snapshot: not an exact pair
	taken_at timestamptz NOT NULL,
	system_identifier bigint NOT NULL,
	database oid NOT NULL,				-- with the identifier: marks made elsewhere say nothing here
	timeline int NOT NULL,
	server_version text NOT NULL,
	sources jsonb NOT NULL
);

-- src/define/guard.c: one row a writing transaction and attached leaf
CREATE TABLE backfill.bf_mark (
	id bigint GENERATED ALWAYS AS IDENTITY,
	relid oid NOT NULL,
	xid xid8 NOT NULL,
	at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ON backfill.bf_mark (relid);

-- src/build/builder.c
CREATE TABLE backfill.bf_rejection (
	partition_id bigint NOT NULL REFERENCES backfill.bf_partition ON DELETE CASCADE,
	row_data jsonb NOT NULL,
	reason text NOT NULL
);
CREATE INDEX ON backfill.bf_rejection (partition_id);

-- src/define/gate.c
CREATE TABLE backfill.bf_gate (
	version_id bigint NOT NULL REFERENCES backfill.bf_version ON DELETE CASCADE,
	name text NOT NULL,
	kind text NOT NULL,					-- integrity, comparison, total
	expression text,					-- canonical
	expect text,
	scope text NOT NULL DEFAULT 'partition',
	required boolean NOT NULL DEFAULT true,
	waived_reason text,
	waived_by name,
	waived_at timestamptz,
	PRIMARY KEY (version_id, name)
);

-- src/verify/evidence.c
CREATE TABLE backfill.bf_evidence (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	version_id bigint NOT NULL REFERENCES backfill.bf_version ON DELETE CASCADE,
	gate text NOT NULL,
	partition_id bigint REFERENCES backfill.bf_partition ON DELETE CASCADE,
	result text NOT NULL,				-- passed failed waived no_baseline n/a
	old text,
	new text,
	difference text,
	expect text,
	samples jsonb,						-- up to 10 keys
	binding text NOT NULL,
	measured_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	measured_by name NOT NULL DEFAULT session_user
);
CREATE INDEX ON backfill.bf_evidence (version_id, gate, partition_id);

-- src/publish/history.c: append only
CREATE TABLE backfill.bf_history (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	at timestamptz NOT NULL DEFAULT clock_timestamp(),
	by_role name NOT NULL DEFAULT session_user,
	action text NOT NULL,				-- published, rolled_back
	version_id bigint NOT NULL REFERENCES backfill.bf_version,
	target regclass NOT NULL,
	replaces text NOT NULL,				-- version that was live before (rolled_back: that is live again), or original
	xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
	swapped int NOT NULL,
	unchanged int NOT NULL,
	created int NOT NULL,
	attempts int NOT NULL,
	waited interval NOT NULL,
	overrides jsonb NOT NULL DEFAULT '{}'
);

-- Definitions, evidence and history are data of the user's: pg_dump keeps them.
SELECT pg_catalog.pg_extension_config_dump('backfill.bf_version', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.bf_target', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.bf_partition', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.bf_pin', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.bf_mark', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.bf_rejection', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.bf_gate', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.bf_evidence', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.bf_history', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.bf_version_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.bf_target_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.bf_partition_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.bf_mark_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.bf_evidence_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('backfill.bf_history_id_seq', '');

--
-- Views: what a member of the target's owner may see; pg_monitor sees status and history.
--

CREATE FUNCTION backfill.owns(target regclass) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT coalesce(pg_has_role((SELECT relowner FROM pg_class WHERE oid = target), 'USAGE'), false) $$;
COMMENT ON FUNCTION backfill.owns(regclass) IS 'whether the current role is a member of the owner of a relation';

CREATE VIEW backfill.status WITH (security_barrier) AS
SELECT v.name AS version, t.target, v.state,
	   count(p.*) FILTER (WHERE p.state <> 'pending') || '/' || count(p.*) AS built,
	   g.green || '/' || g.gates AS gates,
	   pg_size_pretty(coalesce(sum(p.bytes), 0)) AS size,
	   count(p.*) FILTER (WHERE p.state = 'live') AS live,
	   v.live_since AS since,
	   CASE v.state
		   WHEN 'defined' THEN format('SELECT * FROM backfill_build(%L)', v.name)
		   WHEN 'failed' THEN format('SELECT * FROM backfill_build(%L)', v.name)
		   WHEN 'built' THEN format(CASE WHEN g.green < g.gates THEN 'SELECT * FROM backfill_validate(%L)'
									ELSE 'SELECT * FROM backfill_publish(%L)' END, v.name)
		   WHEN 'published' THEN format('SELECT * FROM backfill_rollback(%L)', v.name)
		   WHEN 'rolled_back' THEN format('SELECT * FROM backfill_publish(%L, again => true)', v.name)
		   WHEN 'superseded' THEN format('SELECT * FROM backfill_publish(%L, again => true)', v.name)
	   END AS next_step
  FROM backfill.bf_version v
  JOIN backfill.bf_target t ON t.version_id = v.id
  CROSS JOIN LATERAL
	   (SELECT count(*) FILTER (WHERE NOT red) AS green, count(*) AS gates
		  FROM (SELECT bool_or(coalesce(e.result, 'failed') = 'failed' AND g.waived_reason IS NULL) AS red
				  FROM backfill.bf_gate g
				  LEFT JOIN (SELECT DISTINCT ON (gate, partition_id) gate, partition_id, result
							   FROM backfill.bf_evidence x WHERE x.version_id = v.id
							  ORDER BY gate, partition_id, id DESC) e ON e.gate = g.name
				 WHERE g.version_id = v.id GROUP BY g.name) s) g
  LEFT JOIN backfill.bf_partition p ON p.version_id = v.id
 WHERE backfill.owns(t.target) OR pg_has_role('pg_monitor', 'USAGE')
 GROUP BY v.id, t.target, g.green, g.gates;
COMMENT ON VIEW backfill.status IS 'one row a version: state, what is built, gates green, what to call next';

CREATE VIEW backfill.partition WITH (security_barrier) AS
SELECT v.name AS version, t.target, p.ordinal, p.name AS partition, p.bound, p.state, p.live, p.staged,
	   p.rows, p.rejected, pg_size_pretty(p.bytes) AS size, p.elapsed, p.attempts, p.swap, p.swap_reason
  FROM backfill.bf_partition p
  JOIN backfill.bf_version v ON v.id = p.version_id
  JOIN backfill.bf_target t ON t.version_id = v.id
 WHERE backfill.owns(t.target);
COMMENT ON VIEW backfill.partition IS 'the partitions each version rebuilds, and the tables built for them';

CREATE VIEW backfill.evidence WITH (security_barrier) AS
SELECT v.name AS version, e.gate, p.name AS partition, e.result, e.old, e.new, e.difference, e.expect, e.samples,
	   e.measured_at, e.measured_by
  FROM backfill.bf_evidence e
  JOIN backfill.bf_version v ON v.id = e.version_id
  JOIN backfill.bf_target t ON t.version_id = v.id
  LEFT JOIN backfill.bf_partition p ON p.id = e.partition_id
 WHERE backfill.owns(t.target);
COMMENT ON VIEW backfill.evidence IS 'what every gate measured, every time';

CREATE VIEW backfill.rejection WITH (security_barrier) AS
SELECT v.name AS version, p.name AS partition, r.reason, r.row_data AS row
  FROM backfill.bf_rejection r
  JOIN backfill.bf_partition p ON p.id = r.partition_id
  JOIN backfill.bf_version v ON v.id = p.version_id
  JOIN backfill.bf_target t ON t.version_id = v.id
 WHERE backfill.owns(t.target);
COMMENT ON VIEW backfill.rejection IS 'rows of the rule that broke a bound, NOT NULL or CHECK of the target';

CREATE VIEW backfill.history WITH (security_barrier) AS
SELECT h.at, h.by_role, h.action, v.name AS version, h.target, h.replaces, h.swapped, h.unchanged, h.created,
	   h.attempts, h.waited
  FROM backfill.bf_history h
  JOIN backfill.bf_version v ON v.id = h.version_id
 WHERE backfill.owns(h.target) OR pg_has_role('pg_monitor', 'USAGE');
COMMENT ON VIEW backfill.history IS 'every publication and rollback; order by at';

GRANT SELECT ON backfill.status, backfill.partition, backfill.evidence, backfill.rejection, backfill.history TO PUBLIC;

--
-- Helpers of the extension itself
--

CREATE FUNCTION backfill.guard() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'bf_guard';
COMMENT ON FUNCTION backfill.guard() IS 'marks writes to attached leaves; refuses them on staged and retired tables';

CREATE FUNCTION backfill.differs(anyelement, anyelement) RETURNS boolean
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'bf_differs';
COMMENT ON FUNCTION backfill.differs(anyelement, anyelement) IS 'whether two values differ in their stored image (1.0 and 1.00 do)';

--
-- Public API, in the schema chosen at CREATE EXTENSION
--

CREATE FUNCTION backfill_create(
	version text, target regclass, rule text,
	range_from "any" DEFAULT NULL, range_to "any" DEFAULT NULL,
	partitions regclass[] DEFAULT NULL, all_partitions boolean DEFAULT false,
	parameters jsonb DEFAULT '{}', code_revision text DEFAULT NULL,
	key text[] DEFAULT NULL, match text DEFAULT 'name',
	gaps text DEFAULT 'error', step text DEFAULT NULL, partition_name text DEFAULT NULL,
	late_changes text DEFAULT NULL, sources regclass[] DEFAULT NULL, allow_volatile boolean DEFAULT false,
	max_rejections bigint DEFAULT 0, max_lost_keys bigint DEFAULT 0, max_gained_keys bigint DEFAULT NULL,
	max_shrink text DEFAULT '20%', swap text DEFAULT 'auto', ignore_subscribers boolean DEFAULT false,
	"replace" boolean DEFAULT false)
RETURNS void LANGUAGE c VOLATILE AS 'MODULE_PATHNAME';

CREATE FUNCTION backfill_add_gate(
	version text, name text, total text DEFAULT NULL, query text DEFAULT NULL, expect text DEFAULT 'equal',
	scope text DEFAULT 'partition', required boolean DEFAULT true)
RETURNS void LANGUAGE c VOLATILE AS 'MODULE_PATHNAME';

CREATE FUNCTION backfill_waive(version text, gate text, reason text)
RETURNS void LANGUAGE c VOLATILE AS 'MODULE_PATHNAME';

CREATE FUNCTION backfill_plan(version text,
	OUT severity text, OUT object text, OUT finding text, OUT hint text)
RETURNS SETOF record LANGUAGE c VOLATILE AS 'MODULE_PATHNAME';

CREATE FUNCTION backfill_build(version text, workers int DEFAULT NULL,
	OUT partition name, OUT state text, OUT rows bigint, OUT rejected bigint, OUT size text,
	OUT elapsed interval, OUT attempts int, OUT error text)
RETURNS SETOF record LANGUAGE c VOLATILE AS 'MODULE_PATHNAME';

CREATE FUNCTION backfill_validate(version text,
	OUT gate text, OUT result text, OUT partitions int, OUT old text, OUT new text, OUT difference text,
	OUT expect text, OUT worst name)
RETURNS SETOF record LANGUAGE c VOLATILE AS 'MODULE_PATHNAME';

CREATE FUNCTION backfill_publish(version text, again boolean DEFAULT false,
	OUT target regclass, OUT action text, OUT swapped int, OUT unchanged int, OUT created int, OUT replaces text,
	OUT attempts int, OUT waited interval, OUT held interval)
RETURNS SETOF record LANGUAGE c VOLATILE AS 'MODULE_PATHNAME';

CREATE FUNCTION backfill_rollback(version text DEFAULT NULL, target regclass DEFAULT NULL, "to" text DEFAULT NULL,
	on_writes text DEFAULT 'refuse',
	OUT target regclass, OUT action text, OUT swapped int, OUT unchanged int, OUT created int, OUT replaces text,
	OUT attempts int, OUT waited interval, OUT held interval)
RETURNS SETOF record LANGUAGE c VOLATILE AS 'MODULE_PATHNAME';

CREATE FUNCTION backfill_drop(version text)
RETURNS void LANGUAGE c VOLATILE AS 'MODULE_PATHNAME';

CREATE FUNCTION backfill_manifest(version text)
RETURNS jsonb LANGUAGE c STABLE AS 'MODULE_PATHNAME';

--
-- What each object is, for \df+, \d+ and tools that read the catalogs.  doc/reference.md says more.
--

COMMENT ON FUNCTION backfill_create(text, regclass, text, "any", "any", regclass[], boolean, jsonb, text, text[], text,
	text, text, text, text, regclass[], boolean, bigint, bigint, bigint, text, text, boolean, boolean)
	IS 'defines a version: which partitions of a target are rebuilt, by which rule; reads and changes no data';
COMMENT ON FUNCTION backfill_add_gate(text, text, text, text, text, text, boolean)
	IS 'adds a check that must hold between the live and the staged data of a version, or replaces one';
COMMENT ON FUNCTION backfill_waive(text, text, text)
	IS 'lets a version be published although a comparison or declared gate is red; the reason is kept';
COMMENT ON FUNCTION backfill_plan(text)
	IS 'dry run: what stands in the way of a version (blockers first), warnings, and what would be rebuilt';
COMMENT ON FUNCTION backfill_build(text, integer)
	IS 'builds the staged partitions of a version from one snapshot and validates them; readers notice nothing';
COMMENT ON FUNCTION backfill_validate(text)
	IS 'measures every gate of a built version again; one row a gate';
COMMENT ON FUNCTION backfill_publish(text, boolean)
	IS 'makes a built version what readers see, in one transaction, or raises an error and changes nothing';
COMMENT ON FUNCTION backfill_rollback(text, regclass, text, text)
	IS 'withdraws a published version: what it replaced is what readers see again';
COMMENT ON FUNCTION backfill_drop(text)
	IS 'drops the staged and retired tables of a version that is not live; the record of a published one stays';
COMMENT ON FUNCTION backfill_manifest(text)
	IS 'everything that is known about a version: definition, pin, partitions, gates, evidence, history';

COMMENT ON TABLE backfill.bf_version IS 'one row a version: name, state, parameters and limits';
COMMENT ON TABLE backfill.bf_target IS 'target and rule of each version, as given and as they were understood';
COMMENT ON TABLE backfill.bf_partition IS 'the partitions each version rebuilds, and the tables staged for them';
COMMENT ON TABLE backfill.bf_pin IS 'the snapshot each version was built on, and where and when it was taken';
COMMENT ON TABLE backfill.bf_mark IS 'one row for each transaction and watched leaf that it wrote to';
COMMENT ON TABLE backfill.bf_rejection IS 'rows of rules that could not be in their partition';
COMMENT ON TABLE backfill.bf_gate IS 'the gates of each version: built in and declared, and who waived which';
COMMENT ON TABLE backfill.bf_evidence IS 'what gates measured, bound to the data it was measured on; only inserted';
COMMENT ON TABLE backfill.bf_history IS 'every publication and rollback; only inserted';

COMMENT ON COLUMN backfill.status.version IS 'name given to backfill_create';
COMMENT ON COLUMN backfill.status.target IS 'the partitioned table that readers use';
COMMENT ON COLUMN backfill.status.state IS 'defined, built, published, superseded, rolled_back or dropped';
COMMENT ON COLUMN backfill.status.built IS 'partitions built / partitions of the version';
COMMENT ON COLUMN backfill.status.gates IS 'gates not red, by their newest evidence / all gates; what was not measured is red';
COMMENT ON COLUMN backfill.status.size IS 'size of the tables of the version with indexes, as it was when they were built';
COMMENT ON COLUMN backfill.status.live IS 'partitions of the version that readers see now';
COMMENT ON COLUMN backfill.status.since IS 'when the version was published; null when it is not live';
COMMENT ON COLUMN backfill.status.next_step IS 'the call to make next';
COMMENT ON COLUMN backfill.partition.version IS 'name of the version';
COMMENT ON COLUMN backfill.partition.target IS 'the partitioned table that readers use';
COMMENT ON COLUMN backfill.partition.ordinal IS 'place in bound order, from 1';
COMMENT ON COLUMN backfill.partition.partition IS 'name it has when it is live';
COMMENT ON COLUMN backfill.partition.bound IS 'FOR VALUES ... or DEFAULT, as in CREATE TABLE ... PARTITION OF';
COMMENT ON COLUMN backfill.partition.state IS 'pending, staged, unchanged (same as live, is not swapped), live, retired or dropped';
COMMENT ON COLUMN backfill.partition.live IS 'the table this one replaces; null when the partition is created';
COMMENT ON COLUMN backfill.partition.staged IS 'the table that was built; null before the build';
COMMENT ON COLUMN backfill.partition.rows IS 'rows that were written; null before the build';
COMMENT ON COLUMN backfill.partition.rejected IS 'rows of the rule that were left out, see backfill.rejection';
COMMENT ON COLUMN backfill.partition.size IS 'with indexes, as it was when the table was built';
COMMENT ON COLUMN backfill.partition.elapsed IS 'time the last build of it took';
COMMENT ON COLUMN backfill.partition.attempts IS 'how many times it was built';
COMMENT ON COLUMN backfill.partition.swap IS 'storage or attach: the way it is published, or was; null before the build';
COMMENT ON COLUMN backfill.partition.swap_reason IS 'why attach; null when it exchanges storage';
COMMENT ON COLUMN backfill.evidence.version IS 'name of the version';
COMMENT ON COLUMN backfill.evidence.gate IS 'name of the gate';
COMMENT ON COLUMN backfill.evidence.partition IS 'null when the gate is about the whole version';
COMMENT ON COLUMN backfill.evidence.result IS 'passed, failed, waived, no_baseline (nothing live to compare with) or n/a';
COMMENT ON COLUMN backfill.evidence.old IS 'measured on the live partition';
COMMENT ON COLUMN backfill.evidence.new IS 'measured on the staged partition';
COMMENT ON COLUMN backfill.evidence.difference IS 'how new differs from old, or why it could not be measured';
COMMENT ON COLUMN backfill.evidence.expect IS 'what the gate asks for';
COMMENT ON COLUMN backfill.evidence.samples IS 'up to 10 keys that broke the gate';
COMMENT ON COLUMN backfill.evidence.measured_at IS 'when; the newest of a gate and partition counts';
COMMENT ON COLUMN backfill.evidence.measured_by IS 'session user';
COMMENT ON COLUMN backfill.rejection.version IS 'name of the version';
COMMENT ON COLUMN backfill.rejection.partition IS 'partition whose build rejected the row';
COMMENT ON COLUMN backfill.rejection.reason IS 'the bound, NOT NULL or CHECK that it broke';
COMMENT ON COLUMN backfill.rejection.row IS 'the row as the target would have had it';
COMMENT ON COLUMN backfill.history.at IS 'when the locks were held, not when the transaction committed';
COMMENT ON COLUMN backfill.history.by_role IS 'session user';
COMMENT ON COLUMN backfill.history.action IS 'published or rolled_back';
COMMENT ON COLUMN backfill.history.version IS 'name of the version';
COMMENT ON COLUMN backfill.history.target IS 'the partitioned table that readers use';
COMMENT ON COLUMN backfill.history.replaces IS 'the versions that were live before, after a rollback those that are live again; original: what was there before backfill';
COMMENT ON COLUMN backfill.history.swapped IS 'partitions that took the place of another';
COMMENT ON COLUMN backfill.history.unchanged IS 'partitions that were the same and were left alone';
COMMENT ON COLUMN backfill.history.created IS 'partitions that were new to the target';
COMMENT ON COLUMN backfill.history.attempts IS 'how many times locks were tried';
COMMENT ON COLUMN backfill.history.waited IS 'time from the first attempt until all locks were held';
