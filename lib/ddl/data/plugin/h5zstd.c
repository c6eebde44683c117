#include "ddl/data/plugin/h5zstd.h"

#include <stdint.h>
#include <stdlib.h>
#include <zstd.h>

/* A frame may claim any size: more than this is damage, not data (chunks are at most 4 GiB). */
static const unsigned long long kMaximumContent = (unsigned long long)1 << 32;

static size_t replace_buffer(void** buffer, size_t* buffer_size, void* fresh, size_t fresh_size,
                             size_t used) {
  H5free_memory(*buffer);
  *buffer = fresh;
  *buffer_size = fresh_size;
  return used;
}

static size_t decompress(size_t bytes, size_t* buffer_size, void** buffer) {
  const unsigned long long content = ZSTD_getFrameContentSize(*buffer, bytes);
  if (content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR || content == 0 ||
      content > kMaximumContent)
    return 0;
  void* fresh = H5allocate_memory((size_t)content, 0);
  if (fresh == NULL) return 0;
  const size_t got = ZSTD_decompress(fresh, (size_t)content, *buffer, bytes);
  if (ZSTD_isError(got) || got != content) {
    H5free_memory(fresh);
    return 0;
  }
  return replace_buffer(buffer, buffer_size, fresh, (size_t)content, got);
}

static size_t compress(size_t bytes, size_t* buffer_size, void** buffer, int level) {
  const size_t bound = ZSTD_compressBound(bytes);
  void* fresh = H5allocate_memory(bound, 0);
  if (fresh == NULL) return 0;
  const size_t got = ZSTD_compress(fresh, bound, *buffer, bytes, level);
  if (ZSTD_isError(got)) {
    H5free_memory(fresh);
    return 0;
  }
  return replace_buffer(buffer, buffer_size, fresh, bound, got);
}

/* 0 means failure to HDF5. */
static size_t zstd_filter(unsigned flags, size_t client_count, const unsigned client_values[],
                          size_t bytes, size_t* buffer_size, void** buffer) {
  if (flags & H5Z_FLAG_REVERSE) return decompress(bytes, buffer_size, buffer);
  return compress(bytes, buffer_size, buffer, client_count > 0 ? (int)client_values[0] : 3);
}

const H5Z_class2_t* ddl_h5zstd_class(void) {
  static const H5Z_class2_t description = {
      H5Z_CLASS_T_VERS, DDL_H5Z_ZSTD, 1, 1, "Zstandard compression", NULL, NULL, zstd_filter};
  return &description;
}
