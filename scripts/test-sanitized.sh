#!/usr/bin/env bash
# The Python tests with the extension and the compiler library built with AddressSanitizer and UBSan, whose runtime is loaded
# into an ordinary CPython. CPython takes its memory from malloc, so that each object is watched. Generated code is not
# instrumented: what it writes beside a buffer shows when instrumented code or NumPy looks there. Arguments are pytest's;
# without any, the files that go through capture, results, host calls and the cache. A process ends at its first finding.
# With --suite, tests of a library's own suite are run compiled (test/suites/run.py): about ten times slower than without.
# With --fuzz, random programs (test/fuzz/fuzz.py), further arguments those of scripts/fuzz.sh.
# usage: scripts/test-sanitized.sh [FILE...]; scripts/test-sanitized.sh --suite numpy numpy/lib/tests/test_nanfunctions.py;
# scripts/test-sanitized.sh --fuzz [seconds] [seed] [kinds] [ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x .venv/bin/pytest ] || scripts/setup.sh test
cmake --preset pyasan -DPython_EXECUTABLE="$PWD/.venv/bin/python" >/dev/null
cmake --build --preset pyasan

files=(aliasing capture classes_made breaks effects fancy generators guards host_calls constants_kept references results rolled
  runtime_tables special_methods writes)
runner=(scripts/pytest_files.py test/python --capture=sys)
if [ "${1:-}" = --suite ]; then
  shift
  runner=(test/suites/run.py --processes 1 --limit 900)
elif [ "${1:-}" = --fuzz ]; then
  runner=(test/fuzz/fuzz.py --processes 1 --keep "$PWD/build/fuzz" --seconds "${2:-60}" --seed "${3:-1}" --kind "${4:-numpy,graphs}")
  shift $(($# < 4 ? $# : 4))
elif [ $# = 0 ]; then
  for name in "${files[@]}"; do set -- "$@" test/python/*/"test_$name.py"; done
fi
if [ -z "${LOOM_BUILD:-}" ]; then
  if [ -d build/wheel ]; then LOOM_BUILD="$PWD/build/wheel"; else LOOM_BUILD="$PWD/build/dev"; fi
fi
export LOOM_BUILD
export FRAMELOOM_CACHE_DIR="${FRAMELOOM_CACHE_DIR:-$PWD/build/pyasan/cache}"
mkdir -p -m 700 "$FRAMELOOM_CACHE_DIR"
reports="$PWD/build/pyasan/reports"
rm -rf "$reports" && mkdir "$reports"

# libstdc++ comes along so that the runtime finds what C++ throws with. CPython frees little at exit: leaks are another test's.
# NumPy asks for more memory than there is, and handles it. Findings of processes that tests start are in files as well.
status=0
env PYTHONPATH="$PWD/build/pyasan/python" PYTHONMALLOC=malloc \
  LD_PRELOAD="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:log_path=$reports/address:log_exe_name=1" \
  UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1" \
  .venv/bin/python "${runner[@]}" "$@" || status=$?
for report in "$reports"/*; do
  if grep -qs "ERROR: AddressSanitizer" "$report"; then
    cat "$report"
    status=1
  fi
done
exit $status
