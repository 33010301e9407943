#!/usr/bin/env bash
# What depends most on the version of CPython, with the wheels that scripts/wheels.sh has made for the versions beside the
# one of this build: `make test` runs it behind that. All Python tests on all versions: scripts/test-versions.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/pythons.sh
logs="$PWD/build/versions"
mkdir -p "$logs"
own=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')

ready=()
for version in 3.11 3.12 3.13; do
  if [ "$version" = "$own" ] || ! prepare_venv "$version"; then continue; fi
  "$venv/bin/pip" install -qq --disable-pip-version-check --no-deps --force-reinstall dist/frameloom-*-"cp${version/./}"-*.whl
  ready+=("$version")
done

tests=()
for name in conformance bytecode breaks breaks_handlers generators hook gradient_api; do tests+=(test/python/*/"test_$name.py"); done
# The versions differ in what is captured. The compiler library is the same for all: its code need not be optimized again.
export FRAMELOOM_OPTIMIZE="${FRAMELOOM_OPTIMIZE-0}"
running=() # a process for each version, side by side
for version in "${ready[@]}"; do
  env -u PYTHONPATH FRAMELOOM_CACHE_DIR="$PWD/build/test-cache" "build/venv-$version/bin/python" scripts/pytest_quick.py -q \
    -p no:cacheprovider "${tests[@]}" >"$logs/$version.log" 2>&1 &
  running+=($!)
done
failed=""
for i in "${!ready[@]}"; do
  wait "${running[$i]}" || failed="$failed ${ready[$i]}"
  echo "== tests on CPython ${ready[$i]}"
  cat "$logs/${ready[$i]}.log"
done
[ -z "$failed" ] || { echo "== failed on CPython$failed"; exit 1; }
