# The main job on real departures: the sample in examples/, as its data.sql loads it.
#
# What must come out is computed here from the file, line by line, by other means than SQL.

use strict;
use warnings;

use BackfillTest;
use File::Basename qw(dirname);
use PostgreSQL::Test::Utils;
use Test::More;

my $examples = dirname(__FILE__) . '/../../examples';
my $sample = "$examples/flights-sample.csv.xz";
my %day;

plan skip_all => "$sample is not there" unless -e $sample;

# Per day and airport: departures, late by 15 minutes, late by 10, worst delay.
open(my $csv, '-|', 'xz', '-dc', $sample) or die "cannot read $sample: $!";
while (<$csv>)
{
	my ($departed, $delay, undef, $origin) = split /,/;
	my $row = $day{ substr($departed, 0, 10) . "\t$origin" } //= [ 0, 0, 0, $delay ];

	$row->[0]++;
	$row->[1]++ if $delay >= 15;
	$row->[2]++ if $delay >= 10;
	$row->[3] = $delay if $delay > $row->[3];
}
close $csv or die "cannot read $sample: $?";
cmp_ok(scalar keys %day, '>', 1000, 'the sample has days and airports');

# A month is swapped where the two rules differ in any row.
my (%month, %changed);
foreach (keys %day)
{
	$month{ substr $_, 0, 7 } = 1;
	$changed{ substr $_, 0, 7 } = 1 if $day{$_}[1] != $day{$_}[2];
}
my ($months, $swapped) = (scalar keys %month, scalar keys %changed);

my $node = new_node('flights');
my $psql = $node->installed_command('psql') . ' -Xq -v ON_ERROR_STOP=1 -d "' . $node->connstr('postgres') . '"';

is(system("xz -dc $sample | $psql -f $examples/flights/data.sql >/dev/null"), 0, 'data.sql loads it');
$node->safe_psql('postgres', 'CREATE TABLE expected (flown_on date, origin text, departures bigint, late15 bigint,
	late10 bigint, worst_delay int)');
my $copy = "COPY expected FROM STDIN;\n" . join('', map { join("\t", $_, @{ $day{$_} }) . "\n" } sort keys %day) . "\\.\n";
$node->safe_psql('postgres', $copy);

my $live = 'SELECT flown_on, origin, departures, late, worst_delay FROM mart.departure_daily';
my $old = 'SELECT flown_on, origin, departures, late15, worst_delay FROM expected';
my $new = 'SELECT flown_on, origin, departures, late10, worst_delay FROM expected';

expect_same($node, 'postgres', $live, $old, 'the live table is the old rule');

# Another connection holds a snapshot from before, all the time; it never touched the target.
my $reader = session($node, 'postgres', 'reader');
$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM raw.airport');

$node->safe_psql('postgres', q{
	SELECT backfill_create('late-from-10', target => 'mart.departure_daily',
		rule => $$ SELECT departed::date AS flown_on, origin, count(*) AS departures,
				count(*) FILTER (WHERE delay >= (parameters->>'minutes')::int) AS late, max(delay) AS worst_delay
			FROM raw.flight WHERE departed >= partition_from AND departed < partition_to GROUP BY 1, 2 $$,
		range_from => '2001-01-01', range_to => '2001-08-01', parameters => '{"minutes": 10}',
		code_revision => 'a1b2c3d', late_changes => 'ignore');
	SELECT backfill_add_gate('late-from-10', 'late total', total => 'sum(late)', expect => 'new >= old AND new < 2 * old')});
is($node->safe_psql('postgres', q{SELECT count(*) FROM backfill_plan('late-from-10') WHERE severity = 'blocker'}),
	'0', 'nothing is in the way');

is($node->safe_psql('postgres', q{SELECT count(*), sum(rows), sum(rejected) FROM backfill_build('late-from-10')}),
	"$months|" . scalar(keys %day) . '|0', 'built: every month, day and airport');
expect_same($node, 'postgres', $live, $old, 'readers see the old rule');
is($node->safe_psql('postgres', q{SELECT count(*) FROM backfill_validate('late-from-10') WHERE result = 'failed'}),
	'0', 'no gate is red');
is( $node->safe_psql('postgres', q{
		SELECT e.old::numeric, e.new::numeric FROM (SELECT sum(old::numeric) AS old, sum(new::numeric) AS new
		  FROM (SELECT DISTINCT ON (partition) old, new FROM backfill.evidence WHERE gate = 'late total'
				 ORDER BY partition, measured_at DESC) x) e}),
	$node->safe_psql('postgres', 'SELECT sum(late15), sum(late10) FROM expected'),
	'the evidence says what the file says');

is($node->safe_psql('postgres', q{SELECT action, swapped, unchanged, created FROM backfill_publish('late-from-10')}),
	"published|$swapped|" . ($months - $swapped) . '|0', 'published');
expect_same($node, 'postgres', $live, $new, 'readers see the new rule');
is($reader->query('SELECT sum(late) FROM mart.departure_daily'),
	$node->safe_psql('postgres', 'SELECT sum(late10) FROM expected'), 'and so does the old snapshot, completely');
$reader->query('COMMIT');

is($node->safe_psql('postgres', q{SELECT action, swapped FROM backfill_rollback('late-from-10')}),
	"rolled_back|$swapped", 'withdrawn');
expect_same($node, 'postgres', $live, $old, 'readers see the old rule again');

is($node->safe_psql('postgres', q{SELECT action, swapped FROM backfill_publish('late-from-10', again => true)}),
	"published|$swapped", 'and forward again');
expect_same($node, 'postgres', $live, $new, 'readers see the new rule again');

# A rule that loses eight airports in March is refused, with the evidence.
$node->safe_psql('postgres', q{
	SELECT backfill_create('broken', target => 'mart.departure_daily',
		rule => $$ SELECT departed::date AS flown_on, origin, count(*) AS departures,
				count(*) FILTER (WHERE delay >= 10) AS late, max(delay) AS worst_delay
			FROM raw.flight JOIN raw.airport ON code = origin
			WHERE departed >= valid_from AND departed < valid_to
			  AND departed >= partition_from AND departed < partition_to GROUP BY 1, 2 $$,
		range_from => '2001-01-01', range_to => '2001-08-01', late_changes => 'ignore');
	SELECT FROM backfill_build('broken')});
is(sqlstate_of($node, 'postgres', q{SELECT backfill_publish('broken')}), '23514 backfill failed quality gates',
	'a rule that loses keys is refused');
my ($lost) = grep { /lost/ } split /\n/,
  $node->safe_psql('postgres', q{SELECT DISTINCT gate, partition, difference FROM backfill.evidence
	WHERE version = 'broken' AND result = 'failed' AND gate = 'lost keys'});
my @airports = qw(ATL DFW ORD LAX PHX DEN STL DTW);
my $expected_lost = grep { my ($date, $origin) = split /\t/; $date =~ /^2001-03/ && grep { $_ eq $origin } @airports } keys %day;
is($lost // '', "lost keys|departure_daily_2001_03|$expected_lost lost", 'the evidence names the month and the number of keys');
expect_same($node, 'postgres', $live, $new, 'readers noticed nothing');

$reader->quit;
$node->stop;
done_testing();
