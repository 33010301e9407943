#!/usr/bin/env bash
# Python tests under valgrind's memcheck, which watches generated code as well: reads and writes beside a buffer, and decisions
# that depend on what was never written. A hundred times slower than the tests themselves: name single files or tests.
# usage: scripts/test-valgrind.sh FILE... (pytest's arguments)
set -euo pipefail
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 1; }
export PYTHONPATH="$PWD/python" PYTHONMALLOC=malloc OPENBLAS_NUM_THREADS=1
export FRAMELOOM_CACHE_DIR="${FRAMELOOM_CACHE_DIR:-$PWD/build/valgrind-cache}"
mkdir -p -m 700 "$FRAMELOOM_CACHE_DIR"
exec valgrind --quiet --error-exitcode=9 --num-callers=24 --suppressions=scripts/valgrind.supp \
  .venv/bin/python -m pytest -q --capture=sys -p no:cacheprovider -p no:faulthandler "$@"
