/* Loops and branches of a plan.
 *
 * A region is a plan of its own, made ready once and run with other pointers each time. What a loop
 * carries is never copied between iterations: each value has the buffer of its result and, once it
 * is needed, a spare one, and an iteration writes into whichever of them nobody reads. A body that
 * may write over what it reads (loom_plan_output_overwrites) does. The first iteration reads the
 * initial values where they lie; what does not end up in the buffers of the results is copied there
 * at the end.
 */
#include "runtime/internal.h"

#include <string.h>

typedef struct loop {
  const run *outer;
  const loom_plan_instr *in;
  uint32_t count; /* carried values */
  uint32_t shift; /* input of the body that is the first of them */
  const uint32_t *carry;
  void **now, **next; /* where they are, where the iteration that runs puts them */
  void **own;         /* buffers of the results, then spare ones: NULL until they are needed */
  uint64_t *size;     /* bytes of each */
  void **inputs, **outputs; /* of the body */
  run body;
} loop;

/* Is a region's buffer as large as the one that it gets? */
static uint32_t control_pair(const run *region, uint32_t buffer, const run *outer, uint32_t given) {
  uint64_t a, b;
  if (!run_size_of(region, buffer, &a) || !run_size_of(outer, given, &b) || a != b)
    return LOOM_STATUS_SIZE;
  return bounds_region(region, buffer, outer, given);
}

/* Are the region's inputs (and outputs) as large as the buffers that it gets? */
static uint32_t control_fits(const run *region, const run *outer, const uint32_t *reads,
                             uint32_t shift, const uint32_t *writes) {
  const loom_plan_header *h = loom_plan_header_of(region->plan);
  const loom_plan_input *inputs = (const void *)(region->plan->bytes + h->inputs.offset);
  uint32_t status = 0;
  for (uint32_t i = shift; i < h->input_count && !status; i++)
    status = control_pair(region, inputs[i].buffer, outer, reads[i]);
  for (uint32_t i = 0; writes && i < h->output_count && !status; i++)
    status = control_pair(region, region->plan->outputs[i], outer, writes[i]);
  return status;
}

static loom_call control_call(const run *r, void *const *inputs, void *const *outputs) {
  loom_call call = *r->call;
  call.inputs = inputs;
  call.scalars = NULL;
  call.outputs = outputs;
  call.symbols = r->registers;
  call.allocate = NULL;
  return call;
}

/* ---- where an iteration writes ---- */

static bool loop_in_use(const loop *l, const void *buffer) {
  for (uint32_t i = 0; i < l->count; i++)
    if (l->now[i] == buffer || l->next[i] == buffer) return true;
  return false;
}

static bool loop_is_own(const loop *l, const void *buffer) {
  for (uint32_t i = 0; i < 2 * l->count; i++)
    if (l->own[i] == buffer) return true;
  return false;
}

static bool loop_has_inplace(const loop *l, uint32_t slot, uint32_t result) {
  return loom_plan_output_overwrites(l->body.plan, result) == (int32_t)(slot + l->shift);
}

/* Does nobody but the body, through this input, read the buffer? */
static bool loop_may_overwrite(const loop *l, uint32_t slot) {
  for (uint32_t i = 0; i < l->count; i++)
    if ((i != slot && l->now[i] == l->now[slot]) || l->carry[i] == (LOOM_PLAN_CARRY_BEFORE | slot))
      return false;
  return loop_is_own(l, l->now[slot]);
}

static void *loop_own(loop *l, uint32_t k) {
  if (!l->own[k]) l->own[k] = loom_block_alloc(l->size[k % l->count]);
  return l->own[k];
}

/* A buffer for what carried value `slot` becomes: its result's own when `wanted`, if that is free.
 * There are two for each value of a size, so one always is. NULL: out of memory. */
static void *loop_target(loop *l, uint32_t slot, uint32_t result, bool wanted) {
  uint64_t size = l->size[slot];
  if (!size) return l->own[slot];
  if (loop_has_inplace(l, slot, result)) {
    if (loop_may_overwrite(l, slot)) return l->now[slot];
    wanted = true;
  }
  uint32_t order[] = {wanted ? slot : slot + l->count, wanted ? slot + l->count : slot};
  for (uint32_t i = 0; i < 2; i++) {
    void *buffer = loop_own(l, order[i]);
    if (!buffer || !loop_in_use(l, buffer)) return buffer;
  }
  for (uint32_t k = 0; k < 2 * l->count; k++) {
    if (l->size[k % l->count] != size) continue;
    void *buffer = loop_own(l, k);
    if (!buffer || !loop_in_use(l, buffer)) return buffer;
  }
  return NULL;
}

/* Fills `next` and the body's outputs. `wanted`: this iteration, or one an even number later, is
 * the last. */
static bool loop_aim(loop *l, bool wanted) {
  memset(l->next, 0, sizeof *l->next * l->count);
  memset(l->outputs, 0, sizeof *l->outputs * loom_plan_header_of(l->body.plan)->output_count);
  for (uint32_t i = 0; i < l->count; i++)
    if (l->carry[i] & LOOM_PLAN_CARRY_BEFORE)
      l->next[i] = l->now[l->carry[i] & ~LOOM_PLAN_CARRY_BEFORE];
  for (uint32_t i = 0; i < l->count; i++) {
    uint32_t result = l->carry[i];
    if (result & LOOM_PLAN_CARRY_BEFORE) continue;
    if (!l->outputs[result]) {
      l->outputs[result] = loop_target(l, i, result, wanted);
      if (!l->outputs[result] && l->size[i]) return false;
    }
    l->next[i] = l->outputs[result];
  }
  return true;
}

/* ---- loops ---- */

/* Are the body's results as large as what they become, in this iteration? */
static uint32_t loop_fits(const loop *l) {
  const uint32_t *writes =
      l->outer->plan->indices + l->in->buffers + l->in->buffer_count - l->count;
  for (uint32_t i = 0; i < l->count; i++) {
    uint32_t result = l->carry[i], status = 0;
    uint64_t size = l->size[i];
    if (result & LOOM_PLAN_CARRY_BEFORE)
      size = l->size[result & ~LOOM_PLAN_CARRY_BEFORE];
    else
      status = control_pair(&l->body, l->body.plan->outputs[result], l->outer, writes[i]);
    if (size != l->size[i]) status = LOOM_STATUS_SIZE;
    if (status) return status;
  }
  return 0;
}

/* The same when a size may depend on the index, also of what the body reads. */
static uint32_t loop_fits_now(const loop *l) {
  const uint32_t *reads = l->outer->plan->indices + l->in->buffers;
  uint32_t status = control_fits(&l->body, l->outer, reads, l->shift, NULL);
  return status ? status : loop_fits(l);
}

static uint32_t loop_step(loop *l, bool wanted) {
  if (!loop_aim(l, wanted)) return LOOM_STATUS_MEMORY;
  memcpy(l->inputs + l->shift, l->now, sizeof *l->now * l->count);
  uint32_t status = run_once(&l->body);
  void **now = l->next;
  l->next = l->now;
  l->now = now;
  return status;
}

static uint32_t loop_for(loop *l) {
  int64_t index = 0, count;
  uint32_t status = 0;
  memcpy(&count, l->inputs[0], sizeof count);
  l->inputs[0] = &index;
  for (; index < count && !(status & PLAN_STOPS); index++) {
    if (loom_poll_now()) return status | LOOM_STATUS_INTERRUPTED;
    if (l->in->b) status |= run_set_symbol(&l->body, l->in->b - 1, index);
    if (l->in->b && !(status & PLAN_STOPS)) status |= loop_fits_now(l);
    if (status & PLAN_STOPS) break;
    status |= loop_step(l, (count - index) % 2 != 0);
  }
  return status;
}

static uint32_t loop_while(loop *l) {
  uint64_t stack[RUN_STACK];
  uint8_t more = 0;
  void *outputs[] = {&more};
  loom_call call = control_call(l->outer, l->inputs, outputs);
  run test;
  uint32_t status = run_open(&test, l->outer->plan->root->regions[l->in->b], &call, stack);
  const uint32_t *reads = l->outer->plan->indices + l->in->buffers;
  if (!status) status = control_fits(&test, l->outer, reads, 0, NULL);
  for (int64_t index = 0; !(status & PLAN_STOPS); index++) {
    if (loom_poll_now()) {
      status |= LOOM_STATUS_INTERRUPTED;
      break;
    }
    memcpy(l->inputs, l->now, sizeof *l->now * l->count);
    status |= run_once(&test);
    if (status & PLAN_STOPS || !more) break;
    if (l->in->op) status |= run_set_symbol(&l->body, l->in->op - 1, index);
    if (l->in->op && !(status & PLAN_STOPS)) status |= loop_fits_now(l);
    if (status & PLAN_STOPS) break;
    status |= loop_step(l, true);
  }
  run_close(&test);
  return status;
}

/* Moves the values to the buffers of the results: each to one that no other value is in, and, where
 * they go round in a circle, one of them aside first. */
static uint32_t loop_settle(loop *l) {
  void *aside = NULL;
  uint64_t aside_size = 0;
  uint32_t left = 0;
  do {
    uint32_t moved = 0, stuck = 0;
    left = 0;
    for (uint32_t i = 0; i < l->count; i++) {
      bool busy = false;
      if (l->now[i] == l->own[i] || !l->size[i]) continue;
      for (uint32_t k = 0; k < l->count; k++)
        busy |= k != i && l->now[k] == l->own[i];
      left++;
      stuck = i;
      if (busy) continue;
      memmove(l->own[i], l->now[i], l->size[i]);
      l->now[i] = l->own[i];
      moved++;
    }
    if (!left || moved) continue;
    if (aside) loom_block_free(aside, aside_size);
    aside_size = l->size[stuck];
    aside = loom_block_alloc(aside_size);
    if (!aside) return LOOM_STATUS_MEMORY;
    memcpy(aside, l->now[stuck], aside_size);
    l->now[stuck] = aside;
  } while (left);
  if (aside) loom_block_free(aside, aside_size);
  return 0;
}

static uint32_t loop_run(loop *l, uint32_t reads) {
  const run *r = l->outer;
  const uint32_t *list = r->plan->indices + l->in->buffers;
  loom_call call = control_call(r, l->inputs, l->outputs);
  uint64_t stack[RUN_STACK], bytes;
  if (l->shift && !run_size_of(r, list[0], &bytes)) return LOOM_STATUS_SIZE;
  for (uint32_t i = 0; i < reads; i++)
    l->inputs[i] = run_place(r, list[i]);
  for (uint32_t i = 0; i < l->count; i++) {
    l->now[i] = l->inputs[l->shift + i];
    l->own[i] = run_place(r, list[reads + i]);
    l->own[l->count + i] = NULL;
    uint64_t from;
    if (!run_size_of(r, list[reads + i], &l->size[i]) ||
        !run_size_of(r, list[l->shift + i], &from) || from != l->size[i])
      return LOOM_STATUS_SIZE;
    uint32_t status = bounds_copy(r, list[reads + i], from);
    if (!status) status = bounds_copy(r, list[l->shift + i], from);
    if (status) return status;
  }
  uint32_t symbol = l->shift ? l->in->b : l->in->op;
  if (symbol) r->registers[symbol - 1] = 0;
  uint32_t status = run_open(&l->body, r->plan->root->regions[l->in->a], &call, stack);
  if (!status) status = loop_fits_now(l);
  if (!status) status = l->shift ? loop_for(l) : loop_while(l);
  run_close(&l->body);
  if (!(status & PLAN_STOPS)) status |= loop_settle(l);
  for (uint32_t i = 0; i < l->count; i++)
    if (l->own[l->count + i]) loom_block_free(l->own[l->count + i], l->size[i]);
  return status;
}

static uint32_t run_loop(const run *r, const loom_plan_instr *in) {
  const loom_plan *body = r->plan->root->regions[in->a];
  uint32_t n = in->c, reads = in->buffer_count - n;
  uint32_t outputs = loom_plan_header_of(body)->output_count;
  size_t size = (5 * (size_t)n + reads + outputs) * sizeof(void *);
  void **at = loom_block_alloc(size ? size : 1);
  if (!at) return LOOM_STATUS_MEMORY;
  loop l = {.outer = r,
            .in = in,
            .count = n,
            .shift = in->opcode == LOOM_PLAN_FOR,
            .carry = r->plan->indices + in->params,
            .now = at,
            .next = at + n,
            .own = at + 2 * n,
            .size = (uint64_t *)(at + 4 * n),
            .inputs = at + 5 * n,
            .outputs = at + 5 * n + reads};
  uint32_t status = loop_run(&l, reads);
  loom_block_free(at, size ? size : 1);
  return status;
}

/* ---- branches ---- */

static uint32_t run_branch(const run *r, const loom_plan_instr *in) {
  const uint32_t *list = r->plan->indices + in->buffers;
  uint32_t reads = in->buffer_count - in->c;
  uint64_t stack[RUN_STACK], bytes;
  if (!run_size_of(r, list[0], &bytes)) return LOOM_STATUS_SIZE;
  bool taken = *(const uint8_t *)run_place(r, list[0]) != 0;
  for (uint32_t i = 0; i < in->buffer_count; i++)
    r->buffers[i] = run_place(r, list[i]);
  loom_call call = control_call(r, r->buffers + 1, r->buffers + reads);
  run region;
  uint32_t status = run_open(&region, r->plan->root->regions[taken ? in->a : in->b], &call, stack);
  if (!status) status = control_fits(&region, r, list + 1, 0, list + reads);
  if (!status) status = run_once(&region);
  run_close(&region);
  return status;
}

uint32_t run_control(const run *r, const loom_plan_instr *in) {
  return in->opcode == LOOM_PLAN_BRANCH ? run_branch(r, in) : run_loop(r, in);
}
