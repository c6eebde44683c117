# --eval reproduces the printed figures; predictions agree with them; --init goes on from a model.
. "$(dirname "$0")/lib.sh"
make_data data 200 3
make_plan plan.json --np 2
expect_exit 0 ddl-train --plan plan.json --length 4ep -o run
accuracy=$(grep 'test accuracy' stdout)
expect_exit 0 ddl-train --eval run/model.onnx --dataset data --predictions out.csv
expect_out "$accuracy"
expect_exit 0 ddl-train --np 3 --eval run/model.onnx --plan plan.json --predictions three.csv
expect_out "$accuracy"
cmp out.csv three.csv || fail "predictions depend on workers"
/usr/bin/python3 - "$accuracy" <<'P' || fail "predictions"
import csv, sys
rows = list(csv.DictReader(open("out.csv")))
assert [int(r["sample"]) for r in rows] == list(range(len(rows))), "samples"
assert {r["label"] for r in rows} == {"c0", "c1", "c2"}, "class names"
right = sum(r["label"] == r["predicted"] for r in rows) / len(rows)
assert "test accuracy: %.4f" % right == sys.argv[1], (right, sys.argv[1])
assert all(1 / 3 <= float(r["probability"]) <= 1 for r in rows)
P
expect_exit 0 ddl-train --eval run/model.onnx --dataset data --predictions -
head -n 1 stdout | grep -qx "sample,label,predicted,probability" || fail "--predictions - gives no CSV"
expect_exit 0 ddl-train --eval run/model.onnx --dataset data --split val --json
/usr/bin/python3 -c 'import json; print(json.load(open("stdout"))["metrics"]["val accuracy"])' || fail "--json"
expect_exit 2 ddl-train --eval run/model.onnx --dataset data --split dev
expect_err "dev"
expect_exit 2 ddl-train --eval none.onnx --dataset data
expect_one_error

# Fine-tuning: rate 0 keeps the weights; another number of classes replaces the head.
hash=$(grep -o '"parameters_hash": "[0-9a-f]*"' run/run.json | head -n 1 | cut -d'"' -f4)
expect_exit 0 ddl-train --plan plan.json --length 1ep --learning-rate 0 --init run/model.onnx -o again
same_hash "$hash" "--init at rate 0"
mv data three && make_data data 160 2
make_plan two.json --np 1
expect_exit 0 ddl-train --plan two.json --length 1ep --init run/model.onnx -o tuned
expect_err "starts fresh"
# Evaluating on data of other classes is refused.
expect_exit 2 ddl-train --eval run/model.onnx --dataset data
expect_err "classes"
