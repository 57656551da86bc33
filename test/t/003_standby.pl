# A streaming standby: reads work, calls that write say why they do not, and replay shows complete versions only.

use strict;
use warnings;

use BackfillTest;
use PostgreSQL::Test::Cluster;
use Test::More;
use Time::HiRes qw(time);

my $primary = new_node('primary', streaming => 1);
make_target($primary, 'postgres');
$primary->safe_psql('postgres', q{
	CREATE MATERIALIZED VIEW stored AS SELECT total FROM total;
	SELECT FROM define(2); SELECT FROM define(3); SELECT FROM define(4);
	SELECT FROM backfill_build('v2'); SELECT FROM backfill_publish('v2');
	SELECT FROM backfill_build('v3')});

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
# Replay waits for readers, none of them is cancelled; and without feedback a publication whose replay meets the removal
# of old catalog rows waits for the very snapshots that wait for its locks.
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = -1\nmax_standby_archive_delay = -1
hot_standby_feedback = on\nwal_receiver_status_interval = 1");
$standby->start;
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));

sub both
{
	my ($sql, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($standby->safe_psql('postgres', $sql), $primary->safe_psql('postgres', $sql), "the same on the standby: $name");
}

# What reads.
is($standby->safe_psql('postgres', 'SELECT total FROM total'), total(2), 'the published version is on the standby');
both("SELECT version, state, built, gates, live FROM backfill.status ORDER BY version", 'status');
both("SELECT * FROM backfill.$_ ORDER BY $_", $_) foreach qw(partition evidence rejection history);
both("SELECT backfill_manifest('$_')", "manifest of $_") foreach qw(v2 v3 v4);

# What writes.
foreach my $call (
	"backfill_create('v9', 'target', 'SELECT k, v, ''x'' AS rule FROM source', all_partitions => true)",
	"backfill_add_gate('v3', 'sum', total => 'sum(v)')",
	"backfill_waive('v3', 'lost keys', 'test')",
	"backfill_build('v4')",
	"backfill_validate('v3')",
	"backfill_publish('v3')",
	"backfill_rollback('v2')",
	"backfill_drop('v3')")
{
	my ($name) = $call =~ /^(\w+)/;
	is(sqlstate_of($standby, 'postgres', "SELECT $call"), '25006 backfill cannot write on a standby', "$name says why not");
}
my ($ret, $out, $err) = $standby->psql('postgres', q{SELECT * FROM backfill_plan('v4')});
ok($ret == 0 || $err =~ /backfill cannot write on a standby/, 'backfill_plan reads, or says why not');

# Replay: readers of all kinds that a standby can have.  SERIALIZABLE and REFRESH it cannot.
my @kinds = grep { !/^(serializable|refresh)$/ } sort keys %BackfillTest::READER;
my $readers = start_readers($standby, 'postgres', @kinds);
my $until = time + 3;
my $version = 4;

$primary->safe_psql('postgres', q{SELECT FROM backfill_publish('v3'); SELECT FROM backfill_rollback('v3')});
while (time < $until || $version < 10)
{
	$version++;
	my ($begin, $commit) = $version % 2 ? ('BEGIN;', 'COMMIT;') : ('', '');
	$primary->safe_psql('postgres', "SET client_min_messages = error;
		$begin SELECT FROM define($version); SELECT FROM backfill_build('v$version');
		SELECT FROM backfill_publish('v$version'); $commit");
	$primary->safe_psql('postgres', "SELECT FROM backfill_rollback('v$version');
		SELECT FROM backfill_publish('v$version', again => true)") if $version % 3 == 0;
	# So that readers there see each of them, not the last alone.
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
}
my ($reads, $errors) = stop_readers($readers);
foreach my $kind (@kinds)
{
	my ($complete, $wrong) = BackfillTest::sort_reads($kind, $reads->{$kind});
	note sprintf('%-12s %5d complete, %4d wrong', $kind, scalar @$complete, scalar @$wrong);
	cmp_ok(scalar @$complete, '>', 0, "there were reads: $kind");
	is(join("\n", @$wrong[ 0 .. ($#$wrong < 5 ? $#$wrong : 5) ]), '', "each was one complete version: $kind");
	is($errors->{$kind}, '', "none failed: $kind");
}
my %versions = map { $_ => 1 } @{ $reads->{parent} };
cmp_ok(scalar keys %versions, '>', 2, 'readers saw versions come and go');

# A snapshot of the standby that is older than a version, and did not touch the target before.
my $reader = session($standby, 'postgres', 'reader');
$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM source');
$version++;
$primary->safe_psql('postgres', "BEGIN; SET LOCAL client_min_messages = error; SELECT FROM define($version);
	SELECT FROM backfill_build('v$version'); SELECT FROM backfill_publish('v$version'); COMMIT");
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
is($reader->query('SELECT total FROM total'), total($version), 'an older snapshot sees a complete version');
$reader->quit;

# Promoted, it works like any server.
$standby->promote;
$version++;
$standby->safe_psql('postgres', "SELECT FROM define($version);
	SELECT FROM backfill_build('v$version'); SELECT FROM backfill_publish('v$version')");
is($standby->safe_psql('postgres', 'SELECT total FROM total'), total($version), 'the promoted standby publishes');
$standby->safe_psql('postgres', "SELECT FROM backfill_rollback('v$version')");
is($standby->safe_psql('postgres', 'SELECT total FROM total'), total($version - 1),
	'and withdraws to what the old primary had published');

$standby->stop;
$primary->stop;
done_testing();
