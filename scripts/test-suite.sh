#!/usr/bin/env bash
# The tests of a library's own suite, compiled: scripts/test-suite.sh numpy [ARGUMENT...], arguments those of
# test/suites/run.py. Without any the library's page in docs/ is written.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=$1
shift
export FRAMELOOM_CACHE_DIR="$PWD/build/test-cache"
[ $# != 0 ] || set -- --table "docs/$suite-tests.md"
.venv/bin/python test/suites/run.py "$suite" "$@"
