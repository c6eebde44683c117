#!/usr/bin/env bash
# What ddl-profile writes is what ddl-plan reads: measured task times, not estimates.
. "$DDL_SOURCE/tests/programs/profile/lib.sh"
command -v ddl-plan >/dev/null || skip "ddl-plan is not built"

expect_exit 0 ddl-profile --max-time 3s --model mlp --dataset data --task-sizes 4,8 --storage . -o cluster.json
expect_exit 0 ddl-plan --cluster cluster.json --dataset data --model mlp --batch 16 --task 4 -o plan.json --explain
expect_out measured
