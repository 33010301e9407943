/* plan.c: running, status bits, host calls, and refusing every damaged plan. */
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* c = a + b over 8 floats: `chunks` 1 takes the direct path. */
static loom_bytes add_plan(uint32_t chunks, uint32_t scratch) {
  const loom_plan_input inputs[] = {{LOOM_PLAN_ARRAY, 0}, {LOOM_PLAN_CONST, 1}};
  const loom_plan_buffer buffers[] = {{LOOM_PLAN_BUFFER_INPUT, 0, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_INPUT, 1, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, 32, 0, 0}};
  const uint32_t indices[] = {0, 1, 2};
  const loom_plan_instr instrs[] = {{.opcode = LOOM_PLAN_LAUNCH,
                                     .fp_mask = 15,
                                     .buffer_count = 3,
                                     .scratch = scratch,
                                     .chunks = chunks}};
  return build_plan(&(plan_parts){.inputs = inputs,
                                  .input_count = 2,
                                  .buffers = buffers,
                                  .buffer_count = 3,
                                  .instrs = instrs,
                                  .instr_count = 1,
                                  .indices = indices,
                                  .index_count = 3,
                                  .output_count = 1});
}

static void adds(uint32_t chunks, uint32_t scratch) {
  loom_plan *plan = build_load(add_plan(chunks, scratch));
  size_t size;
  assert_true(loom_plan_output_size(plan, 0, NULL, &size));
  assert_int_equal(size, 32);
  assert_false(loom_plan_output_size(plan, 1, NULL, &size));
  float a[8], b[8], out[8] = {0};
  for (int i = 0; i < 8; i++)
    a[i] = (float)i, b[i] = 0.5f;
  loom_plan_set_const(plan, 1, b);
  void *inputs[] = {a, NULL}, *outputs[] = {out};
  assert_int_equal(loom_plan_run(plan, &(loom_call){.inputs = inputs, .outputs = outputs}), 0);
  for (uint32_t i = 0; i < 8; i++)
    assert_true(out[i] == (i < chunks ? (float)i + 0.5f : 0.0f));
  loom_plan_unref(loom_plan_ref(plan));
  loom_plan_unref(plan);
}

static void runs_one_chunk(void **state) { adds(1, 0); }
static void runs_many_chunks(void **state) { adds(8, 0); }
static void runs_with_scratch(void **state) { adds(1, 100), adds(8, 100000); }
static void runs_no_chunk(void **state) { adds(0, 0); }

/* ---- kernels in C, through ENTRY_CALL ---- */

static volatile double zero = 0.0, one = 1.0, huge = 1e308, tiny = 1e-308, sink;

static uint32_t raise_divide(void *const *b, const uint64_t *p, void *s, int64_t begin,
                             int64_t end) {
  if (begin == 0) sink = one / zero;
  return 0;
}
static uint32_t raise_overflow(void *const *b, const uint64_t *p, void *s, int64_t begin,
                               int64_t end) {
  if (end > 40) sink = huge * huge;
  return 0;
}
static uint32_t raise_underflow(void *const *b, const uint64_t *p, void *s, int64_t begin,
                                int64_t end) {
  sink = tiny * tiny;
  return 0;
}
static uint32_t raise_invalid(void *const *b, const uint64_t *p, void *s, int64_t begin,
                              int64_t end) {
  sink = zero / zero;
  return LOOM_FP_DIVIDE; /* and an integer division by zero */
}
static uint32_t raise_index(void *const *b, const uint64_t *p, void *s, int64_t begin,
                            int64_t end) {
  return begin == 0 ? LOOM_STATUS_INDEX : 0;
}
static uint32_t count_runs(void *const *b, const uint64_t *p, void *s, int64_t begin, int64_t end) {
  __atomic_fetch_add((int64_t *)p[1], end - begin, __ATOMIC_RELAXED);
  return 0;
}

/* Kernel `scalars[0]`, then kernel `scalars[1]`, each with (itself, the last scalar) as parameters.
 */
static loom_plan *two_kernels(uint32_t chunks, uint32_t fp_mask) {
  const loom_plan_input inputs[] = {
      {LOOM_PLAN_SCALAR, 0}, {LOOM_PLAN_SCALAR, 1}, {LOOM_PLAN_SCALAR, 2}};
  const uint32_t indices[] = {0, 2, 1, 2};
  const loom_plan_instr instrs[] = {{.opcode = LOOM_PLAN_LAUNCH,
                                     .a = 1,
                                     .fp_mask = fp_mask,
                                     .params = 0,
                                     .param_count = 2,
                                     .chunks = chunks},
                                    {.opcode = LOOM_PLAN_LAUNCH,
                                     .a = 1,
                                     .fp_mask = fp_mask,
                                     .params = 2,
                                     .param_count = 2,
                                     .chunks = chunks}};
  return build_load(build_plan(&(plan_parts){.inputs = inputs,
                                             .input_count = 3,
                                             .instrs = instrs,
                                             .instr_count = 2,
                                             .indices = indices,
                                             .index_count = 4,
                                             .scalar_count = 3}));
}

static uint32_t run_two(loom_kernel_fn first, loom_kernel_fn second, uint32_t chunks, uint32_t mask,
                        int64_t *runs) {
  loom_plan *plan = two_kernels(chunks, mask);
  uint64_t scalars[] = {(uint64_t)(uintptr_t)first, (uint64_t)(uintptr_t)second,
                        (uint64_t)(uintptr_t)runs};
  uint32_t status = loom_plan_run(plan, &(loom_call){.scalars = scalars});
  loom_plan_unref(plan);
  return status;
}

static void reports_flags(void **state) {
  int64_t runs = 0;
  for (uint32_t chunks = 1; chunks <= 64; chunks += 63) {
    assert_int_equal(run_two(raise_divide, count_runs, chunks, 15, &runs), LOOM_FP_DIVIDE);
    assert_int_equal(run_two(count_runs, raise_underflow, chunks, 15, &runs), LOOM_FP_UNDERFLOW);
    assert_int_equal(run_two(raise_invalid, count_runs, chunks, 15, &runs),
                     LOOM_FP_INVALID | LOOM_FP_DIVIDE);
    assert_int_equal(run_two(raise_invalid, raise_divide, chunks, LOOM_FP_INVALID, &runs),
                     LOOM_FP_INVALID);
    assert_int_equal(run_two(raise_divide, raise_invalid, chunks, 0, &runs), 0);
  }
  assert_int_equal(run_two(raise_overflow, count_runs, 64, 15, &runs), LOOM_FP_OVERFLOW);
  assert_int_equal(runs, 1 + 1 + 1 + 64 * 4);
}

static void keeps_the_callers_flags(void **state) {
  int64_t runs = 0;
  uint32_t before = __builtin_ia32_stmxcsr() & ~0x3fu;
  __builtin_ia32_ldmxcsr(before | 0x8u); /* overflow is set, and stays set; nothing is added */
  assert_int_equal(run_two(raise_divide, count_runs, 64, 15, &runs), LOOM_FP_DIVIDE);
  assert_int_equal(__builtin_ia32_stmxcsr() & 0x1fu, 0x8u);
  assert_int_equal(run_two(count_runs, count_runs, 64, 15, &runs), 0);
  assert_int_equal(__builtin_ia32_stmxcsr() & 0x1fu, 0x8u);
  __builtin_ia32_ldmxcsr(before);
}

static void stops_at_an_index_error(void **state) {
  int64_t runs = 0;
  assert_int_equal(run_two(raise_index, count_runs, 5, 15, &runs), LOOM_STATUS_INDEX);
  assert_int_equal(runs, 0);
}

static int poll_count;
static int poll_stop(void *context) { return ++poll_count; }
static uint32_t take_long(void *const *b, const uint64_t *p, void *s, int64_t begin, int64_t end) {
  struct timespec wait = {.tv_nsec = 70000000};
  nanosleep(&wait, NULL);
  return 0;
}

static void can_be_interrupted(void **state) {
  int64_t runs = 0;
  loom_plan *plan = two_kernels(1, 15);
  uint64_t scalars[] = {(uint64_t)(uintptr_t)take_long, (uint64_t)(uintptr_t)count_runs,
                        (uint64_t)(uintptr_t)&runs};
  uint32_t status = loom_plan_run(plan, &(loom_call){.scalars = scalars, .poll = poll_stop});
  assert_int_equal(status, LOOM_STATUS_INTERRUPTED);
  assert_int_equal(poll_count, 1);
  assert_int_equal(runs, 0);
  loom_plan_unref(plan);
}

/* ---- host calls, copies, the arena ---- */

static int host_negate(void *context, const loom_host_call *call) {
  assert_string_equal(call->name, "call"); /* names[4] */
  assert_int_equal(call->slot, 9);
  assert_int_equal(call->reads, 1);
  assert_int_equal(call->count, 2);
  for (int i = 0; i < 4; i++)
    ((float *)call->buffers[1])[i] = -((const float *)call->buffers[0])[i];
  return *(int *)context;
}

/* out = -(a + a), by an arena buffer at offset 64, a host call and a copy. */
static loom_plan *host_plan(void) {
  const loom_plan_input inputs[] = {{LOOM_PLAN_ARRAY, 0}};
  const loom_plan_buffer buffers[] = {{LOOM_PLAN_BUFFER_INPUT, 0, 0, 16, 0, 0},
                                      {LOOM_PLAN_BUFFER_ARENA, 0, 64, 16, 0, 0},
                                      {LOOM_PLAN_BUFFER_ARENA, 0, 128, 16, 0, 0},
                                      {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, 16, 0, 0}};
  const uint32_t indices[] = {0, 0, 1, 1, 2};
  const loom_plan_instr instrs[] = {
      {.opcode = LOOM_PLAN_LAUNCH, .buffers = 0, .buffer_count = 3, .chunks = 4},
      {.opcode = LOOM_PLAN_HOST_CALL, .a = 4, .b = 9, .c = 1, .buffers = 3, .buffer_count = 2},
      {.opcode = LOOM_PLAN_COPY, .a = 2, .b = 3}};
  return build_load(build_plan(&(plan_parts){.inputs = inputs,
                                             .input_count = 1,
                                             .buffers = buffers,
                                             .buffer_count = 4,
                                             .instrs = instrs,
                                             .instr_count = 3,
                                             .indices = indices,
                                             .index_count = 5,
                                             .output_count = 1,
                                             .arena_size = 192}));
}

static void calls_the_host(void **state) {
  loom_plan *plan = host_plan();
  float a[4] = {1, 2, 3, 4}, out[4] = {0};
  void *inputs[] = {a}, *outputs[] = {out};
  int result = 0;
  loom_call call = {
      .inputs = inputs, .outputs = outputs, .host = host_negate, .host_context = &result};
  assert_int_equal(loom_plan_run(plan, &call), 0);
  for (int i = 0; i < 4; i++)
    assert_true(out[i] == -2 * a[i]);
  memset(out, 0, sizeof out);
  result = -1;
  assert_int_equal(loom_plan_run(plan, &call), LOOM_STATUS_HOST);
  assert_true(out[0] == 0);
  call.host = NULL;
  assert_int_equal(loom_plan_run(plan, &call), LOOM_STATUS_HOST);
  loom_plan_unref(plan);
}

/* ---- memory lent and released during a run ---- */

typedef struct lender {
  int host, lent, released;
  bool refuses;
  void **outputs, *memory;
} lender;

static bool lend(void *context, uint32_t output) {
  lender *l = context;
  assert_int_equal(output, 0);
  assert_true(l->released > 0); /* the launch was the input's last use, the copy is later */
  l->lent++;
  l->outputs[output] = l->memory;
  return !l->refuses;
}

static void release(void *context, uint32_t input) {
  lender *l = context;
  assert_int_equal(input, 0);
  l->released++;
}

static int host_lends(void *context, const loom_host_call *call) {
  return host_negate(&((lender *)context)->host, call);
}

static void lends_and_releases(void **state) {
  loom_plan *plan = host_plan();
  float a[4] = {1, 2, 3, 4}, out[4] = {0};
  void *inputs[] = {a}, *outputs[] = {NULL};
  lender l = {.outputs = outputs, .memory = out};
  loom_call call = {.inputs = inputs,
                    .outputs = outputs,
                    .host = host_lends,
                    .host_context = &l,
                    .lend = lend,
                    .release = release};
  assert_int_equal(loom_plan_run(plan, &call), 0);
  assert_int_equal(l.lent, 1);
  assert_true(l.released >= 1);
  for (int i = 0; i < 4; i++)
    assert_true(out[i] == -2 * a[i]);
  outputs[0] = NULL;
  l.refuses = true;
  l.released = 0;
  assert_int_equal(loom_plan_run(plan, &call), LOOM_STATUS_MEMORY);
  loom_plan_unref(plan);
}

/* ---- pages of the arena given back ---- */

/* out = in by way of the last half KiB of the arena, the pages before which or, with `pages` 129,
 * the last of which, are given back in between. */
static void trims_up_to(uint32_t pages, bool live) {
  const uint64_t size = 512, arena = 128 * LOOM_PLAN_PAGE + size;
  const loom_plan_input inputs[] = {{LOOM_PLAN_ARRAY, 0}};
  const loom_plan_buffer buffers[] = {
      {LOOM_PLAN_BUFFER_INPUT, 0, 0, size, 0, 0},
      {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, size, 0, 0},
      {LOOM_PLAN_BUFFER_ARENA, 0, 128 * LOOM_PLAN_PAGE, size, 0, 0}};
  const loom_plan_instr instrs[] = {{.opcode = LOOM_PLAN_COPY, .a = 0, .b = 2},
                                    {.opcode = LOOM_PLAN_TRIM, .a = 0, .b = pages},
                                    {.opcode = LOOM_PLAN_COPY, .a = 2, .b = 1}};
  loom_plan *plan = build_load(build_plan(&(plan_parts){.inputs = inputs,
                                                        .input_count = 1,
                                                        .buffers = buffers,
                                                        .buffer_count = 3,
                                                        .instrs = instrs,
                                                        .instr_count = 3,
                                                        .output_count = 1,
                                                        .arena_size = arena}));
  char in[512], out[512] = {0};
  memset(in, 7, sizeof in);
  void *from[] = {in}, *to[] = {out};
  loom_call call = {.inputs = from, .outputs = to};
  assert_int_equal(loom_plan_run(plan, &call), 0);
  assert_true(!memcmp(in, out, sizeof in) == live);
  loom_plan_unref(plan);
}

static void gives_back_no_live_page(void **state) {
  for (int checked = 0; checked < 2; checked++) {
    loom_block_check(checked);
    trims_up_to(127, true);
    trims_up_to(128, true);
    trims_up_to(129, false);
  }
  loom_block_check(false);
}

/* ---- symbolic sizes ---- */

/* out = a + b over n floats, then -(out) by the host through an arena buffer of 4 n bytes at an
 * offset of 16 n: registers n, 4, 16, 4 n, 16 n, 20 n. */
static loom_bytes sized_plan(void) {
  const loom_plan_input inputs[] = {{LOOM_PLAN_ARRAY, 0}, {LOOM_PLAN_ARRAY, 1}};
  const loom_plan_buffer buffers[] = {
      {LOOM_PLAN_BUFFER_INPUT, 0, 0, 3, LOOM_PLAN_SIZE_REGISTER, 0},
      {LOOM_PLAN_BUFFER_INPUT, 1, 0, 3, LOOM_PLAN_SIZE_REGISTER, 0},
      {LOOM_PLAN_BUFFER_ARENA, 0, 4, 3, LOOM_PLAN_SIZE_REGISTER | LOOM_PLAN_OFFSET_REGISTER, 0},
      {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, 3, LOOM_PLAN_SIZE_REGISTER, 0}};
  static const int64_t constants[] = {4, 16};
  const uint32_t indices[] = {0, 1, 2};
  const loom_plan_instr instrs[] = {
      {.opcode = LOOM_PLAN_SIZE, .op = LOOM_EXPR_MUL, .a = 3, .b = 0, .c = 1},
      {.opcode = LOOM_PLAN_SIZE, .op = LOOM_EXPR_MUL, .a = 4, .b = 0, .c = 2},
      {.opcode = LOOM_PLAN_SIZE, .op = LOOM_EXPR_ADD, .a = 5, .b = 3, .c = 4},
      {.opcode = LOOM_PLAN_CHECK, .op = LOOM_PLAN_CHECK_LE, .a = 1, .b = 0},
      {.opcode = LOOM_PLAN_LAUNCH, .buffer_count = 3, .flags = LOOM_PLAN_CHUNKS_REGISTER},
      {.opcode = LOOM_PLAN_COPY, .a = 2, .b = 3}};
  return build_plan(&(plan_parts){.inputs = inputs,
                                  .input_count = 2,
                                  .buffers = buffers,
                                  .buffer_count = 4,
                                  .instrs = instrs,
                                  .instr_count = 6,
                                  .indices = indices,
                                  .index_count = 3,
                                  .output_count = 1,
                                  .arena_size = 5,
                                  .constants = constants,
                                  .constant_count = 2,
                                  .symbol_count = 1,
                                  .register_count = 6,
                                  .prologue = 4,
                                  .flags = LOOM_PLAN_ARENA_REGISTER});
}

static void runs_for_every_size(void **state) {
  loom_plan *plan = build_load(sized_plan());
  float a[100], b[100], out[100];
  for (int i = 0; i < 100; i++)
    a[i] = (float)i, b[i] = 0.5f;
  void *inputs[] = {a, b}, *outputs[] = {out};
  loom_call call = {.inputs = inputs, .outputs = outputs};
  for (int64_t n = 4; n <= 100; n += 32) {
    size_t size;
    assert_true(loom_plan_output_size(plan, 0, &n, &size));
    assert_int_equal(size, 4 * n);
    memset(out, 0, sizeof out);
    call.symbols = &n;
    assert_int_equal(loom_plan_run(plan, &call), 0);
    for (int i = 0; i < 100; i++)
      assert_true(out[i] == (i < n ? (float)i + 0.5f : 0.0f));
  }
  const int64_t bad[] = {3, -1, INT64_MAX / 8, INT64_MIN, (int64_t)1 << 44};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    call.symbols = &bad[i];
    assert_int_equal(loom_plan_run(plan, &call), LOOM_STATUS_SIZE);
  }
  call.symbols = NULL;
  assert_int_equal(loom_plan_run(plan, &call), LOOM_STATUS_SIZE);
  loom_plan_unref(plan);
}

/* A host call finds 3 floats; they are added to themselves into an output made during the run. */
static float found[] = {1, 2, 3}, taken[8];
static int host_find(void *context, const loom_host_call *call) {
  assert_null(call->buffers[0]);
  call->buffers[0] = found;
  call->symbols[0] = *(int64_t *)context;
  return 0;
}
static void *host_allocate(void *context, uint32_t output, size_t bytes, const int64_t *symbols) {
  assert_int_equal(output, 0);
  assert_int_equal(bytes, 4 * symbols[0]);
  return taken;
}

static void takes_sizes_from_the_host(void **state) {
  const loom_plan_buffer buffers[] = {{LOOM_PLAN_BUFFER_LATE, 0, 0, 2, LOOM_PLAN_SIZE_REGISTER, 0},
                                      {LOOM_PLAN_BUFFER_LATE, 1, 0, 2, LOOM_PLAN_SIZE_REGISTER, 0},
                                      {LOOM_PLAN_BUFFER_LATE, 2, 0, 2, LOOM_PLAN_SIZE_REGISTER, 0}};
  static const int64_t constants[] = {4};
  const uint32_t indices[] = {0, 0, 1, 0, 1, 2};
  const loom_plan_instr instrs[] = {
      {.opcode = LOOM_PLAN_HOST_CALL, .buffer_count = 1},
      {.opcode = LOOM_PLAN_SIZE, .op = LOOM_EXPR_MUL, .a = 2, .b = 0, .c = 1},
      {.opcode = LOOM_PLAN_ALLOC, .a = 1},
      {.opcode = LOOM_PLAN_COPY, .a = 0, .b = 1},
      {.opcode = LOOM_PLAN_ALLOC, .a = 2, .b = 1},
      {.opcode = LOOM_PLAN_LAUNCH,
       .buffers = 3,
       .buffer_count = 3,
       .flags = LOOM_PLAN_CHUNKS_REGISTER}};
  loom_plan *plan = build_load(build_plan(&(plan_parts){.buffers = buffers,
                                                        .buffer_count = 3,
                                                        .instrs = instrs,
                                                        .instr_count = 6,
                                                        .indices = indices,
                                                        .index_count = 6,
                                                        .output_count = 1,
                                                        .constants = constants,
                                                        .constant_count = 1,
                                                        .symbol_count = 1,
                                                        .register_count = 3,
                                                        .late_count = 3}));
  int64_t symbols[] = {0}, count = 3;
  size_t size;
  assert_false(loom_plan_output_size(plan, 0, symbols, &size));
  loom_call call = {
      .symbols = symbols, .host = host_find, .host_context = &count, .allocate = host_allocate};
  loom_block_stats before, after;
  loom_block_get_stats(&before);
  assert_int_equal(loom_plan_run(plan, &call), 0);
  for (int i = 0; i < 8; i++)
    assert_true(taken[i] == (i < 3 ? 2 * found[i] : 0));
  loom_block_get_stats(&after);
  assert_int_equal(after.live_bytes, before.live_bytes);
  count = -1;
  assert_int_equal(loom_plan_run(plan, &call), LOOM_STATUS_SIZE);
  count = 0;
  assert_int_equal(loom_plan_run(plan, &call), 0);
  call.allocate = NULL;
  assert_int_equal(loom_plan_run(plan, &call), LOOM_STATUS_MEMORY);
  loom_plan_unref(plan);
}

/* ---- refusals ---- */

static void survives_random_damage(void **state) {
  build_survive_damage(add_plan(8, 64));
  build_survive_damage(sized_plan());
}

static void survives_truncation_and_noise(void **state) {
  uint64_t seed = 42;
  loom_bytes good = add_plan(8, 64);
  for (size_t size = 0; size < good.size; size++) {
    uint8_t *exact = malloc(size + !size); /* so that ASan sees a byte read too far */
    memcpy(exact, good.data, size);
    assert_null(loom_plan_load(exact, size, NULL));
    free(exact);
  }
  uint8_t noise[512];
  for (int round = 0; round < 10000; round++) {
    for (size_t i = 0; i < sizeof noise; i++)
      noise[i] = (uint8_t)build_random(&seed);
    size_t size = build_random(&seed) % sizeof noise;
    uint64_t magic = LOOM_PLAN_MAGIC;
    uint32_t version[2] = {LOOM_PLAN_VERSION, (uint32_t)size};
    memcpy(noise, &magic, 8);
    memcpy(noise + 8, version, 8);
    if (size >= sizeof(loom_plan_header)) build_seal_plan(noise, size);
    build_try_load(noise, size);
  }
  free(good.data);
}

static void refuses_what_it_cannot_run(void **state) {
  loom_bytes good = add_plan(8, 64);
  loom_plan_header *h = (loom_plan_header *)good.data;
  loom_error err;
  h->version++;
  build_seal_plan(good.data, good.size);
  assert_null(loom_plan_load(good.data, good.size, &err));
  assert_non_null(strstr(err.message, "version"));
  h->version--;
  h->cpu_features = 1ull << 40;
  build_seal_plan(good.data, good.size);
  assert_null(loom_plan_load(good.data, good.size, &err));
  assert_non_null(strstr(err.message, "CPU"));
  h->cpu_features = 0;
  ((loom_plan_instr *)(good.data + h->instrs.offset))->opcode = LOOM_PLAN_SYNC;
  build_seal_plan(good.data, good.size);
  assert_null(loom_plan_load(good.data, good.size, &err));
  assert_non_null(strstr(err.message, "instruction 0"));
  loom_plan_instr *instr = (loom_plan_instr *)(good.data + h->instrs.offset);
  instr->opcode = LOOM_PLAN_TRIM;
  instr->a = 0;
  instr->b = (uint32_t)(h->arena_size / LOOM_PLAN_PAGE) + 1;
  build_seal_plan(good.data, good.size);
  assert_null(loom_plan_load(good.data, good.size, &err)); /* pages behind the arena */
  free(good.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_one_chunk),
      cmocka_unit_test(runs_many_chunks),
      cmocka_unit_test(runs_with_scratch),
      cmocka_unit_test(runs_no_chunk),
      cmocka_unit_test(reports_flags),
      cmocka_unit_test(keeps_the_callers_flags),
      cmocka_unit_test(stops_at_an_index_error),
      cmocka_unit_test(can_be_interrupted),
      cmocka_unit_test(calls_the_host),
      cmocka_unit_test(lends_and_releases),
      cmocka_unit_test(gives_back_no_live_page),
      cmocka_unit_test(runs_for_every_size),
      cmocka_unit_test(takes_sizes_from_the_host),
      cmocka_unit_test(survives_random_damage),
      cmocka_unit_test(survives_truncation_and_noise),
      cmocka_unit_test(refuses_what_it_cannot_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
