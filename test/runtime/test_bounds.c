/* bounds.c: what a checked kernel is told, what it tells, and what is overwritten between values.
 */
#include "build.h"
#include "graph/check.h"
#include "runtime/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a launch, by a kernel in C that looks at its frame ---- */

static loom_check_frame *frame_of(void *const *buffers) { return buffers[-1]; }

static uint32_t good_kernel(void *const *buffers, const uint64_t *params, void *scratch,
                            int64_t begin, int64_t end) {
  const loom_check_frame *frame = frame_of(buffers);
  bool good = !frame->taken && frame->params.size == 16 && frame->scratch.size == 128 &&
              frame->buffers[0].low == -24 && frame->buffers[0].size == 40 &&
              frame->buffers[1].low == 0 && frame->buffers[1].size == (uint64_t)params[1] * 8 &&
              !frame->buffers[2].size && !buffers[2] && frame->spare;
  return good ? 0 : LOOM_STATUS_INDEX;
}

/* As code made by loom-check writes it. */
static uint32_t bad_kernel(void *const *buffers, const uint64_t *params, void *scratch,
                           int64_t begin, int64_t end) {
  loom_check_frame *frame = frame_of(buffers);
  frame->taken = 1;
  frame->site = 1;
  frame->address = (uint64_t)(uintptr_t)buffers[0] + 16;
  return LOOM_FP_DIVIDE;
}

static const loom_plan_input inputs[] = {{LOOM_PLAN_ARRAY, 0}, {LOOM_PLAN_SCALAR, 0}};
static const loom_plan_buffer buffers[] = {{LOOM_PLAN_BUFFER_INPUT, 0, 0, 16, 0, 0},
                                           {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, 24, 0, 0}};
/* The symbol (register 0), eight times it (2, by the constant in 1), what is allowed of the input.
 */
static const loom_plan_instr instrs[] = {
    {.opcode = LOOM_PLAN_SIZE, .op = LOOM_EXPR_MUL, .a = 2, .b = 0, .c = 1},
    {.opcode = LOOM_PLAN_LAUNCH,
     .a = 1,
     .buffers = 0,
     .buffer_count = 2,
     .params = 2,
     .param_count = 2,
     .scratch = 128,
     .chunks = 1}};
static const uint32_t indices[] = {0, 1, 0, LOOM_PLAN_PARAM_REGISTER};
static const int64_t constants[] = {8};
static const loom_plan_extent extents[] = {{-24, 40, 0, 0}, {0, 2, LOOM_PLAN_SIZE_REGISTER, 0}};
static const loom_plan_site sites[] = {{.text = 0, .buffer = 1}, {.text = 4, .buffer = 0}};

static plan_parts launch_parts(void) {
  return (plan_parts){.inputs = inputs,
                      .input_count = 2,
                      .buffers = buffers,
                      .buffer_count = 2,
                      .instrs = instrs,
                      .instr_count = 2,
                      .indices = indices,
                      .index_count = 4,
                      .constants = constants,
                      .constant_count = 1,
                      .symbol_count = 1,
                      .register_count = 3,
                      .prologue = 1,
                      .output_count = 1,
                      .scalar_count = 1,
                      .extents = extents,
                      .sites = sites,
                      .site_count = 2,
                      .flags = LOOM_PLAN_CHECKED};
}

static uint32_t launch(loom_kernel_fn kernel, loom_violation *violation, double *data) {
  plan_parts parts = launch_parts();
  loom_plan *plan = build_load(build_plan(&parts));
  assert_non_null(plan);
  double out[3];
  void *ins[] = {data}, *outs[] = {out};
  const uint64_t scalars[] = {(uint64_t)(uintptr_t)kernel};
  const int64_t symbols[] = {3};
  loom_call call = {.inputs = ins,
                    .outputs = outs,
                    .scalars = scalars,
                    .symbols = symbols,
                    .violation = violation};
  uint32_t status = loom_plan_run(plan, &call);
  loom_plan_unref(plan);
  return status;
}

static void tells_kernels_their_bounds(void **state) {
  loom_violation violation = {""};
  double data[2];
  assert_int_equal(launch(good_kernel, &violation, data), 0);
  assert_int_equal(*violation.text, 0);
}

static void reports_what_a_kernel_refuses(void **state) {
  loom_violation violation = {""};
  double data[2];
  assert_int_equal(launch(bad_kernel, &violation, data) & ~15u, LOOM_STATUS_BOUNDS);
  assert_non_null(strstr(violation.text, "call: address 0x")); /* name 4 stands for the text */
  assert_non_null(strstr(violation.text, "outside of buffer 0 of the launch"));
  assert_non_null(strstr(violation.text, "40 bytes, the access begins at byte 40"));
  assert_int_equal(launch(bad_kernel, NULL, data) & ~15u, LOOM_STATUS_BOUNDS);
}

static void refuses_bounds_that_do_not_fit(void **state) {
  loom_plan_extent wrong[] = {extents[0], {0, 3, LOOM_PLAN_SIZE_REGISTER, 0}};
  plan_parts parts = launch_parts();
  parts.extents = wrong;
  loom_bytes bytes = build_plan(&parts);
  assert_null(loom_plan_load(bytes.data, bytes.size, NULL));
  free(bytes.data);
  loom_plan_site far[] = {{.text = 1000}};
  parts = launch_parts();
  parts.sites = far;
  parts.site_count = 1;
  bytes = build_plan(&parts);
  assert_null(loom_plan_load(bytes.data, bytes.size, NULL));
  free(bytes.data);
  parts = launch_parts();
  build_survive_damage(build_plan(&parts));
}

/* ---- the arena between values ---- */

/* a is copied into the arena, to output 0, and from there to output 1. `storages`: of the three
 * views of that memory: what the plan takes for one value. */
static void run_life(const uint32_t storages[3], float *first, float *second) {
  const loom_plan_input ins[] = {{LOOM_PLAN_ARRAY, 0}};
  const loom_plan_buffer places[] = {
      {LOOM_PLAN_BUFFER_INPUT, 0, 0, 16, 0, 0},  {LOOM_PLAN_BUFFER_ARENA, 0, 64, 16, 0, 0},
      {LOOM_PLAN_BUFFER_ARENA, 0, 64, 16, 0, 0}, {LOOM_PLAN_BUFFER_ARENA, 0, 64, 16, 0, 0},
      {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, 16, 0, 0}, {LOOM_PLAN_BUFFER_OUTPUT, 1, 0, 16, 0, 0}};
  const loom_plan_instr copies[] = {{.opcode = LOOM_PLAN_COPY, .a = 0, .b = 1},
                                    {.opcode = LOOM_PLAN_COPY, .a = 2, .b = 4},
                                    {.opcode = LOOM_PLAN_COPY, .a = 3, .b = 5}};
  loom_plan_extent all[6] = {{0, 16, 0, 0}, {0, 16, 0, 0}, {0, 16, 0, 0},
                             {0, 16, 0, 0}, {0, 16, 0, 0}, {0, 16, 0, 0}};
  for (int i = 0; i < 3; i++)
    all[1 + i].storage = storages[i];
  loom_plan *plan = build_load(build_plan(&(plan_parts){.inputs = ins,
                                                        .input_count = 1,
                                                        .buffers = places,
                                                        .buffer_count = 6,
                                                        .instrs = copies,
                                                        .instr_count = 3,
                                                        .output_count = 2,
                                                        .arena_size = 128,
                                                        .extents = all,
                                                        .flags = LOOM_PLAN_CHECKED}));
  assert_non_null(plan);
  float a[4] = {1, 2, 3, 4};
  void *in[] = {a}, *out[] = {first, second};
  assert_int_equal(loom_plan_run(plan, &(loom_call){.inputs = in, .outputs = out}), 0);
  loom_plan_unref(plan);
}

static void overwrites_what_nobody_reads(void **state) {
  float first[4], second[4];
  run_life((const uint32_t[]){1, 1, 2}, first, second); /* no checked run: as it lies */
  assert_true(second[3] == 4);
  loom_block_check(true);
  run_life((const uint32_t[]){1, 1, 1}, first, second); /* one value, seen three times */
  assert_true(first[0] == 1 && second[3] == 4);
  run_life((const uint32_t[]){1, 1, 2}, first, second); /* read behind its last use */
  assert_true(first[3] == 4 && isnan(second[1]) && isnan(second[3]));
  loom_block_check(false);
}

/* ---- what the interpreter copies itself ---- */

/* Input 0 is copied to the output, 16 bytes: both begin where their pointers are. */
static uint32_t copy(loom_plan_extent from, loom_plan_extent to, loom_violation *violation) {
  const loom_plan_input ins[] = {{LOOM_PLAN_ARRAY, 0}};
  const loom_plan_buffer places[] = {{LOOM_PLAN_BUFFER_INPUT, 0, 0, 16, 0, 0},
                                     {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, 16, 0, 0}};
  const loom_plan_instr copies[] = {{.opcode = LOOM_PLAN_COPY, .a = 0, .b = 1}};
  const loom_plan_extent all[] = {from, to};
  loom_plan *plan = build_load(build_plan(&(plan_parts){.inputs = ins,
                                                        .input_count = 1,
                                                        .buffers = places,
                                                        .buffer_count = 2,
                                                        .instrs = copies,
                                                        .instr_count = 1,
                                                        .output_count = 1,
                                                        .extents = all,
                                                        .flags = LOOM_PLAN_CHECKED}));
  assert_non_null(plan);
  double a[2] = {1, 2}, b[2] = {0};
  void *in[] = {a}, *out[] = {b};
  loom_call call = {.inputs = in, .outputs = out, .violation = violation};
  uint32_t status = loom_plan_run(plan, &call);
  assert_true(b[1] == (status ? 0 : 2)); /* nothing is copied where it does not fit */
  loom_plan_unref(plan);
  return status;
}

static void compares_copies(void **state) {
  const loom_plan_extent whole = {0, 16, 0, 0}, around = {-8, 32, 0, 0};
  const loom_plan_extent wrong[] = {
      {0, 8, 0, 0}, {-8, 16, 0, 0}, {8, 16, 0, 0}, {0, 0, 0, 0}, {INT64_MIN, 16, 0, 0}};
  loom_violation violation = {""};
  assert_int_equal(copy(whole, whole, &violation), 0);
  assert_int_equal(copy(around, around, &violation), 0);
  assert_int_equal(*violation.text, 0);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(copy(whole, wrong[i], NULL), LOOM_STATUS_BOUNDS);
    assert_int_equal(copy(wrong[i], whole, &violation), LOOM_STATUS_BOUNDS);
  }
  assert_int_equal(copy(whole, wrong[0], &violation), LOOM_STATUS_BOUNDS);
  assert_non_null(strstr(violation.text, "a copy: 16 bytes from byte 0 on of buffer 1 of the plan, "
                                         "which has 8 from byte 0 on"));
}

/* for n times: x = a copy of x, 16 bytes. What the body may access of its input and its result, and
 * what there is of the initial value and the loop's result. */
static uint32_t loop_of(const loom_plan_extent body[2], const loom_plan_extent outer[2]) {
  const loom_plan_input ins[] = {{LOOM_PLAN_ARRAY, 0}, {LOOM_PLAN_ARRAY, 1}};
  const loom_plan_buffer places[] = {{LOOM_PLAN_BUFFER_INPUT, 0, 0, 8, 0, 0},
                                     {LOOM_PLAN_BUFFER_INPUT, 1, 0, 16, 0, 0},
                                     {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, 16, 0, 0}};
  const loom_plan_instr copies[] = {{.opcode = LOOM_PLAN_COPY, .a = 1, .b = 2}};
  const loom_plan_extent count = {0, 8, 0, 0}, inner[] = {count, body[0], body[1]},
                         all[] = {count, outer[0], outer[1]};
  const uint32_t list[] = {0, 1, 2, 0};
  plan_parts parts = {.inputs = ins,
                      .input_count = 2,
                      .buffers = places,
                      .buffer_count = 3,
                      .instrs = copies,
                      .instr_count = 1,
                      .output_count = 1,
                      .extents = inner,
                      .flags = LOOM_PLAN_CHECKED | LOOM_PLAN_REGION};
  const loom_plan_instr loop[] = {
      {.opcode = LOOM_PLAN_FOR, .a = 1, .c = 1, .buffer_count = 3, .params = 3, .param_count = 1}};
  loom_bytes regions[] = {build_plan(&parts)};
  parts.instrs = loop;
  parts.indices = list;
  parts.index_count = 4;
  parts.extents = all;
  parts.flags = LOOM_PLAN_CHECKED;
  parts.regions = regions;
  parts.region_count = 1;
  loom_plan *plan = build_load(build_plan(&parts));
  assert_non_null(plan);
  int64_t n = 3;
  double a[2] = {1, 2}, x[2] = {0};
  void *in[] = {&n, a}, *out[] = {x};
  uint32_t status = loom_plan_run(plan, &(loom_call){.inputs = in, .outputs = out});
  assert_true(x[1] == (status ? 0 : 2));
  loom_plan_unref(plan);
  return status;
}

static void compares_what_loops_carry(void **state) {
  const loom_plan_extent whole = {0, 16, 0, 0}, half = {0, 8, 0, 0}, twice = {0, 32, 0, 0};
  const loom_plan_extent good[] = {whole, whole}, short_value[] = {half, whole},
                         short_result[] = {whole, half}, long_value[] = {twice, whole},
                         long_result[] = {whole, twice}, room[] = {twice, twice};
  assert_int_equal(loop_of(good, good), 0);
  assert_int_equal(loop_of(good, room), 0);
  assert_int_equal(loop_of(good, short_value), LOOM_STATUS_BOUNDS);
  assert_int_equal(loop_of(good, short_result), LOOM_STATUS_BOUNDS);
  assert_int_equal(loop_of(long_value, good), LOOM_STATUS_BOUNDS);
  assert_int_equal(loop_of(long_result, good), LOOM_STATUS_BOUNDS);
  assert_int_equal(loop_of(short_value, good), LOOM_STATUS_BOUNDS); /* the body's copy */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tells_kernels_their_bounds),
      cmocka_unit_test(reports_what_a_kernel_refuses),
      cmocka_unit_test(refuses_bounds_that_do_not_fit),
      cmocka_unit_test(overwrites_what_nobody_reads),
      cmocka_unit_test(compares_copies),
      cmocka_unit_test(compares_what_loops_carry),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
