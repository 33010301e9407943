#!/usr/bin/env bash
# Every test: C unit tests and a part of the Python tests under ASan and UBSan, lit for dialect, passes and targets,
# random programs, NumPy's own tests compiled, pytest for Python behaviour; wheels by GCC and a build by clang for each
# CPython that is installed, and on the others what depends most on the version.
set -euo pipefail
cd "$(dirname "$0")/.."

# stage NAME: what the last one took, and that the next one begins.
last="" began=$SECONDS
stage() {
  [ -z "$last" ] || echo "== $last took $((SECONDS - began)) s"
  last=$1 began=$SECONDS
  echo "== $last"
}

# The threads of torch and of NumPy's BLAS sleep while they wait: tests run side by side, and on as many CPUs a quarter of
# the time went into threads that spin.
export OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1

# Builds find the objects of other builds with the same flags.
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1

stage "setup"
scripts/setup.sh test

stage "C unit tests (ASan, UBSan)"
cmake --preset asan >/dev/null
cmake --build --preset asan
ctest --test-dir build/asan --output-on-failure

# What is built and tried for other versions and compilers waits for linkers, archives and environments most of the time: it
# runs beside the stages that follow, and is shown behind them.
packages() {
  local last="" began=$SECONDS
  stage "wheels for each CPython, without warnings"
  scripts/wheels.sh
  scripts/test-wheels.sh
  stage "the package built by clang, without warnings"
  scripts/test-clang.sh
  stage "other versions of CPython"
  scripts/test-other-versions.sh
  stage "packages done"
}
packages >build/packages.log 2>&1 &
packages=$!
trap 'kill $packages 2>/dev/null || true' EXIT

stage "pytest of what hands memory to NumPy (ASan, UBSan)"
FRAMELOOM_OPTIMIZE=0 scripts/test-sanitized.sh test/python/runtime/test_results.py test/python/numpy/test_host_calls.py

stage "lit"
LOOM_BUILD="$PWD/build/wheel" .venv/bin/lit -q test

export LOOM_BUILD="$PWD/build/wheel"

stage "random programs"
# So few of each kind that any machine comes to all of them in time: every run asks the same.
scripts/fuzz.sh 60 1 numpy,changes --count 300
scripts/fuzz.sh 60 1 python,ir --count 60
scripts/fuzz.sh 120 1 graphs --count 30

export FRAMELOOM_CACHE_DIR="$PWD/build/test-cache"
stage "pytest, checked kernels"
# Kernels of every form; elsewhere in the suite FRAMELOOM_CHECK=bounds works as well, several times slower. The accesses that are
# compared are there before LLVM optimizes; the same files ask for the results of optimized code below.
(cd build && FRAMELOOM_CHECK=bounds FRAMELOOM_OPTIMIZE=0 ../.venv/bin/python ../scripts/pytest_files.py ../test/python -c ../pyproject.toml --rootdir .. \
  ../test/python/compiler/test_kernels_{attention,complex}.py ../test/python/numpy/test_{ufuncs,layout_between_kernels,dot}.py)

stage "packages"
wait $packages || status=$?
trap - EXIT
cat build/packages.log
[ -z "${status:-}" ] || exit "$status"

stage "pytest"
# From another folder, so that the installed package is tested and not the source tree.
(cd build && ../.venv/bin/python ../scripts/pytest_files.py ../test/python -c ../pyproject.toml --rootdir .. "$@")

stage "NumPy's own tests, the short files"
# They ask what is captured, and `make test-numpy` runs all of them with optimized code.
FRAMELOOM_OPTIMIZE=0 scripts/test-suite.sh numpy --short
stage "done, after $SECONDS s"
