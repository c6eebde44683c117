#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests. The README's test command; CI calls it.
#   tests/run.sh [--preset release|debug|asan|tsan] [CTEST ARGUMENTS…]
# With CI=true warnings are errors and the list of skipped tests must equal tests/skipped.txt.
set -euo pipefail
. "$(dirname "$0")/../examples/lib.sh"
cd "$root"

preset=release
if [ "${1:-}" = --preset ]; then
  preset=${2:?--preset needs a name}
  shift 2
elif [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
  sed -n '2,4s/^# //p' "$0"
  exit 0
fi
[ "$preset" = release ] && [ "${CI:-}" = true ] && preset=ci

test_packages=(locales procps libgtest-dev libgmock-dev hdf5-tools zstd scdoc man-db python3-venv python3-numpy python3-h5py
  python3-jsonschema util-linux iproute2)

phase_start=$SECONDS
phase() { # phase NAME: closes the phase that ran until now
  printf 'phase %-12s %4d s\n' "$1" $((SECONDS - phase_start))
  phase_start=$SECONDS
}

need_packages "${build_packages[@]}" "${test_packages[@]}"
phase packages
say "configuring (preset $preset)"
cmake --preset "$preset" >"$(log_file "configure-$preset")" 2>&1 ||
  { tail -n 20 "$(log_file "configure-$preset")" >&2; die "cmake failed"; }
grep -- '-- ddl:' "$(log_file "configure-$preset")" || true
phase configure
say "building"
# With -L unit only the unit tests are wanted.
target=()
[ "$*" = "-L unit" ] && target=(--target ddl_unit_tests)
cmake --build --preset "$preset" "${target[@]}" >"$(log_file "build-$preset")" 2>&1 ||
  { grep -E -m 20 -A 5 'error|FAILED' "$(log_file "build-$preset")" >&2; die "the build failed (log: $(log_file "build-$preset"))"; }
phase build
# What scripts need beyond Debian (ONNX Runtime, h5py with hdf5plugin), once.
if [ "$preset" != tsan ] && [ "$preset" != asan ]; then
  export DDL_VENV=${DDL_VENV:-$root/build/venv}
  DDL_BUILD=$root/build/release bash tests/support/venv.sh >/dev/null || [ $? -eq 77 ] || die "tests/support/venv.sh failed"
  phase python
fi

junit=$root/build/logs/junit-$preset.xml
status=0
ctest --preset "$preset" --output-junit "$junit" "$@" || status=$?
phase tests

# The list of skipped tests, always printed; in CI it must be the committed one.
skipped=$root/build/logs/skipped-$preset.txt
sed -n 's/.*<testcase name="\([^"]*\)".* status="\(notrun\|disabled\)".*/\1/p' "$junit" | LC_ALL=C sort >"$skipped"
if [ -s "$skipped" ]; then
  say "skipped:"
  sed 's/^/    /' "$skipped"
else
  say "no test was skipped"
fi
if [ "${CI:-}" = true ] && [ $# -eq 0 ] && [ "$preset" = ci ] && ! diff -u tests/skipped.txt "$skipped"; then
  die "the list of skipped tests differs from tests/skipped.txt (- committed, + this run)"
fi
exit $status
