/* Maps from addresses to addresses, in an arena: open addressing. */
#include "frontend/base/base.h"

static size_t pointer_slot(const pointer_map *map, const void *key) {
  size_t slot = ((size_t)key >> 3) * 0x9e3779b97f4a7c15u >> 20;
  for (slot &= map->capacity - 1; map->keys[slot] && map->keys[slot] != key;)
    slot = (slot + 1) & (map->capacity - 1);
  return slot;
}

void *pointer_map_get(const pointer_map *map, const void *key) {
  if (!map->count) return NULL;
  size_t slot = pointer_slot(map, key);
  return map->keys[slot] ? map->values[slot] : NULL;
}

static bool pointer_map_grow(pointer_map *map, loom_arena *arena) {
  pointer_map bigger = {.capacity = map->capacity ? map->capacity * 2 : 64};
  bigger.keys = loom_arena_alloc(arena, bigger.capacity * sizeof *bigger.keys);
  bigger.values = loom_arena_alloc(arena, bigger.capacity * sizeof *bigger.values);
  if (!bigger.keys || !bigger.values) return false;
  for (size_t i = 0; i < map->capacity; i++) {
    if (!map->keys[i]) continue;
    size_t slot = pointer_slot(&bigger, map->keys[i]);
    bigger.keys[slot] = map->keys[i];
    bigger.values[slot] = map->values[i];
  }
  bigger.count = map->count;
  *map = bigger;
  return true;
}

bool pointer_map_set(pointer_map *map, loom_arena *arena, const void *key, void *item) {
  if (2 * map->count >= map->capacity && !pointer_map_grow(map, arena)) return false;
  size_t slot = pointer_slot(map, key);
  if (!map->keys[slot]) map->count++;
  map->keys[slot] = key;
  map->values[slot] = item;
  return true;
}
