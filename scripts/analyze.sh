#!/usr/bin/env bash
# Static analysis of the C code: clang's analyzer over all of it, GCC's over graph/ and runtime/. What they find and is none
# is on record in scripts/analyze.txt; anything else, and a record that nothing matches, ends with 1. One process, some
# minutes. Arguments are those of scripts/analyze.py: --by clang or gcc, and what the files' names begin with.
# usage: scripts/analyze.sh [--by clang|gcc] [PREFIX...]
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v clang-22 >/dev/null || [ ! -x .venv/bin/python ]; then scripts/setup.sh; fi
build=build/analyze
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
  -DPython_EXECUTABLE="$PWD/.venv/bin/python" >/dev/null
# Tables that are made from dialects/loom.td are included by what is analyzed.
cmake --build "$build" --target loom_tables >/dev/null
nice -n 10 python3 scripts/analyze.py "$build" "$@"
