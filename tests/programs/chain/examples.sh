#!/usr/bin/env bash
# Each example script runs to its quality figure, which is good for its data.
set -euo pipefail
. "$DDL_SOURCE/tests/support/lib.sh"
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT

# example SCRIPT FIGURE OPERATOR BOUND
example() {
  local value
  DDL_RUN=$run/$(basename "$1") bash "$DDL_SOURCE/examples/$1" >"$run/out" 2>"$run/err" || { tail -n 20 "$run/err"; fail "$1 failed"; }
  value=$(sed -n "s/^$2: //p" "$run/out")
  [ -n "$value" ] || { cat "$run/out"; fail "$1 printed no '$2'"; }
  awk "BEGIN { exit !($value $3 $4) }" || fail "$1: $2 is $value, expected $3 $4"
  echo "$1: $2 $value"
}
example image/digits.sh 'test accuracy' '>=' 0.97
example medical/breast_cancer.sh 'test accuracy' '>=' 0.94
example credit/german.sh 'test accuracy' '>=' 0.70
example text/manual.sh 'test perplexity' '<=' 9
