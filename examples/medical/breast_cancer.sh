#!/usr/bin/env bash
# Medical: benign or malignant from 30 measurements of cell nuclei (Wisconsin breast cancer, 569 cases).
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
run=${DDL_RUN:-$root/build/examples/medical}
build_programs
cases=$(package_file python3-sklearn '/usr/lib/python3/dist-packages/sklearn/datasets/data/breast_cancer.csv')
mkdir -p "$run"

# The file's first line holds counts and class names, not a header.
show ddl-shard build "$cases" --skip-lines 1 --no-header --label last --test 0.2 --val 0.15 -o "$run/data" --force
show ddl-plan --np 2 --dataset "$run/data" --model mlp --set hidden=32 --batch 32 --task 8 -o "$run/plan.json" --force
show ddl-train --plan "$run/plan.json" --optimizer adamw --learning-rate 0.003 --schedule cosine --length 30ep --class-weights balanced -o "$run/run" --force
