// Shape rules, FLOPs and refusals of the op table.
#include "ddl/model/op.h"

#include "unit/model/model_test.h"

namespace ddl {
namespace {

using Attributes = std::map<std::string, Attribute>;

struct Fixture {
  Graph graph;
  TensorId input(Shape shape, DType dtype = DType::f32) {
    return graph.add_input("input" + std::to_string(graph.tensor_count()), dtype, std::move(shape));
  }
  Shape shape_of(const std::string& op, std::vector<Shape> inputs, Attributes attributes = {}) {
    std::vector<TensorId> ids;
    for (Shape& shape : inputs) ids.push_back(input(std::move(shape)));
    return graph.tensor(graph.add(op, ids, std::move(attributes))).shape;
  }
  std::string refused(const std::string& op, std::vector<Shape> inputs,
                      Attributes attributes = {}) {
    return refusal([&] { shape_of(op, inputs, attributes); });
  }
};

TEST(Ops, TheTableOfTheHeaderIsComplete) {
  for (const char* op : {"Conv",
                         "ConvGradInput",
                         "ConvGradWeight",
                         "MaxPool",
                         "MaxPoolGrad",
                         "AveragePool",
                         "AveragePoolGrad",
                         "GlobalAveragePool",
                         "GlobalAveragePoolGrad",
                         "BatchNormalization",
                         "BatchNormTraining",
                         "BatchNormGrad",
                         "LayerNormalization",
                         "LayerNormGrad",
                         "Gemm",
                         "MatMul",
                         "Relu",
                         "Tanh",
                         "Sigmoid",
                         "Gelu",
                         "Erf",
                         "Exp",
                         "Log",
                         "Sqrt",
                         "Neg",
                         "Reciprocal",
                         "ReluGrad",
                         "TanhGrad",
                         "SigmoidGrad",
                         "GeluGrad",
                         "Add",
                         "Sub",
                         "Mul",
                         "Div",
                         "Softmax",
                         "SoftmaxGrad",
                         "ReduceSumTo",
                         "ReduceMean",
                         "BroadcastTo",
                         "Reshape",
                         "Flatten",
                         "Transpose",
                         "Concat",
                         "Slice",
                         "SliceGrad",
                         "Gather",
                         "GatherGrad",
                         "Identity",
                         "Cast",
                         "Dropout",
                         "DropoutGrad",
                         "Sum",
                         "SoftmaxCrossEntropy",
                         "SoftmaxCrossEntropyGrad",
                         "SigmoidCrossEntropy",
                         "SigmoidCrossEntropyGrad",
                         "SquaredError",
                         "SquaredErrorGrad"}) {
    EXPECT_TRUE(op_is_known(op)) << op;
    EXPECT_EQ(op_definition(op).name, op);
  }
  EXPECT_FALSE(op_is_known("Convolution"));
  EXPECT_EQ(op_names().size(), 58U);
}

TEST(Ops, Convolution) {
  Fixture f;
  EXPECT_EQ(f.shape_of("Conv", {{2, 3, 9, 11}, {5, 3, 3, 3}}), (Shape{2, 5, 7, 9}));
  EXPECT_EQ(f.shape_of("Conv", {{2, 4, 9, 11}, {6, 2, 3, 2}, {6}},
                       {{"group", std::int64_t{2}},
                        {"strides", Shape{2, 3}},
                        {"pads", Shape{1, 0, 2, 1}},
                        {"dilations", Shape{2, 1}}}),
            (Shape{2, 6, 4, 4}));
  EXPECT_EQ(
      f.shape_of("ConvGradInput", {{2, 5, 7, 9}, {5, 3, 3, 3}}, {{"x_shape", Shape{2, 3, 9, 11}}}),
      (Shape{2, 3, 9, 11}));
  EXPECT_EQ(
      f.shape_of("ConvGradWeight", {{2, 3, 9, 11}, {2, 5, 7, 9}}, {{"w_shape", Shape{5, 3, 3, 3}}}),
      (Shape{5, 3, 3, 3}));
  f.refused("Conv", {{2, 3, 9}, {5, 3, 3, 3}});
  f.refused("Conv", {{2, 4, 9, 9}, {5, 3, 3, 3}});
  f.refused("Conv", {{2, 3, 2, 9}, {5, 3, 3, 3}});
  f.refused("Conv", {{2, 3, 9, 9}, {5, 3, 3, 3}, {4}});
  f.refused("Conv", {{2, 3, 9, 9}, {5, 3, 3, 3}}, {{"strides", Shape{0, 1}}});
  f.refused("Conv", {{2, 3, 9, 9}, {5, 3, 3, 3}}, {{"group", std::int64_t{0}}});
  f.refused("ConvGradInput", {{2, 5, 7, 8}, {5, 3, 3, 3}}, {{"x_shape", Shape{2, 3, 9, 11}}});
  f.refused("ConvGradWeight", {{2, 3, 9, 11}, {2, 5, 7, 9}});
}

TEST(Ops, PoolsWithCeilModeDropWindowsThatStartOutside) {
  Fixture f;
  const Attributes three{{"kernel_shape", Shape{3, 3}}, {"strides", Shape{2, 2}}};
  EXPECT_EQ(f.shape_of("MaxPool", {{1, 2, 8, 7}}, three), (Shape{1, 2, 3, 3}));
  Attributes ceil = three;
  ceil["ceil_mode"] = std::int64_t{1};
  EXPECT_EQ(f.shape_of("MaxPool", {{1, 2, 8, 7}}, ceil), (Shape{1, 2, 4, 3}));
  // One input of extent 3, stride 2, kernel 1: a second window at 4 would be outside.
  EXPECT_EQ(f.shape_of("AveragePool", {{1, 1, 4, 4}},
                       {{"kernel_shape", Shape{1, 1}},
                        {"strides", Shape{3, 5}},
                        {"ceil_mode", std::int64_t{1}}}),
            (Shape{1, 1, 2, 1}));
  EXPECT_EQ(f.shape_of("GlobalAveragePool", {{3, 4, 5, 6}}), (Shape{3, 4, 1, 1}));
  f.refused("MaxPool", {{1, 2, 8, 7}});
  f.refused("MaxPool", {{1, 2, 8, 7}},
            {{"kernel_shape", Shape{2, 2}}, {"pads", Shape{2, 0, 0, 0}}});
  f.refused("MaxPool", {{1, 2, 2, 7}}, three);
}

TEST(Ops, Normalisation) {
  Fixture f;
  EXPECT_EQ(f.shape_of("BatchNormalization", {{2, 3, 4, 4}, {3}, {3}, {3}, {3}}),
            (Shape{2, 3, 4, 4}));
  f.refused("BatchNormalization", {{2, 3, 4, 4}, {3}, {4}, {3}, {3}});
  f.refused("BatchNormalization", {{2, 3, 4, 4}, {3}, {3}, {3}});
  const TensorId x = f.input({2, 5, 6}), scale = f.input({6});
  const auto outputs = f.graph.add_node("LayerNormalization", {x, scale}, {}, 3);
  EXPECT_EQ(f.graph.tensor(outputs[1]).shape, (Shape{2, 5, 1}));
  EXPECT_EQ(f.graph.tensor(outputs[2]).shape, (Shape{2, 5, 1}));
  f.refused("LayerNormalization", {{2, 5, 6}, {5}});
  f.refused("LayerNormalization", {{2, 5, 6}, {6}}, {{"axis", std::int64_t{3}}});
}

TEST(Ops, Products) {
  Fixture f;
  EXPECT_EQ(f.shape_of("MatMul", {{5, 1, 2, 3}, {4, 3, 7}}), (Shape{5, 4, 2, 7}));
  EXPECT_EQ(f.shape_of("MatMul", {{3, 2}, {7, 3}},
                       {{"trans_a", std::int64_t{1}}, {"trans_b", std::int64_t{1}}}),
            (Shape{2, 7}));
  EXPECT_EQ(f.shape_of("Gemm", {{3, 2}, {7, 3}, {7}},
                       {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}}),
            (Shape{2, 7}));
  f.refused("MatMul", {{2, 3}, {4, 7}});
  f.refused("MatMul", {{3}, {3, 7}});
  f.refused("MatMul", {{2, 2, 3}, {3, 3, 7}});
  f.refused("Gemm", {{2, 3}, {3, 7}, {2}});
}

TEST(Ops, Movements) {
  Fixture f;
  EXPECT_EQ(f.shape_of("Reshape", {{2, 3, 4}}, {{"shape", Shape{0, -1, 2}}}), (Shape{2, 6, 2}));
  f.refused("Reshape", {{2, 3, 4}}, {{"shape", Shape{-1, -1}}});
  f.refused("Reshape", {{2, 3, 4}}, {{"shape", Shape{5, -1}}});
  f.refused("Reshape", {{2, 3, 4}}, {{"shape", Shape{2, 3, 4, 0}}});
  f.refused("Reshape", {{2, 3, 4}}, {{"shape", Shape{-2, 3, 4}}});
  EXPECT_EQ(f.shape_of("Flatten", {{2, 3, 4}}), (Shape{2, 12}));
  EXPECT_EQ(f.shape_of("Flatten", {{2, 3, 4}}, {{"axis", std::int64_t{-1}}}), (Shape{6, 4}));
  EXPECT_EQ(f.shape_of("Transpose", {{2, 3, 4}}, {{"perm", Shape{1, 2, 0}}}), (Shape{3, 4, 2}));
  EXPECT_EQ(f.shape_of("Transpose", {{2, 3, 4}}), (Shape{4, 3, 2}));
  f.refused("Transpose", {{2, 3, 4}}, {{"perm", Shape{1, 1, 0}}});
  EXPECT_EQ(f.shape_of("Concat", {{2, 3}, {2, 5}}, {{"axis", std::int64_t{-1}}}), (Shape{2, 8}));
  f.refused("Concat", {{2, 3}, {3, 5}}, {{"axis", std::int64_t{1}}});
  const auto slice = [](std::int64_t start, std::int64_t end, std::int64_t step) {
    return Attributes{
        {"starts", Shape{start}}, {"ends", Shape{end}}, {"axes", Shape{1}}, {"steps", Shape{step}}};
  };
  EXPECT_EQ(f.shape_of("Slice", {{2, 10}}, slice(1, 8, 3)), (Shape{2, 3}));
  EXPECT_EQ(f.shape_of("Slice", {{2, 10}}, slice(-3, INT64_MAX, 1)), (Shape{2, 3}));
  EXPECT_EQ(f.shape_of("Slice", {{2, 10}}, slice(INT64_MIN, -8, 1)), (Shape{2, 2}));
  EXPECT_EQ(f.shape_of("Slice", {{2, 10}}, slice(7, 3, 1)), (Shape{2, 0}));
  f.refused("Slice", {{2, 10}}, slice(8, 1, -1));
  f.refused("Slice", {{2}}, slice(0, 1, 1));
}

TEST(Ops, LookUpsAndReductions) {
  Fixture f;
  const TensorId codes = f.input({4, 2}, DType::i32), table = f.input({9, 3});
  EXPECT_EQ(f.graph.tensor(f.graph.add("Gather", {table, codes})).shape, (Shape{4, 2, 3}));
  EXPECT_TRUE(contains(refusal([&] { f.graph.add("Gather", {table, table}); }), "int32"));
  const TensorId part =
      f.graph.add("Slice", {codes}, {{"starts", Shape{0}}, {"ends", Shape{1}}, {"axes", Shape{1}}});
  EXPECT_EQ(f.graph.tensor(part).dtype, DType::i32);
  EXPECT_EQ(f.shape_of("ReduceMean", {{2, 3, 4}}, {{"axes", Shape{-1}}}), (Shape{2, 3, 1}));
  EXPECT_EQ(
      f.shape_of("ReduceMean", {{2, 3, 4}}, {{"axes", Shape{1, 2}}, {"keepdims", std::int64_t{0}}}),
      (Shape{2}));
  EXPECT_EQ(f.shape_of("ReduceSumTo", {{2, 3, 4}}, {{"shape", Shape{3, 1}}}), (Shape{3, 1}));
  f.refused("ReduceSumTo", {{2, 3, 4}}, {{"shape", Shape{2, 1}}});
  EXPECT_EQ(f.shape_of("BroadcastTo", {{3, 1}}, {{"shape", Shape{2, 3, 4}}}), (Shape{2, 3, 4}));
  EXPECT_EQ(f.shape_of("Add", {{2, 1, 4}, {3, 1}}), (Shape{2, 3, 4}));
  f.refused("Add", {{2, 3}, {2}});
}

TEST(Ops, Losses) {
  Fixture f;
  const TensorId logits = f.input({4, 3, 7}), weight = f.input({4, 3});
  const TensorId label = f.input({4, 3}, DType::i64);
  EXPECT_EQ(f.graph.tensor(f.graph.add("SoftmaxCrossEntropy", {logits, label, weight})).shape,
            (Shape{4, 3}));
  EXPECT_EQ(f.graph.tensor(f.graph.add("SoftmaxCrossEntropyGrad", {logits, label, weight})).shape,
            (Shape{4, 3, 7}));
  EXPECT_TRUE(contains(refusal([&] {
                         f.graph.add("SoftmaxCrossEntropy", {logits, weight, weight});
                       }),
                       "label"));
  f.refused("SquaredError", {{4, 2}, {4, 1}, {4}});
  EXPECT_EQ(f.shape_of("SquaredError", {{4, 2}, {4, 2}, {4}}), (Shape{4}));
}

TEST(Ops, FlopsAreThoseOfTheTextbook) {
  Fixture f;
  const TensorId x = f.input({2, 3, 8, 8}), w = f.input({5, 3, 3, 3});
  f.graph.add("Conv", {x, w}, {{"pads", Shape{1, 1, 1, 1}}});
  EXPECT_EQ(node_flops(f.graph, f.graph.nodes().back()), 2.0 * 2 * 5 * 8 * 8 * 3 * 9);
  EXPECT_EQ(node_bytes(f.graph, f.graph.nodes().back()), 4.0 * (2 * 3 * 64 + 5 * 27 + 2 * 5 * 64));
  f.shape_of("MatMul", {{6, 2, 3}, {3, 7}});
  EXPECT_EQ(node_flops(f.graph, f.graph.nodes().back()), 2.0 * 6 * 2 * 3 * 7);
  f.shape_of("Gemm", {{2, 3}, {3, 7}});
  EXPECT_EQ(node_flops(f.graph, f.graph.nodes().back()), 2.0 * 2 * 3 * 7);
  f.shape_of("Reshape", {{2, 3}}, {{"shape", Shape{6}}});
  EXPECT_EQ(node_flops(f.graph, f.graph.nodes().back()), 0);
}

}  // namespace
}  // namespace ddl
