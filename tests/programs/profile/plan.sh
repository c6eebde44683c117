#!/usr/bin/env bash
# What ddl-profile writes is what ddl-plan reads: the plan's compute time is made of the measured time of a task.
. "$DDL_SOURCE/tests/programs/profile/lib.sh"
command -v ddl-plan >/dev/null || skip "ddl-plan is not built"

expect_exit 0 ddl-profile --max-time 3s --model mlp --dataset data --task-sizes 4,8 --storage . -o cluster.json
expect_exit 0 ddl-plan --cluster cluster.json --dataset data --model mlp --batch 16 --task 4 -o plan.json --explain
/usr/bin/python3 - <<'PYTHON' || fail "the plan's time is not the measured one"
import json, math
worker = json.load(open("cluster.json"))["workers"][0]
planned = json.load(open("plan.json"))["workers"][0]
[task] = [t for t in worker["models"][0]["tasks"] if t["samples"] == 4 and t["lanes"] == worker["threads"]]
expected = math.ceil(4 / worker["threads"]) * task["seconds"]["median"]
assert abs(planned["predicted_seconds"] - expected) <= 1e-9 * expected, (planned, expected)
PYTHON
