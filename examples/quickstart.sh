#!/usr/bin/env bash
# From raw data to a trained model: shard -> profile -> plan -> train, on two workers of this machine.
# Data: 1,797 handwritten digits of 8x8 pixels (UCI, as packaged with scikit-learn; BSD licence).
# Installs what is missing (as root), builds the programs, and may be run again at any time.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
case ${1:-} in
  "") ;;
  -h | --help) echo "usage: examples/quickstart.sh    (results in build/quickstart-run; DDL_RUN changes that)"; exit 0 ;;
  *) die "unknown argument '$1' (usage: examples/quickstart.sh)" ;;
esac

run=${DDL_RUN:-$root/build/quickstart-run}
build_programs
digits=$(package_file python3-sklearn '/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz')
mkdir -p "$run"

say "1. raw data -> checked shards"
show ddl-shard build "$digits" --no-header --label last --shape 1x8x8 --test 0.2 --val 0.1 -o "$run/digits" --force
say "2. what this machine can do"
show ddl-profile --np 2 --model mlp --dataset "$run/digits" --max-time 10 -o "$run/cluster.json" --force
say "3. who runs what"
show ddl-plan --cluster "$run/cluster.json" --dataset "$run/digits" --model mlp --batch 32 --task 8 -o "$run/plan.json" --explain --force
say "4. training"
show ddl-train --plan "$run/plan.json" --learning-rate 0.1 --momentum 0.9 --schedule cosine --length 30ep -o "$run/run" --force

say "done: $run/run/model.onnx. The same model, bit for bit, on one worker or three (compare parameters_hash):"
echo "    ${DDL_BIN#"$root/"}/ddl-train --plan ${run#"$root/"}/plan.json --learning-rate 0.1 --momentum 0.9 --schedule cosine --length 30ep --np 3 -o ${run#"$root/"}/run3"
