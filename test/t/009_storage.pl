# After an exchange of storage everything that works on files finds them as it should: crash recovery, amcheck, freezing,
# logical decoding, pg_dump and pg_upgrade, whether the exchange is pending, committed, withdrawn or made again.

use strict;
use warnings;

use BackfillTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('storage', wal_level => 'logical', max_replication_slots => 4, max_wal_senders => 0, autovacuum => 'off');

# Values long enough for TOAST, and a column that the old rows get from the catalog.
$node->safe_psql('postgres', q{
	SET client_min_messages = error;
	CREATE EXTENSION backfill;
	CREATE EXTENSION amcheck;
	CREATE TABLE source AS SELECT k FROM generate_series(0, 199) k;
	CREATE TABLE target (k int PRIMARY KEY, gone numeric, body text) PARTITION BY RANGE (k);
	CREATE TABLE target_0 PARTITION OF target FOR VALUES FROM (0) TO (100);
	CREATE TABLE target_1 PARTITION OF target FOR VALUES FROM (100) TO (200);
	CREATE INDEX ON target (md5(body));
	ALTER TABLE target DROP COLUMN gone;
	INSERT INTO target SELECT k, (SELECT string_agg(md5('old' || k || i), '') FROM generate_series(1, 300) i) FROM source;
	ALTER TABLE target ADD COLUMN rule text NOT NULL DEFAULT 'old';
	ANALYZE target;
	CREATE FUNCTION rule_text() RETURNS text LANGUAGE sql RETURN
		$$SELECT k, (SELECT string_agg(md5('new' || k || i), '') FROM generate_series(1, 300) i) AS body, 'new' AS rule FROM source$$;
	CREATE VIEW seen AS SELECT string_agg(DISTINCT rule, ' ') || ' ' || count(*) || ' ' || sum(length(body)) || ' ' ||
		count(*) FILTER (WHERE left(body, 32) = md5(rule || k || 1)) AS seen FROM target;
	SELECT backfill_create('v', 'target', rule_text(), all_partitions => true, late_changes => 'ignore', swap => 'storage');
	SELECT FROM backfill_build('v'); });

# What readers see, what the retired tables hold, and whether tables, indexes and TOAST are sound.
sub expect_rule
{
	my ($rule, $when) = @_;
	my $retired = $node->safe_psql('postgres', q{SELECT string_agg(format('SELECT rule, k, body FROM %s',
		CASE state WHEN 'live' THEN live ELSE staged END), ' UNION ALL ') FROM backfill.partition WHERE version = 'v'});
	my $other = $rule eq 'new' ? 'old' : 'new';

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres', 'TABLE seen'), "$rule 200 1920000 200", "readers see the $rule rows, whole: $when");
	is($node->safe_psql('postgres', "SELECT count(*) FILTER (WHERE left(body, 32) = md5('$other' || k || 1)) || ' ' ||
		sum(length(body)) FROM ($retired) r WHERE rule = '$other'"), '200 1920000', "the other tables hold the $other ones: $when");
	command_ok([ 'pg_amcheck', '--heapallindexed', '--parent-check', '-p', $node->port, '-h', $node->host, 'postgres' ],
		"pg_amcheck finds nothing: $when");
	is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class o JOIN pg_class t ON t.oid = o.reltoastrelid
		WHERE o.oid >= 16384 AND (t.relname <> 'pg_toast_' || o.oid OR NOT EXISTS (SELECT FROM pg_depend WHERE objid = t.oid AND refobjid = o.oid))}),
		'0', "TOAST tables are named after their owners and go with them: $when");
}

sub crash
{
	$node->stop('immediate');
	$node->start;
}

#
# A crash before COMMIT and after it, of a publication and of its withdrawal.
#
$node->safe_psql('postgres', q{SELECT pg_create_logical_replication_slot('decoder', 'test_decoding')});
foreach my $call ([ 'publish', q{backfill_publish('v')}, 'old', 'new' ], [ 'rollback', q{backfill_rollback('v')}, 'new', 'old' ],
	[ 'publish again', q{backfill_publish('v', again => true)}, 'old', 'new' ])
{
	my ($name, $sql, $before, $after) = @$call;
	my $open = session($node, 'postgres', 'open');

	# NB: written out by now, as a checkpoint would do; it must not matter.
	$open->query_safe("SET client_min_messages = error; BEGIN; SELECT FROM $sql");
	$node->safe_psql('postgres', 'CHECKPOINT');
	crash();
	eval { $open->quit };
	expect_rule($before, "crash before COMMIT of $name");
	$node->safe_psql('postgres', "SELECT FROM $sql");
	crash();
	expect_rule($after, "crash after $name");
}

#
# Horizons, and maintenance of both sides.
#
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class WHERE relkind IN ('r', 't')
	AND (relfrozenxid::text::bigint < 3 OR age(relfrozenxid) < 0 OR age(relfrozenxid) > (SELECT age(datfrozenxid) FROM pg_database
	WHERE datname = current_database()))}), '0', 'every horizon lies between the database\'s and now');
$node->safe_psql('postgres', $_) foreach 'VACUUM (FREEZE)', 'REINDEX TABLE CONCURRENTLY target', 'ANALYZE', 'VACUUM FULL target_0';
expect_rule('new', 'maintenance');

#
# Decoding finds the partition by its file, before and after an exchange, and the retired table's file under its new owner.
#
$node->safe_psql('postgres', q{UPDATE target SET k = k + 1000 WHERE false;
	SELECT backfill_create('w', 'target', replace(rule_text(), '''new'' ||', '''newer'' ||'), all_partitions => true, late_changes => 'ignore');
	SELECT FROM backfill_build('w');
	SELECT pg_replication_slot_advance('decoder', pg_current_wal_lsn());
	BEGIN; DELETE FROM target WHERE k = 7; ROLLBACK;
	SELECT FROM backfill_publish('w'); DELETE FROM target WHERE k = 8;
	SELECT FROM backfill_rollback('w', on_writes => 'discard'); DELETE FROM target WHERE k = 9; });
is($node->safe_psql('postgres', q{SELECT string_agg(substring(data from '(table public[^:]*: DELETE: k\[integer\]:\d+)'), ', ' ORDER BY lsn)
	FROM pg_logical_slot_get_changes('decoder', NULL, NULL) WHERE data ~ 'table public'}),
	'table public.target_0: DELETE: k[integer]:8, table public.target_0: DELETE: k[integer]:9',
	'changes are decoded as those of the partition, and the exchange itself is not');
$node->safe_psql('postgres', q{SELECT pg_drop_replication_slot('decoder')});

#
# wal_level = minimal: rows of a table made in this transaction are in no WAL, and must be on disk at COMMIT under either name.
#
$node->append_conf('postgresql.conf', 'wal_level = minimal');
$node->restart;
$node->safe_psql('postgres', q{SET client_min_messages = error; BEGIN;
	SELECT backfill_create('m', 'target', replace(rule_text(), '''new'' AS', '''minimal'' AS'), all_partitions => true, late_changes => 'ignore',
		swap => 'storage', max_lost_keys => NULL);
	SELECT FROM backfill_build('m'); SELECT FROM backfill_publish('m');
	UPDATE target SET body = 'written after the exchange' WHERE k = 1; COMMIT;});
crash();
is($node->safe_psql('postgres', q{SELECT rule || ' ' || count(*) || ' ' || count(*) FILTER (WHERE k = 1 AND body = 'written after the exchange')
	FROM target GROUP BY rule}), 'minimal 200 1', 'wal_level = minimal: a crash after COMMIT loses nothing');
is($node->safe_psql('postgres', 'SELECT count(length(body)) FROM target'), '200', 'TOAST values are there as well');

#
# pg_upgrade looks for TOAST tables by name, and takes the files along.
#
$node->safe_psql('postgres', q{SELECT FROM backfill_rollback('m', on_writes => 'discard')});
my $dump = sub {
	my ($n) = @_;
	return $n->safe_psql('postgres', q{SELECT seen || ' ' || (SELECT count(*) FROM pg_class WHERE relnamespace = 'backfill_staging'::regnamespace
		AND relkind = 'r') FROM seen});
};
my $was = $dump->($node);
$node->stop;
my $new = PostgreSQL::Test::Cluster->new('upgraded');
$new->init(extra => [ '-U', 'postgres', '-E', 'UTF8', '--locale=C' ]);
my $bindir = $node->config_data('--bindir');
chdir $PostgreSQL::Test::Utils::tmp_check;
command_ok([ 'pg_upgrade', '--no-sync', '-d', $node->data_dir, '-D', $new->data_dir, '-b', $bindir, '-B', $bindir, '-s', $new->host,
	'-p', $node->port, '-P', $new->port ], 'pg_upgrade takes published and retired tables along');
$new->start;
is($dump->($new), $was, 'and all rows are there');
$new->stop;

done_testing();
