#!/usr/bin/env bash
# ddl-plan on inputs by hand: shares, paths, streams, options from the environment, and the schema.
. "$DDL_SOURCE/tests/support/lib.sh"
. "$DDL_SOURCE/tests/programs/plan/inputs.sh"

expect_exit 0 ddl-plan --cluster cluster.json --dataset data --model mlp --task 4 --batch 96 -o plan.json
[ ! -s "$work/stdout" ] || fail "a plan to a file prints to stdout: $(cat "$work/stdout")"
is '[w["tasks"]["count"] for w in d["workers"]]' plan.json '[16, 8]'
is 'd["numerics"]["task_samples"], d["numerics"]["reduction"]' plan.json "(4, 'exact')"
is 'd["predicted"]["step_seconds"] > d["predicted"]["communication_seconds"] > 0' plan.json True
is 'len(d["dataset_hash"]), len(d["model_hash"])' plan.json '(32, 32)'
expect_err 'estimates'

# Paths are relative to the plan's file; absolute without one.
is 'd["dataset"]' plan.json data
mkdir -p plans/deep
expect_exit 0 ddl-plan --np 2 --dataset data/dataset.json --model mlp -o plans/deep/plan.json
is 'd["dataset"]' plans/deep/plan.json ../../data
expect_exit 0 ddl-plan --np 2 --dataset data --model mlp -o -
cp "$work/stdout" streamed.json
is 'd["dataset"]' streamed.json "$(realpath data)"

# The same question gives the same bytes.
expect_exit 0 ddl-plan --cluster cluster.json --dataset data --model mlp --task 4 --batch 96 -o again.json
cmp plan.json again.json || fail "the same request gave another plan"

# Rates by hand, the first workers of a cluster, model options, and numerics.
expect_exit 0 ddl-plan --np 2 --rates 1,3 --dataset data --model mlp --set hidden=16 --task 8 --batch 64 \
  --seed 7 --order none --isa avx2 --reduction fast --dtype bfloat16 -o rates.json
is '[w["tasks"]["count"] for w in d["workers"]]' rates.json '[2, 6]'
is 'd["model_options"]' rates.json "{'hidden': '16'}"
is '[d["numerics"][k] for k in ("seed", "order", "isa", "reduction", "dtype")]' rates.json \
  "[7, 'none', 'avx2', 'fast', 'bfloat16']"
expect_exit 0 ddl-plan --cluster cluster.json --np 1 --dataset data --model mlp -o one.json
is 'len(d["workers"]), d["predicted"]["communication_seconds"]' one.json '(1, 0.0)'

# More workers than tasks: the rest have none, and that is said.
expect_exit 0 ddl-plan --np 5 --dataset data --model mlp --batch 6 --task 2 -o idle.json
is '[w["tasks"]["count"] for w in d["workers"]]' idle.json '[1, 1, 1, 0, 0]'
expect_err '2 of 5 workers have no task'

# Tables and JSON go where data goes; beside JSON the table is talk.
expect_exit 0 ddl-plan --cluster cluster.json --dataset data --model mlp --explain
expect_out 'instead'
expect_out 'two'
expect_exit 0 ddl-plan --cluster cluster.json --dataset data --model mlp --explain --json
expect_out '"format": "ddl-plan"'
expect_err 'instead'

# Options from the environment; the command line wins.
DDL_PLAN_BATCH=32 expect_exit 0 ddl-plan --np 1 --dataset data --model mlp -o environment.json
is 'd["numerics"]["global_batch"]' environment.json 32
DDL_PLAN_BATCH=32 expect_exit 0 ddl-plan --np 1 --dataset data --model mlp --batch 16 -o line.json
is 'd["numerics"]["global_batch"]' line.json 16

# A model from a file, relative to the plan.
if command -v ddl-model >/dev/null; then
  expect_exit 0 ddl-model write mlp --dataset data -o model.onnx
  expect_exit 0 ddl-plan --np 2 --dataset data --model model.onnx -o plans/onnx.json
  is 'd["model"]' plans/onnx.json ../model.onnx
fi

/usr/bin/python3 - plan.json streamed.json rates.json idle.json <<'PYTHON' || fail "a plan breaks the published schema"
import json, os, sys
try:
    import jsonschema
except ImportError:
    sys.exit(0)
schema = json.load(open(os.environ["DDL_SOURCE"] + "/lib/ddl/artifact/schemas/ddl-plan.schema.json"))
for file in sys.argv[1:]:
    jsonschema.validate(json.load(open(file)), schema)
PYTHON
