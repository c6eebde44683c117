// The table of what this executor can run: op name -> the function that compiles a node of it.
//
// Each family of ops has one file with one function that adds its entries.
#pragma once

#include "ddl/compute/cpu/compiler.h"

#include <map>
#include <string_view>

namespace ddl::cpu {

using Maker = void (*)(Compiler& compiler, const Node& node);
using MakerTable = std::map<std::string_view, Maker>;

// Throws bad_input for an op that has no entry.
Maker maker_of(std::string_view op);

void add_convolution(MakerTable& table);
void add_pooling(MakerTable& table);
void add_normalisation(MakerTable& table);
void add_matrix(MakerTable& table);
void add_elementwise(MakerTable& table);
void add_reduction(MakerTable& table);
void add_movement(MakerTable& table);
void add_indexing(MakerTable& table);
void add_loss(MakerTable& table);
void add_dropout(MakerTable& table);

}  // namespace ddl::cpu
