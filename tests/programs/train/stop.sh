# Stopping on request writes a checkpoint and exits 75; resumed, the run ends with the same bits.
. "$(dirname "$0")/lib.sh"
make_data data 150 3
make_plan plan.json --np 2
recipe=(--length 40ep --optimizer adamw --learning-rate 0.01 --schedule cosine --warmup 5st)
expect_exit 0 ddl-train --plan plan.json "${recipe[@]}" -o whole
hash=$(hash_of)

# Stops at once, goes on on other numbers of workers, in pieces until it is done.
expect_exit 75 ddl-train --plan plan.json "${recipe[@]}" --max-time 0.01s -o pieces
expect_err "--resume"
[ ! -e pieces/model.onnx ] || fail "a model of a run that is not done"
grep -q '"status": "stopped"' pieces/run.json || fail "run.json does not say stopped"
expect_exit 75 ddl-train --np 1 --plan plan.json "${recipe[@]}" --max-time 0.02s -o pieces --resume
expect_exit 0 ddl-train --np 3 --plan plan.json "${recipe[@]}" -o pieces --resume
same_hash "$hash" "stopped and resumed"
expect_exit 0 ddl-train --plan plan.json "${recipe[@]}" -o pieces --resume
same_hash "$hash" "resumed when done"
expect_exit 2 ddl-train --plan plan.json --length 41ep -o pieces --resume
expect_err "--length"

# Signals to the program that was started by hand.
for signal in TERM INT USR1; do
  setsid ddl-train --plan plan.json --length 1000000ep -o run-$signal --force >stdout 2>stderr &
  job=$!
  for _ in $(seq 300); do grep -q '"step"' run-$signal/metrics.jsonl 2>/dev/null && break; sleep 0.1; done
  # A background job of a script ignores SIGINT from the start; ddl-train takes it all the same.
  kill -$signal $job
  code=0
  wait $job || code=$?
  [ $code = 75 ] || { cat stderr >&2; fail "exit $code after SIG$signal, expected 75"; }
  ls run-$signal/checkpoints/step-*/state.safetensors >/dev/null || fail "no checkpoint after SIG$signal"
done
