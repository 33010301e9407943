#!/usr/bin/env bash
# The package built by clang, warnings as errors, from the clean copy of the tree that scripts/wheels.sh has made: for the first
# CPython that is installed the whole package, which then compiles a function. For the others clang reads what includes
# Python.h and warns: no code is made, since the wheels of GCC run on each version.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/pythons.sh
[ -d build/source ] || clean_copy build/source
export CC=clang-22 CXX=clang++-22
# Nothing is optimized: what clang warns of does not depend on that.
quick="CMAKE_C_FLAGS_RELEASE=-O0 -DNDEBUG"

# read_frontend VERSION: what clang warns of in the extension for this CPython.
read_frontend() {
  local build="build/source/build/clang-$1"
  cmake -S build/source -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLOOM_COMPILER=OFF -DLOOM_TESTS=OFF -DLOOM_WERROR=ON \
    -DLOOM_PYTHON_VERSION="$1" -DPython_EXECUTABLE="$venv/bin/python" >/dev/null
  cmake --build "$build" --target loom_tables >/dev/null
  "$venv/bin/python" - "$build/compile_commands.json" <<'PY'
import json, os, shlex, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

def read(entry):
    words = shlex.split(entry["command"])
    compiler = next(i for i, word in enumerate(words) if os.path.basename(word).startswith("clang"))
    return subprocess.run([*words[compiler : words.index("-o")], "-fsyntax-only", entry["file"]], cwd=entry["directory"]).returncode

entries = [entry for entry in json.load(open(sys.argv[1])) if "/frontend/" in entry["file"]]
with ThreadPoolExecutor(os.cpu_count()) as pool:
    failed = sum(map(bool, pool.map(read, entries)))
print(f"{len(entries)} files read, {failed} with warnings")
sys.exit(not entries or failed > 0)
PY
}

built=""
for version in ${VERSIONS:-3.11 3.12 3.13}; do
  prepare_venv "$version" || continue
  if [ -n "$built" ]; then
    read_frontend "$version"
    continue
  fi
  built=$version
  package="build/clang-package-$version"
  rm -rf "$package" && mkdir -p "$package"
  build_wheel build/source "clang-$version" "$package" "$quick" LOOM_TESTS=ON
  "$venv/bin/python" -m zipfile -e "$package"/frameloom-*.whl "$package"
  PYTHONPATH="$package" FRAMELOOM_CACHE_DIR="$PWD/build/test-cache" "$venv/bin/python" - <<'PY'
import numpy as np
import frameloom
x = np.linspace(-3, 3, 1000)
f = lambda x: np.tanh(x).sum() + x[0]
assert np.allclose(frameloom.compile(f, fullgraph=True)(x), f(x)), frameloom.__file__
PY
done
