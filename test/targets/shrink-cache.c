/* shrink-cache FOLDER: takes a byte from each buffer of every checked plan in a disk cache, as if
 * the compiler had been wrong. Prints how many plans there were. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

/* As in runtime/cache.c. */
typedef struct cache_header {
  uint64_t magic;
  uint32_t version, plan_version;
  uint64_t key_size, data_size;
  uint64_t checksum;
} cache_header;

static bool shrink(uint8_t *plan, size_t size) {
  loom_plan_header h;
  memcpy(&h, plan, sizeof h);
  if (!(h.flags & LOOM_PLAN_CHECKED)) return false;
  loom_plan_extent *extents = (loom_plan_extent *)(void *)(plan + h.extents.offset);
  for (uint32_t i = 0; i < h.extents.count; i++)
    if (!extents[i].flags && extents[i].size > 0) extents[i].size--;
  size_t skipped = offsetof(loom_plan_header, checksum) + sizeof h.checksum;
  h.checksum = loom_checksum(plan + skipped, size - skipped);
  memcpy(plan, &h, sizeof h);
  return true;
}

static bool shrink_file(const char *path) {
  cache_header h;
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  if (fread(&h, sizeof h, 1, file) != 1) return fclose(file), false;
  uint8_t *all = malloc(h.key_size + h.data_size);
  bool good = all && fread(all, h.key_size + h.data_size, 1, file) == 1 &&
              shrink(all + h.key_size, h.data_size) &&
              loom_cache_write(all, h.key_size, all + h.key_size, h.data_size);
  fclose(file);
  free(all);
  return good;
}

int main(int argc, char **argv) {
  DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
  if (!folder || setenv("FRAMELOOM_CACHE_DIR", argv[1], 1)) return 2;
  int count = 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
    if (strstr(entry->d_name, ".loom")) count += shrink_file(path);
  }
  closedir(folder);
  printf("%d\n", count);
  return 0;
}
