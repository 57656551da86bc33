#!/bin/bash
# Runs a command against a throw-away PostgreSQL cluster and removes the cluster afterwards,
# also when the command fails or is interrupted.
#
# usage: tools/cluster.sh [-u] [-o name=value]... [-l FILE] COMMAND [ARGUMENT]...
#
#	-u		run the command as the server's user too (when root)
#	-o		a server setting
#	-l		where to leave a copy of the server log
#
# The command finds PGHOST, PGPORT, PGUSER, PGDATABASE, PG_CONFIG and BACKFILL_WORK (a directory it may
# fill, removed with the cluster).  The server listens on a unix socket that only its own user reaches.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

unprivileged='' settings=() log_copy=''
while getopts "uo:l:" option; do
	case $option in
		u) unprivileged=as_server_user ;;
		o) settings+=("$OPTARG") ;;
		l) log_copy=$OPTARG ;;
		*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || die "usage: ${0##*/} [-u] [-o name=value]... [-l FILE] COMMAND [ARGUMENT]..."

PG_CONFIG=$(find_pg_config)
[ -n "$PG_CONFIG" ] || die "no PostgreSQL server found; run tools/setup.sh first"
export PG_CONFIG
bindir=$("$PG_CONFIG" --bindir)
start_dir=$PWD
work=$(new_work_dir)
child=

clean_up() {
	trap - EXIT
	trap '' INT TERM HUP
	if [ -n "$child" ]; then
		kill -TERM -- "-$child" 2>/dev/null || true
		wait "$child" 2>/dev/null || true
	fi
	if [ -f "$work/data/postmaster.pid" ]; then
		as_server_user "$bindir/pg_ctl" -D "$work/data" -m immediate -t 30 stop >/dev/null 2>&1 ||
			kill -KILL "$(head -n 1 "$work/data/postmaster.pid")" 2>/dev/null || true
	fi
	if [ -n "$log_copy" ] && [ -f "$work/log" ]; then
		cp "$work/log" "$log_copy" || true
	fi
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

clean_environment "$work" "$bindir"
cd "$work"

as_server_user "$bindir/initdb" -D data -U postgres -A trust -E UTF8 --locale=C -N >initdb.log 2>&1 ||
	{ cat initdb.log >&2; die "initdb failed"; }
mkdir -m 700 files
[ "$(id -u)" != 0 ] || chown "$(server_user)" files
{
	echo "listen_addresses = ''"
	echo "unix_socket_directories = '$work'"
	echo "unix_socket_permissions = 0700"
	echo "fsync = off"
	echo "full_page_writes = off"
	echo "max_wal_size = 4GB"
	echo "jit = off"
	echo "max_prepared_transactions = 10"
	for setting in ${settings[@]+"${settings[@]}"}; do
		echo "${setting%%=*} = '${setting#*=}'"
	done
} >>data/postgresql.conf
as_server_user "$bindir/pg_ctl" -D data -l "$work/log" -w -t 60 start >/dev/null 2>&1 ||
	{ cat "$work/log" >&2; die "the server did not start"; }

export PGHOST=$work PGPORT=5432 PGUSER=postgres PGDATABASE=postgres BACKFILL_WORK=$work/files
[ -z "$unprivileged" ] || start_dir=$BACKFILL_WORK
cd "$start_dir"

# In a process group of its own, so that all of it can be ended; waited for, so that traps run at once.
# A background command of a script starts with SIGINT ignored, which tests would inherit.
run=(setsid env --default-signal=INT --default-signal=QUIT)
if [ -n "$unprivileged" ] && [ "$(id -u)" = 0 ]; then
	user=$(server_user)
	run+=(setpriv --reuid="$user" --regid="$(id -gn "$user")" --init-groups --)
fi
"${run[@]}" "$@" <&0 &
child=$!
status=0
wait "$child" || status=$?
exit "$status"
