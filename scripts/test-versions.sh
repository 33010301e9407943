#!/usr/bin/env bash
# The Python tests on every other CPython that is installed (python3.11, python3.12, python3.13), each with an extension
# of its own beside the one of this build. The compiler library is shared: make test, or a build of `dev`, comes first.
# Arguments are pytest's (files, -k ...). VERSIONS="3.12" takes some versions only, TORCH=0 leaves torch and its tests out,
# FRAMELOOM_PROGRAMS says how many random programs each file makes. One version takes about ten minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -e python/frameloom/libloom_compiler.so ] || cmake --preset dev >/dev/null
[ -e python/frameloom/libloom_compiler.so ] || cmake --build --preset dev --target loom_compiler
export FRAMELOOM_STDLIB=1 FRAMELOOM_PROGRAMS="${FRAMELOOM_PROGRAMS:-200}" PYTHONPATH=python
failed=""
for version in ${VERSIONS:-3.11 3.12 3.13}; do
  python=$(command -v "python$version" || true)
  if [ -z "$python" ] || ! "$python" -c 'import venv' 2>/dev/null; then
    echo "== CPython $version: skipped, no python$version is installed"
    continue
  fi
  echo "== CPython $version"
  venv="build/venv-$version"
  [ -x "$venv/bin/pytest" ] || { "$python" -m venv "$venv" && "$venv/bin/pip" install -q "numpy>=2" pytest hypothesis; }
  if [ "${TORCH:-1}" != 0 ] && ! "$venv/bin/python" -c 'import torch, expecttest' 2>/dev/null; then
    "$venv/bin/pip" install -q "torch==2.13.0" expecttest || echo "== CPython $version: without torch, which cannot be installed"
  fi
  folder="build/dev${version/./}"
  cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLOOM_COMPILER=OFF \
    -DLOOM_PYTHON_VERSION="$version" -DPython_EXECUTABLE="$PWD/$venv/bin/python" >/dev/null
  cmake --build "$folder" --target _native
  tests=(test/python)
  for argument in "$@"; do [ ! -e "${argument%%::*}" ] || tests=(); done
  tests+=("$@")
  [ "${TORCH:-1}" != 0 ] || tests+=(--ignore-glob "*/test_torch*")
  "$venv/bin/python" -m pytest -q "${tests[@]}" || failed="$failed $version"
done
[ -z "$failed" ] || { echo "== failed on CPython$failed"; exit 1; }
