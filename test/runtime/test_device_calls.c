/* device_run.c, device_control.c: plans on a device with sizes of symbols, with calls of the host
 * between launches and in loops, on a stream of others and in memory of the caller. On the tests'
 * drivers (nullgpu.h), with kernels of C. */
#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "devices.h"

enum { COUNT = 100, BYTES = COUNT * sizeof(float) };

static uint32_t add(void *const *buffers, const uint64_t *params, void *scratch, int64_t begin,
                    int64_t end) {
  const float *a = buffers[0], *b = buffers[1];
  for (int64_t i = begin; i < end; i++)
    ((float *)buffers[2])[i] = a[i] + b[i];
  return 0;
}

/* Writes its one parameter, a register, to each element. */
static uint32_t tell(void *const *buffers, const uint64_t *params, void *scratch, int64_t begin,
                     int64_t end) {
  for (int64_t i = begin; i < end; i++)
    ((float *)buffers[1])[i] = ((const float *)buffers[0])[i] + (float)params[0];
  return 0;
}

static const uint32_t kernel_flags[] = {LOOM_PLAN_KERNEL_SILENT, LOOM_PLAN_KERNEL_SILENT,
                                        LOOM_PLAN_KERNEL_SILENT};
static const uint32_t kernel_lists[] = {LOOM_PLAN_KERNEL_LISTS(3, 1), LOOM_PLAN_KERNEL_LISTS(2, 1),
                                        LOOM_PLAN_KERNEL_LISTS(3, 1)};

static const char *device_code(void) {
  static char code[TEST_IMAGE_SIZE];
  memset(code, 0, sizeof code);
#ifdef NULL_HIP /* a code object without kernels: they are the tests' own */
  Elf64_Ehdr header = {
      .e_type = ET_DYN, .e_machine = 224, .e_shoff = sizeof header, .e_flags = 0x3f};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_OSABI] = 64;
  memcpy(code, &header, sizeof header);
#else
  snprintf(code, sizeof code, ".version 7.0\n.target sm_80\n");
#endif
  return code;
}

/* Made for the driver of the tests. */
static loom_bytes plan_build(plan_parts parts) {
  parts.target = NULL_SYMBOL(LOOM_PLAN_NVPTX, LOOM_PLAN_AMDGPU);
  parts.device_code = device_code();
  parts.kernel_flags = kernel_flags;
  parts.kernel_lists = kernel_lists;
  return build_plan(&parts);
}

/* With n elements: arena = a + b; the host makes another part of the arena of it; out = that + n;
 * out2 = arena. Registers: n, 4, 64, 512; n * 4 (bytes), that + 64 (a place), that + 512 (the
 * arena). n has to be 64 at most. */
static loom_plan *plan_new(void) {
  enum { N, FOUR, PLACE, REST, SIZE, AT, ARENA, REGISTERS };
  const uint32_t sized = LOOM_PLAN_SIZE_REGISTER, placed = sized | LOOM_PLAN_OFFSET_REGISTER;
  const int64_t constants[] = {4, 64, 512};
  const loom_plan_input inputs[] = {{LOOM_PLAN_ARRAY, 0}, {LOOM_PLAN_ARRAY, 1}};
  const loom_plan_buffer buffers[] = {{LOOM_PLAN_BUFFER_INPUT, 0, 0, SIZE, sized, 0},
                                      {LOOM_PLAN_BUFFER_INPUT, 1, 0, SIZE, sized, 0},
                                      {LOOM_PLAN_BUFFER_ARENA, 0, 0, SIZE, sized, 0},
                                      {LOOM_PLAN_BUFFER_ARENA, 0, AT, SIZE, placed, 0},
                                      {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, SIZE, sized, 0},
                                      {LOOM_PLAN_BUFFER_OUTPUT, 1, 0, SIZE, sized, 0}};
  const uint32_t indices[] = {0, 1, 2, 2, 3, 3, 4, LOOM_PLAN_PARAM_REGISTER | N};
  const loom_plan_instr instrs[] = {
      {.opcode = LOOM_PLAN_SIZE, .op = LOOM_EXPR_MUL, .a = SIZE, .b = N, .c = FOUR},
      {.opcode = LOOM_PLAN_SIZE, .op = LOOM_EXPR_ADD, .a = AT, .b = SIZE, .c = PLACE},
      {.opcode = LOOM_PLAN_SIZE, .op = LOOM_EXPR_ADD, .a = ARENA, .b = AT, .c = REST},
      {.opcode = LOOM_PLAN_CHECK, .op = LOOM_PLAN_CHECK_LE, .a = N, .b = PLACE},
      {.opcode = LOOM_PLAN_LAUNCH,
       .device = 1,
       .buffer_count = 3,
       .chunks = N,
       .flags = LOOM_PLAN_CHUNKS_REGISTER},
      {.opcode = LOOM_PLAN_HOST_CALL, .a = 4, .b = 7, .c = 1, .buffers = 3, .buffer_count = 2},
      {.opcode = LOOM_PLAN_LAUNCH,
       .device = 1,
       .a = 1,
       .buffers = 5,
       .buffer_count = 2,
       .params = 7,
       .param_count = 1,
       .chunks = N,
       .flags = LOOM_PLAN_CHUNKS_REGISTER},
      {.opcode = LOOM_PLAN_COPY, .device = 1, .a = 2, .b = 5}};
  const plan_parts parts = {.inputs = inputs,
                            .input_count = 2,
                            .buffers = buffers,
                            .buffer_count = 6,
                            .instrs = instrs,
                            .instr_count = 8,
                            .indices = indices,
                            .index_count = 8,
                            .output_count = 2,
                            .constants = constants,
                            .constant_count = 3,
                            .symbol_count = 1,
                            .register_count = REGISTERS,
                            .prologue = 4,
                            .flags = LOOM_PLAN_ARENA_REGISTER,
                            .arena_size = ARENA};
  return build_load(plan_build(parts));
}

enum { STEPS = 5, WIDTH = 8 };

/* The body (index, x, y) -> x + y, which the host copies from the arena. */
static loom_bytes body_bytes(void) {
  const loom_plan_input inputs[] = {
      {LOOM_PLAN_ARRAY, 0}, {LOOM_PLAN_ARRAY, 1}, {LOOM_PLAN_ARRAY, 2}};
  const loom_plan_buffer buffers[] = {{LOOM_PLAN_BUFFER_INPUT, 0, 0, 8, 0, 0},
                                      {LOOM_PLAN_BUFFER_INPUT, 1, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_INPUT, 2, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_ARENA, 0, 64, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, 32, 0, 0}};
  const uint32_t indices[] = {1, 2, 3, 3, 4};
  const loom_plan_instr instrs[] = {
      {.opcode = LOOM_PLAN_LAUNCH, .device = 1, .buffer_count = 3, .chunks = WIDTH},
      {.opcode = LOOM_PLAN_HOST_CALL, .a = 4, .b = 7, .c = 1, .buffers = 3, .buffer_count = 2}};
  return plan_build((plan_parts){.inputs = inputs,
                                 .input_count = 3,
                                 .buffers = buffers,
                                 .buffer_count = 5,
                                 .instrs = instrs,
                                 .instr_count = 2,
                                 .indices = indices,
                                 .index_count = 5,
                                 .output_count = 1,
                                 .arena_size = 96,
                                 .flags = LOOM_PLAN_REGION});
}

/* Inputs (any), x, y, of WIDTH floats. STEPS times: x += y. Results: both. */
static loom_plan *loop_new(void) {
  const loom_plan_input inputs[] = {
      {LOOM_PLAN_ARRAY, 0}, {LOOM_PLAN_ARRAY, 1}, {LOOM_PLAN_ARRAY, 2}};
  const loom_plan_buffer buffers[] = {{LOOM_PLAN_BUFFER_INPUT, 0, 0, 8, 0, 0},
                                      {LOOM_PLAN_BUFFER_INPUT, 1, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_INPUT, 2, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, 32, 0, 0},
                                      {LOOM_PLAN_BUFFER_OUTPUT, 1, 0, 32, 0, 0}};
  const uint32_t indices[] = {0, 1, 2, 3, 4, 0, LOOM_PLAN_CARRY_BEFORE | 1};
  const loom_plan_instr instrs[] = {{.opcode = LOOM_PLAN_FOR,
                                     .op = STEPS + 1,
                                     .a = 1,
                                     .c = 2,
                                     .buffer_count = 5,
                                     .params = 5,
                                     .param_count = 2}};
  loom_bytes regions[] = {body_bytes()};
  return build_load(plan_build((plan_parts){.inputs = inputs,
                                            .input_count = 3,
                                            .buffers = buffers,
                                            .buffer_count = 5,
                                            .instrs = instrs,
                                            .instr_count = 1,
                                            .indices = indices,
                                            .index_count = 7,
                                            .output_count = 2,
                                            .regions = regions,
                                            .region_count = 1}));
}

static void (*capture)(void *stream); /* loom_nullgpu_capture() */

typedef struct calls {
  loom_device *device, *on;
  loom_plan *plan;
  loom_device_plan *loaded;
  loom_address memory[4];
  int64_t n;
  int made;
  bool fails;
  /* With memory of the caller: what was asked for, what is not released yet; the one that there is
   * not (1: the first; 0: there is all). */
  bool lends;
  int lent, held, missing;
} calls;

static loom_address lend(void *context, size_t size) {
  calls *c = context;
  loom_error err;
  loom_address memory = 0;
  if (++c->lent == c->missing) return 0;
  assert_true(loom_device_alloc(c->on, size, &memory, &err));
  c->held++;
  return memory;
}

static void take_back(void *context, loom_address memory) {
  calls *c = context;
  assert_int_not_equal(memory, 0);
  loom_device_free(c->on, memory);
  c->held--;
}

/* Copies on the stream that the run is ordered on: the first launch's work comes before that. */
static int host(void *context, const loom_host_call *call) {
  calls *c = context;
  c->made++;
  assert_string_equal(call->name, "call");
  assert_int_equal(call->slot, 7);
  assert_int_equal(call->reads, 1);
  assert_int_equal(call->count, 2);
  assert_int_equal(call->symbols[0], c->n);
  if (c->fails) return 1;
  assert_int_equal(other.MemcpyDtoDAsync((uintptr_t)call->buffers[1], (uintptr_t)call->buffers[0],
                                         (size_t)c->n * sizeof(float),
                                         (void *)(uintptr_t)loom_device_stream(c->on)),
                   0);
  return 0;
}

/* Of the loop. */
static int copies(void *context, const loom_host_call *call) {
  calls *c = context;
  assert_int_equal(call->count, 2);
  if (++c->made == 3 && c->fails) return 1;
  assert_int_equal(other.MemcpyDtoDAsync((uintptr_t)call->buffers[1], (uintptr_t)call->buffers[0],
                                         WIDTH * sizeof(float),
                                         (void *)(uintptr_t)loom_device_stream(c->on)),
                   0);
  return 0;
}

static bool calls_run_by(calls *c, loom_host_fn function, const loom_address *inputs,
                         uint32_t *status, loom_error *err) {
  loom_device_call call = {.inputs = inputs,
                           .outputs = c->memory + 2,
                           .symbols = &c->n,
                           .on = c->on == c->device ? NULL : c->on,
                           .graphs = true, /* there is none of such plans */
                           .host = function,
                           .host_context = c,
                           .allocate = c->lends ? lend : NULL,
                           .release = c->lends ? take_back : NULL,
                           .memory_context = c};
  return loom_device_plan_run(c->loaded, &call, status, err);
}

static bool calls_run(calls *c, uint32_t *status, loom_error *err) {
  return calls_run_by(c, host, c->memory, status, err);
}

/* On the device's own stream, or on another one. */
static void calls_open(calls *c, loom_plan *plan, bool another) {
  loom_error err = {0};
  float values[2][COUNT];
  *c = (calls){.plan = plan};
  if (!loom_device_open(DEVICE_0, &c->device, &err)) fail_msg("%s", err.message);
  null.kernel("add", add, 3, 1, 64, 0);
  null.kernel("call", tell, 2, 1, 64, 0);
  null.kernel("fill", add, 3, 1, 64, 0); /* never launched */
  c->on = c->device;
  if (another) {
    void *stream = NULL;
#ifndef NULL_HIP
    void *context = NULL;
    assert_int_equal(other.PrimaryCtxRetain(&context, 100), 0);
    assert_int_equal(other.CtxPushCurrent(context), 0);
#endif
    assert_int_equal(other.StreamCreate(&stream, 0), 0);
#ifndef NULL_HIP
    assert_int_equal(other.CtxPopCurrent(&context), 0);
#endif
    c->on = loom_device_on(c->device, stream, &err);
    assert_non_null(c->on);
    assert_ptr_not_equal(c->on, c->device);
    assert_ptr_equal(loom_device_on(c->device, stream, &err), c->on);
  }
  assert_ptr_equal(
      loom_device_on(c->device, (void *)(uintptr_t)loom_device_stream(c->device), &err), c->device);
  if (!loom_device_plan_load(c->device, c->plan, &c->loaded, &err)) fail_msg("%s", err.message);
  for (int i = 0; i < 4; i++)
    assert_true(loom_device_alloc(c->on, BYTES, &c->memory[i], &err));
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < COUNT; k++)
      values[i][k] = (float)(k * (i + 1));
    assert_true(loom_device_upload(c->on, c->memory[i], values[i], BYTES, &err));
  }
}

static void calls_close(calls *c) {
  for (int i = 0; i < 4; i++)
    loom_device_free(c->on, c->memory[i]);
  loom_device_plan_free(c->loaded);
  loom_plan_unref(c->plan);
}

static void calls_check(const calls *c) {
  loom_error err = {0};
  float out[2][COUNT];
  for (int i = 0; i < 2; i++)
    assert_true(loom_device_download(c->on, out[i], c->memory[2 + i], BYTES, &err));
  for (int k = 0; k < c->n; k++) {
    assert_true(out[0][k] == (float)(3 * k) + (float)c->n);
    assert_true(out[1][k] == (float)(3 * k));
  }
  assert_true(out[0][c->n] != out[0][c->n]); /* nobody has written it */
}

static void sizes_and_calls(bool another) {
  calls c;
  loom_error err = {0};
  uint32_t status;
  for (int64_t n = 1; n <= 64; n += 21) {
    calls_open(&c, plan_new(), another);
    c.n = n;
    if (!calls_run(&c, &status, &err)) fail_msg("%s", err.message);
    assert_int_equal(status, 0);
    assert_int_equal(c.made, 1);
    calls_check(&c);
    calls_close(&c);
  }
}

static void on_the_devices_stream(void **state) { sizes_and_calls(false); }

/* Nothing is ordered on the device's own: the null driver would run it too late. */
static void on_a_stream_of_others(void **state) { sizes_and_calls(true); }

static void a_captured_stream_is_refused(void **state) {
  calls c;
  loom_error err = {0};
  uint32_t status;
  calls_open(&c, plan_new(), true);
  c.n = 5;
  capture((void *)(uintptr_t)loom_device_stream(c.on));
  assert_false(calls_run(&c, &status, &err));
  assert_non_null(strstr(err.message, DEVICE_0 " is being captured into a graph"));
  capture(NULL);
  assert_true(calls_run(&c, &status, &err));
  calls_check(&c);
  calls_close(&c);
}

static void sizes_that_do_not_fit(void **state) {
  calls c;
  loom_error err = {0};
  uint32_t status = 0;
  calls_open(&c, plan_new(), false);
  c.n = 65;
  assert_true(calls_run(&c, &status, &err));
  assert_int_equal(status, LOOM_STATUS_SIZE);
  assert_int_equal(c.made, 0);
  loom_device_call call = {.inputs = c.memory, .outputs = c.memory + 2, .host = host};
  assert_true(loom_device_plan_run(c.loaded, &call, &status, &err)); /* no symbols at all */
  assert_int_equal(status, LOOM_STATUS_SIZE);
  calls_close(&c);
}

static void a_call_that_fails_ends_the_run(void **state) {
  calls c;
  loom_error err = {0};
  uint32_t status = 0;
  calls_open(&c, plan_new(), false);
  c.n = 5;
  c.fails = true;
  assert_true(calls_run(&c, &status, &err));
  assert_int_equal(status, LOOM_STATUS_HOST);
  loom_device_call call = {.inputs = c.memory, .outputs = c.memory + 2, .symbols = &c.n};
  assert_false(loom_device_plan_run(c.loaded, &call, &status, &err));
  assert_string_equal(err.message, "call runs on the host");
  c.fails = false;
  assert_true(calls_run(&c, &status, &err));
  calls_check(&c);
  calls_close(&c);
}

static void in_memory_of_the_caller(void **state) {
  calls c;
  loom_error err = {0};
  uint32_t status;
  calls_open(&c, plan_new(), true);
  c.n = 9;
  c.lends = true;
  long before = null.calls(NULL_SYMBOL("cuMemAllocAsync", "hipMallocAsync"));
  assert_true(calls_run(&c, &status, &err));
  assert_int_equal(status, 0);
  assert_int_equal(c.lent, 1);
  assert_int_equal(c.held, 0);
  assert_int_equal(null.calls(NULL_SYMBOL("cuMemAllocAsync", "hipMallocAsync")), before + 1);
  calls_check(&c);
  assert_int_equal(loom_device_plan_facts_of(c.loaded).graph, LOOM_GRAPH_WAITS);
  assert_true(calls_run(&c, &status, &err)); /* a graph on this stream, behind the call */
  calls_check(&c);
  assert_int_equal(loom_device_plan_facts_of(c.loaded).graph, LOOM_GRAPH_USED);
  c.lent = 0;
  c.missing = 1;
  assert_false(calls_run(&c, &status, &err));
  assert_non_null(strstr(err.message, "on " DEVICE_0 " cannot be allocated"));
  calls_close(&c);
}

static void loop_check(const calls *c) {
  loom_error err = {0};
  float out[2][WIDTH];
  for (int i = 0; i < 2; i++)
    assert_true(loom_device_download(c->on, out[i], c->memory[2 + i], sizeof out[i], &err));
  for (int k = 0; k < WIDTH; k++) {
    assert_true(out[0][k] == (float)(k + STEPS * 2 * k));
    assert_true(out[1][k] == (float)(2 * k));
  }
}

/* A loop whose body calls the host, on either stream and in either memory; then with each piece of
 * memory missing once, until nothing is missing. */
static void calls_in_a_loop(void **state) {
  for (int way = 0; way < 4; way++) {
    calls c;
    loom_error err = {0};
    uint32_t status;
    calls_open(&c, loop_new(), way & 1);
    c.lends = way & 2;
    const loom_address inputs[] = {c.memory[0], c.memory[0], c.memory[1]};
    if (!calls_run_by(&c, copies, inputs, &status, &err)) fail_msg("%s", err.message);
    assert_int_equal(status, 0);
    assert_int_equal(c.made, STEPS);
    assert_int_equal(c.held, 0);
    loop_check(&c);
    c.made = 0;
    c.fails = true;
    assert_true(calls_run_by(&c, copies, inputs, &status, &err));
    assert_int_equal(status, LOOM_STATUS_HOST);
    assert_int_equal(c.made, 3);
    assert_int_equal(c.held, 0);
    c.fails = false;
    for (c.missing = c.lends;; c.missing++) { /* 0: nothing is */
      c.lent = 0;
      if (calls_run_by(&c, copies, inputs, &status, &err)) break;
      assert_non_null(strstr(err.message, "cannot be allocated"));
      assert_int_equal(c.held, 0);
    }
    assert_true(!c.lends || c.missing > 3); /* spare buffers, the body's arena, the index */
    loop_check(&c);
    calls_close(&c);
  }
}

int main(void) {
  void *library = dlopen(DRIVER_LIBRARY, RTLD_NOW);
  void *found = library ? dlsym(library, "loom_nullgpu_capture") : NULL;
  memcpy(&capture, &found, sizeof found);
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_captured_stream_is_refused),
                                     cmocka_unit_test(on_the_devices_stream),
                                     cmocka_unit_test(on_a_stream_of_others),
                                     cmocka_unit_test(sizes_that_do_not_fit),
                                     cmocka_unit_test(a_call_that_fails_ends_the_run),
                                     cmocka_unit_test(in_memory_of_the_caller),
                                     cmocka_unit_test(calls_in_a_loop)};
  return cmocka_run_group_tests(tests, open_driver, close_driver);
}
