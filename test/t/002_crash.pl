# A crash at any moment: nothing that was published is lost, nothing half done is visible, and work goes on.

use strict;
use warnings;

use BackfillTest;
use PostgreSQL::Test::Cluster;
use Test::More;

my $node = new_node(
	'crash',
	restart_after_crash => 'on',
	wal_writer_delay => '10s',
	autovacuum => 'off');

make_target($node, 'postgres');
$node->safe_psql('postgres', 'SELECT FROM define_stopping(); SELECT FROM define(3)');

# The server as a whole goes down with one of its processes, and comes back.
sub kill_backend
{
	my ($name) = @_;
	my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE application_name = '$name'");

	kill 'KILL', $pid;
	# The postmaster stays; what it says while it restarts the rest is an error, on which polling goes on.
	ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"),
		"the server is there again after kill -9 of $name");
}

sub stop_at_once
{
	$node->stop('immediate');
	$node->start;
}

sub is_untouched
{
	my ($when) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres', 'SELECT total FROM total'), total(1), "readers see the old version, complete: $when");
	is(status_of($node, 'postgres', 'v2'), 'defined 0', "the version is as it was: $when");
	is(left_behind($node, 'postgres'), '', "nothing is left: $when");
}

# In the middle of a build.
foreach my $how ([ 'kill -9', sub { kill_backend('builder') } ], [ 'immediate stop', \&stop_at_once ])
{
	my $holder = session($node, 'postgres', 'holder');
	my $builder = session($node, 'postgres', 'builder');

	$holder->query('SELECT pg_advisory_lock(47)');
	run($builder, q{SELECT FROM backfill_build('v2')});
	wait_blocked($node, 'postgres', 'builder');
	$how->[1]->();
	eval { $_->quit } foreach $holder, $builder;
	is_untouched("$how->[0] during a build");
}

# In a transaction that has built and published, and not committed.
foreach my $how ([ 'kill -9', sub { kill_backend('publisher') } ], [ 'immediate stop', \&stop_at_once ])
{
	my $publisher = session($node, 'postgres', 'publisher');

	$publisher->query(q{BEGIN; SELECT FROM backfill_build('v2'); SELECT FROM backfill_publish('v2')});
	is($publisher->query('SELECT total FROM total'), total(2), 'published, for its own transaction');
	$how->[1]->();
	eval { $publisher->quit };
	is_untouched("$how->[0] before the commit");
}

# Built and committed, then a publication that does not come to its end.
$node->safe_psql('postgres', q{SELECT FROM backfill_build('v2')});
my $publisher = session($node, 'postgres', 'publisher');
$publisher->query(q{BEGIN; SELECT FROM backfill_publish('v2')});
stop_at_once();
eval { $publisher->quit };
is($node->safe_psql('postgres', 'SELECT total FROM total'), total(1), 'an unfinished publication leaves the old version');
is(status_of($node, 'postgres', 'v2'), 'built 0', 'the build is still there');

# The commit of a publication is on disk, whatever synchronous_commit says.
$node->safe_psql('postgres', q{SET synchronous_commit = off; SELECT FROM backfill_publish('v2')});
stop_at_once();
is($node->safe_psql('postgres', 'SELECT total FROM total'), total(2), 'what was said to be published is');
is(status_of($node, 'postgres', 'v2'), 'published 6', 'and the catalog knows');
expect_same($node, 'postgres', 'TABLE target', q{SELECT k, v * 2, 'r2' FROM source}, 'all of it is there');

$node->safe_psql('postgres', q{SET synchronous_commit = off; SELECT FROM backfill_rollback('v2')});
stop_at_once();
is($node->safe_psql('postgres', 'SELECT total FROM total'), total(1), 'what was said to be withdrawn is');
is(status_of($node, 'postgres', 'v2'), 'rolled_back 0', 'and the catalog knows that, too');

# Work goes on: forward again from the kept tables, and another version over it.
$node->safe_psql('postgres', q{SELECT FROM backfill_publish('v2', again => true)});
expect_same($node, 'postgres', 'TABLE target', q{SELECT k, v * 2, 'r2' FROM source}, 'forward again after all that');
$node->safe_psql('postgres', q{SELECT FROM backfill_build('v3'); SELECT FROM backfill_publish('v3')});
expect_same($node, 'postgres', 'TABLE target', q{SELECT k, v * 3, 'r3' FROM source}, 'and another version over it');

# Old snapshots and crash recovery: what a crash leaves is frozen all the same.
my $reader = session($node, 'postgres', 'reader');
$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM source');
$node->safe_psql('postgres', q{SELECT FROM define(4); SELECT FROM backfill_build('v4'); SELECT FROM backfill_publish('v4')});
is($reader->query('SELECT total FROM total'), total(4), 'a reader with an older snapshot sees a complete version');
$reader->quit;

$node->stop;
done_testing();
