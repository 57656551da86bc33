#!/bin/bash
# Runs the test suites on a PostgreSQL major that another Debian release has, in a chroot that is removed afterwards.
#
# usage: tools/majors.sh MAJOR [SUITE...]		MAJOR: 17 or 18
#
# Needs root, debootstrap (installed when missing) and Debian's mirror.  Exits with 77 when there cannot be such a chroot,
# else like tools/check.sh, whose last line comes last.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/lib.sh

case ${1:-} in
	17) release=trixie ;;
	18) release=forky ;;
	*) die "usage: ${0##*/} MAJOR [SUITE...]; 17 and 18 are in Debian" ;;
esac
major=$1
shift

cannot() { say "PostgreSQL $major: $*"; exit 77; }

[ "$(id -u)" = 0 ] || cannot "a chroot needs root"
# Mounts of this script are in a namespace of their own and go with it.
if [ "${BACKFILL_UNSHARED:-}" != yes ]; then
	unshare --mount true 2>/dev/null || cannot "mounts are not allowed here"
	exec env BACKFILL_UNSHARED=yes unshare --mount --propagation private "$0" "$major" "$@"
fi
command -v debootstrap >/dev/null ||
	apt-get -q -y install --no-install-recommends debootstrap >/dev/null 2>&1 </dev/null || cannot "debootstrap is not available"

work=$(mktemp -d /var/tmp/backfill.XXXXXX)
root=$work/root log=$work/log
clean_up() {
	trap - EXIT
	umount "$root/proc" "$root/dev/shm" 2>/dev/null || true
	rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mirror=$(grep -hoE '^(URIs: *|deb )[^ ]*https?://[^ ]+' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
	grep -oE 'https?://[^ ]+' | head -n 1 || true)
script=/usr/share/debootstrap/scripts/$release
[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid

in_root() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

make_root() {
	debootstrap --variant=minbase --include=gcc,libc6-dev,make,perl,xz-utils "$release" "$root" \
		"${mirror:-http://deb.debian.org/debian}" "$script" || return
	mount -t proc proc "$root/proc" && mkdir -p "$root/dev/shm" && mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" || return
	mkdir -p "$root/etc/postgresql-common"
	echo 'create_main_cluster = false' >"$root/etc/postgresql-common/createcluster.conf"
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" && chmod 755 "$root/usr/sbin/policy-rc.d"
	echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/99backfill"
	in_root apt-get -q update && in_root apt-get -q -y install --no-install-recommends "postgresql-$major" \
		"postgresql-$major-pgtap" libtap-parser-sourcehandler-pgtap-perl libipc-run-perl libpq-dev || return
	# Its packages of LLVM, for bitcode that is not built here, are a hard dependency: take the files alone.
	in_root sh -ec "cd /tmp && apt-get -q download postgresql-server-dev-$major && dpkg -x postgresql-server-dev-${major}_*.deb /"
}

say "PostgreSQL $major: making a chroot of Debian $release"
if ! make_root >"$log" 2>&1 </dev/null; then
	tail -n 5 "$log"
	cannot "no chroot of Debian $release"
fi
mkdir "$root/backfill"
tar -c --exclude=./.git --exclude=./build --exclude='*.o' --exclude='*.so' . | tar -x -C "$root/backfill" --no-same-owner
status=0
in_root env PG_CONFIG="/usr/lib/postgresql/$major/bin/pg_config" /backfill/tools/check.sh "$@" </dev/null || status=$?
exit "$status"
