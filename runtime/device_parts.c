/* The arena of a plan in parts, each with memory of its own that comes with its first use and goes
 * with its last one, in the order of the stream: so a run has at no time more than it needs, beside
 * results that come and arguments that go in between.
 *
 * A part is what has to lie together. Buffers that meet in the arena and are used at the same time
 * are one, as an operand and the result that is written over it. So are a buffer that is read
 * before it is written and all that it meets of what was used before: it has its elements from
 * there. Other buffers that meet only have the place by turns.
 */
#include "runtime/device_internal.h"

#include <stdlib.h>

#include "runtime/internal.h"

#define PARTS_LEAST (1u << 20) /* bytes; a smaller arena is one piece, but in tests */

/* Of each buffer, and of the part whose number is that of one of its buffers. */
typedef struct part {
  bool arena, used, inherits; /* it is read before it is written */
  uint32_t up;                /* another buffer of the part, nearer to that one; or itself */
  uint32_t first, last;       /* instructions */
  uint64_t begin, end;        /* in the arena */
  uint64_t offset;            /* of the buffer itself */
} part;

struct device_parts {
  uint32_t count; /* of buffers */
  part *parts;
};

static uint32_t parts_reads(const loom_plan_instr *in, uint32_t count) {
  switch (in->opcode) {
  case LOOM_PLAN_COPY: return 1;
  case LOOM_PLAN_LAUNCH: return in->c ? in->c : count; /* 0: it may read all */
  case LOOM_PLAN_HOST_CALL: return in->c;
  default: return count - in->c;
  }
}

const uint32_t *device_instr_buffers(const loom_plan *plan, const loom_plan_instr *in,
                                     uint32_t copied[2], uint32_t *count) {
  copied[0] = in->a;
  copied[1] = in->b;
  *count = in->opcode == LOOM_PLAN_COPY ? 2 : run_has_list(in) ? in->buffer_count : 0;
  return in->opcode == LOOM_PLAN_COPY ? copied : plan->indices + in->buffers;
}

static uint32_t parts_find(const device_parts *parts, uint32_t buffer) {
  uint32_t at = buffer;
  while (parts->parts[at].up != at)
    at = parts->parts[at].up;
  return at;
}

static void parts_join(device_parts *parts, uint32_t a, uint32_t b) {
  a = parts_find(parts, a);
  b = parts_find(parts, b);
  part *x = &parts->parts[a], *y = &parts->parts[b];
  if (a == b) return;
  y->up = a;
  if (y->begin < x->begin) x->begin = y->begin;
  if (y->end > x->end) x->end = y->end;
  if (y->first < x->first) x->first = y->first;
  if (y->last > x->last) x->last = y->last;
}

/* When each buffer is used first and last, and whether it is read first. */
static void parts_follow(device_parts *parts, const loom_plan *plan) {
  const loom_plan_header *h = loom_plan_header_of(plan);
  for (uint32_t i = h->prologue; i < h->instrs.count; i++) {
    uint32_t copied[2], count;
    const uint32_t *list = device_instr_buffers(plan, &plan->instrs[i], copied, &count);
    uint32_t reads = count ? parts_reads(&plan->instrs[i], count) : 0;
    for (uint32_t k = 0; k < count; k++) {
      part *at = &parts->parts[list[k]];
      if (!at->used) at->first = i;
      if (!at->used) at->inherits = k < reads;
      at->used = true;
      at->last = i;
    }
  }
}

/* Of two buffers in the arena, by what is known of each alone. */
static bool parts_are_one(const part *a, const part *b) {
  const part *early = a->first <= b->first ? a : b, *late = early == a ? b : a;
  bool meet = a->begin < b->end && b->begin < a->end;
  return meet && (late->first <= early->last || late->inherits);
}

static bool parts_fill(device_parts *parts, const loom_plan *plan) {
  part *own = calloc(parts->count + 1u, sizeof *own);
  if (!own) return false;
  for (uint32_t i = 0; i < parts->count; i++) {
    const loom_plan_buffer *b = &plan->buffers[i];
    parts->parts[i].up = i;
    parts->parts[i].arena = b->kind == LOOM_PLAN_BUFFER_ARENA;
    parts->parts[i].begin = parts->parts[i].offset = parts->parts[i].arena ? b->offset : 0;
    parts->parts[i].end = parts->parts[i].begin + (parts->parts[i].arena ? b->size : 0);
  }
  parts_follow(parts, plan);
  for (uint32_t i = 0; i < parts->count; i++)
    own[i] = parts->parts[i];
  for (uint32_t i = 0; i < parts->count; i++)
    for (uint32_t k = 0; k < i; k++)
      if (own[i].arena && own[k].arena && own[i].used && own[k].used &&
          parts_are_one(&own[i], &own[k]))
        parts_join(parts, i, k);
  free(own);
  return true;
}

bool device_parts_new(loom_device_plan *p, loom_error *err) {
  const loom_plan_header *h = loom_plan_header_of(p->plan);
  uint32_t sized = LOOM_PLAN_SIZE_REGISTER | LOOM_PLAN_OFFSET_REGISTER;
  uint64_t least = loom_device_is_simulated(p->device) ? 1 : PARTS_LEAST;
  if (h->flags & LOOM_PLAN_ARENA_REGISTER || h->arena_size < least) return true;
  for (uint32_t i = 0; i < h->buffers.count; i++)
    if (p->plan->buffers[i].kind == LOOM_PLAN_BUFFER_ARENA && p->plan->buffers[i].flags & sized)
      return true;
  device_parts *made = calloc(1, sizeof *made);
  if (!made) return loom_fail(err, "out of memory");
  p->parts = made;
  made->count = h->buffers.count;
  made->parts = calloc(made->count + 1u, sizeof *made->parts);
  return (made->parts && parts_fill(made, p->plan)) || loom_fail(err, "out of memory");
}

void device_parts_free(loom_device_plan *p) {
  if (p->parts) free(p->parts->parts);
  free(p->parts);
  p->parts = NULL;
}

/* ---- in a run ---- */

bool device_parts_open(device_run *r, loom_error *err) {
  r->parts = calloc(r->p->parts->count + 1u, sizeof *r->parts);
  return r->parts || loom_fail(err, "out of memory");
}

bool device_parts_before(device_run *r, uint32_t instr, uint32_t buffer, loom_error *err) {
  const device_parts *parts = r->p->parts;
  if (!parts->parts[buffer].arena) return true;
  uint32_t number = parts_find(parts, buffer);
  const part *at = &parts->parts[number];
  if (at->first != instr || r->parts[number]) return true;
  return device_run_alloc(r, &r->parts[number], at->end - at->begin, err);
}

void device_parts_after(device_run *r, uint32_t instr, uint32_t buffer) {
  const device_parts *parts = r->p->parts;
  if (!parts->parts[buffer].arena) return;
  uint32_t part = parts_find(parts, buffer);
  if (parts->parts[part].last != instr) return;
  device_run_free(r, r->parts[part]);
  r->parts[part] = 0;
}

loom_address device_parts_find(const device_run *r, uint32_t buffer) {
  const device_parts *parts = r->p->parts;
  uint32_t part = parts_find(parts, buffer);
  return r->parts[part] + (parts->parts[buffer].offset - parts->parts[part].begin);
}

void device_parts_close(device_run *r) {
  for (uint32_t i = 0; r->parts && i < r->p->parts->count; i++)
    device_run_free(r, r->parts[i]);
  free(r->parts);
  r->parts = NULL;
}
