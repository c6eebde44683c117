#!/usr/bin/env bash
# Bad usage and bad input: exit 2, one line that names what to do, nothing written.
. "$DDL_SOURCE/tests/programs/profile/lib.sh"

refused() { # refused TEXT OPTION…
  local text=$1
  shift
  expect_exit 2 ddl-profile --max-time 1s "$@" -o out.json
  expect_one_error
  expect_err "$text"
  [ ! -e out.json ] || fail "an output in spite of: $text"
}
refused --dataset --model mlp
refused --model --task-sizes 4
refused --model --set hidden=8
refused NAME=VALUE --model mlp --dataset data --set hidden
refused gone --model mlp --dataset gone
refused mlp --model mpl --dataset data
refused gone.onnx --model gone.onnx --dataset data
refused '4000 samples' --model mlp --dataset data --task-sizes 4000
refused '0 samples' --model mlp --dataset data --task-sizes 0
refused gone --storage gone
refused --max-time --max-tim 5s
refused np --np 0

expect_exit 2 ddl-profile --max-time 0s
expect_err --max-time
expect_exit 2 ddl-profile --max-time soon
expect_one_error
expect_exit 2 ddl-profile --nonsense
expect_exit 2 ddl-profile --max-time 1s -o gone/cluster.json
expect_one_error
expect_err gone
mkdir folder
expect_exit 2 ddl-profile --max-time 1s -o folder --force
expect_one_error
expect_exit 2 ddl-profile --max-time 1s -o /proc/cluster.json
expect_one_error
expect_err /proc
[ -z "$(ls -A | grep -e ddl-tmp -e ddl-profile)" ] || fail "left behind: $(ls -A | xargs)"

expect_exit 0 ddl-profile --help
expect_out --max-time
expect_out Examples
expect_exit 0 ddl-profile --version
expect_out ddl
