#!/usr/bin/env bash
# `pip install .` as a user types it: from a clean copy of the tree into an empty virtual environment of each CPython of 3.11,
# 3.12 and 3.13 that is installed (VERSIONS="3.12" takes some only), without any option or package that was there before. The
# package then compiles a function and runs its tools; uninstalled, it leaves nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/pythons.sh
unset PYTHONPATH LD_LIBRARY_PATH
root=$PWD folder=$PWD/build/install
rm -rf "$folder"
for version in ${VERSIONS:-3.11 3.12 3.13}; do
  if ! python=$(find_python "$version"); then
    echo "== CPython $version: skipped, no python$version with headers is installed"
    continue
  fi
  cd "$root"
  clean_copy "$folder/$version/source"
  "$python" -m venv "$folder/$version/venv"
  files_of "$folder/$version/venv" >"$folder/$version/before"
  cd "$folder/$version/source"
  CCACHE_BASEDIR=$PWD "$folder/$version/venv/bin/pip" install -q --disable-pip-version-check .
  mkdir -m 700 "$folder/$version/cache"
  cd "$folder/$version"
  FRAMELOOM_CACHE_DIR="$folder/$version/cache" try_package venv/bin "$root"
  venv/bin/pip uninstall -qq -y numpy
  uninstall venv before
  echo "== CPython $version: pip install . installed, compiled, ran its tools, left nothing"
done
