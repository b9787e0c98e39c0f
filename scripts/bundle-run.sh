#!/bin/sh
# Runs Warploom on a machine without Node and without a network.
#
#   run.sh [--out FOLDER] test [MOCHA OPTIONS]     the test suite on the cuda backend, one JSON report
#   run.sh [--out FOLDER] bench DOMAIN [OPTIONS]   a benchmark: JSON and SVG
#   run.sh [--out FOLDER] cli ARGUMENTS            the warploom command, as in `run.sh cli info`
#   run.sh [--out FOLDER] node ARGUMENTS           node, in the package's folder
#
# Reports go to FOLDER (default ./results); `node` finds it in WARPLOOM_OUT. Needs sh, tar and xz (or
# python3); unpacks once per bundle into ${TMPDIR:-/tmp}.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(pwd)/results
if [ "${1:-}" = --out ]; then
  mkdir -p "$2"
  out=$(cd "$2" && pwd)
  shift 2
fi
what=${1:?what to run: test, bench, cli or node}
shift

(cd "$here" && sha256sum --quiet -c SHA256SUMS)
id=$(sha256sum "$here/SHA256SUMS" | cut -c1-16)
home=${TMPDIR:-/tmp}/warploom-$id

unpack() { # archive, folder
  if command -v xz >/dev/null 2>&1; then
    xz -dc "$1" | tar -xf - -C "$2"
  else
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1], "r:xz").extractall(sys.argv[2])' "$1" "$2"
  fi
}
if [ ! -e "$home/ready" ]; then
  rm -rf "$home.$$"
  mkdir -p "$home.$$/bin"
  unpack "$here/payload.tar.xz" "$home.$$"
  unpack "$here/node.tar.xz" "$home.$$/bin"
  : >"$home.$$/ready"
  rm -rf "$home"
  mv "$home.$$" "$home"
fi
PATH=$home/bin:$PATH
export PATH
WARPLOOM_OUT=$out
export WARPLOOM_OUT
mkdir -p "$out"
cd "$home/warploom"
case $what in
  test) exec node scripts/test-gpu.mjs --out "$out" "$@" ;;
  bench) exec node --import tsx bench/main.ts "$@" --out "$out" ;;
  cli) exec node --import tsx lib/cli/bin.ts "$@" ;;
  node) exec node "$@" ;;
  *)
    echo "run.sh: test, bench, cli or node, not '$what'" >&2
    exit 2
    ;;
esac
