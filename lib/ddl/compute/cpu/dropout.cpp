// Dropout: what is kept depends on (seed, step, sample, op) alone, never on the task's place or on
// who runs it. The op is named by the hash of its node's name.
//
// Philox twice, without memory of its own (fixed for ever: changing it changes trained models):
//   key     = first two words of philox({seed, op}, {step})
//   element = word i mod 4 of philox({i / 4, sample, 0}, key), kept when below (1 - ratio) 2^32
#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/base/random.h"
#include "ddl/compute/cpu/loops.h"
#include "ddl/compute/cpu/makers.h"

#include <cmath>
#include <span>
#include <string>

namespace ddl::cpu {
namespace {

std::uint32_t low(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

void make_dropout(Compiler& compiler, const Node& node) {
  const TensorId x = node.inputs[0];
  const double ratio = node.real("ratio", 0.5);
  // Kept when a random 32-bit word is below the threshold; 2^32 keeps all.
  const auto threshold = static_cast<std::uint64_t>(std::llround((1 - ratio) * 4294967296.0));
  const auto factor = static_cast<float>(1 / (1 - ratio));
  const auto count = static_cast<std::size_t>(element_count(compiler.tensor(x).shape));
  const std::uint64_t op = xxh3_64(std::as_bytes(std::span(node.name)));
  const auto axis = static_cast<std::size_t>(compiler.tensor(x).shape[0]);
  const ValueId from = compiler.row_major(x);
  const ValueId to = compiler.output(node.outputs[0]);
  const ValueId mask =
      Compiler::has_output(node, 1) ? compiler.output(node.outputs[1]) : compiler.scratch(count);
  compiler.loop("vector loop", {from, to, mask}, [=](void* const* p, const TaskKey& key) {
    const std::size_t samples = key.sample_ids.size();
    if (samples == 0 || axis % samples != 0) {
      throw failure("the first axis of " + std::to_string(axis) + " does not divide among " +
                    std::to_string(samples) + " sample ids");
    }
    const std::size_t per_sample = count / samples;
    auto* kept = static_cast<std::uint8_t*>(p[2]);
    const auto words = philox_block({low(key.seed), high(key.seed), low(op), high(op)},
                                    {low(key.step), high(key.step)});
    for (std::size_t sample = 0; sample < samples; ++sample) {
      const auto id = static_cast<std::uint64_t>(key.sample_ids[sample]);
      std::uint8_t* row = kept + sample * per_sample;
      for (std::size_t i = 0; i < per_sample; i += 4) {
        const auto block = philox_block({low(i / 4), low(id), high(id), 0}, {words[0], words[1]});
        for (std::size_t k = 0; k < 4 && i + k < per_sample; ++k) {
          row[i + k] = block[k] < threshold ? 1 : 0;
        }
      }
    }
    masked(count, static_cast<const float*>(p[0]), kept, factor, static_cast<float*>(p[1]));
  });
  compiler.allow_in_place(0, 1);
}

void make_dropout_grad(Compiler& compiler, const Node& node) {
  const auto factor = static_cast<float>(1 / (1 - node.real("ratio", 0.5)));
  const auto count = static_cast<std::size_t>(element_count(compiler.tensor(node.inputs[0]).shape));
  compiler.loop("vector loop",
                {compiler.row_major(node.inputs[0]), compiler.row_major(node.inputs[1]),
                 compiler.output(node.outputs[0])},
                [factor, count](void* const* p, const TaskKey&) {
                  masked(count, static_cast<const float*>(p[0]),
                         static_cast<const std::uint8_t*>(p[1]), factor, static_cast<float*>(p[2]));
                });
  compiler.allow_in_place(0, 2);
}

}  // namespace

void add_dropout(MakerTable& table) {
  table["Dropout"] = make_dropout;
  table["DropoutGrad"] = make_dropout_grad;
}

}  // namespace ddl::cpu
