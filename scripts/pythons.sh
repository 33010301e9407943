# For scripts that run on several versions of CPython: sourced from the repository's root.

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

# prepare VERSION: a virtual environment and the extension; false, with a line that says why, when this machine has no such
# CPython. Sets `venv`. An extension that cannot be built ends the script.
prepare() {
  local python
  if ! python=$(find_python "$1"); then
    echo "== CPython $1: skipped, no python$1 with headers is installed"
    return 1
  fi
  echo "== CPython $1"
  venv="$PWD/build/venv-$1"
  if [ ! -x "$venv/bin/pytest" ] && ! { "$python" -m venv "$venv" && "$venv/bin/pip" install -qq "numpy>=2" pytest hypothesis; }; then
    echo "== CPython $1: skipped, NumPy and pytest cannot be installed for it"
    return 1
  fi
  build_extension "build/dev${1/./}" "$venv/bin/python" || { echo "== CPython $1: the extension cannot be built"; exit 1; }
}
