#!/bin/bash
# The demo: a backfill with a reader watching, on a throw-away cluster.
#
# usage: tools/demo/run.sh [FLIGHTS.csv[.xz]]
#
# Without a file it runs examples/receipts (generated data), with one examples/flights.  The SQL is there: data.sql
# makes the tables, story.sql is the backfill, reader.sql the query that another session asks all the time.
# It fails when any read was not one complete version, or when the broken version was not refused by its gates.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

# Runs the reader's query until told to stop, a few dozen times a second.
ask_all_the_time() {
	local query
	query=$(cat "$story/reader.sql")
	while [ ! -e "$BACKFILL_WORK/stop" ]; do
		printf '%s\n' "$query"
		sleep 0.01
	done | psql -XqAt -U analyst -v ON_ERROR_STOP=1 >"$BACKFILL_WORK/reads" 2>"$BACKFILL_WORK/reader-error"
}

bold_headings() {
	if [ -t 1 ]; then
		sed -u $'s/^== .*/\e[1m&\e[0m/'
	else
		cat
	fi
}

inside() {
	local story=$1 data=$2 reader status=0
	psql -Xqc 'CREATE DATABASE demo'
	export PGDATABASE=demo PGOPTIONS='-c client_min_messages=warning'

	if [ -z "$data" ]; then
		say "Generating six months of receipts and the live table ..."
		psql -Xq -v ON_ERROR_STOP=1 -f "$story/data.sql"
	else
		say "Loading $data and filling the live table ..."
		case $data in
			*.xz) xz -dc "$data" ;;
			*) cat "$data" ;;
		esac | psql -Xq -v ON_ERROR_STOP=1 -f "$story/data.sql"
	fi

	say "From now on another session asks for the total, again and again."
	unset PGOPTIONS
	ask_all_the_time &
	reader=$!
	sleep 0.5
	psql -Xq <"$story/story.sql" 2>&1 | bold_headings || status=$?
	sleep 0.5
	touch "$BACKFILL_WORK/stop"
	if ! wait "$reader"; then
		cat "$BACKFILL_WORK/reader-error" >&2
		die "the reader got an error"
	fi
	[ "$status" = 0 ] || die "the story ended with status $status"
	psql -Xq -v ON_ERROR_STOP=1 -f "${0%/*}/reads.sql" <"$BACKFILL_WORK/reads" 2>&1 | bold_headings
}

if [ "${1:-}" = --inside ]; then
	inside "$2" "$3"
	exit
fi

data=${1:-}
story=examples/receipts
if [ -n "$data" ]; then
	story=examples/flights
	[ -r "$data" ] || die "cannot read $data"
	data=$(realpath "$data")
fi
cd "$(dirname "$0")/../.."

start=$SECONDS
tools/setup.sh demo
PG_CONFIG=$(find_pg_config)
export PG_CONFIG
say "backfill on $("$PG_CONFIG" --version); building and installing it takes a moment the first time."
mkdir -p build
build_log=$(mktemp)
trap 'rm -f "$build_log"' EXIT
(
	unset MAKEFLAGS MAKELEVEL MFLAGS
	flock 9
	make -s -j"$(nproc)" all PG_CONFIG="$PG_CONFIG" && install_extension .
) >"$build_log" 2>&1 9>build/lock || { cat "$build_log" >&2; die "building failed"; }

tools/cluster.sh tools/demo/run.sh --inside "$story" "$data" </dev/null &
child=$!
trap 'rm -f "$build_log"; kill -TERM "$child" 2>/dev/null; wait "$child"; exit 130' INT TERM HUP
wait "$child"
say "Done in $((SECONDS - start)) s; the cluster is gone."
