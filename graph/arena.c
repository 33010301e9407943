/* The arena of a compilation, lists that grow, and the error message. */
#include "graph/graph.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool loom_fail(loom_error *err, const char *format, ...) {
  if (!err) return false;
  va_list args;
  va_start(args, format);
  vsnprintf(err->message, sizeof err->message, format, args);
  va_end(args);
  return false;
}

bool loom_grow(void *items, size_t count, uint32_t *capacity, size_t item_size) {
  if (count < *capacity) return true;
  if (*capacity > UINT32_MAX / 2) return false;
  uint32_t wanted = *capacity ? 2 * *capacity : 16;
  void *old;
  memcpy(&old, items, sizeof old);
  void *grown = realloc(old, wanted * item_size);
  if (!grown) return false;
  memcpy(items, &grown, sizeof grown);
  *capacity = wanted;
  return true;
}

struct loom_arena_block {
  struct loom_arena_block *next;
  size_t used, size;
  _Alignas(16) unsigned char data[];
};

/* Blocks grow from the first size to the last: a verifier's arena holds one op, a capture's
 * thousands. */
#define ARENA_FIRST_BYTES 2048
#define ARENA_LAST_BYTES (64 * 1024)

void *loom_arena_alloc(loom_arena *arena, size_t bytes) {
  if (bytes > SIZE_MAX / 2) return NULL;
  size_t rounded = (bytes + 15) & ~(size_t)15;
  struct loom_arena_block *block = arena->head;
  if (!block || block->size - block->used < rounded) {
    size_t size = block ? block->size * 2 : ARENA_FIRST_BYTES;
    if (size > ARENA_LAST_BYTES) size = ARENA_LAST_BYTES;
    if (rounded > size / 4) size = rounded;
    block = calloc(1, sizeof *block + size);
    if (!block) return NULL;
    block->size = size;
    /* A large request gets a block of its own behind the head, so that the head's rest is not lost.
     */
    if (arena->head && size == rounded) {
      block->next = arena->head->next;
      arena->head->next = block;
    } else {
      block->next = arena->head;
      arena->head = block;
    }
  }
  void *result = block->data + block->used;
  block->used += rounded;
  return result;
}

void *loom_arena_copy(loom_arena *arena, const void *data, size_t bytes) {
  void *copy = loom_arena_alloc(arena, bytes);
  if (copy && bytes) memcpy(copy, data, bytes);
  return copy;
}

char *loom_arena_strdup(loom_arena *arena, const char *text) {
  return loom_arena_copy(arena, text, strlen(text) + 1);
}

void loom_arena_adopt(loom_arena *arena, loom_arena *other) {
  struct loom_arena_block **last = &arena->head;
  while (*last)
    last = &(*last)->next;
  *last = other->head;
  other->head = NULL;
}

void loom_arena_fini(loom_arena *arena) {
  struct loom_arena_block *block = arena->head;
  while (block) {
    struct loom_arena_block *next = block->next;
    free(block);
    block = next;
  }
  arena->head = NULL;
}
