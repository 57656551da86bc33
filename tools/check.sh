#!/bin/bash
# Builds with -Werror, installs, and runs the test suites, each on a throw-away cluster of its own.
#
# usage: tools/check.sh [SUITE...]		of: regress isolation pgtap tap examples; all by default
#
#	regress    test/sql, expected; order in test/regress_schedule
#	isolation  test/isolation/specs, expected; order in test/isolation/isolation_schedule
#	pgtap      test/pgtap/*.sql, each in a new database that has pgTAP
#	tap        test/t/*.pl, with PostgreSQL::Test and test/t/lib
#	examples   what `make demo` runs: the receipts, and the flights of examples/flights-sample.csv.xz
#
# Each test creates the extension itself.  A suite without tests is left out.  Everything happens in a copy of the
# tree, so runs do not meet (but for `make install`) and the tree may belong to anyone; output goes to build/check, results
# to compare with expected in build/check/SUITE/results.
# The last line is `N passed, N failed`, with `, N skipped` where tests were skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/lib.sh

if [ "${1:-}" = --inside ]; then
	# On the cluster, as its user, in BACKFILL_WORK; the copy of the tree is in $3.
	suite=$2 tree=$3 output=$4
	pgxs_test=$(dirname "$("$PG_CONFIG" --pgxs)")/../test
	cd "$output"

	schedule_or_all() {		# SCHEDULE-FILE TEST-FILE...
		local schedule=$1
		shift
		if [ -f "$schedule" ]; then
			cp "$schedule" schedule
		else
			printf '%s\n' "$@" | sed 's|.*/||; s|\.[^.]*$||; s|^|test: |' >schedule
		fi
	}

	# One program that speaks TAP; a death without a failed test counts as one.
	tap_file() {	# NAME COMMAND...
		local name=$1 status=0
		shift
		echo "# $name"
		"$@" || status=$?
		[ "$status" = 0 ] || echo "# $name ended with status $status"
	}

	case $suite in
		regress)
			schedule_or_all "$tree/test/regress_schedule" "$tree"/test/sql/*.sql
			"$pgxs_test/regress/pg_regress" --bindir="$("$PG_CONFIG" --bindir)" --inputdir="$tree/test" \
				--outputdir="$output" --dbname=backfill_regress --schedule=schedule
			;;
		isolation)
			schedule_or_all "$tree/test/isolation/isolation_schedule" "$tree"/test/isolation/specs/*.spec
			"$pgxs_test/isolation/pg_isolation_regress" --bindir="$("$PG_CONFIG" --bindir)" \
				--inputdir="$tree/test/isolation" --outputdir="$output" --dbname=backfill_isolation --schedule=schedule
			;;
		pgtap)
			number=0
			for file in "$tree"/test/pgtap/*.sql; do
				number=$((number + 1))
				psql -Xqc "CREATE DATABASE pgtap_$number" && psql -Xqd "pgtap_$number" -c 'CREATE EXTENSION pgtap'
				tap_file "${file##*/}" pg_prove -v -d "pgtap_$number" "$file"
			done
			;;
		tap)
			perl_lib=
			[ ! -d "$pgxs_test/perl" ] || perl_lib=-I$pgxs_test/perl
			export PG_REGRESS=$pgxs_test/regress/pg_regress TESTDIR=$output
			export TESTDATADIR=$output/tmp_check TESTLOGDIR=$output/tmp_check/log
			# Where PostgreSQL::Test puts its sockets: with the cluster it goes, whatever ended the tests.
			export TMPDIR=$BACKFILL_WORK
			for file in "$tree"/test/t/*.pl; do
				tap_file "${file##*/}" prove -v $perl_lib -I "$tree/test/t/lib" "$file"
			done
			;;
		examples)
			for name in receipts flights; do
				data=
				[ "$name" = receipts ] || data=$tree/examples/$name-sample.csv.xz
				mkdir "$output/$name"
				if BACKFILL_WORK=$output/$name "$tree/tools/demo/run.sh" --inside "$tree/examples/$name" "$data"; then
					echo "ok - $name"
				else
					echo "not ok - $name"
				fi
				psql -Xq -c 'DROP DATABASE demo' -c 'DROP ROLE analyst'
			done
			;;
	esac
	exit
fi

work=
child=

# A test that is ended may leave the servers that it has started.
stop_servers() {
	local file
	{ find "$work/out" -name postmaster.pid 2>/dev/null || true; } | while read -r file; do
		as_server_user "$("$PG_CONFIG" --bindir)/pg_ctl" -D "${file%/*}" -m immediate -t 30 stop >/dev/null 2>&1 || true
	done
}

clean_up() {
	trap - EXIT
	trap '' INT TERM HUP
	if [ -n "$child" ]; then
		kill -TERM "$child" 2>/dev/null || true
		wait "$child" 2>/dev/null || true
	fi
	[ -n "$work" ] || return 0
	stop_servers
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

passed=0 failed=0 skipped=0 broken=0

finish() {
	local line="$passed passed, $failed failed"
	[ "$skipped" = 0 ] || line="$line, $skipped skipped"
	say "$line"
	[ "$failed" = 0 ] && [ "$broken" = 0 ]
	exit
}

# Something that is no test failed: it counts as one failure, so that the last line says it too.
cannot_run() {
	say "FAILED: $*"
	failed=$((failed + 1)) broken=1
}

build_and_install() {
	local log=$work/build.log
	say "Building with $("$PG_CONFIG" --version), warnings are errors"
	if ! make -s -C "$work/tree" -j"$(nproc)" PG_CONFIG="$PG_CONFIG" COPT=-Werror >"$log" 2>&1; then
		head -n 100 "$log"
		return 1
	fi
	[ ! -s "$log" ] || cat "$log"
	install_extension "$work/tree" >"$log" 2>&1 || { cat "$log"; return 1; }
}

has_tests() {
	case $1 in
		regress) compgen -G 'test/sql/*.sql' ;;
		isolation) compgen -G 'test/isolation/specs/*.spec' ;;
		pgtap) compgen -G 'test/pgtap/*.sql' ;;
		tap) compgen -G 'test/t/*.pl' ;;
		examples) compgen -G 'examples/*/story.sql' ;;
		*) die "unknown suite \"$1\"; there are regress, isolation, pgtap, tap and examples" ;;
	esac >/dev/null
}

# pg_regress gives up at a test without an expected file; against an empty one it shows what came out.
expect_something() {	# DIRECTORY SUFFIX TESTS
	local file expected
	for file in "$1/$3"/*"$2"; do
		expected=$1/expected/$(basename "$file" "$2").out
		[ ! -e "$file" ] || [ -e "$expected" ] || { mkdir -p "$(dirname "$expected")" && touch "$expected"; }
	done
}

# Prints "passed failed skipped" from the output of pg_regress (15's and the TAP-like one of 16 and later).
count_regress() {
	awk '/^ok [0-9]/ || /^(test| ) .*\.\.\. ok/ { p++ }
		/^not ok [0-9]/ || /^(test| ) .*\.\.\. FAILED/ { f++ }
		END { print p + 0, f + 0, 0 }' "$1"
}

# The same for files that speak TAP.  Subtests are indented; a file that ended badly without a failed test failed.
count_tap() {
	awk 'function close_file() { if (bad && !ff) f++; ff = bad = 0 }
		/^# [^ ]+\.(pl|sql)$/ { close_file() }
		/^# [^ ]+\.(pl|sql) ended with status/ { bad = 1 }
		/^ok .*# *[Ss][Kk][Ii][Pp]/ || /^1\.\.0 # *[Ss][Kk][Ii][Pp]/ { s++; next }
		/^not ok .*# *TODO/ { p++; next }
		/^ok / { p++ }
		/^not ok / { f++; ff++ }
		END { close_file(); print p + 0, f + 0, s + 0 }' "$1"
}

# Shows what a person needs to see of a suite that failed.
show_failure() {
	local suite=$1 output=$2
	case $suite in
		regress | isolation)
			if [ -s "$output/regression.diffs" ]; then
				head -n 200 "$output/regression.diffs"
			else
				tail -n 50 "$output/output"
			fi
			;;
		*)
			grep -n -E -A 15 '^not ok|ended with status|Dubious|ERROR:|FAILED' "$output/output" | head -n 200 ;;
	esac
}

run_suite() {
	local suite=$1 output=$work/out/$1 status=0 start=$SECONDS p f s
	as_server_user mkdir -p "$output"
	tools/cluster.sh -u -l "$output/server.log" "$work/tree/tools/check.sh" --inside "$suite" "$work/tree" "$output" \
		>"$work/output" 2>&1 </dev/null &
	child=$!
	wait "$child" || status=$?
	child=
	cp "$work/output" "$output/output"
	case $suite in
		regress | isolation) read -r p f s < <(count_regress "$output/output") ;;
		*) read -r p f s < <(count_tap "$output/output") ;;
	esac
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	say "$(printf '%-10s %4d passed, %d failed, %d skipped in %d s' "$suite" "$p" "$f" "$s" $((SECONDS - start)))"
	if [ "$f" != 0 ] || [ "$status" != 0 ]; then
		show_failure "$suite" "$output"
		[ "$f" != 0 ] || cannot_run "suite $suite ended with status $status"
	elif [ "$p" = 0 ] && [ "$s" = 0 ]; then
		tail -n 50 "$output/output"
		cannot_run "suite $suite ran no test"
	fi
	if grep -E -q 'was terminated by signal|PANIC:|TRAP:' "$output/server.log" 2>/dev/null; then
		grep -E -B 3 -A 3 'was terminated by signal|PANIC:|TRAP:' "$output/server.log" | head -n 40
		cannot_run "suite $suite: the server crashed"
	fi
	if mkdir -p "build/check/$suite" 2>/dev/null; then
		cp -r "$output/." "build/check/$suite/" 2>/dev/null || true
	fi
}

main() {
	local suite
	tools/setup.sh check || { cannot_run "setup"; finish; }
	PG_CONFIG=$(find_pg_config)
	export PG_CONFIG
	work=$(new_work_dir)
	clean_environment "$work" "$("$PG_CONFIG" --bindir)"
	as_server_user mkdir "$work/tree" "$work/out"
	tar -c --exclude=./.git --exclude=./build --exclude='*.o' --exclude='*.so' . | tar -x -C "$work/tree" --no-same-owner
	chmod -R a+rX "$work/tree"
	expect_something "$work/tree/test" .sql sql
	expect_something "$work/tree/test/isolation" .spec specs
	rm -rf build/check 2>/dev/null || true
	build_and_install || { cannot_run "build"; finish; }
	for suite in "$@"; do
		if has_tests "$suite"; then
			run_suite "$suite"
		fi
	done
	finish
}

if [ $# = 0 ]; then
	set -- regress isolation pgtap tap examples
fi
main "$@"
