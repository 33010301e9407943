#!/usr/bin/env bash
# Random programs, compiled and plain: scripts/fuzz.sh [seconds] [seed] [kinds] [ARGUMENT...], further arguments those of
# test/fuzz/fuzz.py. What differs is printed, and fails.
set -euo pipefail
cd "$(dirname "$0")/.."
kept="$PWD/build/fuzz"
export LOOM_BUILD="${LOOM_BUILD:-$PWD/build/wheel}"
# From another folder, so that the installed package is tested and not the source tree.
cd build && ../.venv/bin/python ../test/fuzz/fuzz.py --seconds "${1:-60}" --seed "${2:-1}" --kind "${3:-all}" \
  --processes "$(nproc)" --keep "$kept" "${@:4}"
