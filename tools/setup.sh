#!/bin/bash
# Installs what building and testing need, and only what is missing (Debian).
#
# usage: tools/setup.sh [demo | check]       check (the default) also needs the test tools
#
# PG_CONFIG in the environment chooses the server; else the newest installed one, else Debian's default.
# Debian's own cluster is neither created nor touched.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

purpose=${1:-check}
pg_config=$(find_pg_config)
missing=()

# need FILE-OR-COMMAND PACKAGE: the package is missing when neither is there.
need() {
	case $1 in
		/*) [ -e "$1" ] || missing+=("$2") ;;
		*) command -v "$1" >/dev/null || missing+=("$2") ;;
	esac
}

need_perl_module() {
	perl -M"$1" -e 1 2>/dev/null || missing+=("$2")
}

# Which Debian major is this, if it is Debian's at all?
case ${pg_config:-none} in
	none) major=$debian_default pg_config=/usr/lib/postgresql/$major/bin/pg_config ;;
	/usr/lib/postgresql/*/bin/pg_config) major=${pg_config#/usr/lib/postgresql/} major=${major%%/*} ;;
	*)
		[ -x "$pg_config" ] || die "PG_CONFIG=$pg_config is not a program"
		major=$("$pg_config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
		[ "$("$pg_config" --bindir)" = "/usr/lib/postgresql/$major/bin" ] || major=
		;;
esac

need gcc gcc
need /usr/include/stdio.h libc6-dev
need make make
need xz xz-utils
need setpriv util-linux
if [ -n "$major" ]; then
	root=/usr/lib/postgresql/$major
	need "$root/bin/postgres" "postgresql-$major"
	need "$root/bin/psql" "postgresql-client-$major"
	need "$root/lib/pgxs/src/makefiles/pgxs.mk" "postgresql-server-dev-$major"
	need "/usr/include/postgresql/$major/server/postgres.h" "postgresql-server-dev-$major"
elif [ ! -e "$("$pg_config" --pgxs)" ] || [ ! -x "$("$pg_config" --bindir)/postgres" ]; then
	die "$pg_config has no server with headers (pgxs) beside it"
fi
if [ "$purpose" = check ]; then
	need prove perl
	need pg_prove libtap-parser-sourcehandler-pgtap-perl
	need_perl_module IPC::Run libipc-run-perl
	if [ -n "$major" ]; then
		need "/usr/share/postgresql/$major/extension/pgtap.control" "postgresql-$major-pgtap"
	elif [ ! -e "$("$pg_config" --sharedir)/extension/pgtap.control" ]; then
		die "pgTAP is not installed in $("$pg_config" --sharedir): install it for this server, or leave PG_CONFIG out"
	fi
fi

if [ ${#missing[@]} = 0 ]; then
	exit 0
fi

mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
say "Missing, will be installed with apt-get (about a minute): ${missing[*]}"
command -v apt-get >/dev/null || die "this is not Debian: install the equivalent of these packages by hand"
( as_root true ) || die "installing needs root or a user with sudo; as root it would be: apt-get install ${missing[*]}"

# postgresql-common would create and start a cluster "main" along with the server.
no_cluster=/etc/postgresql-common/createcluster.d/backfill-setup.conf
log=$(mktemp)
trap 'rm -f "$log"; as_root rm -f "$no_cluster"' EXIT
as_root mkdir -p "${no_cluster%/*}"
echo "create_main_cluster = false" | as_root tee "$no_cluster" >/dev/null

apt() {
	if ! as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -y "$@" >"$log" 2>&1 </dev/null; then
		tail -n 30 "$log" >&2
		die "apt-get $* failed"
	fi
}

apt update
apt install --no-install-recommends "${missing[@]}"
say "Installed."
