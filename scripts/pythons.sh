# For scripts that run on several versions of CPython: sourced from the repository's root.

# Builds of several versions share what does not depend on the version.
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1

# The CPython of a version, with its headers: on PATH, or where pyenv keeps it.
find_python() {
  local candidate
  for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python"$1"; do
    if "$candidate" -c 'import sysconfig, venv; open(sysconfig.get_paths()["include"] + "/Python.h")' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

# The compiler library, which is the same for all versions: what was built before may be older than the extension.
build_compiler() {
  [ -d build/dev ] || scripts/setup.sh test
  cmake --preset dev >/dev/null
  cmake --build --preset dev --target loom_compiler >/dev/null
}

# build_extension FOLDER PYTHON: an extension of its own for each, beside the Python files.
build_extension() {
  cmake -S . -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLOOM_COMPILER=OFF \
    -DLOOM_PYTHON_VERSION="$("$2" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" -DPython_EXECUTABLE="$2" >/dev/null &&
    cmake --build "$1" --target _native
}

# prepare_venv VERSION: a virtual environment that builds and tests; false, with a line that says why, when this machine has
# no such CPython. Sets `venv`.
prepare_venv() {
  local python
  if ! python=$(find_python "$1"); then
    echo "== CPython $1: skipped, no python$1 with headers is installed"
    return 1
  fi
  echo "== CPython $1"
  venv="$PWD/build/venv-$1"
  if [ -e "$venv/ready" ]; then return; fi
  if ! { "$python" -m venv "$venv" && "$venv/bin/pip" install -qq --no-compile "numpy>=2" pytest hypothesis "scikit-build-core>=0.10"; }; then
    echo "== CPython $1: skipped, NumPy and pytest cannot be installed for it"
    return 1
  fi
  touch "$venv/ready"
}

# prepare VERSION: the same and the extension in the source tree. One that cannot be built ends the script.
prepare() {
  prepare_venv "$1" || return 1
  build_extension "build/dev${1/./}" "$venv/bin/python" || { echo "== CPython $1: the extension cannot be built"; exit 1; }
}

# clean_copy FOLDER: the tree as a checkout has it, with what is not committed yet. Builds inside of it are kept.
clean_copy() {
  mkdir -p "$1"
  find "$1" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    if [ -f "$file" ] && [ ! -L "$file" ]; then printf '%s\0' "$file"; fi
  done | tar -c --null -T - | tar -x -C "$1" # with the times of the files: builds go on where they were
}

# build_wheel SOURCE BUILD INTO [DEFINE...]: with the virtual environment `venv`, warnings are errors. The build is in SOURCE/build,
# so that names of files from there are those of a build of the tree itself, whose objects ccache gives.
build_wheel() {
  local source=$1 build=$1/build/$2 into=$3 defines=()
  shift 3
  for define in LOOM_WERROR=ON "$@"; do defines+=("-Ccmake.define.$define"); done
  CCACHE_BASEDIR="$PWD/$source" "$venv/bin/pip" wheel -q --disable-pip-version-check --no-build-isolation --no-deps --no-cache-dir -w "$into" \
    "-Cbuild-dir=$PWD/$build" "${defines[@]}" "./$source"
}

files_of() { (cd "$1" && find . ! -path '*__pycache__*' | sort); }

# try_package BIN SOURCE: what is installed compiles a function, without a library of LLVM, and its tools run; in the folder at
# hand, which is not the source tree. The cache folder is the caller's.
try_package() {
  "$1/python" - <<'PY'
import numpy as np
import frameloom

@frameloom.compile(fullgraph=True)
def f(x, w):
    return np.tanh(x @ w).sum(axis=1) / 3

x, w = np.linspace(-1, 1, 60).reshape(10, 6), np.linspace(0, 1, 12).reshape(6, 2)
assert np.allclose(f(x, w), np.tanh(x @ w).sum(axis=1) / 3)
maps = open("/proc/self/maps").read()
assert "libloom_compiler.so" in maps and "libLLVM" not in maps and "libMLIR" not in maps, maps
PY
  "$1/loom-opt" --version | grep "LLVM version" >/dev/null
  "$1/loom-opt" --loom-plans "$2/examples/c/dense.mlir" | grep "loom.plan" >/dev/null
  "$1/loom-compile" "$2/examples/c/dense.mlir" -o dense.o --emit-header=dense.h
  cc -I. "$2/examples/c/dense.c" dense.o -lm -o dense
  ./dense >/dev/null
  "$1/loom-run" "$2/examples/c/dense.mlir" --seed=1 --save=dense.npy | grep "float32\[64x32\]" >/dev/null
  "$1/loom-reduce" "$2/examples/c/dense.mlir" --test=grep -a -q -a loom.dot_general 2>/dev/null | grep loom.dot_general >/dev/null
  "$1/loom-translate" "$2/examples/c/dense.mlir" --to=dot | grep "loom.dot_general" >/dev/null
  "$1/python" -c 'import numpy; assert numpy.load("dense.npy").shape == (64, 32)'
  "$1/frameloom" reasons | grep FL0001 >/dev/null
}

# uninstall VENV BEFORE: nothing is left beside what the list of files says.
uninstall() {
  local left
  "$1/bin/pip" uninstall -qq -y frameloom
  diff "$2" <(files_of "$1") || { echo "left behind"; exit 1; }
  left=$(find "$1" -iname '*frameloom*' -o -name 'loom-*')
  [ -z "$left" ] || { echo "left behind: $left"; exit 1; }
}
