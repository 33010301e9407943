#!/usr/bin/env bash
# Installs what is missing: Debian packages (as root or through sudo), a virtual environment, the build itself.
# usage: scripts/setup.sh [test] [bench] [models] [scipy] [sklearn] [pandas] [networkx] [mpmath] [toolz] [statsmodels] [xarray] [pywt] [dask] [astropy] [quantities] [zoo] [jax]   (extra groups of Python packages)
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  build-essential ccache cmake ninja-build git ca-certificates
  python3-dev python3-venv
  clang-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  libcmocka-dev libxxhash-dev libzstd-dev zlib1g-dev
)
if [[ " $* " == *" test "* ]]; then packages+=(clang-format-22); fi # a test compares all C code with what it makes
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if ((${#missing[@]})); then
  echo "installing Debian packages: ${missing[*]}"
  sudo=""
  if [ "$(id -u)" != 0 ]; then sudo=sudo; fi
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# A Python of 3.11 or newer that has its headers: the one on PATH, else Debian's.
usable() {
  "$1" - <<'PY' >/dev/null 2>&1
import os, sys, sysconfig, venv
assert sys.version_info >= (3, 11)
assert os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h"))
PY
}
python=""
for candidate in ${FRAMELOOM_PYTHON:-} python3 /usr/bin/python3; do
  if usable "$candidate"; then python=$candidate; break; fi
done
if [ -z "$python" ]; then echo "no Python of 3.11 or newer with headers found" >&2; exit 1; fi
if [ ! -x .venv/bin/python ]; then "$python" -m venv .venv; fi

build=("scikit-build-core>=0.10" "numpy>=2")
want=()
define=() # the programs of the tests are built for them alone
for group in "$@"; do
  case $group in
    test)
      want+=("pytest>=8" "pytest-timeout" "hypothesis>=6" "lit" "torch==2.13.0" "expecttest" "llvmlite" "markdown-it-py")
      define=("-Ccmake.define.LOOM_TESTS=ON" "-Ccmake.define.LOOM_WERROR=ON") # a developer's build, as that of scripts/wheels.sh
      ;;
    bench) want+=(-r bench/requirements.txt) ;;
    models) want+=(-r bench/models.txt) ;;
    scipy) want+=("scipy==1.17.1") ;;
    sklearn) want+=("scikit-learn==1.9.1" "scipy==1.17.1") ;;
    pandas) want+=("pandas==3.1.1") ;;
    networkx) want+=("networkx==3.6.1") ;;
    mpmath) want+=("mpmath==1.3.0") ;;
    toolz) want+=("toolz==1.2.0") ;;
    statsmodels) want+=("statsmodels==0.15.0" "pandas==3.1.1" "scipy==1.17.1") ;;
    xarray) want+=("xarray==2026.9.0" "pandas==3.1.1" "pytz") ;;
    pywt) want+=("pywavelets==1.9.0") ;;
    dask) want+=("dask[array]==2026.8.0") ;;
    astropy) want+=("astropy==8.0.2" "pytest-remotedata") ;;
    quantities) want+=("quantities==0.16.4") ;;
    jax) want+=("absl-py>=2" "scipy==1.17.1") ;; # what JAX's own tests import; JAX itself is none of it
    zoo) want+=(-r bench/models.txt "pillow>=10") ;;
  esac
done

# The package is built while the others are downloaded and unpacked. The build is incremental: build/wheel is kept. Other builds of
# the same flags find its objects (scripts/pythons.sh).
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
pip=(.venv/bin/python -m pip)
quiet=(--quiet --disable-pip-version-check)
# Byte code of other packages is made where a module is first imported: most modules of torch and of what it needs never are.
"${pip[@]}" install "${quiet[@]}" --no-compile "${build[@]}"
rm -rf build/package
"${pip[@]}" wheel "${quiet[@]}" --no-build-isolation --no-deps --no-cache-dir -w build/package "${define[@]}" . &
built=$!
trap 'kill $built 2>/dev/null || true' EXIT
if ((${#want[@]})); then "${pip[@]}" install "${quiet[@]}" --no-compile "${want[@]}"; fi
if [[ " $* " == *" zoo "* ]] && [ ! -d build/zoo-packages/timm ]; then
  # In a folder of its own: transformers looks for both, and does not load beside a torchvision that does not.
  "${pip[@]}" install "${quiet[@]}" --no-deps --target build/zoo-packages "timm==1.0.31" "torchvision==0.28.0"
fi
wait $built
trap - EXIT
"${pip[@]}" install "${quiet[@]}" --no-deps --force-reinstall build/package/frameloom-*.whl
