// Matrix products. FLOPs: 2 * rows * columns * depth.
#include "ddl/base/error.h"
#include "ddl/model/ops/rules.h"

namespace ddl::ops {
namespace {

bool flag(const Node& node, const char* key) {
  return node.integer(key, 0) != 0;
}

void infer_gemm(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& a = input(graph, node, 0);
  const Tensor& b = input(graph, node, 1);
  require_f32(a);
  require_f32(b);
  require_rank(a, 2, "the first matrix");
  require_rank(b, 2, "the second matrix");
  const bool ta = flag(node, "transA"), tb = flag(node, "transB");
  require(a.shape[ta ? 0 : 1] == b.shape[tb ? 1 : 0],
          "inner extents " + std::to_string(a.shape[ta ? 0 : 1]) + " and " +
              std::to_string(b.shape[tb ? 1 : 0]) + " differ");
  const Shape y{a.shape[ta ? 1 : 0], b.shape[tb ? 0 : 1]};
  if (has_input(node, 2)) {
    const Tensor& c = input(graph, node, 2);
    require_f32(c);
    require(broadcast(c.shape, y) == y, "the third operand of shape " + shape_text(c.shape) +
                                            " does not broadcast to " + shape_text(y));
  }
  node.real("alpha", 1);
  node.real("beta", 1);
  set(outputs[0], DType::f32, y);
}

// y = alpha * A * B + beta * c with A = op(a), B = op(b):
//   dA = alpha * dy * B^T, dB = alpha * A^T * dy; transposed again where a or b is stored so.
void gemm_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  Graph& graph = builder.graph();
  const TensorId a = node.inputs[0], b = node.inputs[1];
  const std::int64_t ta = flag(node, "transA"), tb = flag(node, "transB");
  const double alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  const auto product = [&](TensorId left, TensorId right, std::int64_t left_transposed,
                           std::int64_t right_transposed) {
    return graph.add("Gemm", {left, right},
                     {{"transA", left_transposed}, {"transB", right_transposed}, {"alpha", alpha}});
  };
  if (builder.wanted(a)) {
    builder.contribute(a, ta != 0 ? product(b, dy, tb, 1) : product(dy, b, 0, 1 - tb));
  }
  if (builder.wanted(b)) {
    builder.contribute(b, tb != 0 ? product(dy, a, 1, ta) : product(a, dy, 1 - ta, 0));
  }
  if (has_input(node, 2) && builder.wanted(node.inputs[2])) {
    const TensorId scaled = beta == 1 ? dy : graph.add("Mul", {dy, scalar(graph, beta)});
    builder.contribute(node.inputs[2], reduced_to(builder, scaled, node.inputs[2]));
  }
}

double gemm_flops(const Graph& graph, const Node& node) {
  const Tensor& a = input(graph, node, 0);
  const Tensor& y = graph.tensor(node.outputs[0]);
  const auto depth = static_cast<double>(a.shape[flag(node, "transA") ? 0 : 1]);
  return elements(y) * (2 * depth + (has_input(node, 2) ? 1 : 0));
}

struct Product {
  Shape y;
  std::int64_t depth = 0;
};

Product matmul_shape(const Graph& graph, const Node& node) {
  const Tensor& a = input(graph, node, 0);
  const Tensor& b = input(graph, node, 1);
  require_f32(a);
  require_f32(b);
  require(a.shape.size() >= 2 && b.shape.size() >= 2,
          "a matrix product needs operands with 2 axes or more");
  const std::size_t ra = a.shape.size(), rb = b.shape.size();
  const bool ta = flag(node, "trans_a"), tb = flag(node, "trans_b");
  const std::int64_t rows = a.shape[ta ? ra - 1 : ra - 2], depth = a.shape[ta ? ra - 2 : ra - 1];
  const std::int64_t depth_b = b.shape[tb ? rb - 1 : rb - 2];
  const std::int64_t columns = b.shape[tb ? rb - 2 : rb - 1];
  require(depth == depth_b,
          "inner extents " + std::to_string(depth) + " and " + std::to_string(depth_b) + " differ");
  Product product;
  product.y = broadcast(Shape(a.shape.begin(), a.shape.end() - 2),
                        Shape(b.shape.begin(), b.shape.end() - 2));
  product.y.push_back(rows);
  product.y.push_back(columns);
  product.depth = depth;
  return product;
}

void infer_matmul(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  set(outputs[0], DType::f32, matmul_shape(graph, node).y);
}

TensorId matmul(Graph& graph, TensorId left, TensorId right, bool left_transposed,
                bool right_transposed) {
  return graph.add(
      "MatMul", {left, right},
      {{"trans_a", std::int64_t{left_transposed}}, {"trans_b", std::int64_t{right_transposed}}});
}

void matmul_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  Graph& graph = builder.graph();
  const TensorId a = node.inputs[0], b = node.inputs[1];
  const bool ta = flag(node, "trans_a"), tb = flag(node, "trans_b");
  if (builder.wanted(a)) {
    const TensorId da = ta ? matmul(graph, b, dy, tb, true) : matmul(graph, dy, b, false, !tb);
    builder.contribute(a, reduced_to(builder, da, a));
  }
  if (!builder.wanted(b)) return;
  const Shape a_shape = graph.tensor(a).shape, b_shape = graph.tensor(b).shape;
  if (b_shape.size() == 2 && a_shape.size() > 2 && !ta) {
    // One weight for all rows: one product over the rows of all leading axes, not a sum of many.
    const Shape y_shape = graph.tensor(dy).shape;
    const TensorId rows_a = graph.add("Reshape", {a}, {{"shape", Shape{-1, a_shape.back()}}});
    const TensorId rows_dy = graph.add("Reshape", {dy}, {{"shape", Shape{-1, y_shape.back()}}});
    builder.contribute(b, tb ? matmul(graph, rows_dy, rows_a, true, false)
                             : matmul(graph, rows_a, rows_dy, true, false));
    return;
  }
  const TensorId db = tb ? matmul(graph, dy, a, true, ta) : matmul(graph, a, dy, !ta, false);
  builder.contribute(b, reduced_to(builder, db, b));
}

double matmul_flops(const Graph& graph, const Node& node) {
  return 2 * elements(graph.tensor(node.outputs[0])) *
         static_cast<double>(matmul_shape(graph, node).depth);
}

}  // namespace

void add_matrix(OpTable& table) {
  add(table, {"Gemm", 2, 3, 1, 1, infer_gemm, gemm_gradient, gemm_flops});
  add(table, {"MatMul", 2, 2, 1, 1, infer_matmul, matmul_gradient, matmul_flops});
}

}  // namespace ddl::ops
