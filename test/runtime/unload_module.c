/* A library with the runtime inside, for test_unload.c to open and close. */
#include <string.h>

#include "runtime/runtime.h"

static uint32_t fill(void *const *buffers, const uint64_t *params, void *scratch, int64_t begin,
                     int64_t end) {
  memset((uint8_t *)buffers[0] + begin, 1, (size_t)(end - begin));
  return 0;
}

/* Launches on workers and leaves blocks in every cache; 0 when all is well. */
__attribute__((visibility("default"))) int unload_work(void) {
  loom_threads_set_count(4);
  for (int i = 0; i < 100; i++) {
    size_t size = (size_t)1000 << (i % 10);
    uint8_t *block = loom_block_alloc(size);
    if (!block) return 1;
    memset(block, 0, size);
    void *buffers[] = {block};
    if (loom_threads_launch(fill, buffers, NULL, 64, 0, (int64_t)size)) return 2;
    if (memchr(block, 0, size)) return 3;
    loom_block_free(block, size);
  }
  return 0;
}
