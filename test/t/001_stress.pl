# The promise: while versions are published and withdrawn, every read by any path is one complete version.
#
# Readers of all kinds run in sessions of their own throughout.  The same readers then watch the two swaps that people
# write by hand, and must catch both: else this test could not see what it is about.

use strict;
use warnings;

use BackfillTest;
use Test::More;
use Time::HiRes qw(time);

my @kinds = sort keys %BackfillTest::READER;
my $n = $BackfillTest::PARTITIONS * $BackfillTest::ROWS;
my $node = new_node('stress');
my $patient = q{SET client_min_messages = error; SET backfill.publish_wait = '5min';};

# Creates, builds and publishes version n, and compares what is live with what the rule gives.
sub publish_next
{
	my ($version, $one_transaction) = @_;
	my ($begin, $commit) = $one_transaction ? ('BEGIN;', 'COMMIT;') : ('', '');
	# Both ways to switch, each over the other and over itself.
	my $way = int($version / 2) % 2 ? 'attach' : 'storage';

	$node->safe_psql('postgres', "$patient $begin SELECT FROM define($version, '$way'); SELECT FROM backfill_build('v$version');
		SELECT FROM backfill_publish('v$version'); $commit");
	return $node->safe_psql('postgres', "WITH live AS (SELECT * FROM target),
			expected AS (SELECT k, v * $version AS v, 'r$version' AS rule FROM source)
		SELECT (SELECT count(*) FROM (TABLE live EXCEPT ALL TABLE expected) a) || ' ' ||
			(SELECT count(*) FROM (TABLE expected EXCEPT ALL TABLE live) b)");
}

# What readers saw: for each kind, the number of complete and of wrong reads; wrong ones are shown.
sub judge
{
	my ($reads) = @_;
	my %result;

	foreach my $kind (@kinds)
	{
		my ($complete, $wrong) = BackfillTest::sort_reads($kind, $reads->{$kind});
		my %seen;

		$seen{$_}++ foreach @$wrong;
		note sprintf('%-12s %5d complete, %4d wrong%s', $kind, scalar @$complete, scalar @$wrong,
			@$wrong ? '; such as ' . (sort { $seen{$b} <=> $seen{$a} } keys %seen)[0] : '');
		$result{$kind} = [ scalar @$complete, scalar @$wrong ];
	}
	return \%result;
}

#
# Versions published forward, back and forward again.
#
make_target($node, 'postgres');
my $readers = start_readers($node, 'postgres', @kinds);
my ($version, $swaps, $differences) = (1, 0, 0);
my $until = time + 6;

while (time < $until || $version < 8)
{
	$version++;
	# In one transaction the rows are as young as the swap; alone, statements queue behind it.
	$differences++ if publish_next($version, $version % 2) ne '0 0';
	$node->safe_psql('postgres', "$patient SELECT FROM backfill_rollback('v$version');
		SELECT FROM backfill_publish('v$version', again => true)") if $version % 3 == 0;
	$swaps += $version % 3 == 0 ? 3 : 1;
}

note sprintf('%d swaps in %.1f s', $swaps, time - $until + 6);
my ($reads, $errors) = stop_readers($readers);
my $seen = judge($reads);

is($differences, 0, 'after each publication the target is what the rule gives, both ways');
foreach my $kind (@kinds)
{
	cmp_ok($seen->{$kind}[0], '>', 0, "there were reads: $kind");
	is($seen->{$kind}[1], 0, "each was one complete version: $kind");
	is($errors->{$kind}, '', "none failed: $kind");
}

my %versions = map { $_ => 1 } @{ $reads->{parent} };
cmp_ok(scalar keys %versions, '>', 2, 'readers saw versions come and go');
is($node->safe_psql('postgres', "SELECT count(*) FROM backfill.history"), $swaps, 'history has each of them');

#
# By hand, month by month: each partition in a transaction of its own.
#
$node->safe_psql('postgres', 'CREATE DATABASE by_month');
make_target($node, 'by_month');
$node->safe_psql('by_month', 'DROP EXTENSION backfill CASCADE');
$readers = start_readers($node, 'by_month', @kinds);
$until = time + 2;
for ($version = 2; time < $until || $version < 8; $version++)
{
	$node->safe_psql('by_month', "UPDATE target_$_ SET v = $version, rule = 'r$version'")
	  foreach 0 .. $BackfillTest::PARTITIONS - 1;
	$node->safe_psql('by_month', "BEGIN; DELETE FROM target_$_; INSERT INTO target_$_ SELECT k, v, 'r1' FROM source
		WHERE k / $BackfillTest::ROWS = $_; COMMIT") foreach 0 .. $BackfillTest::PARTITIONS - 1;
}
($reads, $errors) = stop_readers($readers);
$seen = judge($reads);
cmp_ok($seen->{parent}[1], '>', 0, 'partition by partition: a plain SELECT sees a mix');
cmp_ok($seen->{repeatable}[1], '>', 0, 'partition by partition: and so does a snapshot');

#
# By hand, in one transaction: ordinary rows in new tables, swapped by DETACH and ATTACH.
#
$node->safe_psql('postgres', 'CREATE DATABASE by_swap');
make_target($node, 'by_swap');
$node->safe_psql('by_swap', 'DROP EXTENSION backfill CASCADE');
$readers = start_readers($node, 'by_swap', @kinds);
$until = time + 3;
for ($version = 2; time < $until || $version < 8; $version++)
{
	my $sql = 'BEGIN;';
	foreach my $i (0 .. $BackfillTest::PARTITIONS - 1)
	{
		my ($from, $to) = ($i * $BackfillTest::ROWS, ($i + 1) * $BackfillTest::ROWS);
		$sql .= "CREATE TABLE staged_$i (LIKE target INCLUDING ALL, CHECK (k >= $from AND k < $to));
			INSERT INTO staged_$i SELECT k, v * $version, 'r$version' FROM source WHERE k >= $from AND k < $to;";
	}
	$sql .= 'LOCK TABLE ONLY target IN ACCESS EXCLUSIVE MODE;';
	foreach my $i (0 .. $BackfillTest::PARTITIONS - 1)
	{
		my ($from, $to) = ($i * $BackfillTest::ROWS, ($i + 1) * $BackfillTest::ROWS);
		$sql .= "ALTER TABLE target DETACH PARTITION target_$i; DROP TABLE target_$i;
			ALTER TABLE staged_$i RENAME TO target_$i;
			ALTER TABLE target ATTACH PARTITION target_$i FOR VALUES FROM ($from) TO ($to);";
	}
	# A reader may make it the victim of a deadlock; the next one does it then.
	$node->psql('by_swap', "$sql COMMIT;");
}
($reads, $errors) = stop_readers($readers);
$seen = judge($reads);
is($seen->{parent}[1], 0, 'swapped in one transaction: a plain SELECT sees complete versions');
cmp_ok($seen->{repeatable}[1], '>', 0, 'swapped in one transaction: a snapshot sees empty or mixed ones');
cmp_ok($seen->{serializable}[1], '>', 0, 'and so does a serializable one, without an error');
cmp_ok($seen->{$_}[1], '>', 0, "and so does a statement that had its snapshot before the lock: $_")
  foreach qw(generic copy stable);

$node->stop;
done_testing();
