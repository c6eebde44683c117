#!/usr/bin/env bash
# Samples per second of ddl-train on the quickstart's data and model, one lane a worker, with one worker and with two,
# and the second over the first. Runs alternate; a ratio is that of two runs side by side. Evaluation and start are not
# counted: samples over the time of the steps, from run.json.
# figures: run.quickstart.1w run.quickstart.2w run.scaling
. "$(dirname "$0")/../lib.sh"
bench_programs
digits=$(package_file python3-sklearn '/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz')
if [ -n "${BENCH_QUICK:-}" ]; then pairs=2 length=3ep profile=2s; else pairs=7 length=60ep profile=10s; fi
processors=$(env -u OMP_NUM_THREADS nproc)
export OMP_NUM_THREADS=1

ddl-shard build "$digits" --no-header --label last --shape 1x8x8 --test 0.2 --val 0.1 -o "$bench/digits" >"$bench/log" 2>&1 &&
  ddl-profile --np 2 --model mlp --dataset "$bench/digits" --max-time "$profile" -o "$bench/cluster.json" >>"$bench/log" 2>&1 &&
  ddl-plan --cluster "$bench/cluster.json" --dataset "$bench/digits" --model mlp --batch 32 --task 8 -o "$bench/plan.json" >>"$bench/log" 2>&1 ||
  { tail -n 5 "$bench/log" >&2; die "the plan could not be made"; }

# train WORKERS: appends samples/s to $bench/WORKERS.
train() {
  ddl-train --plan "$bench/plan.json" --np "$1" --learning-rate 0.1 --momentum 0.9 --schedule cosine --length "$length" \
    -o "$bench/run" --force >"$bench/log" 2>&1 || { tail -n 5 "$bench/log" >&2; die "ddl-train failed with $1 workers"; }
  /usr/bin/python3 - "$bench/run/run.json" "$1" >>"$bench/$1" <<'PYTHON'
import json, sys
run = json.load(open(sys.argv[1]))
assert len(run["workers"]) == int(sys.argv[2]), "another number of workers"
assert all(worker["lanes"] == 1 for worker in run["workers"]), "more than one lane"
print(sum(worker["samples"] for worker in run["workers"]) / (run["steps"] * run["measured_step_seconds"]))
PYTHON
}

for _ in $(seq "$pairs"); do
  train 1
  train 2
done
paste "$bench/1" "$bench/2" | awk '{ print $2 / $1 }' >"$bench/ratios"

setup=(model=mlp "length=$length" lanes_per_worker=1 "processors=$processors")
figure run.quickstart.1w samples/s "$bench/1" workers=1 "${setup[@]}"
figure run.quickstart.2w samples/s "$bench/2" workers=2 "${setup[@]}"
figure run.scaling x "$bench/ratios" "${setup[@]}"
