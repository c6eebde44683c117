#!/usr/bin/env bash
# Image recognition: a small convolutional network on handwritten digits (1,797 of 8x8 pixels).
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
run=${DDL_RUN:-$root/build/examples/image}
build_programs
digits=$(package_file python3-sklearn '/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz')
mkdir -p "$run"

show ddl-shard build "$digits" --no-header --label last --shape 1x8x8 --test 0.2 --val 0.1 -o "$run/data" --force
show ddl-plan --np 2 --dataset "$run/data" --model lenet --batch 32 --task 8 -o "$run/plan.json" --force
show ddl-train --plan "$run/plan.json" --learning-rate 0.05 --schedule cosine --warmup 1ep --length 20ep -o "$run/run" --force
