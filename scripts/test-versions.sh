#!/usr/bin/env bash
# The Python tests on every CPython that is installed (3.11, 3.12 and 3.13), each with an extension of its own beside the
# one of this build; the compiler library is shared. Arguments are pytest's (files, -k ...). VERSIONS="3.12" takes some
# versions only, TORCH=0 leaves torch and its tests out, FRAMELOOM_PROGRAMS says how many random programs each file makes.
# One version takes about half an hour.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/pythons.sh
build_compiler
export FRAMELOOM_STDLIB=1 FRAMELOOM_PROGRAMS="${FRAMELOOM_PROGRAMS:-200}" PYTHONPATH="$PWD/python"
failed=""
for version in ${VERSIONS:-3.11 3.12 3.13}; do
  prepare "$version" || continue
  if [ "${TORCH:-1}" != 0 ] && ! "$venv/bin/python" -c 'import torch, expecttest' 2>/dev/null; then
    "$venv/bin/pip" install -q "torch==2.13.0" expecttest || echo "== CPython $version: without torch, which cannot be installed"
  fi
  tests=(test/python)
  for argument in "$@"; do [ ! -e "${argument%%::*}" ] || tests=(); done
  tests+=("$@")
  [ "${TORCH:-1}" != 0 ] || tests+=(--ignore test/python/torch)
  "$venv/bin/python" scripts/pytest_quick.py -q "${tests[@]}" || failed="$failed $version"
done
[ -z "$failed" ] || { echo "== failed on CPython$failed"; exit 1; }
