/* Launches of checked kernels: every access is compared, in the code, with the bounds of its buffer
 * (graph/check.h; passes/check.c makes that code). */
#include "runtime/internal.h"

#include <stdio.h>
#include <string.h>

#include "graph/check.h"

/* Nobody's: what an access that is refused reads and writes. Never written by code that is right.
 */
static _Alignas(64) uint8_t bounds_spare[LOOM_CHECK_SPARE];

/* ---- loading ---- */

static bool bounds_has_register(const loom_plan_header *h, const loom_plan_extent *extent) {
  bool low = !(extent->flags & LOOM_PLAN_OFFSET_REGISTER) ||
             (extent->low >= 0 && extent->low < h->register_count);
  return low && (!(extent->flags & LOOM_PLAN_SIZE_REGISTER) ||
                 (extent->size >= 0 && extent->size < h->register_count));
}

static bool bounds_fit(const loom_plan_instr *instrs, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (instrs[i].opcode == LOOM_PLAN_LAUNCH && instrs[i].buffer_count > LOOM_CHECK_BUFFERS)
      return false;
  return true;
}

bool bounds_check(const loom_plan *plan, loom_error *err) {
  const loom_plan_header *h = loom_plan_header_of(plan);
  if (!plan->extents) return true;
  bool good = h->extents.count == h->buffers.count && bounds_fit(plan->instrs, h->instrs.count) &&
              bounds_fit(plan->once, h->once.count);
  for (uint32_t i = 0; i < h->extents.count && good; i++)
    good = bounds_has_register(h, &plan->extents[i]);
  for (uint32_t i = 0; i < h->sites.count && good; i++)
    good = plan->sites[i].text < h->names.count &&
           memchr(plan->names + plan->sites[i].text, 0, h->names.count - plan->sites[i].text);
  return good || loom_fail(err, "plan: bounds that do not fit its buffers");
}

/* ---- running ---- */

static loom_check_bounds bounds_of(const run *r, uint32_t buffer) {
  const loom_plan_extent *extent = &r->plan->extents[buffer];
  int64_t low = extent->low, size = extent->size;
  if (extent->flags & LOOM_PLAN_OFFSET_REGISTER) low = r->registers[low];
  if (extent->flags & LOOM_PLAN_SIZE_REGISTER) size = r->registers[size];
  return (loom_check_bounds){low, size > 0 ? (uint64_t)size : 0};
}

typedef struct bounds_range {
  uint64_t begin, size;
  char name[48];
} bounds_range;

static bounds_range bounds_range_of(const loom_check_frame *frame, void *const *table,
                                    const uint64_t *params, const loom_plan_site *site) {
  bounds_range range = {0, 0, "what is on the stack"};
  if (site->buffer >= 0 && site->buffer < LOOM_CHECK_BUFFERS) {
    const loom_check_bounds *b = &frame->buffers[site->buffer];
    range.begin = (uint64_t)(uintptr_t)table[site->buffer] + (uint64_t)b->low;
    range.size = b->size;
    snprintf(range.name, sizeof range.name, "buffer %d of the launch", site->buffer);
  } else if (site->buffer == LOOM_CHECK_PARAMS) {
    range.begin = (uint64_t)(uintptr_t)params;
    range.size = frame->params.size;
    snprintf(range.name, sizeof range.name, "the parameters");
  } else if (site->buffer == LOOM_CHECK_CONSTANT) {
    snprintf(range.name, sizeof range.name, "a table in the code");
  } else if (site->buffer == LOOM_CHECK_SCRATCH) {
    range.size = frame->scratch.size;
    snprintf(range.name, sizeof range.name, "the scratch memory of its thread");
  }
  return range;
}

/* What was accessed, where, and where its buffer lies. */
static void bounds_report(const run *r, const loom_check_frame *frame, void *const *table) {
  loom_violation *out = r->call->violation;
  const loom_plan *root = r->plan->root;
  const loom_plan_header *h = loom_plan_header_of(root);
  if (!out) return;
  if (frame->site >= h->sites.count) {
    snprintf(out->text, sizeof out->text, "an access without a number");
    return;
  }
  const loom_plan_site *site = &root->sites[frame->site];
  bounds_range range = bounds_range_of(frame, table, r->params, site);
  int used = snprintf(out->text, sizeof out->text, "%s: address 0x%llx is outside of %s",
                      root->names + site->text, (unsigned long long)frame->address, range.name);
  if (used < 0 || (size_t)used >= sizeof out->text || site->buffer <= LOOM_CHECK_STACK) return;
  char *at = out->text + used;
  size_t room = sizeof out->text - (size_t)used;
  if (!range.begin)
    snprintf(at, room, ", which has %llu bytes", (unsigned long long)range.size);
  else
    snprintf(at, room, ", [0x%llx, 0x%llx): %llu bytes, the access begins at byte %lld",
             (unsigned long long)range.begin, (unsigned long long)(range.begin + range.size),
             (unsigned long long)range.size, (long long)(frame->address - range.begin));
}

uint32_t bounds_launch(const run *r, const loom_plan_instr *in, size_t scratch, int64_t chunks) {
  struct {
    loom_check_frame frame;
    loom_check_bounds buffers[LOOM_CHECK_BUFFERS];
  } checked;
  void *table[1 + LOOM_CHECK_BUFFERS];
  const uint32_t *list = r->plan->indices + in->buffers;
  memset(&checked, 0, sizeof checked);
  memset(table, 0, sizeof table);
  loom_check_frame *frame = &checked.frame;
  frame->spare = bounds_spare;
  frame->params.size = sizeof *r->params * in->param_count;
  frame->scratch.size = scratch;
  table[0] = frame;
  for (uint32_t i = 0; i < in->buffer_count; i++) {
    table[1 + i] = r->buffers[i];
    frame->buffers[i] = bounds_of(r, list[i]);
  }
  uint32_t status =
      loom_threads_launch(r->plan->kernels[in->a], table + 1, r->params, scratch, in->b, chunks);
  status &= in->fp_mask | PLAN_STOPS;
  if (!frame->taken) return status;
  bounds_report(r, frame, table + 1);
  return status | LOOM_STATUS_BOUNDS;
}
