// Element-wise ops. Those that take zero to zero follow the layout they get, since the padding of a
// blocked layout must stay zero; the others work in row-major order.
#include "ddl/base/error.h"
#include "ddl/compute/cpu/loops.h"
#include "ddl/compute/cpu/makers.h"
#include "ddl/compute/cpu/row_loops.h"
#include "ddl/compute/cpu/strided.h"

#include <cstring>
#include <memory>

namespace ddl::cpu {
namespace {

std::size_t element_count_of(const Compiler& compiler, ValueId value) {
  return compiler.desc_of(value).get_size() / sizeof(float);
}

bool is_empty(const Compiler& compiler, TensorId id) {
  return element_count(compiler.tensor(id).shape) == 0;
}

const float* in(void* const* p, std::size_t i) {
  return static_cast<const float*>(p[i]);
}
float* out(void* const* p, std::size_t i) {
  return static_cast<float*>(p[i]);
}

void make_unary(Compiler& compiler, const Node& node, const char* name, Unary function,
                bool zero_to_zero) {
  const TensorId x = node.inputs[0], y = node.outputs[0];
  if (is_empty(compiler, y)) {
    compiler.output(y);
    return;
  }
  const ValueId from = zero_to_zero ? compiler.as_produced(x) : compiler.row_major(x);
  const ValueId to = compiler.output_like(y, from);
  const std::size_t count = element_count_of(compiler, from);
  compiler.loop(name, {from, to}, [function, count](void* const* p, const TaskKey&) {
    function(count, in(p, 0), out(p, 1));
  });
  compiler.allow_in_place(0, 1);
}

template <Unary function, bool zero_to_zero>
void unary(Compiler& compiler, const Node& node) {
  make_unary(compiler, node, "vector loop", function, zero_to_zero);
}

void make_gelu(Compiler& compiler, const Node& node) {
  const bool approximate = node.text("approximate", "none") == "tanh";
  make_unary(compiler, node, "vector loop", approximate ? gelu_tanh : gelu, true);
}

// dx = dy * slope(v): all slopes times a zero dy are zero.
void make_slope(Compiler& compiler, const Node& node, Slope function) {
  const TensorId dy = node.inputs[0], v = node.inputs[1], dx = node.outputs[0];
  if (is_empty(compiler, dx)) {
    compiler.output(dx);
    return;
  }
  // The kept value's layout leads: the gradient that arrives usually has it already.
  const ValueId kept = compiler.as_produced(v);
  const ValueId arriving = compiler.is_row_major(kept)
                               ? compiler.row_major(dy)
                               : compiler.in_layout(dy, compiler.desc_of(kept));
  const ValueId to = compiler.output_like(dx, kept);
  const std::size_t count = element_count_of(compiler, kept);
  compiler.loop("vector loop", {arriving, kept, to},
                [function, count](void* const* p, const TaskKey&) {
                  function(count, in(p, 0), in(p, 1), out(p, 2));
                });
  compiler.allow_in_place(0, 2);
}

template <Slope function>
void slope(Compiler& compiler, const Node& node) {
  make_slope(compiler, node, function);
}

void make_gelu_grad(Compiler& compiler, const Node& node) {
  const bool approximate = node.text("approximate", "none") == "tanh";
  make_slope(compiler, node, approximate ? gelu_tanh_slope : gelu_slope);
}

// The values of same-shaped operands in one common layout: that of the first blocked one, if any.
std::vector<ValueId> common_layout(Compiler& compiler, const std::vector<TensorId>& ids) {
  ValueId leader = -1;
  for (const TensorId id : ids) {
    const ValueId value = compiler.as_produced(id);
    if (leader < 0 && !compiler.is_row_major(value)) leader = value;
  }
  std::vector<ValueId> values;
  for (const TensorId id : ids) {
    values.push_back(leader < 0 ? compiler.row_major(id)
                                : compiler.in_layout(id, compiler.desc_of(leader)));
  }
  return values;
}

void make_binary(Compiler& compiler, const Node& node, Binary function, bool zero_to_zero) {
  const TensorId a = node.inputs[0], b = node.inputs[1], y = node.outputs[0];
  const Shape &shape_a = compiler.tensor(a).shape, &shape_b = compiler.tensor(b).shape,
              &shape_y = compiler.tensor(y).shape;
  if (compiler.tensor(a).dtype != DType::f32) {
    throw bad_input(
        "arithmetic on " + std::string(dtype_name(compiler.tensor(a).dtype)) + " is not supported",
        "cast to float32 first");
  }
  if (is_empty(compiler, y)) {
    compiler.output(y);
    return;
  }
  if (shape_a == shape_b && zero_to_zero) {
    const std::vector<ValueId> values = common_layout(compiler, {a, b});
    const ValueId to = compiler.output_like(y, values[0]);
    const std::size_t count = element_count_of(compiler, values[0]);
    compiler.loop("vector loop", {values[0], values[1], to},
                  [function, count](void* const* p, const TaskKey&) {
                    function(count, in(p, 0), 1, in(p, 1), 1, out(p, 2));
                  });
    compiler.allow_in_place(0, 2);
    return;
  }
  const ValueId from_a = compiler.row_major(a), from_b = compiler.row_major(b);
  const ValueId to = compiler.output(y);
  const StridedPlan plan = StridedPlan::broadcast(shape_y, {shape_y, shape_a, shape_b});
  compiler.loop("vector loop", {from_a, from_b, to},
                [plan, function](void* const* p, const TaskKey&) {
                  plan.for_each_row([&](const StridedPlan::Row& row) {
                    function(row.count, in(p, 0) + row.offset[1], row.step[1],
                             in(p, 1) + row.offset[2], row.step[2], out(p, 2) + row.offset[0]);
                  });
                });
  if (shape_a == shape_y) compiler.allow_in_place(0, 2);
}

template <Binary function, bool zero_to_zero>
void binary(Compiler& compiler, const Node& node) {
  make_binary(compiler, node, function, zero_to_zero);
}

// Added in operand order.
void make_sum(Compiler& compiler, const Node& node) {
  const TensorId y = node.outputs[0];
  if (is_empty(compiler, y)) {
    compiler.output(y);
    return;
  }
  std::vector<ValueId> operands = common_layout(compiler, node.inputs);
  const std::size_t terms = operands.size();
  const std::size_t count = element_count_of(compiler, operands[0]);
  operands.push_back(compiler.output_like(y, operands[0]));
  compiler.loop("vector loop", std::move(operands), [terms, count](void* const* p, const TaskKey&) {
    float* total = out(p, terms);
    if (terms == 1) {
      if (total != p[0]) std::memcpy(total, p[0], count * sizeof(float));
      return;
    }
    add(count, in(p, 0), 1, in(p, 1), 1, total);
    for (std::size_t i = 2; i < terms; ++i) accumulate(count, in(p, i), total);
  });
  compiler.allow_in_place(0, static_cast<int>(terms));
}

}  // namespace

void add_elementwise(MakerTable& table) {
  table["Relu"] = unary<relu, true>;
  table["Tanh"] = unary<tanh_all, true>;
  table["Sigmoid"] = unary<sigmoid, false>;
  table["Erf"] = unary<erf_all, true>;
  table["Exp"] = unary<exp_all, false>;
  table["Log"] = unary<log_all, false>;
  table["Sqrt"] = unary<sqrt_all, true>;
  table["Neg"] = unary<negate, true>;
  table["Reciprocal"] = unary<reciprocal, false>;
  table["Gelu"] = make_gelu;
  table["ReluGrad"] = slope<relu_slope>;
  table["TanhGrad"] = slope<tanh_slope>;
  table["SigmoidGrad"] = slope<sigmoid_slope>;
  table["GeluGrad"] = make_gelu_grad;
  table["Add"] = binary<add, true>;
  table["Sub"] = binary<subtract, true>;
  table["Mul"] = binary<multiply, true>;
  table["Div"] = binary<divide, false>;
  table["Sum"] = make_sum;
}

}  // namespace ddl::cpu
