#!/usr/bin/env bash
# ddl-model: list, show, write; what it refuses and how.
. "$DDL_SOURCE/tests/support/lib.sh" || exit 1

expect_exit 0 ddl-model list
for model in mlp lenet resnet18 gpt tabular; do expect_out "$model"; done
expect_exit 0 ddl-model list --json
/usr/bin/python3 -c 'import json, sys; assert len(json.load(open("stdout"))["models"]) == 5' || fail "list --json"

expect_exit 0 ddl-model show resnet18 --input 3x32x32 --classes 10
expect_out "parameters 11173962, buffers 9600"
expect_out "layer4.1.conv2"
[ -s stderr ] && fail "show said something on stderr although all was given"
expect_exit 0 ddl-model show lenet --input 28x28 --classes 10 --json
/usr/bin/python3 - <<'PYTHON' || fail "show --json"
import json
report = json.load(open("stdout"))
assert report["parameters"] == 61706, report["parameters"]
assert sum(layer["parameters"] for layer in report["layers"]) == 61706
assert report["inputs"] == [{"name": "x", "dtype": "float32", "shape": [1, 28, 28]}]
assert report["outputs"] == [{"name": "logits", "dtype": "float32", "shape": [10]}]
assert report["training_flops_per_sample"] > 2 * report["forward_flops_per_sample"]
PYTHON
expect_exit 0 ddl-model show gpt
expect_err "vocabulary of 256"

# The same seed gives the same bytes, another seed others.
expect_exit 0 ddl-model write mlp --features 4 --classes 3 --seed 7 -o a.onnx
expect_exit 0 ddl-model write mlp --features 4 --classes 3 --seed 7 -o b.onnx
expect_exit 0 ddl-model write mlp --features 4 --classes 3 --seed 8 -o c.onnx
cmp a.onnx b.onnx || fail "the same seed gave another file"
cmp -s a.onnx c.onnx && fail "another seed gave the same file"
expect_exit 0 ddl-model show a.onnx
expect_out "parameters 9091"

# An existing file is kept.
before=$(cksum a.onnx)
expect_exit 2 ddl-model write mlp --features 5 --classes 3 -o a.onnx
expect_err "--force"
expect_one_error
[ "$(cksum a.onnx)" = "$before" ] || fail "the file was replaced"
expect_exit 0 ddl-model write mlp --features 5 --classes 3 -o a.onnx --force
[ "$(cksum a.onnx)" = "$before" ] && fail "--force did not replace the file"

refuse() { # refuse TEXT COMMAND…: exit 2, one line with the text, nothing left behind
  local text=$1
  shift
  expect_exit 2 "$@"
  expect_err "$text"
  expect_one_error
  [ -e out.onnx ] && fail "left a file behind: $*"
  compgen -G '*.ddl-tmp-*' >/dev/null && fail "left a temporary file behind: $*"
  return 0
}
refuse resnet18 ddl-model write resnet -o out.onnx
refuse hidden ddl-model write mlp --set hiden=3 -o out.onnx
refuse NAME=VALUE ddl-model write mlp --set hidden -o out.onnx
refuse --input ddl-model write lenet --input 3x32 --input 2 -o out.onnx
refuse 3x32x32 ddl-model write lenet --input 1x2x3x4 -o out.onnx
refuse absent.onnx ddl-model show absent.onnx
refuse missing ddl-model show mlp --dataset missing
refuse multiple ddl-model show gpt --set heads=3
head -c 1000 a.onnx >cut.onnx
refuse cut.onnx ddl-model show cut.onnx
refuse "shapes of its own" ddl-model show a.onnx --classes 3
expect_exit 2 ddl-model
expect_exit 2 ddl-model write mlp
expect_exit 2 ddl-model write mlp -o nowhere/out.onnx
expect_one_error
expect_err nowhere

# A full disk is not silent.
if [ -w /dev/full ]; then
  status=0
  ddl-model list >/dev/full 2>stderr || status=$?
  [ $status = 1 ] || fail "exit $status on a full disk"
fi
exit 0
