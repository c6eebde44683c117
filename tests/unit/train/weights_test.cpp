#include "ddl/train/weights.h"

#include "ddl/base/checksum.h"
#include "ddl/base/error.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

using testing::Contains;
using testing::HasSubstr;

Graph small_model(std::int64_t outputs) {
  Graph graph;
  const TensorId x = graph.add_input("x", DType::f32, {1, 2});
  const TensorId w = graph.add_parameter(
      "head.weight",
      make_f32({outputs, 2}, std::vector<float>(static_cast<std::size_t>(2 * outputs), 0.5F)));
  const TensorId body = graph.add_parameter("body.weight", make_f32({2, 2}, {1, 2, 3, 4}));
  const TensorId counts = graph.add_buffer("counts", make_f32({2}, {7, 8}));
  (void)counts;
  const TensorId h = graph.add("MatMul", {x, body});
  graph.outputs = {graph.add("Gemm", {h, w}, {{"transB", std::int64_t{1}}})};
  graph.inputs = {x};
  return graph;
}

// The documented layout, spelled out.
TEST(Weights, HashIsOverNamesShapesAndBits) {
  const Weights weights(small_model(3));
  Xxh128 hash;
  const auto add = [&](const std::string& name, const std::vector<std::uint64_t>& shape,
                       const std::vector<float>& values) {
    hash.update(name);
    hash.update(std::string_view("\0float32\0", 9));
    hash.update_u64(shape.size());
    for (const std::uint64_t extent : shape) hash.update_u64(extent);
    hash.update(std::as_bytes(std::span(values)));
  };
  add("head.weight", {3, 2}, {0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F});
  add("body.weight", {2, 2}, {1, 2, 3, 4});
  add("counts", {2}, {7, 8});
  EXPECT_EQ(weights.hash(), hash.hex());
}

TEST(Weights, OneBitChangesTheHash) {
  Weights weights(small_model(3));
  const std::string before = weights.hash();
  const auto version = weights.version();
  std::span<float> values = weights.values(weights.find("counts")->tensor);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &values[1], 4);
  bits ^= 1U;
  std::memcpy(&values[1], &bits, 4);
  weights.changed();
  EXPECT_NE(weights.hash(), before);
  EXPECT_GT(weights.version(), version);
}

TEST(Weights, ValuesAreCopies) {
  const Graph model = small_model(3);
  Weights weights(model);
  weights.values(weights.find("body.weight")->tensor)[0] = 99;
  EXPECT_EQ(Weights(model).find("body.weight")->value->as<float>()[0], 1);
}

TEST(Weights, FineTuningReplacesTheHead) {
  Graph other = small_model(5);
  Weights weights(small_model(3));
  for (float& value : weights.values(weights.find("body.weight")->tensor)) value = 0;
  const std::vector<std::string> remarks = weights.take_from(other);
  EXPECT_EQ(weights.find("body.weight")->value->as<float>()[3], 4) << "taken";
  EXPECT_EQ(weights.find("head.weight")->value->shape, (Shape{3, 2})) << "kept";
  EXPECT_THAT(remarks, Contains(HasSubstr("head.weight")));
  EXPECT_EQ(remarks.size(), 1U);
}

TEST(Weights, AnUnrelatedInitialModelIsRefused) {
  Graph other;
  const TensorId x = other.add_input("x", DType::f32, {1, 2});
  const TensorId w = other.add_parameter("conv.weight", make_f32({2, 2}, {1, 2, 3, 4}));
  other.inputs = {x};
  other.outputs = {other.add("MatMul", {x, w})};
  Weights weights(small_model(3));
  EXPECT_THROW(weights.take_from(other), Error);
}

}  // namespace
}  // namespace ddl
