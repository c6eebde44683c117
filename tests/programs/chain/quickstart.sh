#!/usr/bin/env bash
# The quickstart, whole: its accuracy, the same parameters on 1, 2 and 3 workers, and the model's outputs in
# ONNX Runtime.
#
# The bar: scikit-learn 1.2.1's MLPClassifier of the same family (hidden layers 128 and 64, ReLU, SGD with momentum
# 0.9, batch 32, standardised inputs) reaches 0.9772 on the same
# split (mean of ten seeds; 0.9721 to 0.9833; tests/support/sklearn_bar.py).
set -euo pipefail
. "$DDL_SOURCE/tests/support/lib.sh"
python=$(bash "$DDL_SOURCE/tests/support/venv.sh") || exit $?
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT

DDL_RUN=$run bash "$DDL_SOURCE/examples/quickstart.sh" >"$run/out" 2>"$run/err" || {
  tail -n 20 "$run/err"
  fail "the quickstart failed"
}
cat "$run/out"
accuracy=$(sed -n 's/^test accuracy: //p' "$run/out")
awk -v a="$accuracy" 'BEGIN { exit !(a >= 0.972) }' || fail "test accuracy '$accuracy' is below 0.972"

# The same final parameters whatever the number of workers, and a model that ONNX Runtime agrees with.
expected=$(sed -n 's/^parameters_hash //p' "$run/out")
[ ${#expected} -eq 32 ] || fail "no parameters_hash on the last line"
for n in 1 2 3; do
  hash=$("$DDL_BIN/ddl-train" --plan "$run/plan.json" --np "$n" --learning-rate 0.1 --momentum 0.9 \
    --schedule cosine --length 30ep -o "$run/np$n" 2>"$run/err" | sed -n 's/^parameters_hash //p')
  [ "$hash" = "$expected" ] || { cat "$run/err"; fail "on $n workers the parameters_hash is '$hash', not $expected"; }
done

"$DDL_BIN/ddl-train" --eval "$run/run/model.onnx" --dataset "$run/digits" --predictions "$run/predictions.csv" \
  >"$run/eval" 2>"$run/err" || { cat "$run/err"; fail "--eval failed"; }
grep -qx "test accuracy: $accuracy" "$run/eval" || { cat "$run/eval"; fail "--eval gives another accuracy than $accuracy"; }
"$python" "$DDL_SOURCE/tests/support/onnx_accuracy.py" "$run/run/model.onnx" "$run/digits" test "$run/predictions.csv" \
  >"$run/ort" || { cat "$run/ort"; fail "ONNX Runtime predicts other classes"; }
grep -q "^accuracy $accuracy " "$run/ort" || { cat "$run/ort"; fail "ONNX Runtime gives another accuracy than $accuracy"; }
