/* Launches of checked kernels: every access is compared, in the code, with the bounds of its buffer
 * (graph/check.h; passes/check.c makes that code). So are copies that the interpreter of plans
 * makes itself, and buffers that it passes to the kernels of loops and branches. */
#include "runtime/internal.h"
#include "runtime/simulator.h"

#include <stdio.h>
#include <stdlib.h>
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

/* The instructions that use the memory of a buffer first and last, in whatever way they see it. */
typedef struct bounds_life {
  uint32_t first, last;
} bounds_life;

static void bounds_use(bounds_life *life, uint32_t instr) {
  if (instr < life->first) life->first = instr;
  if (instr > life->last || life->last == UINT32_MAX) life->last = instr;
}

static bool bounds_lives(loom_plan *plan, const loom_plan_header *h) {
  bounds_life *lives = plan->lives = malloc(sizeof *lives * (h->buffers.count + 1u));
  if (!lives) return false;
  memset(lives, 0xff, sizeof *lives * (h->buffers.count + 1u));
  for (uint32_t i = 0; i < h->instrs.count; i++) {
    const loom_plan_instr *in = &plan->instrs[i];
    if (in->opcode == LOOM_PLAN_COPY) {
      bounds_use(&lives[in->a], i);
      bounds_use(&lives[in->b], i);
    }
    for (uint32_t k = 0; run_has_list(in) && k < in->buffer_count; k++)
      bounds_use(&lives[plan->indices[in->buffers + k]], i);
  }
  for (uint32_t a = 0; a < h->buffers.count; a++)
    for (uint32_t b = 0; b < h->buffers.count && plan->extents[a].storage; b++) {
      if (plan->extents[b].storage != plan->extents[a].storage || lives[b].first == UINT32_MAX)
        continue;
      bounds_use(&lives[a], lives[b].first);
      bounds_use(&lives[a], lives[b].last);
    }
  return true;
}

bool bounds_check(loom_plan *plan, loom_error *err) {
  const loom_plan_header *h = loom_plan_header_of(plan);
  if (!plan->extents) return true;
  bool good = h->extents.count == h->buffers.count && bounds_fit(plan->instrs, h->instrs.count) &&
              bounds_fit(plan->once, h->once.count);
  for (uint32_t i = 0; i < h->extents.count && good; i++)
    good = bounds_has_register(h, &plan->extents[i]);
  for (uint32_t i = 0; i < h->sites.count && good; i++)
    good = plan->sites[i].text < h->names.count &&
           memchr(plan->names + plan->sites[i].text, 0, h->names.count - plan->sites[i].text);
  if (!good) return loom_fail(err, "plan: bounds that do not fit its buffers");
  return bounds_lives(plan, h) || loom_fail(err, "plan: out of memory");
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
  } else if (site->buffer == LOOM_CHECK_SHARED) {
    snprintf(range.name, sizeof range.name, "the block's shared memory");
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
  if (!root->sites || frame->site >= h->sites.count) {
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

/* A number in each register of vectors that is a signalling NaN or a huge number as each type of
 * float: kernels that compute with lanes which they have not set raise floating-point flags. */
static uint32_t bounds_enter(void *const *buffers, const uint64_t *params, void *scratch,
                             int64_t begin, int64_t end) {
  static const uint32_t poison[] = {0x7d017d01, 0x7d017d01, 0x7fa17d01, 0x7ff17d01};
  const loom_check_frame *frame = buffers[-1];
  loom_kernel_fn kernel = (loom_kernel_fn)frame->kernel;
#define POISON(N) "movups %0, %%xmm" #N "\n\t"
  __asm__ volatile(POISON(0) POISON(1) POISON(2) POISON(3) POISON(4) POISON(5) POISON(6) POISON(7)
                       POISON(8) POISON(9) POISON(10) POISON(11) POISON(12) POISON(13) POISON(14)
                           POISON(15)
                   :
                   : "m"(poison)
                   : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                     "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#undef POISON
  return kernel(buffers, params, scratch, begin, end);
}

/* What the simulator of a GPU has found, and the access that it is about. */
static uint32_t bounds_simulated(const run *r) {
  const loom_plan *root = r->plan->root;
  char text[640];
  int64_t site;
  if (!loom_sim_take_fault(text, sizeof text, &site)) return 0;
  if (!r->call->violation) return LOOM_STATUS_BOUNDS;
  bool known = root->sites && site >= 0 && site < loom_plan_header_of(root)->sites.count;
  snprintf(r->call->violation->text, sizeof r->call->violation->text, "%s%s%s",
           known ? root->names + root->sites[site].text : "", known ? ": " : "", text);
  return LOOM_STATUS_BOUNDS;
}

uint32_t bounds_launch(const run *r, const loom_plan_instr *in, size_t scratch, int64_t chunks) {
  union {
    loom_check_frame frame;
    char room[LOOM_CHECK_FRAME];
  } checked;
  void *table[1 + LOOM_CHECK_BUFFERS];
  const uint32_t *list = r->plan->indices + in->buffers;
  memset(&checked, 0, sizeof checked);
  memset(table, 0, sizeof table);
  loom_check_frame *frame = &checked.frame;
  frame->spare = bounds_spare;
  frame->kernel = (uintptr_t)r->plan->kernels[in->a];
  frame->params.size = sizeof *r->params * in->param_count;
  frame->scratch.size = scratch;
  table[0] = frame;
  for (uint32_t i = 0; i < in->buffer_count; i++) {
    table[1 + i] = r->buffers[i];
    frame->buffers[i] = bounds_of(r, list[i]);
  }
  uint32_t status = loom_threads_launch(bounds_enter, table + 1, r->params, scratch, in->b, chunks);
  status &= in->fp_mask | PLAN_STOPS;
  status |= bounds_simulated(r);
  if (!frame->taken) return status;
  bounds_report(r, frame, table + 1);
  return status | LOOM_STATUS_BOUNDS;
}

/* ---- whole buffers ---- */

/* Do these bytes, counted from where a buffer begins, lie in it? */
static bool bounds_hold(const loom_check_bounds *b, const loom_check_bounds *inner) {
  int64_t end, inner_end;
  if (!inner->size) return true;
  return inner->low >= b->low && !__builtin_add_overflow(inner->low, inner->size, &inner_end) &&
         !__builtin_add_overflow(b->low, b->size, &end) && inner_end <= end;
}

static uint32_t bounds_compare(const run *r, uint32_t buffer, const char *what,
                               const loom_check_bounds *inner) {
  const loom_check_bounds b = bounds_of(r, buffer);
  if (bounds_hold(&b, inner)) return 0;
  if (r->call->violation)
    snprintf(r->call->violation->text, sizeof r->call->violation->text,
             "%s: %llu bytes from byte %lld on of buffer %u of the plan, which has %llu from byte "
             "%lld on",
             what, (unsigned long long)inner->size, (long long)inner->low, buffer,
             (unsigned long long)b.size, (long long)b.low);
  return LOOM_STATUS_BOUNDS;
}

uint32_t bounds_copy(const run *r, uint32_t buffer, uint64_t size) {
  if (!r->plan->extents) return 0;
  return bounds_compare(r, buffer, "a copy", &(loom_check_bounds){0, size});
}

uint32_t bounds_region(const run *region, uint32_t buffer, const run *outer, uint32_t given) {
  if (!region->plan->extents || !outer->plan->extents) return 0;
  const loom_check_bounds wanted = bounds_of(region, buffer);
  return bounds_compare(outer, given, "a loop or branch", &wanted);
}

/* ---- between instructions ---- */

static bool bounds_in_arena(const run *r, uint32_t buffer) {
  return r->plan->buffers[buffer].kind == LOOM_PLAN_BUFFER_ARENA &&
         r->plan->extents[buffer].storage;
}

/* Does a value that is needed after instruction `i` lie in these bytes? */
static bool bounds_needed(const run *r, uint32_t i, uint32_t dead, const uint8_t *at,
                          uint64_t size) {
  uint32_t count = loom_plan_header_of(r->plan)->buffers.count;
  for (uint32_t b = 0; b < count; b++) {
    const bounds_life *life = &r->plan->lives[b];
    uint64_t other_size;
    if (life->first > i || life->last <= i || !bounds_in_arena(r, b) || b == dead) continue;
    const uint8_t *other = run_place(r, b);
    if (!run_size_of(r, b, &other_size)) return true;
    if (other < at + size && at < other + other_size) return true;
  }
  return false;
}

static void bounds_forget(const run *r, uint32_t i) {
  uint32_t count = loom_plan_header_of(r->plan)->buffers.count;
  for (uint32_t b = 0; b < count; b++) {
    uint64_t size;
    if (r->plan->lives[b].last != i || !bounds_in_arena(r, b) || !run_size_of(r, b, &size))
      continue;
    uint8_t *at = run_place(r, b);
    if (!bounds_needed(r, i, b, at, size)) guard_fill(at, size);
  }
}

uint32_t bounds_after(const run *r, uint32_t i) {
  const loom_plan_instr *in = &r->plan->instrs[i];
  char text[200];
  if (!guard_wanted()) return 0;
  bounds_forget(r, i);
  if (!guard_broken(text, sizeof text)) return 0;
  const char *name = "a plan";
  if (in->opcode == LOOM_PLAN_HOST_CALL) name = r->plan->names + in->a;
  if (in->opcode == LOOM_PLAN_LAUNCH) {
    const loom_plan_header *h = loom_plan_header_of(r->plan);
    const loom_plan_kernel *kernels = (const void *)(r->plan->bytes + h->kernels.offset);
    name = r->plan->names + kernels[in->a].name;
  }
  if (r->call->violation)
    snprintf(r->call->violation->text, sizeof r->call->violation->text, "%s, found after %s", text,
             name);
  return LOOM_STATUS_BOUNDS;
}
