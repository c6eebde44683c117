#!/usr/bin/env bash
# The benches run and print lines of the agreed shape. Not how fast: that is what they are for.
. "$DDL_SOURCE/tests/support/lib.sh"
run=$DDL_SOURCE/tests/bench/run.sh
build_type=$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' "$DDL_BUILD/CMakeCache.txt")

for script in "$DDL_SOURCE"/tests/bench/*.sh "$DDL_SOURCE"/tests/bench/*/*.sh; do
  bash -n "$script" || fail "$script does not parse"
done
expect_exit 2 bash "$run"
expect_exit 2 bash "$run" nothing
expect_err 'unknown area'
expect_exit 2 bash "$run" run run.nothing
expect_err run.scaling
expect_exit 2 bash "$run" data
expect_err 'no figures yet'
expect_exit 2 bash "$run" run --slow
expect_exit 0 bash "$run" --help
expect_out AREA

[ "$build_type" = Release ] || { expect_exit 1 bash "$run" run --quick; expect_err 'no release build'; exit 0; }
expect_exit 0 bash "$run" run --quick
/usr/bin/python3 - "$work/stdout" <<'PYTHON' || fail "lines of another shape"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert [line["figure"] for line in lines] == ["run.quickstart.1w", "run.quickstart.2w", "run.scaling"], lines
for line in lines:
    assert line["unit"] in ("samples/s", "x") and line["runs"] == 2, line
    assert 0 < line["low"] <= line["value"] <= line["high"], line
PYTHON
expect_exit 0 bash "$run" run run.scaling --quick
[ "$(wc -l <"$work/stdout")" = 1 ] || fail "not only the figure asked for"
expect_out '"figure": "run.scaling"'
