/* Asynchronous copies of a simulated GPU, from device memory to shared memory (PTX ISA 9.7.9.25,
 * cp.async).
 *
 * A copy is done when its thread waits for the copy's group, which is as late as it may be on a
 * GPU. From its start on the bytes that it writes hold nothing, so that a read of them that does
 * not wait is found.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/sim.h"

typedef struct copy_one {
  void *to;
  const void *from;
  uint32_t bytes, size; /* that are read, that are written: the others are zeros */
  uint32_t group;
} copy_one;

struct sim_copies {
  copy_one *items;
  uint32_t count, capacity;
  uint32_t group; /* the one that is open */
};

void sim_copies_fini(sim_fiber *fiber) {
  if (fiber->copies) free(fiber->copies->items);
  free(fiber->copies);
  fiber->copies = NULL;
}

bool sim_copies_any(const sim_fiber *fiber) { return fiber->copies && fiber->copies->count; }

static sim_fiber *copy_fiber(sim_block *block) { return &block->fibers[block->thread]; }

static bool copy_grow(sim_copies *copies) {
  if (copies->count < copies->capacity) return true;
  uint32_t capacity = copies->capacity ? 2 * copies->capacity : 16;
  copy_one *items = realloc(copies->items, capacity * sizeof *items);
  if (!items) return false;
  copies->items = items;
  copies->capacity = capacity;
  return true;
}

static void copy_start(void *to, const void *from, uint32_t bytes, uint32_t size) {
  sim_block *block = sim_current();
  sim_fiber *fiber = copy_fiber(block);
  if (((uintptr_t)to | (uintptr_t)from) % size)
    sim_fault(block, -1, "thread %d copies %u bytes that are not at a multiple of it",
              block->thread, size);
  if (!fiber->copies) fiber->copies = calloc(1, sizeof *fiber->copies);
  if (!fiber->copies || !copy_grow(fiber->copies)) {
    block->status |= LOOM_STATUS_MEMORY;
    return;
  }
  sim_memory_set_written(block, to, size, false);
  fiber->copies->items[fiber->copies->count++] =
      (copy_one){to, from, bytes, size, fiber->copies->group};
}

/* Does the copies of all groups before this one. */
static void copy_finish(uint32_t group) {
  sim_block *block = sim_current();
  sim_copies *copies = copy_fiber(block)->copies;
  uint32_t left = 0;
  if (!copies) return;
  for (uint32_t i = 0; i < copies->count; i++) {
    copy_one *c = &copies->items[i];
    if (c->group >= group) {
      copies->items[left++] = *c;
      continue;
    }
    memcpy(c->to, c->from, c->bytes);
    memset((uint8_t *)c->to + c->bytes, 0, c->size - c->bytes);
    sim_memory_set_written(block, c->to, c->size, true);
    sim_memory_written_by(block, c->to, c->size);
  }
  copies->count = left;
}

/* ---- the primitives (passes/gpu.def) ---- */

void loom_sim_copy4(void *to, const void *from, uint32_t bytes) { copy_start(to, from, bytes, 4); }
void loom_sim_copy8(void *to, const void *from, uint32_t bytes) { copy_start(to, from, bytes, 8); }
void loom_sim_copy16(void *to, const void *from, uint32_t bytes) {
  copy_start(to, from, bytes, 16);
}

void loom_sim_copy_commit(void) {
  sim_copies *copies = copy_fiber(sim_current())->copies;
  if (copies) copies->group++;
}

void loom_sim_copy_wait_all(void) {
  const sim_copies *copies = copy_fiber(sim_current())->copies;
  if (copies) copy_finish(copies->group);
}

void loom_sim_copy_wait_older(void) {
  const sim_copies *copies = copy_fiber(sim_current())->copies;
  if (copies && copies->group) copy_finish(copies->group - 1);
}
