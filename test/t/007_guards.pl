# Installing and removing guard triggers needs strong locks on every partition of a version.  While one of them is in
# use the call waits, but not in the lock's queue, and it holds none of the others: nobody else waits.

use strict;
use warnings;

use BackfillTest;
use Test::More;

my $node = new_node('guards');
make_target($node, 'postgres');

# Somebody who is in the way for as long as it takes; whoever waits for the call's locks gives up before it does.
my $open = session($node, 'postgres', 'open');
my $caller = session($node, 'postgres', 'caller');
$caller->query(q{SET backfill.publish_wait = '1h'});

sub others_get_through
{
	my ($when) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	foreach my $sql ('SELECT count(*) FROM target', 'SELECT count(*) FROM target_0', 'SELECT count(*) FROM target_5',
		'UPDATE target SET v = v WHERE k = 1', 'UPDATE target_3 SET v = v WHERE k = 700')
	{
		is(sqlstate_of($node, 'postgres', "SET lock_timeout = '10s'; $sql"), '', "$when: $sql");
	}
}

# A writer of the last partition, and backfill_create.
$open->query('BEGIN; UPDATE target_5 SET v = v WHERE k = 1001');
run($caller, 'SELECT FROM define(2)');
wait_blocked($node, 'postgres', 'caller');
others_get_through('create waits');
$open->query(q{SET lock_timeout = '10s'; UPDATE target SET v = v WHERE k = 2});
is($open->query('SELECT count(*) FROM target WHERE k = 2'), '1', 'the writer itself goes on in an earlier partition');
$open->query('COMMIT');
is($caller->query('SELECT count(*) FROM backfill.status'), '1', 'then the version is created');
is( $node->safe_psql('postgres', "SELECT count(*) FROM pg_trigger WHERE tgfoid = 'backfill.guard()'::regprocedure"),
	2 * $BackfillTest::PARTITIONS, 'with guards everywhere');

# A reader of the last partition, and backfill_drop.
$open->query('BEGIN; SELECT count(*) FROM target_5');
run($caller, q{SELECT backfill_drop('v2')});
wait_blocked($node, 'postgres', 'caller');
others_get_through('drop waits');
is($open->query('SELECT total FROM total'), total(1), 'the reader itself goes on to the whole');
$open->query('COMMIT');
like($caller->query('SELECT count(*) FROM backfill.status'), qr/^0$/m, 'then the version is dropped');
is( $node->safe_psql('postgres', "SELECT count(*) FROM pg_trigger WHERE tgfoid = 'backfill.guard()'::regprocedure"),
	0, 'and no guard is left');

$_->quit foreach $open, $caller;
$node->stop;
done_testing();
