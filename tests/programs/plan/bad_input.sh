#!/usr/bin/env bash
# What cannot be planned: one line that names file and remedy, exit 2, no output left behind.
. "$DDL_SOURCE/tests/support/lib.sh"
. "$DDL_SOURCE/tests/programs/plan/inputs.sh"

# refused TEXT ARGUMENTS…
refused() {
  local text=$1
  shift
  expect_exit 2 ddl-plan "$@" -o plan.json
  expect_one_error
  expect_err "$text"
  [ ! -s "$work/stdout" ] || fail "printed: $(cat "$work/stdout")"
  [ ! -e plan.json ] && [ -z "$(find . -name '*ddl-tmp*')" ] || fail "something was left behind"
}
changed() { sed "$1" "$2" >changed.json; }

refused '1000 samples, fewer than one global batch of 2000; use --batch 1000 or less' --np 2 --dataset data --model mlp --batch 2000
refused '--task 65' --np 2 --dataset data --model mlp --task 65
refused 'neither --cluster nor --np' --dataset data --model mlp
refused 'the cluster has 2 workers' --cluster cluster.json --np 3 --dataset data --model mlp
refused '3 rates for 2 workers' --np 2 --rates 1,2,3 --dataset data --model mlp
refused '--rates' --np 2 --rates 1,fast --dataset data --model mlp
refused '--rates' --np 2 --rates 1,0 --dataset data --model mlp
refused 'did you mean mlp?' --np 2 --dataset data --model mpl
refused 'nowhere.onnx' --np 2 --dataset data --model nowhere.onnx
refused 'hiden' --np 2 --dataset data --model mlp --set hiden=3
refused '--set' --np 2 --dataset data --model mlp --set hidden
refused 'nowhere' --np 2 --dataset nowhere --model mlp
refused 'nowhere.json' --cluster nowhere.json --dataset data --model mlp
refused 'unknown option --modle; did you mean --model?' --np 2 --dataset data --modle mlp
refused '--np' --np 0 --dataset data --model mlp
refused '--isa' --np 2 --dataset data --model mlp --isa avx3

# Damaged files: file and JSON pointer.
changed 's/"node": 1/"node": 7/' cluster.json
refused 'changed.json: /workers/1/node: found node 7, expected below 2' --cluster changed.json --dataset data --model mlp
changed 's/4e10/"fast"/' cluster.json
refused 'changed.json: /workers/0/fp32_flops_per_second/median: found "fast", expected a number' --cluster changed.json --dataset data --model mlp
changed 's/"version": 1/"version": 3/' cluster.json
refused 'found version 3, this ddl reads version 1' --cluster changed.json --dataset data --model mlp
refused 'found "ddl-dataset", expected "ddl-cluster"' --cluster data/dataset.json --dataset data --model mlp
head -c 100 cluster.json >changed.json
refused 'not JSON' --cluster changed.json --dataset data --model mlp
mkdir broken
sed 's/"samples": 1000, "bytes"/"samples": 999, "bytes"/' data/dataset.json >broken/dataset.json
refused 'broken/dataset.json: /splits/0: found 1000 samples' --np 1 --dataset broken --model mlp

# An unknown key is only a warning, with the nearest known one.
changed 's/"fp32_flops_per_second"/"fp32_flop_per_second"/' cluster.json
expect_exit 0 ddl-plan --cluster changed.json --dataset data --model mlp -o -
expect_err 'unknown key "fp32_flop_per_second" is ignored; did you mean "fp32_flops_per_second"?'

# Outputs.
echo precious >kept.json
expect_exit 2 ddl-plan --np 1 --dataset data --model mlp -o kept.json
expect_err '--force'
[ "$(cat kept.json)" = precious ] || fail "an existing file was replaced"
expect_exit 0 ddl-plan --np 1 --dataset data --model mlp -o kept.json --force
expect_exit 2 ddl-plan --np 1 --dataset data --model mlp -o no/such/folder/plan.json
expect_exit 2 ddl-plan --np 1 --dataset data --model mlp
expect_err 'there is no output'
ddl-plan --np 1 --dataset data --model mlp -o - >/dev/full 2>err
[ $? = 1 ] || fail "a full disk went unnoticed"
