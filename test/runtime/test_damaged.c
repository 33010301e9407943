/* Plans that are damaged and whose checksums are right again: each is refused, or runs without
 * reading or writing beside its buffers. They have no kernels, which are trusted with what they
 * get: all of it is the interpreter's own doing. To be run under AddressSanitizer. */
#include "build.h"
#include "runtime/internal.h"

#include <stdlib.h>
#include <string.h>

#define DAMAGED_LARGEST 65536u /* bytes of a buffer, so that a damaged plan takes no long time */
#define DAMAGED_COUNT 2500
#define ARRAY(LIST) .LIST##s = LIST##s, .LIST##_count = sizeof LIST##s / sizeof *LIST##s

enum { IN = LOOM_PLAN_BUFFER_INPUT, OUT = LOOM_PLAN_BUFFER_OUTPUT, ARENA = LOOM_PLAN_BUFFER_ARENA };

/* out = in, by way of the arena. */
static loom_bytes copies(void) {
  const loom_plan_input inputs[] = {{LOOM_PLAN_ARRAY, 0}};
  const loom_plan_buffer buffers[] = {{IN, 0, 0, 64, 0, 0},
                                      {OUT, 0, 0, 64, 0, 0},
                                      {ARENA, 0, 0, 64, 0, 0},
                                      {ARENA, 0, 4096, 64, 0, 0}};
  const loom_plan_instr instrs[] = {{.opcode = LOOM_PLAN_COPY, .a = 0, .b = 2},
                                    {.opcode = LOOM_PLAN_COPY, .a = 2, .b = 3},
                                    {.opcode = LOOM_PLAN_TRIM, .a = 0, .b = 1},
                                    {.opcode = LOOM_PLAN_COPY, .a = 3, .b = 1}};
  return build_plan(&(plan_parts){ARRAY(input), ARRAY(buffer), ARRAY(instr), .output_count = 1,
                                  .arena_size = 8192});
}

/* The same where all sizes and places are computed; a second result has memory once a host call has
 * run. Registers: the symbol, 8, 2, the bytes, twice as many. */
static loom_bytes computed(void) {
  enum { SIZED = LOOM_PLAN_SIZE_REGISTER, AT = LOOM_PLAN_OFFSET_REGISTER };
  const loom_plan_input inputs[] = {{LOOM_PLAN_ARRAY, 0}};
  const loom_plan_buffer buffers[] = {{IN, 0, 0, 3, SIZED, 0},
                                      {OUT, 0, 0, 3, SIZED, 0},
                                      {ARENA, 0, 0, 3, SIZED, 0},
                                      {ARENA, 0, 3, 3, SIZED | AT, 0},
                                      {LOOM_PLAN_BUFFER_LATE, 0, 0, 5, SIZED, 0},
                                      {LOOM_PLAN_BUFFER_LATE, 1, 0, 5, SIZED, 0},
                                      {LOOM_PLAN_BUFFER_LATE, 2, 0, 32, 0, 0}};
  const int64_t constants[] = {8, 2};
  const uint32_t indexs[] = {2, 6};
  const loom_plan_instr instrs[] = {
      {.opcode = LOOM_PLAN_SIZE, .op = LOOM_EXPR_MUL, .a = 3, .b = 0, .c = 1},
      {.opcode = LOOM_PLAN_SIZE, .op = LOOM_EXPR_MUL, .a = 4, .b = 3, .c = 2},
      {.opcode = LOOM_PLAN_CHECK, .op = LOOM_PLAN_CHECK_NE, .a = 0, .b = 1},
      {.opcode = LOOM_PLAN_COPY, .a = 0, .b = 2},
      {.opcode = LOOM_PLAN_HOST_CALL, .b = 1, .c = 1, .buffer_count = 2},
      {.opcode = LOOM_PLAN_SIZE, .op = LOOM_EXPR_ADD, .a = 5, .b = 3, .c = 1},
      {.opcode = LOOM_PLAN_ALLOC, .a = 4},
      {.opcode = LOOM_PLAN_ALLOC, .a = 5, .b = 2},
      {.opcode = LOOM_PLAN_COPY, .a = 4, .b = 5},
      {.opcode = LOOM_PLAN_COPY, .a = 2, .b = 3},
      {.opcode = LOOM_PLAN_COPY, .a = 3, .b = 1}};
  return build_plan(&(plan_parts){
      ARRAY(input), ARRAY(buffer), ARRAY(instr), ARRAY(constant), .indices = indexs,
      .index_count = 2, .output_count = 2, .arena_size = 4, .symbol_count = 1, .register_count = 6,
      .late_count = 3, .prologue = 3, .flags = LOOM_PLAN_ARENA_REGISTER});
}

/* A region that copies: (index, a, b) -> (b, a), (a, b) -> (b, a), or the first byte of a. */
static loom_bytes swap_region(uint32_t index, bool test) {
  const loom_plan_input inputs[] = {
      {LOOM_PLAN_ARRAY, 0}, {LOOM_PLAN_ARRAY, 1}, {LOOM_PLAN_ARRAY, 4}};
  const uint64_t first = index ? 8 : 32;
  const loom_plan_buffer buffers[] = {{IN, 0, 0, first, 0, 0},
                                      {IN, 1, 0, test ? 1 : 32, 0, 0},
                                      {OUT, 0, 0, test ? 1 : 32, 0, 0},
                                      {OUT, 1, 0, 32, 0, 0},
                                      {IN, 2, 0, 32, 0, 0}};
  const loom_plan_buffer counted[] = {{IN, 0, 0, 8, 0, 0},
                                      {IN, 1, 0, 32, 0, 0},
                                      {OUT, 0, 0, 32, 0, 0},
                                      {OUT, 1, 0, 32, 0, 0},
                                      {IN, 2, 0, 32, 0, 0}};
  const loom_plan_buffer asked[] = {
      {IN, 0, 0, 32, 0, 0}, {IN, 1, 0, 1, 0, 0}, {OUT, 0, 0, 1, 0, 0}};
  const loom_plan_instr both[] = {{.opcode = LOOM_PLAN_COPY, .a = index ? 4 : 1, .b = 2},
                                  {.opcode = LOOM_PLAN_COPY, .a = index ? 1 : 0, .b = 3}};
  const loom_plan_instr one[] = {{.opcode = LOOM_PLAN_COPY, .a = 1, .b = 2}};
  return build_plan(&(plan_parts){.inputs = inputs,
                                  .input_count = 2 + index,
                                  .buffers = test    ? asked
                                             : index ? counted
                                                     : buffers,
                                  .buffer_count = test ? 3u : 4u + index,
                                  .instrs = test ? one : both,
                                  .instr_count = test ? 1 : 2,
                                  .output_count = test ? 1 : 2,
                                  .flags = LOOM_PLAN_REGION});
}

/* n, a, b: a loop that swaps, then a branch that does or does not. */
static loom_bytes controlled(void) {
  const loom_plan_input inputs[] = {
      {LOOM_PLAN_ARRAY, 0}, {LOOM_PLAN_ARRAY, 1}, {LOOM_PLAN_ARRAY, 2}};
  const loom_plan_buffer buffers[] = {{IN, 0, 0, 8, 0, 0},      {IN, 1, 0, 32, 0, 0},
                                      {IN, 2, 0, 32, 0, 0},     {ARENA, 0, 0, 32, 0, 0},
                                      {ARENA, 0, 64, 32, 0, 0}, {OUT, 0, 0, 32, 0, 0},
                                      {OUT, 1, 0, 32, 0, 0}};
  const uint32_t indexs[] = {0, 1, 2, 3, 4, 0, 1, 0, 3, 4, 5, 6};
  const loom_plan_instr instrs[] = {
      {.opcode = LOOM_PLAN_FOR, .a = 1, .c = 2, .buffer_count = 5, .params = 5, .param_count = 2},
      {.opcode = LOOM_PLAN_BRANCH, .a = 2, .b = 3, .c = 2, .buffers = 7, .buffer_count = 5}};
  loom_bytes regions[] = {swap_region(1, false), swap_region(0, false), swap_region(0, false)};
  return build_plan(&(plan_parts){ARRAY(input), ARRAY(buffer), ARRAY(instr), .indices = indexs,
                                  .index_count = 12, .output_count = 2, .arena_size = 128,
                                  .regions = regions, .region_count = 3});
}

/* a, flag: while flag: a, flag = a, 0 by way of a region that is asked for the flag. */
static loom_bytes whiles(void) {
  const loom_plan_input inputs[] = {{LOOM_PLAN_ARRAY, 0}, {LOOM_PLAN_ARRAY, 1}};
  const loom_plan_buffer buffers[] = {
      {IN, 0, 0, 32, 0, 0}, {IN, 1, 0, 1, 0, 0}, {OUT, 0, 0, 32, 0, 0}, {OUT, 1, 0, 1, 0, 0}};
  const uint32_t indexs[] = {0, 1, 2, 3, LOOM_PLAN_CARRY_BEFORE, 0};
  const loom_plan_instr instrs[] = {{.opcode = LOOM_PLAN_WHILE,
                                     .a = 1,
                                     .b = 2,
                                     .c = 2,
                                     .buffer_count = 4,
                                     .params = 4,
                                     .param_count = 2}};
  loom_bytes regions[] = {swap_region(0, true), swap_region(0, true)};
  return build_plan(&(plan_parts){ARRAY(input), ARRAY(buffer), ARRAY(instr), .indices = indexs,
                                  .index_count = 6, .output_count = 2, .regions = regions,
                                  .region_count = 2});
}

/* ---- running what loads ---- */

typedef struct damaged_memory {
  void *blocks[64];
  uint32_t count;
} damaged_memory;

static void *memory_new(damaged_memory *m, size_t bytes) {
  if (m->count == 64) return NULL;
  uint8_t *block = calloc(1, bytes);
  if (block && bytes) block[0] = 2; /* counts and conditions */
  return m->blocks[m->count++] = block;
}

static int give(void *context, const loom_host_call *call) {
  for (uint32_t i = call->reads; i < call->count; i++)
    if (!call->buffers[i]) call->buffers[i] = memory_new(context, DAMAGED_LARGEST);
  return 0;
}

static void *allocate(void *context, uint32_t output, size_t bytes, const int64_t *symbols) {
  return bytes <= DAMAGED_LARGEST ? memory_new(context, bytes ? bytes : 1) : NULL;
}

static int stop(void *context) { return 1; }

/* No size that is written in the plan is large. */
static bool is_small(const loom_plan *plan) {
  const loom_plan_header *h = loom_plan_header_of(plan);
  bool small = !(h->arena_size > DAMAGED_LARGEST);
  for (uint32_t i = 0; i < h->buffers.count; i++)
    small &= plan->buffers[i].size <= DAMAGED_LARGEST;
  for (uint32_t i = 0; i < plan->constant_count; i++)
    small &= plan->constants[i] <= 64;
  for (uint32_t i = 1; i < plan->region_count; i++)
    small &= is_small(plan->regions[i]);
  return small;
}

/* Inputs as large as the plan takes them to be: how large they are is what the caller checks. */
static bool make_inputs(loom_plan *plan, const loom_call *call, damaged_memory *m, void **inputs) {
  uint64_t stack[RUN_STACK], sizes[8] = {0}, bytes;
  run r;
  bool good = run_open(&r, plan, call, stack) == 0;
  for (uint32_t i = 0; good && i < loom_plan_header_of(plan)->buffers.count; i++) {
    const loom_plan_buffer *b = &plan->buffers[i];
    if (b->kind != IN || b->index >= 8) continue;
    good = run_size_of(&r, i, &bytes) && bytes <= DAMAGED_LARGEST;
    if (good && bytes > sizes[b->index]) sizes[b->index] = bytes;
  }
  run_close(&r);
  for (uint32_t i = 0; i < 8 && good; i++) {
    inputs[i] = memory_new(m, sizes[i]);
    loom_plan_set_const(plan, i, inputs[i]);
  }
  return good;
}

static bool run_damaged(loom_plan *plan) {
  const loom_plan_header *h = loom_plan_header_of(plan);
  damaged_memory m = {.count = 0};
  const int64_t symbols[4] = {5, 3, 2, 1};
  uint64_t scalars[8] = {0};
  void *inputs[8] = {NULL}, *outputs[8] = {NULL};
  loom_call call = {.inputs = inputs,
                    .outputs = outputs,
                    .scalars = scalars,
                    .symbols = symbols,
                    .host = give,
                    .poll = stop,
                    .allocate = allocate,
                    .host_context = &m};
  bool good = is_small(plan) && !plan->kept && h->symbol_count <= 4 && h->input_count <= 8 &&
              h->output_count <= 8 && h->scalar_count <= 8 && make_inputs(plan, &call, &m, inputs);
  for (uint32_t i = 0; good && i < h->instrs.count; i++)
    good = plan->instrs[i].opcode != LOOM_PLAN_LAUNCH;
  for (uint32_t n = 1; good && n < plan->region_count; n++)
    for (uint32_t i = 0; i < loom_plan_header_of(plan->regions[n])->instrs.count; i++)
      good &= plan->regions[n]->instrs[i].opcode != LOOM_PLAN_LAUNCH;
  for (uint32_t i = 0; good && i < h->output_count; i++) {
    size_t bytes;
    bool now = loom_plan_output_size(plan, i, symbols, &bytes);
    if (now && bytes > DAMAGED_LARGEST) good = false;
    if (now && good) outputs[i] = memory_new(&m, bytes);
  }
  if (good) loom_plan_run(plan, &call);
  for (uint32_t i = 0; i < m.count; i++)
    free(m.blocks[i]);
  return good;
}

/* ---- damage ---- */

/* One number of the tables, or of the head of the plan or of a region, becomes another one. */
static void damage(uint8_t *bytes, loom_bytes good, uint64_t *state) {
  static const uint32_t numbers[] = {
      0,  1,  2,  3,  4,  5,   6,    7,     8,          9,
      16, 31, 32, 33, 64, 100, 4096, 65536, UINT32_MAX, LOOM_PLAN_CARRY_BEFORE};
  loom_plan_header h;
  memcpy(&h, good.data, sizeof h);
  uint32_t at = (uint32_t)(build_random(state) % (good.size / 4)) * 4, value;
  bool code = at >= h.image.offset && at < h.image.offset + h.image.count;
  if (code) at = (uint32_t)(build_random(state) % (h.image.offset / 4)) * 4;
  memcpy(&value, bytes + at, sizeof value);
  uint64_t how = build_random(state) % 4;
  if (how == 0) value += 1;
  if (how == 1) value -= 1;
  if (how > 1) value = numbers[build_random(state) % (sizeof numbers / sizeof *numbers)];
  memcpy(bytes + at, &value, sizeof value);
}

static void survives(loom_bytes good, uint64_t seed) {
  uint32_t ran = 0;
  loom_error err = {0};
  loom_plan *whole = loom_plan_load(good.data, good.size, &err);
  if (!whole) fail_msg("%s", err.message);
  assert_true(run_damaged(whole));
  loom_plan_unref(whole);
  for (uint32_t i = 0; i < DAMAGED_COUNT; i++) {
    uint8_t *bytes = malloc(good.size);
    memcpy(bytes, good.data, good.size);
    for (uint64_t n = build_random(&seed) % 3 + 1; n > 0; n--)
      damage(bytes, good, &seed);
    build_seal_all(bytes, good.size);
    loom_plan *plan = loom_plan_load(bytes, good.size, &err);
    if (plan) ran += run_damaged(plan);
    loom_plan_unref(plan);
    free(bytes);
  }
  assert_true(ran > DAMAGED_COUNT / 50);
  free(good.data);
}

static void survive_copies(void **state) { survives(copies(), 1); }
static void survive_computed(void **state) { survives(computed(), 2); }
static void survive_controlled(void **state) { survives(controlled(), 3); }
static void survive_whiles(void **state) { survives(whiles(), 4); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(survive_copies), cmocka_unit_test(survive_computed),
      cmocka_unit_test(survive_controlled), cmocka_unit_test(survive_whiles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
