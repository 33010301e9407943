#!/usr/bin/env bash
# What depends most on the version of CPython, on those that are installed beside the one of this build: `make test` runs
# it behind scripts/setup.sh. The package is the installed one with an extension for each version beside its own. All
# Python tests on all versions: scripts/test-versions.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/pythons.sh
package="$PWD/build/versions"
rm -rf "$package"
mkdir -p "$package"
# From another folder, so that it is not the source tree.
cp -r "$(cd build && ../.venv/bin/python -c 'import frameloom; print(frameloom.__path__[0])')" "$package/frameloom"
own=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')

ready=()
for version in 3.11 3.12 3.13; do
  if [ "$version" = "$own" ] || ! prepare "$version"; then continue; fi
  cp python/frameloom/_native.cpython-"${version/./}"-*.so "$package/frameloom/"
  ready+=("$version")
done

tests=()
for name in conformance versions breaks breaks_handlers generators hook; do tests+=("test/python/test_$name.py"); done
running=() # a process for each version, side by side
for version in "${ready[@]}"; do
  PYTHONPATH="$package" FRAMELOOM_CACHE_DIR="$PWD/build/test-cache" "build/venv-$version/bin/python" -m pytest -q \
    -p no:cacheprovider "${tests[@]}" >"$package/$version.log" 2>&1 &
  running+=($!)
done
failed=""
for i in "${!ready[@]}"; do
  wait "${running[$i]}" || failed="$failed ${ready[$i]}"
  echo "== tests on CPython ${ready[$i]}"
  cat "$package/${ready[$i]}.log"
done
[ -z "$failed" ] || { echo "== failed on CPython$failed"; exit 1; }
