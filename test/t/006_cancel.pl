# Cancel, terminate and timeouts, wherever a call is: it ends, and leaves nothing.

use strict;
use warnings;

use BackfillTest;
use Test::More;

my $node = new_node('cancel');
make_target($node, 'postgres');
$node->safe_psql('postgres', q{
	SELECT FROM define_stopping();
	SELECT FROM define(3);
	SELECT backfill_create('slow', 'target',
		$$ SELECT k, v, CASE WHEN k < 600 THEN 'slow'
				ELSE (SELECT max(n + k)::text FROM generate_series(1, 1000000000::bigint) n) END AS rule FROM source $$,
		all_partitions => true, late_changes => 'ignore')});

# Cancels what that session does, and waits until it has ended.
sub cancel
{
	my ($name, $how) = @_;

	$node->safe_psql('postgres', "SELECT $how(pid) FROM pg_stat_activity WHERE application_name = '$name'");
	ok( $node->poll_query_until('postgres',
			"SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = '$name' AND state = 'active'"),
		"$name has ended after $how");
	is( $node->safe_psql('postgres', "SELECT count(*) FROM pg_locks JOIN pg_stat_activity a USING (pid)
			WHERE application_name = '$name' AND locktype IN ('relation', 'advisory')"),
		'0', 'and holds no lock');
}

sub is_clean
{
	my ($version, $when) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(status_of($node, 'postgres', $version), 'defined 0', "the version is as it was: $when");
	is(left_behind($node, 'postgres'), '', "nothing is left: $when");
	is($node->safe_psql('postgres', 'SELECT total FROM total'), total(1), "readers see the old version: $when");
}

# A build that waits for somebody's lock, and one that computes.
my $holder = session($node, 'postgres', 'holder');
$holder->query('SELECT pg_advisory_lock(47)');
foreach my $how (qw(pg_cancel_backend pg_terminate_backend))
{
	foreach my $version (qw(v2 slow))
	{
		my $builder = session($node, 'postgres', 'builder');

		run($builder, "SELECT FROM backfill_build('$version')");
		if ($version eq 'v2')
		{
			wait_blocked($node, 'postgres', 'builder');
		}
		else
		{
			# It has a staged table, uncommitted, so it is loading.
			ok( $node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_locks l JOIN pg_stat_activity a USING (pid)
					WHERE a.application_name = 'builder' AND l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock'"),
				'the build is loading');
		}
		cancel('builder', $how);
		eval { $builder->quit };
		is_clean($version, "$how of a build of $version");
	}
}
$holder->query('SELECT pg_advisory_unlock(47)');

# A timeout of the caller's own.
like(sqlstate_of($node, 'postgres', q{SET statement_timeout = '100ms'; SELECT backfill_build('slow')}), qr/^57014 /,
	'statement_timeout ends a build');
is_clean('slow', 'statement_timeout');

# A publication that waits for a reader: while it stands in the queue, and between attempts.
$node->safe_psql('postgres', q{SELECT FROM backfill_build('v3')});
my $reader = session($node, 'postgres', 'reader');
$reader->query('BEGIN; SELECT total FROM total');
foreach my $how (qw(pg_cancel_backend pg_terminate_backend))
{
	foreach my $event (qw(Lock Extension))
	{
		my $publisher = session($node, 'postgres', 'publisher');
		my $attempt = $event eq 'Lock' ? '1s' : '10ms';

		$publisher->query("SET backfill.publish_wait = '1h'; SET backfill.lock_attempt = '$attempt'");
		run($publisher, q{SELECT FROM backfill_publish('v3')});
		ok( $node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity
				WHERE application_name = 'publisher' AND wait_event_type = '$event'"),
			"a publication waits: $event");
		cancel('publisher', $how);
		eval { $publisher->quit };
		is(status_of($node, 'postgres', 'v3'), 'built 0', "$how ($event) leaves the version built");
	}
}
like(sqlstate_of($node, 'postgres', q{SET statement_timeout = '300ms'; SELECT backfill_publish('v3')}), qr/^57014 /,
	'statement_timeout ends a publication that waits');

# Withdrawing is no different.
is($reader->query('SELECT total FROM total'), total(1), 'the reader saw the old version all along');
$reader->query('COMMIT');
$node->safe_psql('postgres', q{SELECT FROM backfill_publish('v3')});
$reader->query('BEGIN; SELECT total FROM total');
my $publisher = session($node, 'postgres', 'publisher');
run($publisher, q{SELECT FROM backfill_rollback('v3')});
wait_blocked($node, 'postgres', 'publisher');
cancel('publisher', 'pg_cancel_backend');
$publisher->quit;
is(status_of($node, 'postgres', 'v3'), 'published 6', 'a withdrawal that was cancelled leaves the version live');
$reader->quit;

# After all that: the oracle.
expect_same($node, 'postgres', 'TABLE target', q{SELECT k, v * 3, 'r3' FROM source}, 'the published version is whole');
$node->safe_psql('postgres', q{SELECT FROM backfill_rollback('v3')});
is($node->safe_psql('postgres', 'SELECT total FROM total'), total(1), 'and can be withdrawn');

$node->stop;
done_testing();
