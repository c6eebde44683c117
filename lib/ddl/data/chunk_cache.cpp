#include "ddl/data/chunk_cache.h"

#include <exception>
#include <iterator>
#include <utility>

namespace ddl {

std::size_t ChunkCache::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return held_bytes_;
}

void ChunkCache::evict(const ChunkKey& keep) {
  auto place = recent_.end();
  while (held_bytes_ > capacity_bytes_ && place != recent_.begin()) {
    --place;
    const auto found = entries_.find(*place);
    // Entries still loading have no bytes yet, and someone waits for them.
    if (*place == keep || found->second.bytes == 0) continue;
    held_bytes_ -= found->second.bytes;
    entries_.erase(found);
    place = recent_.erase(place);
  }
}

Chunk ChunkCache::get(const ChunkKey& key, const std::function<std::vector<std::byte>()>& load) {
  std::promise<Chunk> promise;
  {
    std::unique_lock lock(mutex_);
    if (const auto found = entries_.find(key); found != entries_.end()) {
      recent_.splice(recent_.begin(), recent_, found->second.place);
      const std::shared_future<Chunk> chunk = found->second.chunk;
      lock.unlock();
      return chunk.get();
    }
    recent_.push_front(key);
    entries_.emplace(key, Entry{promise.get_future().share(), 0, recent_.begin()});
  }
  try {
    Chunk chunk = std::make_shared<const std::vector<std::byte>>(load());
    promise.set_value(chunk);
    const std::lock_guard lock(mutex_);
    entries_.at(key).bytes = chunk->size();
    held_bytes_ += chunk->size();
    evict(key);
    return chunk;
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    recent_.erase(found->second.place);
    entries_.erase(found);
    throw;
  }
}

}  // namespace ddl
