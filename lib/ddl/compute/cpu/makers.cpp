#include "ddl/compute/cpu/makers.h"

#include "ddl/base/error.h"

#include <string>

namespace ddl::cpu {

Maker maker_of(std::string_view op) {
  static const MakerTable table = [] {
    MakerTable makers;
    add_convolution(makers);
    add_pooling(makers);
    add_normalisation(makers);
    add_matrix(makers);
    add_elementwise(makers);
    add_reduction(makers);
    add_movement(makers);
    add_indexing(makers);
    add_loss(makers);
    add_dropout(makers);
    return makers;
  }();
  const auto found = table.find(op);
  if (found == table.end()) {
    throw bad_input("op " + std::string(op) + " cannot be run on a CPU");
  }
  return found->second;
}

}  // namespace ddl::cpu
