# What the TAP tests share: a cluster with a partitioned target, sessions, and readers that run while things change.

package BackfillTest;

use strict;
use warnings;

use Exporter 'import';
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(new_node make_target total status_of left_behind expect_same session run wait_blocked sqlstate_of
  start_readers stop_readers sort_reads);

# Partitions of the target, and rows in each.
our ($PARTITIONS, $ROWS) = (6, 200);

# What one read sees: the rules, the rows, the sum.  One row, also when there is nothing to read.
my $READ = q{coalesce(string_agg(DISTINCT rule, '+'), 'none') || '|' || count(*) || '|' || coalesce(sum(v), 0)};

# Whoever runs the tests; cluster and sessions are this role's.
$ENV{PGUSER} = 'postgres';

# A started cluster without anything in it.
sub new_node
{
	my ($name, %settings) = @_;
	my $streaming = delete $settings{streaming};
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(allows_streaming => $streaming ? 1 : 0, extra => [ '-U', 'postgres', '-E', 'UTF8', '--locale=C' ]);
	# Statements would fill the disk: readers ask thousands of times.
	my %defaults = (
		log_statement => 'none',
		jit => 'off',
		max_connections => 50,
		shared_buffers => '32MB',
		max_prepared_transactions => 5);
	$node->append_conf('postgresql.conf', "$_ = '" . ($settings{$_} // $defaults{$_}) . "'")
	  foreach sort keys %{ { %defaults, %settings } };
	$node->start;
	return $node;
}

# source(k, v), and target(k, v, rule) filled from it by the rule "r1": v times 1.
# Version n has the rule "rn", v times n, so that a read tells which versions it saw, and whether each is complete.
sub make_target
{
	my ($node, $db) = @_;
	my $n = $PARTITIONS * $ROWS;
	my $sql = "CREATE EXTENSION backfill;
		CREATE TABLE source (k int PRIMARY KEY, v int NOT NULL);
		INSERT INTO source SELECT k, 1 FROM generate_series(0, $n - 1) k;
		CREATE TABLE target (k int PRIMARY KEY, v int, rule text) PARTITION BY RANGE (k);\n";

	$sql .= sprintf("CREATE TABLE target_%d PARTITION OF target FOR VALUES FROM (%d) TO (%d);\n",
		$_, $_ * $ROWS, ($_ + 1) * $ROWS)
	  foreach 0 .. $PARTITIONS - 1;
	$sql .= q{INSERT INTO target SELECT k, v, 'r1' FROM source;
		CREATE VIEW total AS SELECT READ AS total FROM target;
		CREATE FUNCTION stable_total() RETURNS text STABLE LANGUAGE plpgsql AS
			$$ BEGIN RETURN (SELECT total FROM total); END $$;
		CREATE FUNCTION define(n int, way text DEFAULT 'auto') RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM backfill_create('v' || n, 'target',
				'SELECT k, v * (parameters->>''n'')::int AS v, ''r'' || (parameters->>''n'') AS rule FROM source',
				all_partitions => true, parameters => jsonb_build_object('n', n), late_changes => 'ignore', swap => way);
		END $$;
		-- A version whose build stops halfway while another session holds the advisory lock 47.
		CREATE FUNCTION stop(k int) RETURNS text LANGUAGE plpgsql AS $$
		BEGIN
			IF k >= 600 THEN
				PERFORM pg_advisory_xact_lock_shared(47);
			END IF;
			RETURN 'r2';
		END $$;
		CREATE FUNCTION define_stopping() RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM backfill_create('v2', 'target', 'SELECT k, v * 2 AS v, stop(k) AS rule FROM source',
				all_partitions => true, late_changes => 'ignore', allow_volatile => true, sources => '{}');
		END $$;
	} =~ s/READ/$READ/r;
	$node->safe_psql($db, $sql);
}

# What a complete read of version n of the target gives.
sub total
{
	my ($n) = @_;
	my $rows = $PARTITIONS * $ROWS;
	return "r$n|$rows|" . $rows * $n;
}

sub status_of
{
	my ($node, $db, $version) = @_;
	return $node->safe_psql($db, "SELECT state || ' ' || live FROM backfill.status WHERE version = '$version'");
}

# Tables in the staging schema, and whatever else an undone call could have left.
sub left_behind
{
	my ($node, $db) = @_;
	return $node->safe_psql($db, q{
		SELECT format('%s %s', relkind, relname) FROM pg_class WHERE relnamespace = 'backfill_staging'::regnamespace
		UNION ALL SELECT 'pin of ' || version_id FROM backfill.bf_pin
		UNION ALL SELECT 'evidence of ' || version_id FROM backfill.bf_evidence
		UNION ALL SELECT 'history of ' || version_id FROM backfill.bf_history
		UNION ALL SELECT 'helper check on ' || conrelid::regclass FROM pg_constraint
		 WHERE conname LIKE 'backfill%' AND connamespace <> 'backfill'::regnamespace
		ORDER BY 1});
}

# The oracle: two queries give the same rows, as multisets.
sub expect_same
{
	my ($node, $db, $live, $expected, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is( $node->safe_psql($db,
			"SELECT (SELECT count(*) FROM (($live) EXCEPT ALL ($expected)) a) || ' ' ||
			        (SELECT count(*) FROM (($expected) EXCEPT ALL ($live)) b)"),
		'0 0', $name);
}

# A psql that is kept open, known to the server by this name; run() sends without waiting for an answer.
sub session
{
	my ($node, $db, $name) = @_;
	my $psql = $node->background_psql($db, on_error_stop => 0);

	$psql->query("SET application_name = '$name'; SET client_min_messages = error");
	return $psql;
}

sub run
{
	my ($psql, $sql) = @_;
	$psql->query_until(qr/sent/, "\\echo sent\n$sql;\n");
}

# Waits until that session waits for a lock or, as a publication does between two attempts, sleeps.
sub wait_blocked
{
	my ($node, $db, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok( $node->poll_query_until($db,
			"SELECT count(*) = 1 FROM pg_stat_activity
			  WHERE application_name = '$name' AND state = 'active' AND wait_event_type IN ('Lock', 'Extension')"),
		"$name waits");
}

# SQLSTATE and message of a statement that should fail; empty when it does not.
sub sqlstate_of
{
	my ($node, $db, $sql) = @_;
	my ($ret, $out, $err) =
	  $node->psql($db, $sql, on_error_stop => 1, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return $ret != 0 && $err =~ /ERROR:\s+(\w{5}): (.*)/ ? "$1 $2" : '';
}

# One turn of each kind of reader: prints `kind|rules|rows|sum`, or two reads of one transaction in a line.
our %READER = (
	parent => "SELECT 'parent|' || $READ FROM target;",
	leaf => "SELECT 'leaf|' || $READ FROM target_1; SELECT 'leaf|' || $READ FROM target_4;",
	view => q{SELECT 'view|' || total FROM total;},
	generic => q{EXECUTE generic;},
	custom => q{EXECUTE custom (0);},
	cursor => "BEGIN; DECLARE c CURSOR FOR SELECT 'cursor|' || $READ FROM target; FETCH ALL FROM c; COMMIT;",
	committed => transaction('committed', 'READ COMMITTED'),
	repeatable => transaction('repeatable', 'REPEATABLE READ'),
	serializable => transaction('serializable', 'SERIALIZABLE'),
	copy => "COPY (SELECT 'copy', $READ FROM target) TO STDOUT (DELIMITER ',');",
	stable => q{SELECT 'stable|' || stable_total();},
	refresh => q{REFRESH MATERIALIZED VIEW stored; SELECT 'refresh|' || total FROM stored;});

# Once a session, before its first turn.
our %BEFORE = (
	generic => "PREPARE generic AS SELECT 'generic|' || $READ FROM target;",
	custom => "SET plan_cache_mode = force_custom_plan;
		PREPARE custom (int) AS SELECT 'custom|' || $READ FROM target WHERE k >= \$1;",
	refresh => q{CREATE MATERIALIZED VIEW IF NOT EXISTS stored AS SELECT total FROM total;});

# A transaction whose snapshot, if it has one, is a little older than its two reads.
sub transaction
{
	my ($kind, $level) = @_;

	return "BEGIN ISOLATION LEVEL $level; SELECT FROM pg_sleep(0.01);
		SELECT total AS first FROM total \\gset
		SELECT total AS second FROM total \\gset
		COMMIT;
		\\echo $kind|:first|:second";
}

# Starts a session for each kind; each takes its turns until stop_readers.  Returns a handle for that.
sub start_readers
{
	my ($node, $db, @kinds) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my %pid;

	foreach my $kind (@kinds)
	{
		my @psql = (
			$node->installed_command('psql'), '-XAtq', '-d',
			$node->connstr($db) . " user=postgres application_name=reader_$kind", '-f', '-');

		$pid{$kind} = fork // die "cannot fork: $!";
		next if $pid{$kind};

		# Feeds psql faster than it reads, so it never waits for us; _exit, for the test's END blocks are not ours.
		open(STDOUT, '>', "$dir/$kind.out") and open(STDERR, '>', "$dir/$kind.err") or POSIX::_exit(1);
		local $SIG{PIPE} = 'IGNORE';
		open(my $in, '|-', @psql) or POSIX::_exit(1);
		$in->autoflush(1);
		# F_SETPIPE_SZ, where there is such a thing: what is in the pipe at the end is still read.
		eval { fcntl($in, 1031, 4096) };
		print $in ($BEFORE{$kind} // '') . "\n";
		# The pause leaves the processor to the others, so that more happens between two reads.
		1 while !-e "$dir/stop" && print $in "$READER{$kind}\nSELECT FROM pg_sleep(0.003);\n";
		close $in;
		POSIX::_exit($? >> 8);
	}
	return { dir => $dir, pid => \%pid };
}

# Ends the readers; returns { kind => [ lines ] } and { kind => what it wrote to stderr }.
sub stop_readers
{
	my ($readers) = @_;
	my (%reads, %errors);

	append_to_file("$readers->{dir}/stop", '');
	foreach my $kind (sort keys %{ $readers->{pid} })
	{
		waitpid($readers->{pid}{$kind}, 0);
		$reads{$kind} = [ split /\n/, slurp_file("$readers->{dir}/$kind.out") ];
		$errors{$kind} = slurp_file("$readers->{dir}/$kind.err");
	}
	return (\%reads, \%errors);
}

# Is `rules|rows|sum` one complete version?
sub is_complete
{
	my ($read, $rows) = @_;
	return $read =~ /^r(\d+)\|(\d+)\|(\d+)$/ && $2 == $rows && $3 == $1 * $rows;
}

# Splits the lines of one kind into complete and wrong ones.  Two reads of one transaction are to be the same.
sub sort_reads
{
	my ($kind, $lines) = @_;
	my $rows = $kind eq 'leaf' ? $ROWS : $PARTITIONS * $ROWS;
	my (@complete, @wrong);

	foreach my $line (@$lines)
	{
		my ($label, @fields) = split /[|,]/, $line, -1;
		my $first = @fields >= 3 ? join('|', @fields[ 0 .. 2 ]) : undef;
		my $ok = defined $first && $label eq $kind && is_complete($first, $rows)
		  && (@fields == 3 || join('|', @fields[ 3 .. $#fields ]) eq $first);

		push @{ $ok ? \@complete : \@wrong }, $line;
	}
	return (\@complete, \@wrong);
}

1;
