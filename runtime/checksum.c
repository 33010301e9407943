/* Checksums of plans, images and cache entries: XXH3, header-only. They find damage, not malice. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/runtime.h"

uint64_t loom_checksum(const void *data, size_t size) { return XXH3_64bits(data, size); }

void loom_hash128(const void *data, size_t size, uint64_t out[2]) {
  XXH128_hash_t hash = XXH3_128bits(data, size);
  out[0] = hash.high64;
  out[1] = hash.low64;
}
