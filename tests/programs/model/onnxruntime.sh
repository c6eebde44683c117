#!/usr/bin/env bash
# ONNX Runtime and ddl see the same model: files that ddl-model writes, and files of other forms
# that ddl imports.
. "$DDL_SOURCE/tests/support/lib.sh" || exit 1
python=$(bash "$DDL_SOURCE/tests/support/venv.sh") || exit $?

write() { # write NAME ARGUMENTS…
  local name=$1
  shift
  expect_exit 0 ddl-model write "$@" -o "$name.onnx"
}
write mlp mlp --features 7 --classes 3 --set activation=gelu --set dropout=0.2
write mlp_image mlp --input 2x5x3 --classes 4 --set hidden= --seed 3
write lenet lenet --input 1x9x14 --classes 5 --set activation=tanh
write resnet18 resnet18 --input 3x9x8 --classes 10 --set width=4
write gpt gpt --vocabulary 13 --context 6 --set layers=2 --set heads=2 --set width=8 --set dropout=0.1
write gpt_untied gpt --vocabulary 13 --context 6 --set layers=1 --set width=8 --set tied=false
write tabular tabular --features 3 --categories 4,2 --classes 2 --set activation=sigmoid

# Preprocessing in the graph: raw values in, the same outputs.
"$python" - <<'PYTHON'
import numpy, random
random.seed(1)
with open("table.csv", "w") as file:
    file.write("age,income,colour,label\n")
    for i in range(60):
        file.write(f"{random.randint(18, 90)},{random.gauss(3000, 900):.2f},"
                   f"{random.choice(['red', 'green', 'blue'])},{random.choice(['yes', 'no'])}\n")
numpy.save("images.npy", numpy.random.RandomState(1).randint(0, 256, (40, 3, 8, 9)).astype(numpy.uint8))
numpy.save("labels.npy", numpy.arange(40) % 4)
PYTHON
expect_exit 0 ddl-shard build table.csv --label label -o table
expect_exit 0 ddl-shard build images.npy labels.npy -o images
for kind in table images; do
  model=tabular
  [ $kind = images ] && model=lenet
  write "plain_$kind" $model --dataset $kind
  write "baked_$kind" $model --dataset $kind --bake-preprocessing
done

"$python" "$DDL_SOURCE/tests/programs/model/compare.py" "$DDL_BUILD/tests/programs/model/ddl_test_reference" ||
  fail "ONNX Runtime and ddl disagree"
