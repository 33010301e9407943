#!/usr/bin/env bash
# The Python tests on every other CPython that is installed (python3.11, python3.12, python3.13), each with an extension
# of its own beside the one of this build. The compiler library is shared: make test, or a build of `dev`, comes first.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -e python/frameloom/libloom_compiler.so ] || cmake --preset dev >/dev/null
[ -e python/frameloom/libloom_compiler.so ] || cmake --build --preset dev --target loom_compiler
for version in ${VERSIONS:-3.11 3.12 3.13}; do
  python=$(command -v "python$version" || true)
  if [ -z "$python" ] || ! "$python" -c 'import venv' 2>/dev/null; then
    echo "== CPython $version: skipped, no python$version is installed"
    continue
  fi
  echo "== CPython $version"
  venv="build/venv-$version"
  [ -x "$venv/bin/pytest" ] || { "$python" -m venv "$venv" && "$venv/bin/pip" install -q "numpy>=2" pytest hypothesis; }
  folder="build/dev${version/./}"
  cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLOOM_COMPILER=OFF \
    -DLOOM_PYTHON_VERSION="$version" -DPython_EXECUTABLE="$PWD/$venv/bin/python" >/dev/null
  cmake --build "$folder" --target _native
  PYTHONPATH=python FRAMELOOM_STDLIB=1 "$venv/bin/python" -m pytest -q test/python "$@"
done
