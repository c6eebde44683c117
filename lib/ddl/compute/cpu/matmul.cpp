// Matrix products: MatMul with broadcast leading axes, and Gemm.
#include "ddl/base/error.h"
#include "ddl/compute/cpu/loops.h"
#include "ddl/compute/cpu/makers.h"
#include "ddl/compute/cpu/strided.h"

#include <algorithm>

namespace ddl::cpu {
namespace {

// One operand: a stack of matrices, seen transposed if so wanted.
struct Matrix {
  TensorId id = kNoTensor;
  onednn::Dims dims, strides;
};

Matrix matrix_of(const Compiler& compiler, TensorId id, bool transposed, std::size_t rank) {
  Matrix matrix;
  matrix.id = id;
  const Shape& shape = compiler.tensor(id).shape;
  matrix.dims.assign(rank - shape.size(), 1);
  matrix.dims.insert(matrix.dims.end(), shape.begin(), shape.end());
  matrix.strides.assign(rank, 1);
  for (std::size_t axis = rank - 1; axis-- > 0;) {
    matrix.strides[axis] = matrix.strides[axis + 1] * matrix.dims[axis + 1];
  }
  if (transposed) {
    std::swap(matrix.dims[rank - 1], matrix.dims[rank - 2]);
    std::swap(matrix.strides[rank - 1], matrix.strides[rank - 2]);
  }
  return matrix;
}

// Leading axes become rows: one product in place of many with the same right side.
void merge_rows(Matrix& matrix) {
  const onednn::Dims& dims = matrix.dims;
  const dnnl::memory::dim columns = dims.back();
  dnnl::memory::dim rows = 1;
  for (std::size_t axis = 0; axis + 1 < dims.size(); ++axis) rows *= dims[axis];
  matrix.dims = {rows, columns};
  matrix.strides = {columns, 1};
}

bool is_weight(const Compiler& compiler, TensorId id) {
  const TensorRole role = compiler.tensor(id).role;
  return role == TensorRole::parameter || role == TensorRole::constant;
}

struct Operand {
  ValueId value = -1;
  onednn::MemoryDesc desc;
};

// y = a * b [+ bias]; `bias` is seen as a row.
void product(Compiler& compiler, const Matrix& a, const Matrix& b, TensorId bias, TensorId y,
             const onednn::Dims& y_dims) {
  const onednn::DataType type = compiler.product_type();
  const auto view = [](const Matrix& matrix) {
    return onednn::strided(matrix.dims, matrix.strides, onednn::DataType::f32);
  };
  const auto wish = [&](const Matrix& matrix) {
    // Weights are packed once per update, other operands are taken as they lie.
    return is_weight(compiler, matrix.id) ? onednn::any(matrix.dims, type)
                                          : onednn::strided(matrix.dims, matrix.strides, type);
  };
  const onednn::MemoryDesc y_desc = onednn::row_major(y_dims, onednn::DataType::f32);
  onednn::MemoryDesc bias_desc;
  if (bias != kNoTensor) {
    onednn::Dims row(y_dims.size(), 1);
    row.back() = y_dims.back();
    bias_desc = onednn::row_major(row, onednn::DataType::f32);
  }
  const onednn::Matmul desc = onednn::matmul(wish(a), wish(b), bias_desc, y_desc);
  std::vector<Compiler::Argument> arguments{
      {DNNL_ARG_SRC, compiler.in_layout(a.id, view(a), desc.src_desc()), desc.src_desc()},
      {DNNL_ARG_WEIGHTS, compiler.in_layout(b.id, view(b), desc.weights_desc()),
       desc.weights_desc()}};
  if (bias != kNoTensor) {
    arguments.push_back({DNNL_ARG_BIAS, compiler.row_major(bias), bias_desc});
  }
  arguments.push_back({DNNL_ARG_DST, compiler.output(y), y_desc});
  compiler.call<dnnl::matmul>(desc, std::move(arguments));
}

// A product over no elements is zero.
bool is_empty_product(Compiler& compiler, const Node& node) {
  const auto count = [&](TensorId id) { return element_count(compiler.tensor(id).shape); };
  if (count(node.inputs[0]) > 0 && count(node.inputs[1]) > 0) return false;
  const auto elements = static_cast<std::size_t>(count(node.outputs[0]));
  compiler.loop("zero", {compiler.output(node.outputs[0])},
                [elements](void* const* p, const TaskKey&) {
                  std::fill_n(static_cast<float*>(p[0]), elements, 0.0F);
                });
  return true;
}

void make_matmul(Compiler& compiler, const Node& node) {
  if (is_empty_product(compiler, node)) return;
  const TensorId y = node.outputs[0];
  const Shape& y_shape = compiler.tensor(y).shape;
  const std::size_t rank = y_shape.size();
  const bool ta = node.integer("trans_a", 0) != 0, tb = node.integer("trans_b", 0) != 0;
  Matrix a = matrix_of(compiler, node.inputs[0], ta, rank);
  onednn::Dims y_dims(y_shape.begin(), y_shape.end());
  if (rank > 2 && compiler.tensor(node.inputs[1]).shape.size() == 2 && !ta) {
    merge_rows(a);
    y_dims = {a.dims[0], y_dims.back()};
  }
  const Matrix b = matrix_of(compiler, node.inputs[1], tb, y_dims.size());
  product(compiler, a, b, kNoTensor, y, y_dims);
}

void make_gemm(Compiler& compiler, const Node& node) {
  const TensorId y = node.outputs[0];
  const Shape y_shape = compiler.tensor(y).shape;
  const auto elements = static_cast<std::size_t>(element_count(y_shape));
  const auto alpha = static_cast<float>(node.real("alpha", 1));
  const auto beta = static_cast<float>(node.real("beta", 1));
  const bool has_c = Compiler::has_input(node, 2);
  const bool empty = is_empty_product(compiler, node);
  // The usual bias, a row added to every row, goes into the product.
  bool fused = false;
  if (!empty) {
    if (has_c && alpha == 1 && beta == 1) {
      const Shape& c = compiler.tensor(node.inputs[2]).shape;
      fused = element_count(c) == y_shape[1] && !c.empty() && c.back() == y_shape[1];
    }
    const Matrix a = matrix_of(compiler, node.inputs[0], node.integer("transA", 0) != 0, 2);
    const Matrix b = matrix_of(compiler, node.inputs[1], node.integer("transB", 0) != 0, 2);
    product(compiler, a, b, fused ? node.inputs[2] : kNoTensor, y, {y_shape[0], y_shape[1]});
  }
  const ValueId value = compiler.row_major(y);
  if (alpha != 1 && !empty) {
    compiler.loop("scale", {value}, [alpha, elements](void* const* p, const TaskKey&) {
      auto* out = static_cast<float*>(p[0]);
      scale(elements, alpha, out, out);
    });
  }
  if (has_c && !fused) {
    const StridedPlan plan =
        StridedPlan::broadcast(y_shape, {y_shape, compiler.tensor(node.inputs[2]).shape});
    compiler.loop("add", {value, compiler.row_major(node.inputs[2])},
                  [plan, beta](void* const* p, const TaskKey&) {
                    auto* out = static_cast<float*>(p[0]);
                    const auto* c = static_cast<const float*>(p[1]);
                    plan.for_each_row([&](const StridedPlan::Row& row) {
                      float* at = out + row.offset[0];
                      add_scaled(row.count, at, beta, c + row.offset[1], row.step[1], at);
                    });
                  });
  }
}

}  // namespace

void add_matrix(MakerTable& table) {
  table["MatMul"] = make_matmul;
  table["Gemm"] = make_gemm;
}

}  // namespace ddl::cpu
