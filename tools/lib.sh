# Shared by the scripts in this folder; sourced, never run.  Needs bash.

supported_majors="18 17 16 15"
debian_default=15

say() { printf '%s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# Runs a command as root, through sudo where needed.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "this needs root, and there is no sudo: $*"
	fi
}

# The user who may run a server: PostgreSQL refuses root.
server_user() {
	if [ "$(id -u)" != 0 ]; then
		id -un
	elif id postgres >/dev/null 2>&1; then
		echo postgres
	else
		echo nobody
	fi
}

# Runs a command as the server's user; setpriv leaves no process of ours in between.
as_server_user() {
	if [ "$(id -u)" = 0 ]; then
		local user
		user=$(server_user)
		setpriv --reuid="$user" --regid="$(id -gn "$user")" --init-groups -- "$@"
	else
		"$@"
	fi
}

# The pg_config to use: the caller's, else the newest server of a supported major, else nothing.
# Debian's /usr/bin/pg_config is not asked: libpq-dev brings one that knows no server.
find_pg_config() {
	local major dir
	if [ -n "${PG_CONFIG:-}" ]; then
		command -v "$PG_CONFIG" || echo "$PG_CONFIG"
		return
	fi
	for major in $supported_majors; do
		dir=/usr/lib/postgresql/$major/bin
		if [ -x "$dir/postgres" ]; then
			echo "$dir/pg_config"
			return
		fi
	done
}

# A new directory for the server's user, short enough for a socket path (107 bytes).
new_work_dir() {
	local base dir
	for base in "${TMPDIR:-/tmp}" /tmp; do
		[ ${#base} -le 40 ] || continue
		if dir=$(as_server_user mktemp -d "$base/backfill.XXXXXX" 2>/dev/null); then
			echo "$dir"
			return
		fi
	done
	die "no directory for temporary files that user $(server_user) can write to"
}

# Nothing of the user's PostgreSQL set-up may matter: variables, ~/.psqlrc, ~/.pgpass, services, locale.
clean_environment() {
	local home=$1 bindir=$2 name
	for name in $(compgen -e); do
		case $name in
			PG_CONFIG) ;;
			PG* | PSQL* | LC_* | LANG | LANGUAGE | TZ | MAKEFLAGS | MAKELEVEL | MFLAGS | PERL5OPT | PROVE*) unset "$name" ;;
		esac
	done
	export HOME=$home PGSYSCONFDIR=$home PATH=$bindir:$PATH LC_ALL=C.UTF-8 PGCLIENTENCODING=UTF8
}

# make install in a built tree, as root only where it must be.
install_extension() {
	local tree=$1
	if [ -w "$("$PG_CONFIG" --pkglibdir)" ] && [ -w "$("$PG_CONFIG" --sharedir)/extension" ]; then
		make -s -C "$tree" install PG_CONFIG="$PG_CONFIG"
	else
		( as_root true ) || die "installing the extension in $("$PG_CONFIG" --pkglibdir) needs root or a user with sudo"
		as_root make -s -C "$tree" install PG_CONFIG="$PG_CONFIG"
	fi
}
