# Shared by the program tests: source it. Works in a fresh folder that is removed at the end, with
# the programs first on PATH.
set -uo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export PATH=$DDL_BIN:$PATH LC_ALL=C.UTF-8

fail() { echo "FAILED: $*" >&2; exit 1; }
# What cannot run here, with the reason.
skip() { echo "skipped: $*"; exit 77; }

# expect_exit CODE COMMAND…: its output is then in $work/stdout and $work/stderr.
expect_exit() {
  local expected=$1 found=0
  shift
  "$@" >"$work/stdout" 2>"$work/stderr" || found=$?
  [ "$found" = "$expected" ] || { cat "$work/stdout" "$work/stderr" >&2; fail "exit $found, expected $expected: $*"; }
}
# The text stands in what the last command wrote.
expect_err() { grep -qF -- "$1" "$work/stderr" || { cat "$work/stderr" >&2; fail "stderr has no '$1'"; }; }
expect_out() { grep -qF -- "$1" "$work/stdout" || { cat "$work/stdout" >&2; fail "stdout has no '$1'"; }; }
# The last command's error was one line.
expect_one_error() { [ "$(grep -c 'error:' "$work/stderr")" = 1 ] || { cat "$work/stderr" >&2; fail "not one line of error"; }; }
