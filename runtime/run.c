/* Running a plan: its sizes, its instructions, its memory (plan.c has checked every number in it).
 */
#include "runtime/internal.h"

#include <string.h>

/* ---- sizes ---- */

static bool size_compute(uint32_t op, int64_t a, int64_t b, int64_t *out) {
  int64_t quotient;
  switch (op) {
  case LOOM_EXPR_ADD: return !__builtin_add_overflow(a, b, out);
  case LOOM_EXPR_MUL: return !__builtin_mul_overflow(a, b, out);
  case LOOM_EXPR_MIN: return *out = a < b ? a : b, true;
  case LOOM_EXPR_MAX: return *out = a > b ? a : b, true;
  default: break;
  }
  if (b <= 0) return false;
  quotient = a / b - (a % b < 0);
  *out = op == LOOM_EXPR_FLOORDIV ? quotient : a - quotient * b;
  return true;
}

static bool size_holds(uint32_t op, int64_t a, int64_t b) {
  return op == LOOM_PLAN_CHECK_EQ ? a == b : op == LOOM_PLAN_CHECK_NE ? a != b : a <= b;
}

static uint32_t run_size(const loom_plan_instr *in, int64_t *registers) {
  bool good = in->opcode == LOOM_PLAN_SIZE
                  ? size_compute(in->op, registers[in->b], registers[in->c], &registers[in->a])
                  : size_holds(in->op, registers[in->a], registers[in->b]);
  return good ? 0 : LOOM_STATUS_SIZE;
}

uint32_t run_prologue(const loom_plan *plan, const int64_t *symbols, int64_t *registers) {
  const loom_plan_header *h = loom_plan_header_of(plan);
  if (h->symbol_count && !symbols) return LOOM_STATUS_SIZE;
  if (h->symbol_count) memcpy(registers, symbols, sizeof *registers * h->symbol_count);
  int64_t *at = registers + h->symbol_count;
  memcpy(at, plan->constants, sizeof *at * plan->constant_count);
  at += plan->constant_count;
  memset(at, 0, sizeof *at * (size_t)(registers + h->register_count - at));
  uint32_t status = 0;
  for (uint32_t i = 0; i < h->prologue && !status; i++)
    status = run_size(&plan->instrs[i], registers);
  return status;
}

static bool size_of_buffer(const loom_plan_buffer *b, const int64_t *registers, uint64_t *out) {
  *out = b->size;
  if (b->flags & LOOM_PLAN_SIZE_REGISTER) *out = (uint64_t)registers[b->size];
  return *out <= PLAN_ARENA_LARGEST; /* negative ones are larger */
}

bool loom_plan_output_size(const loom_plan *plan, uint32_t index, const int64_t *symbols,
                           size_t *out) {
  const loom_plan_header *h = loom_plan_header_of(plan);
  *out = 0;
  if (index >= h->output_count) return false;
  const loom_plan_buffer *buffer = &plan->buffers[plan->outputs[index]];
  if (buffer->kind != LOOM_PLAN_BUFFER_OUTPUT) return false;
  if (!(buffer->flags & LOOM_PLAN_SIZE_REGISTER)) return *out = buffer->size, true;
  int64_t *registers = loom_block_alloc(sizeof *registers * h->register_count);
  uint64_t size = 0;
  bool good = registers && !run_prologue(plan, symbols, registers) &&
              size_of_buffer(buffer, registers, &size);
  loom_block_free(registers, sizeof *registers * h->register_count);
  if (good) *out = size;
  return good;
}

/* ---- running ---- */

static inline void *place_find(const place *p, const run *r) {
  if (p->kind == PLACE_ARENA) return r->arena + p->offset;
  if (p->kind == PLACE_ARENA_AT) return r->arena + r->registers[p->index];
  return r->array[p->kind][p->index];
}

void *run_place(const run *r, uint32_t buffer) { return place_find(&r->plan->places[buffer], r); }

bool run_size_of(const run *r, uint32_t buffer, uint64_t *out) {
  const loom_plan_buffer *b = &r->plan->buffers[buffer];
  if (!size_of_buffer(b, r->registers, out)) return false;
  return b->kind != LOOM_PLAN_BUFFER_LATE || (r->late[b->index] && *out <= r->room[b->index]);
}

static void gather(const run *r, const loom_plan_instr *in, void **buffers) {
  const uint32_t *list = r->plan->indices + in->buffers;
  for (uint32_t i = 0; i < in->buffer_count; i++)
    buffers[i] = place_find(&r->plan->places[list[i]], r);
}

static void gather_params(const run *r, const loom_plan_instr *in, uint64_t *params) {
  const uint32_t *list = r->plan->indices + in->params;
  for (uint32_t i = 0; i < in->param_count; i++) {
    uint32_t number = list[i] & ~LOOM_PLAN_PARAM_REGISTER;
    params[i] = number == list[i] ? r->call->scalars[number] : (uint64_t)r->registers[number];
  }
}

uint32_t run_kernel(const run *r, const loom_plan_instr *in) {
  gather_params(r, in, r->params);
  int64_t chunks = in->chunks, scratch = in->scratch;
  if (in->flags & LOOM_PLAN_CHUNKS_REGISTER) chunks = r->registers[in->chunks];
  if (in->flags & LOOM_PLAN_SCRATCH_REGISTER) scratch = r->registers[in->scratch];
  if (chunks < 0 || scratch < 0) return LOOM_STATUS_SIZE;
  if (r->plan->extents) return bounds_launch(r, in, (size_t)scratch, chunks);
  uint32_t status = loom_threads_launch(r->plan->kernels[in->a], r->buffers, r->params,
                                        (size_t)scratch, in->b, chunks);
  return status & (in->fp_mask | PLAN_STOPS);
}

static uint32_t run_launch(const run *r, const loom_plan_instr *in) {
  gather(r, in, r->buffers);
  return run_kernel(r, in);
}

/* Results of unknown size come back as the host's own memory. */
static uint32_t run_host(const run *r, const loom_plan_instr *in) {
  gather(r, in, r->buffers);
  loom_threads_park();
  loom_host_call call = {.name = r->plan->names + in->a,
                         .slot = in->b,
                         .reads = in->c,
                         .count = in->buffer_count,
                         .buffers = r->buffers,
                         .symbols = r->registers};
  if (!r->call->host || r->call->host(r->call->host_context, &call)) return LOOM_STATUS_HOST;
  const uint32_t *list = r->plan->indices + in->buffers;
  for (uint32_t i = in->c; i < in->buffer_count; i++) {
    const place *p = &r->plan->places[list[i]];
    if (p->kind != PLACE_LATE || r->late[p->index]) continue;
    r->late[p->index] = r->buffers[i];
    r->room[p->index] = UINT64_MAX; /* the host has made it of the sizes that it told */
  }
  return 0;
}

static uint32_t run_copy(const run *r, const loom_plan_instr *in) {
  uint64_t from, to;
  if (!run_size_of(r, in->a, &from) || !run_size_of(r, in->b, &to) || from != to)
    return LOOM_STATUS_SIZE;
  uint32_t status = bounds_copy(r, in->a, from);
  if (!status) status = bounds_copy(r, in->b, to);
  if (status) return status;
  void *source = place_find(&r->plan->places[in->a], r);
  void *target = place_find(&r->plan->places[in->b], r);
  if (from && source != target) memmove(target, source, from);
  return 0;
}

/* An allocation of its own outlives no call; one that is an output is the caller's from the start.
 */
static uint32_t run_alloc(const run *r, const loom_plan_instr *in) {
  const loom_plan_buffer *buffer = &r->plan->buffers[in->a];
  uint64_t size;
  if (!size_of_buffer(buffer, r->registers, &size)) return LOOM_STATUS_SIZE;
  void *data = NULL;
  if (r->late[buffer->index]) return LOOM_STATUS_SIZE; /* it has its memory already */
  if (in->b && r->call->allocate)
    data = r->call->allocate(r->call->host_context, in->b - 1, size, r->registers);
  else if (!in->b)
    data = loom_block_alloc(size ? size : 1);
  if (!data) return LOOM_STATUS_MEMORY;
  r->late[buffer->index] = data;
  r->room[buffer->index] = size;
  if (!in->b) r->owned[buffer->index] = (size ? size : 1) + 1;
  return 0;
}

/* What lies behind the arena in its block is nobody's either, when the arena's end goes. A page of
 * which only a part is dead is not given back: live bytes lie in it. */
static uint32_t run_trim(const run *r, const loom_plan_instr *in) {
  if (!r->arena) return 0;
  size_t begin = (size_t)in->a * LOOM_PLAN_PAGE, end = (size_t)in->b * LOOM_PLAN_PAGE;
  bool last = end >= r->arena_size;
  loom_block_forget(r->arena, begin, last ? SIZE_MAX : end);
  return 0;
}

static uint32_t run_instr(const run *r, const loom_plan_instr *in) {
  switch (in->opcode) {
  case LOOM_PLAN_LAUNCH: return run_launch(r, in);
  case LOOM_PLAN_HOST_CALL: return run_host(r, in);
  case LOOM_PLAN_COPY: return run_copy(r, in);
  case LOOM_PLAN_ALLOC: return run_alloc(r, in);
  case LOOM_PLAN_FOR:
  case LOOM_PLAN_WHILE:
  case LOOM_PLAN_BRANCH: return run_control(r, in);
  case LOOM_PLAN_TRIM: return run_trim(r, in);
  default: return run_size(in, r->registers);
  }
}

_Thread_local run_poll *loom_polling;

bool loom_poll_now(void) {
  run_poll *p = loom_polling;
  if (!p || coarse_ms() - p->last < POLL_MS) return false;
  uint32_t state = _mm_getcsr();
  loom_polling = NULL;
  bool stop = p->poll(p->context) != 0;
  loom_polling = p;
  _mm_setcsr(state);
  p->last = coarse_ms();
  return stop;
}

/* Memory for the outputs that an instruction uses first. */
static bool lend_buffer(const run *r, uint32_t buffer) {
  const loom_plan_buffer *b = &r->plan->buffers[buffer];
  if (b->kind != LOOM_PLAN_BUFFER_OUTPUT || r->call->outputs[b->index]) return true;
  return r->call->lend(r->call->host_context, b->index);
}

static bool lend_all(const run *r, const loom_plan_instr *in) {
  if (!r->call->lend) return true;
  if (in->opcode == LOOM_PLAN_COPY) return lend_buffer(r, in->a) && lend_buffer(r, in->b);
  uint32_t count = run_has_list(in) ? in->buffer_count : 0;
  for (uint32_t i = 0; i < count; i++)
    if (!lend_buffer(r, r->plan->indices[in->buffers + i])) return false;
  return true;
}

static void release_buffer(const run *r, uint32_t instr, uint32_t buffer) {
  const loom_plan_buffer *b = &r->plan->buffers[buffer];
  if (b->kind == LOOM_PLAN_BUFFER_INPUT && r->plan->last[b->index] == instr + 1)
    r->call->release(r->call->host_context, b->index);
}

/* The inputs that nothing after instruction `i` uses. One may be named twice. */
static void release_all(const run *r, uint32_t i) {
  const loom_plan_instr *in = &r->plan->instrs[i];
  if (!r->call->release) return;
  if (in->opcode == LOOM_PLAN_COPY) release_buffer(r, i, in->a);
  uint32_t count = run_has_list(in) ? in->buffer_count : 0;
  for (uint32_t k = 0; k < count; k++)
    release_buffer(r, i, r->plan->indices[in->buffers + k]);
}

static uint32_t run_all(const run *r) {
  const loom_plan_header *h = loom_plan_header_of(r->plan);
  uint32_t count = h->instrs.count, status = 0;
  for (uint32_t i = h->prologue; i < count && !(status & PLAN_STOPS); i++) {
    if (loom_poll_now()) return status | LOOM_STATUS_INTERRUPTED;
    if (!lend_all(r, &r->plan->instrs[i])) return status | LOOM_STATUS_MEMORY;
    status |= run_instr(r, &r->plan->instrs[i]);
    if (r->plan->extents && !(status & PLAN_STOPS)) status |= bounds_after(r, i);
    if (!(status & PLAN_STOPS)) release_all(r, i);
  }
  return status;
}

static uint32_t run_direct(const loom_plan *plan, const loom_call *call) {
  void *buffers[PLAN_STACK];
  uint64_t params[PLAN_STACK];
  run r = {.plan = plan, .call = call, .array = {call->inputs, call->outputs, plan->consts}};
  const loom_plan_instr *in = plan->instrs;
  gather(&r, in, buffers);
  gather_params(&r, in, params);
  uint32_t saved = fp_begin();
  uint32_t status = plan->kernels[in->a](buffers, params, NULL, 0, 1);
  status |= fp_end(saved);
  return status & (in->fp_mask | PLAN_STOPS);
}

uint32_t run_arena(run *r) {
  const loom_plan_header *h = loom_plan_header_of(r->plan);
  r->arena_size = h->arena_size;
  if (!(h->flags & LOOM_PLAN_ARENA_REGISTER)) return 0;
  r->arena_size = (uint64_t)r->registers[h->arena_size];
  if (r->arena_size > PLAN_ARENA_LARGEST) return LOOM_STATUS_SIZE;
  for (uint32_t i = 0; i < h->buffers.count; i++) {
    const loom_plan_buffer *b = &r->plan->buffers[i];
    if (b->kind != LOOM_PLAN_BUFFER_ARENA) continue;
    uint64_t size, offset = b->offset;
    if (b->flags & LOOM_PLAN_OFFSET_REGISTER) offset = (uint64_t)r->registers[b->offset];
    if (!size_of_buffer(b, r->registers, &size) || offset > r->arena_size ||
        size > r->arena_size - offset)
      return LOOM_STATUS_SIZE;
  }
  return 0;
}

/* Sizes within a loop's body may depend on its index; those of what it carries do not. */
uint32_t run_set_symbol(run *r, uint32_t symbol, int64_t value) {
  const loom_plan_header *h = loom_plan_header_of(r->plan);
  uint32_t status = 0;
  r->registers[symbol] = value;
  for (uint32_t i = 0; i < h->prologue && !status; i++)
    status = run_size(&r->plan->instrs[i], r->registers);
  if (status || !(h->flags & LOOM_PLAN_ARENA_REGISTER)) return status;
  status = run_arena(r);
  if (status || r->arena_size <= r->arena_room) return status;
  uint64_t room = r->arena_size + r->arena_size / 2; /* the next one may be larger */
  if (r->arena) loom_block_free(r->arena, r->arena_room);
  r->arena = loom_block_borrow(room);
  r->arena_room = r->arena ? room : 0;
  return r->arena ? 0 : LOOM_STATUS_MEMORY;
}

/* All of a call's arrays are one piece of memory, on the stack when it is small. */
uint32_t run_open(run *r, const loom_plan *plan, const loom_call *call, uint64_t *stack) {
  const loom_plan_header *h = loom_plan_header_of(plan);
  size_t lists = plan->list_limit, late = h->late_count;
  size_t words = 2 * lists + 3 * late + h->register_count;
  uint64_t *at = stack;
  *r = (run){.plan = plan, .call = call};
  if (words > RUN_STACK) {
    r->memory_size = words * sizeof *at;
    at = r->memory = loom_block_alloc(r->memory_size);
    if (!at) return LOOM_STATUS_MEMORY;
  }
  r->buffers = (void **)at;
  r->params = at + lists;
  r->late = (void **)(at + 2 * lists);
  r->owned = at + 2 * lists + late;
  r->room = r->owned + late;
  r->registers = (int64_t *)(at + 2 * lists + 3 * late);
  r->array[PLACE_INPUT] = call->inputs;
  r->array[PLACE_OUTPUT] = call->outputs;
  r->array[PLACE_CONST] = plan->consts;
  r->array[PLACE_LATE] = r->late;
  if (plan->kept) r->array[PLACE_KEPT] = plan->kept->buffers;
  uint32_t status = run_prologue(plan, call->symbols, r->registers);
  if (!status) status = run_arena(r);
  if (status || !r->arena_size) return status;
  r->arena = loom_block_borrow(r->arena_size);
  if (!r->arena) return LOOM_STATUS_MEMORY;
  r->arena_room = r->arena_size;
  if (h->peak) loom_block_settle(r->arena, r->arena_size, h->peak);
  return 0;
}

void run_close(run *r) {
  if (r->arena) loom_block_free(r->arena, r->arena_room);
  if (r->memory) loom_block_free(r->memory, r->memory_size);
}

uint32_t run_once(run *r) {
  uint32_t late = loom_plan_header_of(r->plan)->late_count;
  if (!late) return run_all(r);
  memset(r->late, 0, 2 * late * sizeof *r->owned);
  uint32_t status = run_all(r);
  for (uint32_t i = 0; i < late; i++)
    if (r->owned[i]) loom_block_free(r->late[i], r->owned[i] - 1);
  return status;
}

uint32_t loom_plan_run(const loom_plan *plan, const loom_call *call) {
  uint64_t stack[RUN_STACK];
  run r;
  if (plan->direct && !call->lend) return run_direct(plan, call);
  uint32_t status = run_open(&r, plan, call, stack);
  if (!status) {
    run_poll poll = {call->poll, call->host_context, 0}, *outer = loom_polling;
    if (poll.poll) poll.last = coarse_ms();
    loom_polling = poll.poll ? &poll : NULL;
    if (plan->kept) status = kept_ready(&r);
    if (!(status & PLAN_STOPS)) status |= run_once(&r);
    loom_polling = outer;
  }
  run_close(&r);
  return status;
}
