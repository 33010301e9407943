#!/usr/bin/env bash
# The Python tests under Debian's debug build of CPython 3.11 (python3.11-dbg), whose assertions look at every frame,
# reference and exception; the extension is built with its headers, so that it counts references, too. Arguments are
# pytest's; without any, the files that are about capture, frames and references. Torch's tests are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/pythons.sh
if ! dpkg-query -W -f='${Status}' python3.11-dbg 2>/dev/null | grep -q 'ok installed'; then
  sudo=""
  if [ "$(id -u)" != 0 ]; then sudo=sudo; fi
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends python3.11-dbg python3.11-venv >/dev/null
fi
build_compiler
venv="$PWD/build/venv-debug"
[ -x "$venv/bin/pytest" ] || { /usr/bin/python3.11-dbg -m venv "$venv" && "$venv/bin/pip" install -q "numpy>=2" pytest hypothesis; }
build_extension build/debug "$venv/bin/python"
files=(references leaks lifetimes capture dispatch breaks breaks_handlers breaks_large effects generators generators_cpython
  guards hook classes_made conformance traps rolled observed signals interrupts bytecode)
if [ $# = 0 ]; then
  for name in "${files[@]}"; do set -- "$@" test/python/*/"test_$name.py"; done
fi
PYTHONPATH="$PWD/python" "$venv/bin/python" -X faulthandler scripts/pytest_quick.py -q "$@"
