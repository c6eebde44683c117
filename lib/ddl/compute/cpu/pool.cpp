// Pools, in the layout that their input has. A max pool's indices are oneDNN's own workspace: the
// gradient op needs the forward pool's description to read them. Gradients of average pools use it
// too where there is one, for the layout that the gradient will meet further on.
#include "ddl/base/error.h"
#include "ddl/compute/cpu/makers.h"

#include <algorithm>
#include <string>

namespace ddl::cpu {
namespace {

using onednn::DataType;
using onednn::Dims;
using onednn::MemoryDesc;

struct Pool {
  dnnl::algorithm algorithm = dnnl::algorithm::pooling_max;
  Dims kernel;
  onednn::Window window;
  // Padding beyond what the node declares, which ceil_mode makes: it never counts.
  bool reaches_beyond = false;
};

Pool pool_of(const Node& node, const Shape& x, const Shape& y) {
  Pool pool;
  pool.kernel = node.integers("kernel_shape");
  const auto strides = node.integers("strides", {1, 1}), pads = node.integers("pads", {0, 0, 0, 0});
  pool.window = {strides, Dims{1, 1}, Dims{pads[0], pads[1]}, Dims{pads[2], pads[3]}};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t reach = (y[axis + 2] - 1) * strides[axis] + pool.kernel[axis];
    const std::int64_t needed = reach - x[axis + 2] - pads[axis];
    if (needed > pads[axis + 2]) {
      pool.window.after[axis] = needed;
      pool.reaches_beyond = true;
    }
  }
  if (!node.op.starts_with("MaxPool")) {
    pool.algorithm = node.integer("count_include_pad", 0) != 0
                         ? dnnl::algorithm::pooling_avg_include_padding
                         : dnnl::algorithm::pooling_avg_exclude_padding;
  }
  return pool;
}

MemoryDesc any_like(const Shape& shape) {
  return onednn::any(Dims(shape.begin(), shape.end()), DataType::f32);
}

std::string indices_key(TensorId indices) {
  return "max pool " + std::to_string(indices);
}

std::string geometry_key(const Pool& pool, const Shape& x, const Shape& y) {
  return "average pool " + std::to_string(static_cast<int>(pool.algorithm)) + ' ' +
         shape_text(pool.kernel) + ' ' + shape_text(pool.window.strides) + ' ' +
         shape_text(pool.window.before) + ' ' + shape_text(pool.window.after) + ' ' +
         shape_text(x) + ' ' + shape_text(y);
}

void make_forward(Compiler& compiler, const Node& node, const Pool& pool) {
  const TensorId x = node.inputs[0], y = node.outputs[0];
  const bool keeps = Compiler::has_output(node, 1);
  const ValueId from = compiler.as_produced(x);
  const MemoryDesc x_desc = compiler.desc_of(from);
  const bool training = keeps || pool.algorithm != dnnl::algorithm::pooling_max;
  const auto desc =
      onednn::pooling_forward(training, pool.algorithm, x_desc, any_like(compiler.tensor(y).shape),
                              pool.kernel, pool.window);
  std::vector<Compiler::Argument> arguments{
      {DNNL_ARG_SRC, from, x_desc},
      {DNNL_ARG_DST, compiler.output(y, desc.dst_desc()), desc.dst_desc()}};
  if (keeps) {
    const MemoryDesc workspace = desc.workspace_desc();
    arguments.push_back({DNNL_ARG_WORKSPACE,
                         compiler.opaque_output(node.outputs[1], workspace.get_size()), workspace});
    compiler.remember(indices_key(node.outputs[1]), desc);
  } else {
    compiler.remember(geometry_key(pool, compiler.tensor(x).shape, compiler.tensor(y).shape), desc);
  }
  compiler.call<dnnl::pooling_forward>(desc, std::move(arguments));
}

void make_backward(Compiler& compiler, const Node& node, const Pool& pool,
                   const onednn::PoolingForward& forward, TensorId indices) {
  const TensorId dy = node.inputs[0], dx = node.outputs[0];
  const auto desc = onednn::pooling_backward(pool.algorithm, forward.src_desc(), forward.dst_desc(),
                                             pool.kernel, pool.window, forward);
  std::vector<Compiler::Argument> arguments{
      {DNNL_ARG_DIFF_DST, compiler.in_layout(dy, desc.diff_dst_desc()), desc.diff_dst_desc()},
      {DNNL_ARG_DIFF_SRC, compiler.output(dx, desc.diff_src_desc()), desc.diff_src_desc()}};
  if (indices != kNoTensor) {
    arguments.push_back(
        {DNNL_ARG_WORKSPACE, compiler.as_produced(indices), forward.workspace_desc()});
  }
  compiler.call<dnnl::pooling_backward>(desc, std::move(arguments));
}

void make_max_pool(Compiler& compiler, const Node& node) {
  make_forward(
      compiler, node,
      pool_of(node, compiler.tensor(node.inputs[0]).shape, compiler.tensor(node.outputs[0]).shape));
}

void make_max_pool_grad(Compiler& compiler, const Node& node) {
  const Pool pool =
      pool_of(node, compiler.tensor(node.outputs[0]).shape, compiler.tensor(node.inputs[0]).shape);
  const std::any forward = compiler.recall(indices_key(node.inputs[3]));
  if (!forward.has_value()) {
    throw bad_input("'" + compiler.tensor(node.inputs[3]).name +
                    "' is not the indices of a MaxPool");
  }
  make_backward(compiler, node, pool, std::any_cast<onednn::PoolingForward>(forward),
                node.inputs[3]);
}

// The gradient of an average pool that oneDNN has.
void make_average_backward(Compiler& compiler, const Node& node, const Pool& pool) {
  const Shape &x = compiler.tensor(node.outputs[0]).shape,
              &y = compiler.tensor(node.inputs[0]).shape;
  const std::any known = compiler.recall(geometry_key(pool, x, y));
  if (known.has_value()) {
    return make_backward(compiler, node, pool, std::any_cast<onednn::PoolingForward>(known),
                         kNoTensor);
  }
  const MemoryDesc plain = onednn::row_major(Dims(x.begin(), x.end()), DataType::f32);
  make_backward(
      compiler, node, pool,
      onednn::pooling_forward(true, pool.algorithm, plain, any_like(y), pool.kernel, pool.window),
      kNoTensor);
}

// The average pools that oneDNN cannot express: padding counts where it was declared, but not where
// ceil_mode reached beyond it.
struct WindowWalk {
  std::int64_t planes = 0, height = 0, width = 0, rows = 0, columns = 0;
  Dims kernel, strides, before, declared_after;

  // Calls body(plane, window number, first row, last row, first column, last column, divisor).
  template <class Body>
  void for_each(Body&& body) const {
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < columns; ++column) {
          const std::int64_t top = row * strides[0] - before[0];
          const std::int64_t left = column * strides[1] - before[1];
          const std::int64_t bottom = std::min(top + kernel[0], height + declared_after[0]);
          const std::int64_t right = std::min(left + kernel[1], width + declared_after[1]);
          body(plane, (plane * rows + row) * columns + column, std::max<std::int64_t>(top, 0),
               std::min(bottom, height), std::max<std::int64_t>(left, 0), std::min(right, width),
               static_cast<float>((bottom - top) * (right - left)));
        }
      }
    }
  }
};

WindowWalk walk_of(const Node& node, const Shape& x, const Shape& y) {
  const auto pads = node.integers("pads", {0, 0, 0, 0});
  return {x[0] * x[1],
          x[2],
          x[3],
          y[2],
          y[3],
          node.integers("kernel_shape"),
          node.integers("strides", {1, 1}),
          {pads[0], pads[1]},
          {pads[2], pads[3]}};
}

bool needs_walk(const Pool& pool) {
  return pool.reaches_beyond && pool.algorithm == dnnl::algorithm::pooling_avg_include_padding;
}

void make_average_pool(Compiler& compiler, const Node& node) {
  const TensorId x = node.inputs[0], y = node.outputs[0];
  const Pool pool = pool_of(node, compiler.tensor(x).shape, compiler.tensor(y).shape);
  if (!needs_walk(pool)) return make_forward(compiler, node, pool);
  const WindowWalk walk = walk_of(node, compiler.tensor(x).shape, compiler.tensor(y).shape);
  compiler.loop("window loop", {compiler.row_major(x), compiler.output(y)},
                [walk](void* const* p, const TaskKey&) {
                  const auto* from = static_cast<const float*>(p[0]);
                  auto* to = static_cast<float*>(p[1]);
                  walk.for_each([&](std::int64_t plane, std::int64_t at, std::int64_t top,
                                    std::int64_t bottom, std::int64_t left, std::int64_t right,
                                    float divisor) {
                    float total = 0;
                    for (std::int64_t h = top; h < bottom; ++h) {
                      for (std::int64_t w = left; w < right; ++w) {
                        total += from[(plane * walk.height + h) * walk.width + w];
                      }
                    }
                    to[at] = total / divisor;
                  });
                });
}

void make_average_pool_grad(Compiler& compiler, const Node& node) {
  const TensorId dy = node.inputs[0], dx = node.outputs[0];
  const Shape &shape = compiler.tensor(dx).shape, &pooled = compiler.tensor(dy).shape;
  const Pool pool = pool_of(node, shape, pooled);
  if (!needs_walk(pool)) return make_average_backward(compiler, node, pool);
  const WindowWalk walk = walk_of(node, shape, pooled);
  const auto count = static_cast<std::size_t>(element_count(shape));
  compiler.loop("window loop", {compiler.row_major(dy), compiler.output(dx)},
                [walk, count](void* const* p, const TaskKey&) {
                  const auto* from = static_cast<const float*>(p[0]);
                  auto* to = static_cast<float*>(p[1]);
                  std::fill_n(to, count, 0.0F);
                  walk.for_each([&](std::int64_t plane, std::int64_t at, std::int64_t top,
                                    std::int64_t bottom, std::int64_t left, std::int64_t right,
                                    float divisor) {
                    for (std::int64_t h = top; h < bottom; ++h) {
                      for (std::int64_t w = left; w < right; ++w) {
                        to[(plane * walk.height + h) * walk.width + w] += from[at] / divisor;
                      }
                    }
                  });
                });
}

// A pool over whole images.
Pool global_pool(const Shape& x) {
  Pool pool;
  pool.algorithm = dnnl::algorithm::pooling_avg_include_padding;
  pool.kernel = {x[2], x[3]};
  pool.window = {{1, 1}, {1, 1}, {0, 0}, {0, 0}};
  return pool;
}

void make_global(Compiler& compiler, const Node& node) {
  make_forward(compiler, node, global_pool(compiler.tensor(node.inputs[0]).shape));
}

void make_global_grad(Compiler& compiler, const Node& node) {
  make_average_backward(compiler, node, global_pool(compiler.tensor(node.outputs[0]).shape));
}

}  // namespace

void add_pooling(MakerTable& table) {
  table["MaxPool"] = make_max_pool;
  table["MaxPoolGrad"] = make_max_pool_grad;
  table["AveragePool"] = make_average_pool;
  table["AveragePoolGrad"] = make_average_pool_grad;
  table["GlobalAveragePool"] = make_global;
  table["GlobalAveragePoolGrad"] = make_global_grad;
}

}  // namespace ddl::cpu
