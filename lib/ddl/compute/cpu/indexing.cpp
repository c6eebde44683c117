// Look-ups of rows and their gradient. Indices are data: each is checked.
#include "ddl/base/error.h"
#include "ddl/compute/cpu/makers.h"
#include "ddl/compute/cpu/row_loops.h"

#include <algorithm>
#include <cstring>

namespace ddl::cpu {
namespace {

struct Lookup {
  std::size_t count = 0, rows = 0, width = 0;

  // Negative indices count from the end.
  template <class Index>
  std::size_t row(const Index* indices, std::size_t i) const {
    const auto index = static_cast<std::int64_t>(indices[i]);
    const std::int64_t wrapped = index < 0 ? index + static_cast<std::int64_t>(rows) : index;
    if (wrapped < 0 || wrapped >= static_cast<std::int64_t>(rows)) {
      throw failure("index " + std::to_string(index) + " at position " + std::to_string(i) +
                        " is outside of a table with " + std::to_string(rows) + " rows",
                    "the data hold more categories or tokens than the model was made for");
    }
    return static_cast<std::size_t>(wrapped);
  }
};

Lookup lookup(const Shape& table, const Shape& indices) {
  Lookup result;
  result.count = static_cast<std::size_t>(element_count(indices));
  result.rows = static_cast<std::size_t>(table[0]);
  result.width = static_cast<std::size_t>(element_count(Shape(table.begin() + 1, table.end())));
  return result;
}

template <class Index>
void gather(Compiler& compiler, const Node& node) {
  const Lookup look =
      lookup(compiler.tensor(node.inputs[0]).shape, compiler.tensor(node.inputs[1]).shape);
  compiler.loop("row loop",
                {compiler.row_major(node.inputs[0]), compiler.row_major(node.inputs[1]),
                 compiler.output(node.outputs[0])},
                [look](void* const* p, const TaskKey&) {
                  const auto* table = static_cast<const float*>(p[0]);
                  const auto* indices = static_cast<const Index*>(p[1]);
                  auto* y = static_cast<float*>(p[2]);
                  if (look.width == 0) return;
                  for (std::size_t i = 0; i < look.count; ++i) {
                    std::memcpy(y + i * look.width, table + look.row(indices, i) * look.width,
                                look.width * sizeof(float));
                  }
                });
}

void make_gather(Compiler& compiler, const Node& node) {
  if (compiler.tensor(node.inputs[1]).dtype == DType::i32) {
    gather<std::int32_t>(compiler, node);
  } else {
    gather<std::int64_t>(compiler, node);
  }
}

// Rows looked up several times add in the order of the indices.
template <class Index>
void gather_grad(Compiler& compiler, const Node& node) {
  const Shape& table = compiler.tensor(node.outputs[0]).shape;
  const Lookup look = lookup(table, compiler.tensor(node.inputs[0]).shape);
  compiler.loop("row loop",
                {compiler.row_major(node.inputs[0]), compiler.row_major(node.inputs[1]),
                 compiler.output(node.outputs[0])},
                [look](void* const* p, const TaskKey&) {
                  const auto* indices = static_cast<const Index*>(p[0]);
                  const auto* dy = static_cast<const float*>(p[1]);
                  auto* dtable = static_cast<float*>(p[2]);
                  std::fill_n(dtable, look.rows * look.width, 0.0F);
                  for (std::size_t i = 0; i < look.count; ++i) {
                    accumulate(look.width, dy + i * look.width,
                               dtable + look.row(indices, i) * look.width);
                  }
                });
}

void make_gather_grad(Compiler& compiler, const Node& node) {
  if (compiler.tensor(node.inputs[0]).dtype == DType::i32) {
    gather_grad<std::int32_t>(compiler, node);
  } else {
    gather_grad<std::int64_t>(compiler, node);
  }
}

}  // namespace

void add_indexing(MakerTable& table) {
  table["Gather"] = make_gather;
  table["GatherGrad"] = make_gather_grad;
}

}  // namespace ddl::cpu
