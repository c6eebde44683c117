#!/usr/bin/env bash
# One worker without a launcher: files, tables and JSON, and what becomes of an existing output.
. "$DDL_SOURCE/tests/programs/profile/lib.sh"

expect_exit 0 ddl-profile --max-time 2s --model mlp --set hidden=8 --dataset data --task-sizes 2,8 --storage . -o cluster.json
expect_out float32
expect_out 'temporary file'
expect_out 'model mlp'
expect_out '10th to 90th percentile'
said=$(check_cluster cluster.json '[len(c["nodes"]), len(c["workers"]), c["link_classes"], c["workers"][0]["models"][0]["model"],
  sorted({t["samples"] for t in c["workers"][0]["models"][0]["tasks"]}), "allreduce_bytes_per_second" in c]') || fail "the schema refuses cluster.json"
[ "$said" = "[1, 1, [], 'mlp', [2, 8], False]" ] || fail "cluster.json says $said"
[ "$(ls -A)" = "$(printf '%s\n' built cluster.json data stderr stdout table.csv)" ] || fail "left behind: $(ls -A | xargs)"

# The data set is named by the hash that ddl-shard gave it.
hash=$(check_cluster cluster.json 'c["workers"][0]["models"][0]["dataset_hash"]')
[ "$hash" = "$(sed -n 's/^hash //p' built)" ] || fail "the data set's hash is $hash"

# An existing output is refused before anything is measured, and stays.
before=$(cat cluster.json)
start=$SECONDS
expect_exit 2 ddl-profile --max-time 60s -o cluster.json
expect_one_error
expect_err cluster.json
expect_err --force
[ $((SECONDS - start)) -lt 20 ] || fail "measured before it looked at the output"
[ "$(cat cluster.json)" = "$before" ] || fail "the refused output was changed"
expect_exit 0 ddl-profile --max-time 1s -o cluster.json --force
[ "$(cat cluster.json)" != "$before" ] || fail "--force did not replace"

# JSON on standard output, twice the same way; talk stays on standard error.
expect_exit 0 ddl-profile --max-time 1s --json
check_cluster stdout 'c["format"]' >/dev/null || fail "--json is no cluster"
expect_exit 0 ddl-profile --max-time 1s -o -
check_cluster stdout 'c["format"]' >/dev/null || fail "-o - is no cluster"
[ ! -e ./- ] || fail "a file named -"
expect_exit 1 bash -c 'ddl-profile --max-time 1s >/dev/full'

# Fewer threads are used when told to.
expect_exit 0 env OMP_NUM_THREADS=1 ddl-profile --max-time 1s --json
[ "$(check_cluster stdout 'c["workers"][0]["threads"]')" = 1 ] || fail "OMP_NUM_THREADS=1 does not give one lane"
