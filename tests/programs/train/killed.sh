# K01: killed with SIGKILL at any moment, the run goes on from a whole checkpoint to the same bits.
. "$(dirname "$0")/lib.sh"
make_data data 150 3
make_plan plan.json --np 2
recipe=(--length 30ep --checkpoint-every 1st --keep 2)
expect_exit 0 ddl-train --np 1 --plan plan.json "${recipe[@]}" -o whole
hash=$(hash_of)
[ "$(ls whole/checkpoints | wc -l)" = 2 ] || fail "--keep 2 keeps $(ls whole/checkpoints | wc -l)"

resume=()
for delay in 0.4 0.7 0.55 0.9; do
  setsid ddl-train --np 1 --plan plan.json "${recipe[@]}" -o killed "${resume[@]}" >stdout 2>stderr &
  job=$!
  sleep $delay
  kill -9 $job 2>/dev/null
  wait $job 2>/dev/null
  [ -e killed/run.json ] && resume=(--resume)
done
expect_exit 0 ddl-train --np 2 --plan plan.json "${recipe[@]}" -o killed --resume
same_hash "$hash" "killed and resumed"
grep -q '"resumed_at": \[\]' killed/run.json && fail "no kill came between the first checkpoint and the end"
ls killed/checkpoints | grep tmp && fail "parts of killed saves stay"

# A newest checkpoint that is damaged is named and passed over.
newest=$(ls killed/checkpoints | tail -n 1)
truncate -s 100 "killed/checkpoints/$newest/state.safetensors"
expect_exit 0 ddl-train --np 1 --plan plan.json "${recipe[@]}" -o killed --resume
expect_err "$newest is skipped"
same_hash "$hash" "after a damaged checkpoint"
exit 0
