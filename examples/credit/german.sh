#!/usr/bin/env bash
# Credit risk: good or bad from 20 attributes, most of them categories (German credit, 1,000 cases).
# Embeddings for the categories; the figures are accuracy and AUC on cases held out.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
run=${DDL_RUN:-$root/build/examples/credit}
build_programs
cases=$(package_file weka /usr/share/doc/weka/examples/credit-g.arff)
mkdir -p "$run"

show ddl-shard build "$cases" --label class --test 0.2 --val 0.1 -o "$run/data" --force
show ddl-plan --np 2 --dataset "$run/data" --model tabular --batch 32 --task 8 -o "$run/plan.json" --force
show ddl-train --plan "$run/plan.json" --optimizer adamw --learning-rate 0.002 --weight-decay 0.01 --schedule cosine --length 12ep -o "$run/run" --force
