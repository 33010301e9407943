#!/usr/bin/env bash
# A wheel of dist/ on a machine without LLVM: in an empty virtual environment, in a mount namespace where LLVM's folder is
# empty, it is installed, compiles a function, runs its tools; a CPython that it is not for runs everything plainly. Once
# it is uninstalled nothing of it is left. The wheel is that of VERSION, or the last that there is.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" != --hidden ]; then
  if [ "$(id -u)" = 0 ]; then hide=(unshare -m); else hide=(unshare -rm); fi
  if ! "${hide[@]}" true 2>/dev/null; then
    echo "== wheel: skipped, no mount namespace can be made here"
    exit
  fi
  exec "${hide[@]}" "$0" --hidden
fi
. scripts/pythons.sh
wheel=$(ls "dist/frameloom-"*"-cp${VERSION:+${VERSION/./}}"*-manylinux*.whl | tail -n 1)
version=$(sed 's/.*-cp3\([0-9]*\)-manylinux.*/3.\1/' <<<"$wheel")
echo "== $wheel"

hidden="$PWD/build/hidden"
rm -rf "$hidden"
mkdir -p "$hidden/empty" -m 700 "$hidden/cache"
for folder in /usr/lib/llvm-* /usr/include/llvm-*; do mount --bind "$hidden/empty" "$folder"; done
for library in /usr/lib/x86_64-linux-gnu/lib{LLVM,MLIR}*.so*; do
  if [ -f "$library" ]; then mount --bind /dev/null "$(readlink -f "$library")" || true; fi
done
[ -z "$(ls -A /usr/lib/llvm-22)" ] || { echo "LLVM is not hidden"; exit 1; }

bin="$hidden/venv/bin"
"$(find_python "$version")" -m venv "$hidden/venv"
"$bin/pip" install -qq --disable-pip-version-check --no-compile "numpy>=2"
files_of "$hidden/venv" >"$hidden/before"
"$bin/pip" install -qq --disable-pip-version-check --no-deps "$wheel"
if cmp -s "$hidden/before" <(files_of "$hidden/venv"); then echo "nothing was installed"; exit 1; fi
export FRAMELOOM_CACHE_DIR="$hidden/cache"
unset PYTHONPATH LD_LIBRARY_PATH
source=$PWD
cd "$hidden"

try_package "$bin" "$source"

# A version of CPython that the wheel is not for, where there is one.
if unknown=$(find_python 3.10); then
  got=$(PYTHONPATH=$(echo "$hidden"/venv/lib/python*/site-packages) "$unknown" -W always -c '
import sys
sys.path = [p for p in sys.path if "numpy" not in p]
import frameloom
print(frameloom.compile(lambda x: x + 1)(2), frameloom.compile(lambda x: x * 5)(2))' 2>&1)
  [ "$(grep -c "does not compile on Python 3.10" <<<"$got")" = 1 ] && grep -qx "3 10" <<<"$got" || { echo "$got"; exit 1; }
fi

uninstall "$hidden/venv" "$hidden/before"
echo "installed, compiled, ran its tools, left nothing"
