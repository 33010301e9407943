#!/usr/bin/env bash
# Everything that is measured on a GPU, in ten minutes: bench/results/gpu-NAME.json and .md, NAME being the GPU's.
#
#   bench/gpu.sh [--wheel FILE] [--python PYTHON] [options of bench/gpu.py]
#
# The machine needs an NVIDIA GPU with its driver, a Python with torch (2.11 or later) and NumPy, and this folder; neither a
# compiler nor LLVM. frameloom comes from a wheel for that Python (`make wheels`), which is unpacked: --wheel, or the one in
# dist/ or build/package/; without one, it is what that Python imports.
set -euo pipefail
cd "$(dirname "$0")/.."
python=python3
wheel=
options=()
while [ $# -gt 0 ]; do
  case $1 in
    --wheel) wheel=$2; shift 2 ;;
    --python) python=$2; shift 2 ;;
    *) options+=("$1"); shift ;;
  esac
done
tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
for found in dist/frameloom-*-"$tag"-*.whl build/package/frameloom-*-"$tag"-*.whl; do
  if [ -z "$wheel" ] && [ -e "$found" ]; then wheel=$found; fi
done
if [ -n "$wheel" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  "$python" -m zipfile -e "$wheel" "$folder"
  export PYTHONPATH="$folder${PYTHONPATH:+:$PYTHONPATH}"
fi
"$python" bench/gpu.py "${options[@]}"
