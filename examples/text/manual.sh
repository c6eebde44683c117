#!/usr/bin/env bash
# Text: a small GPT learns the characters of Perl's manual of functions (perlfunc, about 300 kB).
# The quality figure is the perplexity per character on the last tenth of the text.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
run=${DDL_RUN:-$root/build/examples/text}
build_programs
text=$(package_file perl-doc '/usr/share/perl/5.*/pod/perlfunc.pod')
mkdir -p "$run"

show ddl-shard build "$text" --format text --tokens characters --context 64 -o "$run/data" --force
show ddl-plan --np 2 --dataset "$run/data" --model gpt --set layers=2 --set heads=4 --set width=64 --batch 16 --task 4 -o "$run/plan.json" --force
show ddl-train --plan "$run/plan.json" --optimizer adamw --learning-rate 0.004 --weight-decay 0.1 --schedule cosine --warmup 50st --length 5ep -o "$run/run" --force
