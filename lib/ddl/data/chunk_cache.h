// A bounded cache of decoded chunks, least recently used out first. A chunk wanted by several
// threads at once is loaded by one of them while the others wait; no lock is held while loading.
// Threads: get() is safe from any number of threads. A load that throws throws in every waiting
// thread and leaves nothing behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace ddl {

using Chunk = std::shared_ptr<const std::vector<std::byte>>;

struct ChunkKey {
  std::size_t shard = 0, field = 0, chunk = 0;
  auto operator<=>(const ChunkKey&) const = default;
};

class ChunkCache {
 public:
  // The chunk just loaded is kept even when it alone is larger than capacity_bytes.
  explicit ChunkCache(std::size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}
  Chunk get(const ChunkKey& key, const std::function<std::vector<std::byte>()>& load);
  std::size_t held_bytes() const;

 private:
  struct Entry {
    std::shared_future<Chunk> chunk;
    std::size_t bytes = 0;  // 0 while loading
    std::list<ChunkKey>::iterator place;
  };
  void evict(const ChunkKey& keep);

  const std::size_t capacity_bytes_;
  mutable std::mutex mutex_;
  std::size_t held_bytes_ = 0;
  std::map<ChunkKey, Entry> entries_;
  std::list<ChunkKey> recent_;  // front: used last
};

}  // namespace ddl
