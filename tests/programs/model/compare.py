"""Compares ONNX Runtime with ddl's reference on every model in this folder, and on forms that other
exporters use. Usage: compare.py PATH_OF_ddl_test_reference"""
import glob
import json
import subprocess
import sys

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

reference = sys.argv[1]
generator = numpy.random.RandomState(7)


def session(file):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def random_input(info, samples):
    shape = [samples] + list(info.shape[1:])
    if "float" in info.type:
        return generator.uniform(-1, 1, shape).astype(numpy.float32)
    return generator.randint(0, 2, shape).astype(numpy.int32)


def ddl(file, inputs, samples):
    names = []
    for i, value in enumerate(inputs):
        names.append(f"input{i}.bin")
        value.astype(numpy.float64).tofile(names[-1])
    subprocess.run([reference, file, str(samples), "output.bin", *names], check=True)
    return numpy.fromfile("output.bin")


def compare(file):
    runtime = session(file)
    # Metadata of a data set's model says int32 codes; anything below 2 is a valid code.
    for samples in (1, 3):
        inputs = [random_input(info, samples) for info in runtime.get_inputs()]
        expected = runtime.run(None, {i.name: v for i, v in zip(runtime.get_inputs(), inputs)})[0]
        found = ddl(file, inputs, samples)
        error = numpy.abs(found - expected.reshape(-1)).max()
        if not error < 2e-5:
            sys.exit(f"{file}: outputs for {samples} samples differ by {error}")
    print(f"{file}: equal")


def check_names(file):
    model = onnx.load(file)
    onnx.checker.check_model(model)
    for value in list(model.graph.input) + list(model.graph.output):
        if value.type.tensor_type.shape.dim[0].dim_param != "N":
            sys.exit(f"{file}: the batch of {value.name} is not N")
    if model.opset_import[0].version != 17:
        sys.exit(f"{file}: opset is not 17")


def check_baked(kind):
    plain, baked = session(f"plain_{kind}.onnx"), session(f"baked_{kind}.onnx")
    metadata = plain.get_modelmeta().custom_metadata_map
    fields = {f["name"]: f for f in json.loads(metadata["ddl.preprocessing"])["inputs"]}
    assert json.loads(metadata["ddl.classes"]), metadata
    raw, normalised = {}, {}
    for info in baked.get_inputs():
        field = fields[info.name]
        shape = [5] + field["shape"]
        if field["kind"] == "image":
            value = generator.randint(0, 256, shape).astype(field["dtype"])
        elif field["kind"] == "category":
            value = generator.randint(0, 3, shape).astype(field["dtype"])
        else:
            value = generator.uniform(0, 3000, shape).astype(field["dtype"])
        raw[info.name] = value
        if field["kind"] == "category":
            normalised[info.name] = value.astype(numpy.int32)
            continue
        value = value.astype(numpy.float32)
        if "normalisation" in field:
            tail = (-1, 1, 1) if field["kind"] == "image" else (-1,)
            mean = numpy.float32(field["normalisation"]["mean"]).reshape(tail)
            scale = numpy.float32(field["normalisation"]["scale"]).reshape(tail)
            value = (value - mean) * scale
        elif field["kind"] == "image":
            value = value / numpy.float32(255)
        normalised[info.name] = value
    error = numpy.abs(baked.run(None, raw)[0] - plain.run(None, normalised)[0]).max()
    if not error < 1e-6:
        sys.exit(f"{kind}: baked and plain outputs differ by {error}")
    print(f"{kind}: baked preprocessing equal")


def constant(name, value):
    return numpy_helper.from_array(numpy.asarray(value), name)


def weight(name, *shape):
    return constant(name, generator.uniform(0.1, 1, shape).astype(numpy.float32))


def foreign(name, nodes, initialisers, shape, opset=17):
    """A model x[batch, …] -> y of the given nodes, saved and compared."""
    graph = helper.make_graph(
        nodes, name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", *shape])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], initialisers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    onnx.save(model, f"foreign_{name}.onnx")
    compare(f"foreign_{name}.onnx")


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], name="/" + output, **attributes)


def foreign_models():
    for ceil in (0, 1):
        for include in (0, 1):
            foreign(f"pools_{ceil}{include}", [
                node("MaxPool", ["x"], "m", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 0, 0], ceil_mode=ceil),
                node("AveragePool", ["m"], "y", kernel_shape=[2, 3], strides=[1, 2], pads=[1, 1, 0, 1],
                     count_include_pad=include)], [], [2, 9, 7])
    for automatic in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        foreign(f"conv_{automatic}", [
            node("Conv", ["x", "w", "b"], "c", auto_pad=automatic, strides=[2, 1]),
            node("Conv", ["c", "d"], "e", group=4, dilations=[1, 2], pads=[1, 2, 1, 2]),
            node("BatchNormalization", ["e", "s", "o", "m", "v"], "n", epsilon=1e-3),
            node("Relu", ["n"], "r"), node("GlobalAveragePool", ["r"], "g"), node("Flatten", ["g"], "y")],
            [weight("w", 4, 3, 2, 3), weight("b", 4), weight("d", 4, 1, 3, 3), weight("s", 4), weight("o", 4),
             weight("m", 4), weight("v", 4)], [3, 9, 9])
    foreign("gemm", [
        node("Gemm", ["x", "w", "b"], "g", alpha=0.5, beta=2.0, transB=1), node("Tanh", ["g"], "t"),
        node("Gemm", ["t", "v"], "h"), node("LogSoftmax", ["h"], "y")],
        [weight("w", 5, 6), weight("b", 5), weight("v", 5, 3)], [6])
    foreign("attention", [
        node("LayerNormalization", ["x", "s", "o"], "n"), node("MatMul", ["n", "w"], "qkv"),
        helper.make_node("Split", ["qkv"], ["q", "k", "v"], name="split", axis=2),
        node("Transpose", ["k"], "kt", perm=[0, 2, 1]), node("MatMul", ["q", "kt"], "scores"),
        node("Mul", ["scores", "scale"], "scaled"), node("Softmax", ["scaled"], "p"),
        node("MatMul", ["p", "v"], "mixed"), node("Add", ["mixed", "x"], "sum"),
        node("Div", ["sum", "root2"], "g1"), node("Erf", ["g1"], "g2"), node("Add", ["g2", "one"], "g3"),
        node("Mul", ["sum", "g3"], "g4"), node("Mul", ["g4", "half"], "gelu"),
        node("ReduceMean", ["gelu"], "y", axes=[1], keepdims=0)],
        [weight("s", 4), weight("o", 4), weight("w", 4, 12), constant("scale", numpy.float32(0.5)),
         constant("root2", numpy.float32(2 ** 0.5)), constant("one", numpy.float32(1)),
         constant("half", numpy.float32(0.5))], [5, 4])
    foreign("shapes", [
        node("Shape", ["x"], "shape"), node("Gather", ["shape", "zero"], "n", axis=0),
        node("Unsqueeze", ["n", "axis"], "n1"), node("Concat", ["n1", "rest"], "target", axis=0),
        node("Reshape", ["x", "target"], "r"), node("Slice", ["r", "starts", "ends", "axes", "steps"], "s"),
        node("Transpose", ["s"], "t", perm=[0, 2, 1]), node("Gather", ["t", "second"], "g", axis=2),
        node("Sqrt", ["positive"], "root"), node("Pow", ["g", "two"], "p"), node("Neg", ["p"], "q"),
        node("Add", ["q", "root"], "y")],
        [constant("zero", numpy.int64(0)), constant("axis", numpy.array([0])), constant("rest", numpy.array([4, -1])),
         constant("starts", numpy.array([-3])), constant("ends", numpy.array([2 ** 62])),
         constant("axes", numpy.array([1])), constant("steps", numpy.array([2])), constant("second", numpy.int64(1)),
         constant("positive", numpy.float32(7)), constant("two", numpy.float32(2))], [8, 3])
    foreign("opset11", [
        node("ReduceMean", ["x"], "m", axes=[2], keepdims=1), node("Squeeze", ["m"], "s", axes=[2]),
        node("Unsqueeze", ["s"], "u", axes=[1]), node("Softmax", ["u"], "p", axis=2),
        node("Dropout", ["p"], "y", ratio=0.4)], [], [6, 3], opset=11)
    foreign("opset20", [node("Gelu", ["x"], "g", approximate="tanh"), node("ReduceMean", ["g", "axes"], "y", keepdims=0)],
            [constant("axes", numpy.array([2]))], [6, 3], opset=20)


for file in sorted(glob.glob("*.onnx")):
    check_names(file)
    if not file.startswith("baked"):
        compare(file)
for kind in ("table", "images"):
    check_baked(kind)
foreign_models()
