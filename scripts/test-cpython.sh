#!/usr/bin/env bash
# CPython's own tests on every CPython that is installed (3.11, 3.12 and 3.13; VERSIONS="3.12" takes some only). Arguments
# are those of test/cpython/run.py; without any, docs/cpython-tests.md gets a table for each version.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/pythons.sh
build_compiler
export PYTHONPATH="$PWD/python"
failed=""
[ $# != 0 ] || set -- --table docs/cpython-tests.md
for version in ${VERSIONS:-3.11 3.12 3.13}; do
  prepare "$version" || continue
  "$venv/bin/python" test/cpython/run.py "$@" || failed="$failed $version"
done
[ -z "$failed" ] || { echo "== failed on CPython$failed"; exit 1; }
