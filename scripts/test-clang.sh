#!/usr/bin/env bash
# The package built by clang for each CPython that is installed, warnings as errors, from the clean copy of the tree that
# scripts/wheels.sh has made. The compiler library, which is the same for all, is built once.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/pythons.sh
[ -d build/source ] || clean_copy build/source
export CC=clang-22 CXX=clang++-22
# Nothing is optimized: what clang warns of does not depend on that.
quick="CMAKE_C_FLAGS_RELEASE=-O0 -DNDEBUG"
whole=(LOOM_TESTS=ON) backend=loom
for version in ${VERSIONS:-3.11 3.12 3.13}; do
  prepare_venv "$version" || continue
  package="build/clang-package-$version"
  rm -rf "$package" && mkdir -p "$package"
  build_wheel build/source "clang-$version" "$package" "$quick" "${whole[@]}"
  "$venv/bin/python" -m zipfile -e "$package"/frameloom-*.whl "$package"
  PYTHONPATH="$package" FRAMELOOM_CACHE_DIR="$PWD/build/test-cache" "$venv/bin/python" - "$backend" <<'PY'
import sys
import numpy as np
import frameloom
x = np.linspace(-3, 3, 1000)
f = lambda x: np.tanh(x).sum() + x[0]
assert np.allclose(frameloom.compile(f, fullgraph=True, backend=sys.argv[1])(x), f(x)), frameloom.__file__
PY
  whole=(LOOM_COMPILER=OFF) backend=interpret
done
