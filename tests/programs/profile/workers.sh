#!/usr/bin/env bash
# Several workers: started by ddl-profile, by mpirun, and not as many as said.
. "$DDL_SOURCE/tests/programs/profile/lib.sh"
workers='[len(c["nodes"]), [w["rank"] for w in c["workers"]], [l["level"] for l in c["link_classes"]],
  [len(w["models"]) for w in c["workers"]], c.get("allreduce_bytes_per_second", {}).get("samples", 0) > 0]'

expect_exit 0 mpirun -np 2 --oversubscribe ddl-profile --max-time 2s --model mlp --dataset data --task-sizes 4 --storage . -o two.json
said=$(check_cluster two.json "$workers") || fail "the schema refuses two.json"
[ "$said" = "[1, [0, 1], ['node'], [1, 1], True]" ] || fail "two.json says $said"
[ "$(grep -c '^medians' stdout)" = 1 ] || fail "the table was not printed once"
expect_out 'same node'

expect_exit 0 ddl-profile --np 3 --max-time 2s --storage . -o three.json
said=$(check_cluster three.json "$workers") || fail "the schema refuses three.json"
[ "$said" = "[1, [0, 1, 2], ['node'], [0, 0, 0], True]" ] || fail "three.json says $said"
expect_err --oversubscribe

expect_exit 2 mpirun -np 2 --oversubscribe ddl-profile --np 3 --max-time 1s -o no.json
expect_err 'the launcher started 2 workers'
[ ! -e no.json ] || fail "an output in spite of the wrong number of workers"

# A refusal on all workers is told once.
expect_exit 2 mpirun -np 2 --oversubscribe ddl-profile --model mlp --dataset gone -o no.json
[ "$(grep -c 'gone' stderr)" = 1 ] || { cat stderr >&2; fail "not told once"; }
expect_exit 2 ddl-profile --np 2 --max-time 1s -o two.json
expect_err --force
expect_exit 2 mpirun -np 2 --oversubscribe ddl-profile --max-time 1s -o two.json
expect_err --force
[ -z "$(ls -A | grep ddl-tmp)" ] || fail "left behind: $(ls -A | xargs)"
