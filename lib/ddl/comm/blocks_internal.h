// Locks striped over the elements of many tensors that lie one after the other in one buffer, so
// that lanes can fold into the same tensor side by side. The first addition to a block in a step
// stores instead of adding: no pass over memory is spent on zeros.
#pragma once

#include "ddl/base/error.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace ddl {

class StripedTensors {
 public:
  static constexpr std::size_t kBlockElements = 65536;

  explicit StripedTensors(std::span<const std::size_t> sizes)
      : tensors_(std::make_unique<Tensor[]>(sizes.size())), count_(sizes.size()) {
    std::size_t blocks = 0;
    for (std::size_t t = 0; t < sizes.size(); ++t) {
      tensors_[t].size = sizes[t];
      tensors_[t].first = elements_;
      tensors_[t].first_block = blocks;
      tensors_[t].blocks = (sizes[t] + kBlockElements - 1) / kBlockElements;
      elements_ += sizes[t];
      blocks += tensors_[t].blocks;
    }
    blocks_ = std::make_unique<Block[]>(blocks);
    block_count_ = blocks;
  }

  std::size_t count() const { return count_; }
  std::size_t elements() const { return elements_; }  // of all tensors
  std::size_t size(std::size_t tensor) const { return tensors_[tensor].size; }
  std::size_t first(std::size_t tensor) const { return tensors_[tensor].first; }
  std::size_t bytes() const { return count_ * sizeof(Tensor) + block_count_ * sizeof(Block); }

  // The index of `tensor`; failure unless it exists and elements [first, first + count) are in it.
  std::size_t checked(int tensor, std::size_t first, std::size_t count) const {
    if (tensor < 0 || static_cast<std::size_t>(tensor) >= count_) {
      throw failure("reduction: there is no tensor " + std::to_string(tensor) + " among " +
                    std::to_string(count_));
    }
    const auto t = static_cast<std::size_t>(tensor);
    if (first > tensors_[t].size || count > tensors_[t].size - first) {
      throw failure("reduction: tensor " + std::to_string(tensor) + " has " +
                    std::to_string(tensors_[t].size) + " elements, not " +
                    std::to_string(first + count));
    }
    return t;
  }

  // The block at which the next lane should start: lanes that fold the same tensor at once begin
  // far from each other.
  std::size_t next_start(std::size_t tensor) {
    Tensor& state = tensors_[tensor];
    if (state.blocks == 0) return 0;
    return state.turn.fetch_add(1, std::memory_order_relaxed) * (state.blocks / 2 + 1) %
           state.blocks;
  }

  // Calls body(offset in the tensor, count, filled) for each block of a tensor under its lock, from
  // block `start` on and around, until it returns false. filled: something was stored there in this
  // step; the body stores to all of the block when it is false.
  template <class Body>
  void for_blocks(std::size_t tensor, std::size_t start, const Body& body) {
    const Tensor& state = tensors_[tensor];
    bool more = true;
    for (std::size_t i = 0; i < state.blocks && more; ++i) {
      const std::size_t b = (start + i) % state.blocks;
      const std::size_t offset = b * kBlockElements;
      Block& block = blocks_[state.first_block + b];
      const std::lock_guard lock(block.mutex);
      more = body(offset, std::min(kBlockElements, state.size - offset), block.filled);
      block.filled = true;
    }
  }

  // Empties all blocks. Owner only.
  void begin() {
    for (std::size_t b = 0; b < block_count_; ++b) blocks_[b].filled = false;
  }

  // Writes zeros to the blocks of `buffer` that nothing was stored in. Owner only.
  template <class T>
  void zero_empty_blocks(std::span<T> buffer) {
    for (std::size_t t = 0; t < count_; ++t) {
      for (std::size_t b = 0; b < tensors_[t].blocks; ++b) {
        Block& block = blocks_[tensors_[t].first_block + b];
        if (block.filled) continue;
        const std::size_t offset = b * kBlockElements;
        const std::size_t size = std::min(kBlockElements, tensors_[t].size - offset);
        std::fill_n(buffer.begin() + static_cast<std::ptrdiff_t>(tensors_[t].first + offset), size,
                    T{0});
        block.filled = true;
      }
    }
  }

 private:
  struct Tensor {
    std::size_t size = 0, first = 0, first_block = 0, blocks = 0;
    std::atomic<std::size_t> turn{0};
  };
  struct Block {
    std::mutex mutex;
    bool filled = false;
  };
  std::unique_ptr<Tensor[]> tensors_;
  std::unique_ptr<Block[]> blocks_;
  std::size_t count_ = 0, elements_ = 0, block_count_ = 0;
};

}  // namespace ddl
