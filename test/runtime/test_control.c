/* control.c: loops and branches of a plan, made by hand: what they carry, where it ends up, and
 * refusing every damaged plan. */
#include "build.h"

#include <stdlib.h>
#include <string.h>

#define CARRY(I) (LOOM_PLAN_CARRY_BEFORE | (I))

/* The body (index, x, y) -> x + y, floats [8]. `overwrites`: 1 + the input that it may write over.
 */
static loom_bytes add_region(uint32_t overwrites, bool counts) {
  const loom_plan_input inputs[] = {
      {LOOM_PLAN_ARRAY, 0}, {LOOM_PLAN_ARRAY, 1}, {LOOM_PLAN_ARRAY, 2}};
  const loom_plan_buffer counted[] = {{LOOM_PLAN_BUFFER_INPUT, 0, 0, 8, 0, 0},
                                      {LOOM_PLAN_BUFFER_INPUT, 1, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_INPUT, 2, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, 32, 0, overwrites}};
  const loom_plan_buffer plain[] = {{LOOM_PLAN_BUFFER_INPUT, 0, 0, 32, 0, 0},
                                    {LOOM_PLAN_BUFFER_INPUT, 1, 0, 32, 0, 0},
                                    {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, 32, 0, overwrites}};
  const uint32_t indices[] = {counts, counts + 1u, counts + 2u};
  const loom_plan_instr instrs[] = {
      {.opcode = LOOM_PLAN_LAUNCH, .fp_mask = 15, .buffer_count = 3, .chunks = 8}};
  return build_plan(&(plan_parts){.inputs = inputs,
                                  .input_count = 2u + counts,
                                  .buffers = counts ? counted : plain,
                                  .buffer_count = 3u + counts,
                                  .instrs = instrs,
                                  .instr_count = 1,
                                  .indices = indices,
                                  .index_count = 3,
                                  .output_count = 1,
                                  .flags = LOOM_PLAN_REGION});
}

/* Inputs n, a, b; for n times: (x, y) = (the body's result or an old value, ...). */
static loom_bytes loop_plan(uint32_t carry_x, uint32_t carry_y, uint32_t overwrites) {
  const loom_plan_input inputs[] = {
      {LOOM_PLAN_ARRAY, 0}, {LOOM_PLAN_ARRAY, 1}, {LOOM_PLAN_ARRAY, 2}};
  const loom_plan_buffer buffers[] = {
      {LOOM_PLAN_BUFFER_INPUT, 0, 0, 8, 0, 0},   {LOOM_PLAN_BUFFER_INPUT, 1, 0, 32, 0, 0},
      {LOOM_PLAN_BUFFER_INPUT, 2, 0, 32, 0, 0},  {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, 32, 0, 0},
      {LOOM_PLAN_BUFFER_OUTPUT, 1, 0, 32, 0, 0},
  };
  const uint32_t indices[] = {0, 1, 2, 3, 4, carry_x, carry_y};
  const loom_plan_instr instrs[] = {
      {.opcode = LOOM_PLAN_FOR, .a = 1, .c = 2, .buffer_count = 5, .params = 5, .param_count = 2}};
  loom_bytes regions[] = {add_region(overwrites, true)};
  return build_plan(&(plan_parts){.inputs = inputs,
                                  .input_count = 3,
                                  .buffers = buffers,
                                  .buffer_count = 5,
                                  .instrs = instrs,
                                  .instr_count = 1,
                                  .indices = indices,
                                  .index_count = 7,
                                  .output_count = 2,
                                  .regions = regions,
                                  .region_count = 1});
}

/* Both values after `n` iterations, from element 3 of arrays that start as 3 and 100. */
static void loops(uint32_t carry_x, uint32_t carry_y, uint32_t overwrites) {
  loom_plan *plan = build_load(loop_plan(carry_x, carry_y, overwrites));
  loom_block_stats before, after;
  loom_block_get_stats(&before);
  for (int64_t n = -1; n < 12; n++) {
    float a[8], b[8], x[8], y[8], was[2];
    for (int i = 0; i < 8; i++)
      a[i] = (float)i, b[i] = 100.0f;
    void *inputs[] = {&n, a, b}, *outputs[] = {x, y};
    assert_int_equal(loom_plan_run(plan, &(loom_call){.inputs = inputs, .outputs = outputs}), 0);
    float now[2] = {3, 100};
    for (int64_t i = 0; i < n; i++) {
      memcpy(was, now, sizeof now);
      now[0] = carry_x & LOOM_PLAN_CARRY_BEFORE ? was[carry_x & 1] : was[0] + was[1];
      now[1] = carry_y & LOOM_PLAN_CARRY_BEFORE ? was[carry_y & 1] : was[0] + was[1];
    }
    assert_true(x[3] == now[0] && y[3] == now[1]);
    assert_true(a[3] == 3 && b[3] == 100);
  }
  loom_block_get_stats(&after);
  assert_int_equal(after.live_bytes, before.live_bytes);
  loom_plan_unref(plan);
}

static void carries(void **state) {
  loops(0, CARRY(1), 0); /* x += y */
  loops(0, CARRY(1), 2); /* in place */
  loops(CARRY(1), 0, 0); /* Fibonacci */
  loops(CARRY(1), 0, 3); /* not in place: x becomes the old y */
  loops(CARRY(1), 0, 2); /* nor over the other one */
  loops(0, 0, 0);        /* both the sum */
}

/* while (first byte of the flag) x += y: the condition reads what the loop carries. */
static uint32_t first_is_small(void *const *b, const uint64_t *p, void *s, int64_t begin,
                               int64_t end) {
  *(uint8_t *)b[2] = *(const float *)b[0] < 10;
  return 0;
}

static loom_bytes test_region(uint64_t size) {
  const loom_plan_input inputs[] = {{LOOM_PLAN_ARRAY, 0}, {LOOM_PLAN_ARRAY, 1}};
  static int64_t address;
  address = (int64_t)(intptr_t)first_is_small;
  const loom_plan_buffer buffers[] = {{LOOM_PLAN_BUFFER_INPUT, 0, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_INPUT, 1, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, size, 0, 0}};
  const uint32_t indices[] = {0, 1, 2, LOOM_PLAN_PARAM_REGISTER};
  const loom_plan_instr instrs[] = {{.opcode = LOOM_PLAN_LAUNCH,
                                     .a = 1,
                                     .fp_mask = 15,
                                     .buffer_count = 3,
                                     .params = 3,
                                     .param_count = 1,
                                     .chunks = 1}};
  return build_plan(&(plan_parts){.inputs = inputs,
                                  .input_count = 2,
                                  .buffers = buffers,
                                  .buffer_count = 3,
                                  .instrs = instrs,
                                  .instr_count = 1,
                                  .indices = indices,
                                  .index_count = 4,
                                  .output_count = 1,
                                  .constants = &address,
                                  .constant_count = 1,
                                  .register_count = 1,
                                  .flags = LOOM_PLAN_REGION});
}

/* WHILE or BRANCH with these regions over (flag, a, b) -> x. */
static loom_bytes flow_plan(uint32_t opcode, uint32_t a, uint32_t b, uint64_t bool_size) {
  const loom_plan_input inputs[] = {
      {LOOM_PLAN_ARRAY, 0}, {LOOM_PLAN_ARRAY, 1}, {LOOM_PLAN_ARRAY, 2}};
  const loom_plan_buffer buffers[] = {{LOOM_PLAN_BUFFER_INPUT, 0, 0, 1, 0, 0},
                                      {LOOM_PLAN_BUFFER_INPUT, 1, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_INPUT, 2, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, 32, 0, 0}};
  const uint32_t indices[] = {0, 1, 2, 3, 0};
  bool branches = opcode == LOOM_PLAN_BRANCH;
  const loom_plan_instr instrs[] = {{.opcode = (uint16_t)opcode,
                                     .a = a,
                                     .b = b,
                                     .c = 1,
                                     .buffers = !branches,
                                     .buffer_count = branches ? 4 : 3,
                                     .params = 4,
                                     .param_count = 1}};
  loom_bytes regions[] = {add_region(0, false), test_region(bool_size), add_region(0, false)};
  return build_plan(&(plan_parts){.inputs = inputs,
                                  .input_count = 3,
                                  .buffers = buffers,
                                  .buffer_count = 4,
                                  .instrs = instrs,
                                  .instr_count = 1,
                                  .indices = indices,
                                  .index_count = 5,
                                  .output_count = 1,
                                  .regions = regions,
                                  .region_count = 3});
}

static float flows(loom_bytes bytes, uint8_t flag, float step) {
  loom_plan *plan = build_load(bytes);
  float a[8] = {1}, b[8] = {step}, x[8] = {0};
  void *inputs[] = {&flag, a, b}, *outputs[] = {x};
  assert_int_equal(loom_plan_run(plan, &(loom_call){.inputs = inputs, .outputs = outputs}), 0);
  loom_plan_unref(plan);
  return x[0];
}

static void repeats_while(void **state) {
  assert_true(flows(flow_plan(LOOM_PLAN_WHILE, 1, 2, 1), 0, 2) == 11);
  assert_true(flows(flow_plan(LOOM_PLAN_WHILE, 1, 2, 1), 0, 200) == 201);
}

static void takes_branches(void **state) {
  assert_true(flows(flow_plan(LOOM_PLAN_BRANCH, 1, 3, 1), 1, 2) == 3);
  assert_true(flows(flow_plan(LOOM_PLAN_BRANCH, 3, 1, 1), 0, 2) == 3);
}

static int poll_stops(void *context) { return ++*(int *)context > 1; }

static void can_be_stopped(void **state) {
  loom_plan *plan = build_load(flow_plan(LOOM_PLAN_WHILE, 1, 2, 1));
  float a[8] = {1}, b[8] = {0}, x[8];
  int asked = 0;
  void *inputs[] = {NULL, a, b}, *outputs[] = {x};
  loom_call call = {
      .inputs = inputs, .outputs = outputs, .poll = poll_stops, .host_context = &asked};
  assert_int_equal(loom_plan_run(plan, &call), LOOM_STATUS_INTERRUPTED);
  assert_int_equal(asked, 2);
  loom_plan_unref(plan);
}

/* ---- refusals ---- */

static void refused(loom_bytes bytes, const char *why) {
  loom_error err = {0};
  assert_null(loom_plan_load(bytes.data, bytes.size, &err));
  if (!strstr(err.message, why)) fail_msg("%s", err.message);
  free(bytes.data);
}

static void refuses_what_does_not_fit(void **state) {
  refused(flow_plan(LOOM_PLAN_WHILE, 1, 2, 4), "no bool");
  refused(flow_plan(LOOM_PLAN_WHILE, 0, 2, 1), "runs region 0");
  refused(flow_plan(LOOM_PLAN_BRANCH, 1, 4, 1), "runs region 4");
  refused(loop_plan(2, 0, 0), "carries");
  refused(loop_plan(0, CARRY(2), 0), "carries");
  refused(loop_plan(0, 1, 0), "is not what is run");               /* two results */
  refused(loop_plan(CARRY(1), CARRY(0), 0), "is not what is run"); /* none */
  refused(add_region(0, true), "a region alone");
}

static void survives_damage(void **state) {
  build_survive_damage(loop_plan(CARRY(1), 0, 0));
  build_survive_damage(flow_plan(LOOM_PLAN_WHILE, 1, 2, 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(carries),
      cmocka_unit_test(repeats_while),
      cmocka_unit_test(takes_branches),
      cmocka_unit_test(can_be_stopped),
      cmocka_unit_test(refuses_what_does_not_fit),
      cmocka_unit_test(survives_damage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
