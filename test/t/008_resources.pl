# Not enough disk or lock slots: said with the numbers before anything is built.

use strict;
use warnings;

use BackfillTest;
use Test::More;

my $node = new_node('resources', max_connections => 10, max_prepared_transactions => 0, max_locks_per_transaction => 10,
	max_worker_processes => 0, max_wal_senders => 0, autovacuum_max_workers => 1);

# A target of more partitions than there are lock slots; each is made in a transaction of its own.
$node->safe_psql('postgres', q{CREATE EXTENSION backfill;
	CREATE TABLE many (k int PRIMARY KEY, v int) PARTITION BY RANGE (k);});
$node->safe_psql('postgres', "CREATE TABLE many_$_ PARTITION OF many FOR VALUES FROM ($_) TO ($_ + 1)") foreach 0 .. 19;

my $create = q{SELECT backfill_create('v', 'many', 'SELECT k, v FROM many', all_partitions => true, late_changes => 'ignore')};
my ($status, undef, $error) = $node->psql('postgres', "\\set VERBOSITY verbose\n$create");
isnt($status, 0, 'more partitions than the lock table holds are refused');
like($error, qr/ERROR:  53000: version "v" could not be published: publishing takes about \d+ locks, the lock table has room for \d+/,
	'... with the numbers');
like($error, qr/HINT:  Raise max_locks_per_transaction, or publish a smaller range/, '... and what to do');
is($node->safe_psql('postgres', 'SELECT count(*) FROM backfill.status'), '0', '... and nothing is there');

# Room for the locks now; and a partition that claims more than the disk has: files with holes, which nobody reads.
$node->append_conf('postgresql.conf', 'max_locks_per_transaction = 1000');
$node->restart;
$node->safe_psql('postgres', $create);
like($node->safe_psql('postgres', q{SELECT string_agg(severity, ',') FROM backfill_plan('v') WHERE severity = 'blocker'}),
	qr/^$/, 'with room for the locks nothing is in the way');

my $file = $node->data_dir . '/' . $node->safe_psql('postgres', q{SELECT pg_relation_filepath('many_0')});
my (undef, undef, undef, $free) = split ' ', (split /\n/, `df -Pk $file`)[1];
my $segments = int($free / (1 << 20)) + 2;

sub make_segment
{
	my ($name) = @_;

	open(my $handle, '>>', $name) or die "could not open $name: $!";
	truncate($handle, 1 << 30) or die "could not extend $name: $!";
	close $handle;
}
$node->stop;
make_segment($file);
make_segment("$file.$_") foreach 1 .. $segments;
$node->start;

like($node->safe_psql('postgres', q{SELECT severity || ' ' || finding FROM backfill_plan('v') WHERE object = 'disk'}),
	qr/^blocker staging needs about \d+ MB, the disk has \d+ MB free$/, 'plan finds that the disk is too small');
($status, undef, $error) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT FROM backfill_build('v')");
isnt($status, 0, 'build refuses');
like($error, qr/ERROR:  53000: version "v" could not be published: staging needs about \d+ MB, the disk has \d+ MB free/,
	'... with the numbers');
is(status_of($node, 'postgres', 'v'), 'defined 0', '... and nothing was built');

$node->stop('immediate');
unlink map { "$file.$_" } 1 .. $segments;
done_testing();
