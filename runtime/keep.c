/* What a plan computes of constants alone: packed weights, transposed or converted ones.
 *
 * The first run does so, into buffers that stay as long as the plan. Other threads that come
 * meanwhile wait by polling the state. They take no lock: a lock that a thread holds while another
 * thread forks stays locked for ever in the child process. A state that names another process as
 * the one at work is such a leftover of a fork: the child computes the buffers anew. A waiting
 * thread does not ask for signals, so that it may wait while it holds a lock (of an interpreter,
 * say) that signal handlers would need. */
#include "runtime/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT_WAIT_NS 50000

plan_kept *kept_new(const loom_plan_header *h) {
  size_t count = h->kept_count;
  plan_kept *kept = calloc(
      1, sizeof *kept + count * (sizeof *kept->buffers + sizeof *kept->sizes + sizeof(bool)));
  if (!kept) return NULL;
  kept->count = h->kept_count;
  kept->sizes = (uint64_t *)(kept->buffers + count);
  kept->used = (bool *)(kept->sizes + count);
  return kept;
}

static void kept_drop(plan_kept *kept, uint32_t i) {
  void *buffer = kept->buffers[i];
  kept->buffers[i] = NULL;
  if (buffer) loom_block_free(buffer, kept->sizes[i]);
}

void kept_free(plan_kept *kept) {
  for (uint32_t i = 0; kept && i < kept->count; i++)
    kept_drop(kept, i);
  free(kept);
}

/* Constants and what is kept; the rest is no affair of these instructions. */
static void *kept_place(const run *r, uint32_t buffer) {
  const place *p = &r->plan->places[buffer];
  plan_kept *kept = r->plan->kept;
  if (p->kind == PLACE_CONST) return r->plan->consts[p->index];
  if (p->kind != PLACE_KEPT) return NULL;
  if (!kept->buffers[p->index]) kept->buffers[p->index] = loom_block_alloc(kept->sizes[p->index]);
  return kept->buffers[p->index];
}

static uint32_t kept_run(const run *r, const loom_plan_instr *in) {
  const uint32_t *list = r->plan->indices + in->buffers;
  for (uint32_t i = 0; i < in->buffer_count; i++) {
    r->buffers[i] = kept_place(r, list[i]);
    if (!r->buffers[i] && r->plan->places[list[i]].kind == PLACE_KEPT) return LOOM_STATUS_MEMORY;
  }
  return run_kernel(r, in);
}

/* Gives back what only later instructions of `once`, of which there are none, would read. */
static void kept_release(const loom_plan *plan, uint32_t instr) {
  uint32_t count = loom_plan_header_of(plan)->once.count;
  const loom_plan_instr *in = &plan->once[instr];
  for (uint32_t i = 0; i < in->buffer_count; i++) {
    const place *p = &plan->places[plan->indices[in->buffers + i]];
    bool needed = p->kind != PLACE_KEPT || plan->kept->used[p->index];
    for (uint32_t n = instr + 1; n < count && !needed; n++)
      for (uint32_t k = 0; k < plan->once[n].buffer_count && !needed; k++) {
        const place *other = &plan->places[plan->indices[plan->once[n].buffers + k]];
        needed = other->kind == PLACE_KEPT && other->index == p->index;
      }
    if (!needed) kept_drop(plan->kept, p->index);
  }
}

static uint32_t kept_compute(const run *r) {
  uint32_t count = loom_plan_header_of(r->plan)->once.count, status = 0;
  for (uint32_t i = 0; i < count && !(status & PLAN_STOPS); i++) {
    status |= kept_run(r, &r->plan->once[i]);
    if (!(status & PLAN_STOPS)) kept_release(r->plan, i);
  }
  return status;
}

/* Waits until another thread of this process is done; true when this one has to do it. */
static bool kept_claim(plan_kept *kept) {
  uint64_t state, own = KEPT_PROCESS + (uint64_t)getpid();
  while ((state = atomic_load_explicit(&kept->state, memory_order_acquire)) != KEPT_DONE) {
    const struct timespec pause = {0, KEPT_WAIT_NS};
    if (state == own)
      nanosleep(&pause, NULL);
    else if (atomic_compare_exchange_strong(&kept->state, &state, own))
      return true;
  }
  return false;
}

uint32_t kept_ready(const run *r) {
  plan_kept *kept = r->plan->kept;
  if (atomic_load_explicit(&kept->state, memory_order_acquire) == KEPT_DONE || !kept_claim(kept))
    return kept->status;
  run_poll *polling = loom_polling;
  loom_polling = NULL;
  uint32_t status = kept_compute(r);
  loom_polling = polling;
  kept->status = status & ~PLAN_STOPS;
  atomic_store_explicit(&kept->state, status & PLAN_STOPS ? KEPT_NOT : KEPT_DONE,
                        memory_order_release);
  return status;
}

size_t loom_plan_kept_bytes(const loom_plan *plan) {
  size_t bytes = 0;
  for (uint32_t i = 0; plan->kept && i < plan->kept->count; i++)
    bytes += plan->kept->used[i] ? plan->kept->sizes[i] : 0;
  return bytes;
}
