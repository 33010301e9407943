/* keep.c: what a plan computes of constants alone is computed once, whoever comes first. */
#include "build.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 8

/* out = 2 * c + a: `once` calls the kernel that the scalar names twice, from the constant to a
 * buffer that is needed no longer then, and from there to the one that is kept. */
static loom_plan *keep_plan(loom_bytes *bytes) {
  const loom_plan_input inputs[] = {
      {LOOM_PLAN_CONST, 0}, {LOOM_PLAN_ARRAY, 1}, {LOOM_PLAN_SCALAR, 0}};
  const loom_plan_buffer buffers[] = {{LOOM_PLAN_BUFFER_INPUT, 0, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_INPUT, 1, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_KEPT, 0, 0, 4096, 0, 0},
                                      {LOOM_PLAN_BUFFER_KEPT, 1, 0, 32, 0, 0}};
  const uint32_t indices[] = {0, 1, 3, 3, 1, 4, 4, 1, 2, 0};
  loom_plan_instr once[2];
  for (uint32_t i = 0; i < 2; i++)
    once[i] = (loom_plan_instr){.opcode = LOOM_PLAN_LAUNCH,
                                .a = 1,
                                .fp_mask = 15,
                                .buffers = 3 * i,
                                .buffer_count = 3,
                                .params = 9,
                                .param_count = 1,
                                .chunks = 1};
  const loom_plan_instr instrs[] = {
      {.opcode = LOOM_PLAN_LAUNCH, .fp_mask = 15, .buffers = 6, .buffer_count = 3, .chunks = 8}};
  *bytes = build_plan(&(plan_parts){.inputs = inputs,
                                    .input_count = 3,
                                    .buffers = buffers,
                                    .buffer_count = 5,
                                    .instrs = instrs,
                                    .instr_count = 1,
                                    .once = once,
                                    .once_count = 2,
                                    .kept_count = 2,
                                    .indices = indices,
                                    .index_count = 10,
                                    .output_count = 1,
                                    .scalar_count = 1});
  loom_error err = {0};
  loom_plan *plan = loom_plan_load(bytes->data, bytes->size, &err);
  if (!plan) fail_msg("%s", err.message);
  return plan;
}

static loom_plan *keep_new(const float *constant) {
  loom_bytes bytes;
  loom_plan *plan = keep_plan(&bytes);
  free(bytes.data);
  loom_plan_set_const(plan, 0, constant);
  return plan;
}

static int64_t times; /* the kernel was run */
static uint32_t status_now;
static bool slowly;
static _Atomic bool held; /* until the test has done what it does meanwhile */
static volatile double zero = 0.0, one = 1.0, sink;

/* Adds the constant to what the first buffer holds; nothing else may be looked at. */
static uint32_t add_constant(void *const *b, const uint64_t *p, void *s, int64_t begin,
                             int64_t end) {
  static const float constant[] = {1, 2, 3, 4, 5, 6, 7, 8};
  const struct timespec wait = {.tv_nsec = 20000000};
  int64_t before = __atomic_fetch_add(&times, 1, __ATOMIC_RELAXED);
  if (b[1]) return LOOM_STATUS_HOST; /* an input of the call */
  if (slowly) nanosleep(&wait, NULL);
  while (held)
    nanosleep(&wait, NULL);
  for (int i = 0; i < 8; i++)
    ((float *)b[2])[i] = (before % 2 ? ((const float *)b[0])[i] : 0) + constant[i];
  if (status_now == LOOM_FP_DIVIDE) sink = one / zero;
  return status_now & ~(uint32_t)LOOM_FP_DIVIDE;
}

static uint32_t keep_run(const loom_plan *plan, float *out) {
  float a[8] = {0};
  uint64_t scalars[] = {(uint64_t)(uintptr_t)add_constant};
  void *inputs[] = {NULL, a, NULL}, *outputs[] = {out};
  memset(out, 0, 32);
  return loom_plan_run(plan,
                       &(loom_call){.inputs = inputs, .outputs = outputs, .scalars = scalars});
}

static void is_right(const float *out) {
  for (int i = 0; i < 8; i++)
    assert_true(out[i] == 2.0f * (float)(i + 1));
}

static const float constants[] = {1, 2, 3, 4, 5, 6, 7, 8};

static void computes_once(void **state) {
  float out[8];
  loom_block_stats before, after;
  loom_block_get_stats(&before);
  loom_plan *plan = keep_new(constants);
  times = 0;
  for (int i = 0; i < 5; i++) {
    assert_int_equal(keep_run(plan, out), 0);
    is_right(out);
  }
  assert_int_equal(times, 2);
  loom_block_get_stats(&after);
  size_t kept = after.live_bytes - before.live_bytes;
  assert_true(kept >= 32 && kept < 4096); /* the first buffer has been given back */
  assert_int_equal(loom_plan_kept_bytes(plan), 32);
  loom_plan_unref(plan);
  loom_block_get_stats(&after);
  assert_int_equal(after.live_bytes, before.live_bytes);
}

static void *thread_run(void *plan) {
  float out[8];
  if (keep_run(plan, out)) return plan;
  for (int i = 0; i < 8; i++)
    if (out[i] != 2.0f * (float)(i + 1)) return plan;
  return NULL;
}

static void threads_wait_for_the_first(void **state) {
  for (int round = 0; round < 3; round++) {
    pthread_t threads[THREADS];
    loom_plan *plan = keep_new(constants);
    times = 0;
    slowly = true;
    for (int i = 0; i < THREADS; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, thread_run, plan), 0);
    for (int i = 0; i < THREADS; i++) {
      void *failed;
      pthread_join(threads[i], &failed);
      assert_null(failed);
    }
    assert_int_equal(times, 2);
    slowly = false;
    loom_plan_unref(plan);
  }
}

static void a_forked_child_begins_anew(void **state) {
  pthread_t thread;
  void *failed;
  int status;
  loom_plan *plan = keep_new(constants);
  times = 0;
  held = true;
  assert_int_equal(pthread_create(&thread, NULL, thread_run, plan), 0);
  while (!__atomic_load_n(&times, __ATOMIC_RELAXED))
    ;
  pid_t child = fork(); /* the other thread is in the middle of it, and not there in the child */
  if (!child) {
    times = 0;
    held = false;
    _exit(thread_run(plan) != NULL || times != 2);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  held = false;
  pthread_join(thread, &failed);
  assert_int_equal(status, 0);
  assert_null(failed);
  loom_plan_unref(plan);
}

static void a_failure_is_tried_again(void **state) {
  float out[8];
  loom_plan *plan = keep_new(constants);
  times = 0;
  status_now = LOOM_STATUS_INDEX;
  assert_int_equal(keep_run(plan, out), LOOM_STATUS_INDEX);
  assert_int_equal(times, 1);
  status_now = 0;
  times = 0;
  assert_int_equal(keep_run(plan, out), 0);
  is_right(out);
  loom_plan_unref(plan);
}

static void flags_are_every_runs(void **state) {
  float out[8];
  loom_plan *plan = keep_new(constants);
  times = 0;
  status_now = LOOM_FP_DIVIDE;
  for (int i = 0; i < 3; i++)
    assert_int_equal(keep_run(plan, out), LOOM_FP_DIVIDE);
  status_now = 0;
  assert_int_equal(times, 2);
  loom_plan_unref(plan);
}

static void other_constants_are_computed_again(void **state) {
  float out[8];
  loom_plan *plan = keep_new(constants);
  times = 0;
  keep_run(plan, out);
  loom_plan_set_const(plan, 0, constants);
  keep_run(plan, out);
  assert_int_equal(times, 4);
  is_right(out);
  loom_plan_unref(plan);
}

static void refuses_damage(void **state) {
  loom_bytes bytes;
  loom_error err = {0};
  loom_plan_unref(keep_plan(&bytes));
  loom_plan_header *h = (loom_plan_header *)bytes.data;
  loom_plan_instr *once = (loom_plan_instr *)(bytes.data + h->once.offset);
  once[1].opcode = LOOM_PLAN_COPY;
  build_seal_plan(bytes.data, bytes.size);
  assert_null(loom_plan_load(bytes.data, bytes.size, &err));
  once[1].opcode = LOOM_PLAN_LAUNCH;
  h->once.count = 0; /* nothing makes what is kept */
  build_seal_plan(bytes.data, bytes.size);
  assert_null(loom_plan_load(bytes.data, bytes.size, &err));
  h->once.count = 2;
  build_seal_plan(bytes.data, bytes.size);
  build_survive_damage(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(computes_once),
      cmocka_unit_test(threads_wait_for_the_first),
      cmocka_unit_test(a_forked_child_begins_anew),
      cmocka_unit_test(a_failure_is_tried_again),
      cmocka_unit_test(flags_are_every_runs),
      cmocka_unit_test(other_constants_are_computed_again),
      cmocka_unit_test(refuses_damage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
