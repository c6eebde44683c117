#!/usr/bin/env bash
# A Python with what Debian lacks (ONNX Runtime; h5py with hdf5plugin), installed once from PyPI and
# shared by the tests. Prints the path of its interpreter. Exit 77 when it cannot be installed,
# or 1 with CI=true, where nothing may be skipped for want of a package.
set -uo pipefail
packages=(numpy==1.26.4 h5py==3.11.0 hdf5plugin==4.4.0 onnx==1.16.1 onnxruntime==1.18.1)
venv=${DDL_VENV:-${DDL_BUILD:?DDL_BUILD or DDL_VENV must say where}/venv}
stamp=$venv/installed

mkdir -p "$(dirname "$venv")"
exec 9>"$venv.lock"
flock 9
if [ "$(cat "$stamp" 2>/dev/null)" != "${packages[*]}" ]; then
  rm -rf "$venv"
  { /usr/bin/python3 -m venv "$venv" &&
    "$venv/bin/pip" install -q --disable-pip-version-check --only-binary :all: "${packages[@]}"; } >"$venv.log" 2>&1 || {
    echo "venv: ${packages[*]} cannot be installed: $(tail -n 1 "$venv.log")" >&2
    [ "${CI:-}" = true ] && exit 1
    exit 77
  }
  echo "${packages[*]}" >"$stamp"
fi
echo "$venv/bin/python"
