# pg_dump and pg_restore of a database with versions in it: the data and the record survive, and work goes on.

use strict;
use warnings;

use BackfillTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('dump');
my $other = new_node('other');
my $file = PostgreSQL::Test::Utils::tempdir() . '/dump';

make_target($node, 'postgres');
# Transaction ids beyond those of a new cluster.
$node->safe_psql('postgres', q{DO $$ BEGIN FOR i IN 1..5000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$});
$node->safe_psql('postgres', q{
	SELECT FROM define(2); SELECT FROM define(3); SELECT FROM define(4); SELECT FROM define(5);
	SELECT backfill_add_gate('v2', 'sum', total => 'sum(v)', expect => 'new = 2 * old');
	SELECT backfill_waive('v2', 'gained keys', 'a test');
	SELECT FROM backfill_build('v2'); SELECT FROM backfill_publish('v2');
	SELECT FROM backfill_build('v5'); SELECT FROM backfill_publish('v5'); SELECT FROM backfill_rollback('v5');
	SELECT FROM backfill_build('v3');
	UPDATE target SET v = 77 WHERE k = 5});

# What must be the same in the restored database; names of relations, never their numbers.
my %record = (
	definitions => q{SELECT name, state, parameters, code_revision, settings, late_changes, max_rejections, max_lost_keys,
		created_by, created_at, target::text, rule, rule_canonical, key, definition
		FROM backfill.bf_version v JOIN backfill.bf_target t ON t.version_id = v.id ORDER BY v.id},
	partitions => q{SELECT version, target, ordinal, partition, bound, state, live, staged, rows, rejected
		FROM backfill.partition ORDER BY version, ordinal},
	gates => q{SELECT version_id, name, kind, expression, expect, waived_reason, waived_by, waived_at
		FROM backfill.bf_gate ORDER BY 1, 2},
	evidence => q{SELECT * FROM backfill.evidence ORDER BY measured_at, gate, partition},
	history => q{SELECT * FROM backfill.history ORDER BY at},
	target => q{SELECT * FROM target ORDER BY k});

$node->command_ok([ 'pg_dump', '-Fc', '-f', $file, 'postgres' ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_checks_all([ 'pg_restore', '-d', 'restored', $file ],
	0, [qr/^$/], [qr/^$/], 'pg_restore, without a complaint');
$other->command_ok([ 'pg_restore', '-d', 'postgres', $file ], 'pg_restore in another cluster');

foreach my $what (sort keys %record)
{
	is($node->safe_psql('restored', $record{$what}), $node->safe_psql('postgres', $record{$what}), "kept: $what");
}
is($node->safe_psql('restored', "SELECT backfill_manifest('v2') -> 'history' -> 0 ->> 'action'"), 'published', 'manifest');
my $total = $node->safe_psql('postgres', 'SELECT total FROM total');
is($node->safe_psql('restored', 'SELECT total FROM total'), $total, 'readers see the published version');

# A staged table that was restored holds ordinary rows: publishing it as it is would break the promise.
like(sqlstate_of($node, 'restored', q{SELECT backfill_publish('v3')}), qr/^(55000|40001) /,
	'a version that was built elsewhere is not published as it is');
is($node->safe_psql('restored', 'SELECT total FROM total'), $total, 'and the target did not change');

# Frozen and measured again, what was written after the snapshot of the build must still be known: before the dump, when
# tables had other numbers, and since, when transactions had.
$other->safe_psql('postgres', q{VACUUM FREEZE; UPDATE target SET v = 99 WHERE k = 7});
$other->psql('postgres', q{SELECT FROM backfill_validate('v3')});
like(sqlstate_of($other, 'postgres', q{SELECT backfill_publish('v3')}), qr/^(55000|40001) /,
	'a version that was built in another cluster is not published, whatever is measured');
like(sqlstate_of($other, 'postgres', q{SELECT backfill_rollback('v2')}), qr/^55000 /,
	'nor is one withdrawn that was written since');
is($other->safe_psql('postgres', 'SELECT v FROM target WHERE k IN (5, 7) ORDER BY k'), "77\n99", 'no write is lost');

# What is written to the restored target is noticed.
$node->safe_psql('restored', q{SELECT FROM define(7); SELECT FROM backfill_build('v7');
	UPDATE target SET v = v WHERE k = 0});
like(sqlstate_of($node, 'restored', q{SELECT backfill_publish('v7')}), qr/^40001 /, 'a write to the target is noticed');

# New versions, and those that were only defined.
$node->safe_psql('restored', q{SELECT FROM define(6); SELECT FROM backfill_build('v6'); SELECT FROM backfill_publish('v6')});
expect_same($node, 'restored', 'TABLE target', q{SELECT k, v * 6, 'r6' FROM source}, 'a new version is built and published');
$node->safe_psql('restored', q{SELECT FROM backfill_rollback('v6')});
is($node->safe_psql('restored', 'SELECT total FROM total'), $total, 'and withdrawn');
$node->safe_psql('restored', q{SELECT FROM backfill_build('v4'); SELECT FROM backfill_publish('v4')});
is($node->safe_psql('restored', 'SELECT total FROM total'), total(4), 'a version that had been defined is built and published');

$other->stop;
$node->stop;
done_testing();
