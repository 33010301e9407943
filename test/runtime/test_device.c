/* cuda.c, hip.c, device.c, device_plan.c, device_run.c: work on a device, on the tests' driver
 * (nullgpu.h). Kernels are functions of C. With NULL_HIP it is about HIP, else about CUDA. */
#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "devices.h"

enum { COUNT = 1000 };

/* ---- plans ---- */

static uint32_t add(void *const *buffers, const uint64_t *params, void *scratch, int64_t begin,
                    int64_t end) {
  const float *a = buffers[0], *b = buffers[1];
  for (int64_t i = begin; i < end; i++)
    ((float *)buffers[2])[i] = a[i] + b[i];
  return 0;
}

/* A block a chunk: adds the parameter, and reports an index where an element is above 1e6. */
static uint32_t shift(void *const *buffers, const uint64_t *params, void *scratch, int64_t begin,
                      int64_t end) {
  uint32_t status = LOOM_FP_INVALID;
  for (int64_t i = begin; i < end; i++) {
    float by;
    memcpy(&by, params, sizeof by);
    ((float *)buffers[1])[i] = ((const float *)buffers[0])[i] + by;
    if (((const float *)buffers[0])[i] > 1e6f) status |= LOOM_STATUS_INDEX;
  }
  return status;
}

static uint32_t breaks(void *const *buffers, const uint64_t *params, void *scratch, int64_t begin,
                       int64_t end) {
  return LOOM_STATUS_BOUNDS;
}

/* A map of what kernel 0 reads, with CUDA. */
static loom_tensor_map kernel_maps[3] = {
    {.kernel = 0, .buffer = 0, .extents = {64, 1, 1}, .strides = {128, 128}, .box = {64, 1}}};
static uint32_t kernel_map_count = NULL_SYMBOL(1, 0), kernel_shared;
static const uint32_t kernel_flags[] = {LOOM_PLAN_KERNEL_SILENT, LOOM_PLAN_KERNEL_BLOCKS, 0};
static const uint32_t kernel_lists[] = {LOOM_PLAN_KERNEL_LISTS(3, 1), LOOM_PLAN_KERNEL_LISTS(2, 1),
                                        LOOM_PLAN_KERNEL_LISTS(1, 1)};

/* arena = a + b; out = arena; out2 = out + scalar. `last`: the kernel of the last launch. */
static loom_bytes plan_bytes(uint32_t last) {
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
  const uint32_t size = COUNT * sizeof(float);
  const loom_plan_input inputs[] = {
      {LOOM_PLAN_ARRAY, 0}, {LOOM_PLAN_CONST, 1}, {LOOM_PLAN_SCALAR, 0}};
  const loom_plan_buffer buffers[] = {{LOOM_PLAN_BUFFER_INPUT, 0, 0, size, 0, 0},
                                      {LOOM_PLAN_BUFFER_INPUT, 1, 0, size, 0, 0},
                                      {LOOM_PLAN_BUFFER_ARENA, 0, 64, size, 0, 0},
                                      {LOOM_PLAN_BUFFER_OUTPUT, 0, 0, size, 0, 0},
                                      {LOOM_PLAN_BUFFER_OUTPUT, 1, 0, size, 0, 0}};
  const uint32_t indices[] = {0, 1, 2, 3, 4, 0};
  const loom_plan_instr instrs[] = {
      {.opcode = LOOM_PLAN_LAUNCH, .device = 1, .a = 0, .buffer_count = 3, .chunks = COUNT},
      {.opcode = LOOM_PLAN_COPY, .device = 1, .a = 2, .b = 3},
      {.opcode = LOOM_PLAN_LAUNCH,
       .device = 1,
       .a = last,
       .buffers = 3,
       .buffer_count = 2,
       .params = 5,
       .param_count = 1,
       .chunks = COUNT}};
  const plan_parts parts = {.inputs = inputs,
                            .input_count = 3,
                            .buffers = buffers,
                            .buffer_count = 5,
                            .instrs = instrs,
                            .instr_count = 3,
                            .indices = indices,
                            .index_count = 6,
                            .output_count = 2,
                            .scalar_count = 1,
                            .arena_size = 64 + size,
                            .target = NULL_SYMBOL(LOOM_PLAN_NVPTX, LOOM_PLAN_AMDGPU),
                            .device_code = code,
                            .kernel_flags = kernel_flags,
                            .kernel_lists = kernel_lists,
                            .maps = kernel_maps,
                            .map_count = kernel_map_count,
                            .shared = kernel_shared};
  return build_plan(&parts);
}

static loom_device *open_device(void) {
  loom_device *device;
  loom_error err = {0};
  if (!loom_device_open(DEVICE_0, &device, &err)) fail_msg("%s", err.message);
  null.kernel("add", add, 3, 1, 64, 0);
  null.kernel("call", shift, 2, 1, 64, LOOM_PLAN_KERNEL_BLOCKS);
  null.kernel("fill", breaks, 1, 1, 64, 0);
  return device;
}

typedef struct work {
  loom_device *device;
  loom_plan *plan;
  loom_device_plan *loaded;
  loom_address memory[4];
  float in[2][COUNT], out[2][COUNT];
  uint32_t status;
  bool graphs;
} work;

static void work_fini(work *w) {
  for (int i = 0; i < 4; i++)
    loom_device_free(w->device, w->memory[i]);
  loom_device_plan_free(w->loaded);
  loom_plan_unref(w->plan);
}

static bool work_fill(work *w, int i, loom_error *err) {
  for (int k = 0; k < COUNT; k++)
    w->in[i][k] = (float)(k * (i + 1));
  if (!loom_device_upload(w->device, w->memory[i], w->in[i], sizeof w->in[0], err)) return false;
  memset(w->in[i], 0, sizeof w->in[i]); /* it has been read */
  return true;
}

/* A run, with a graph five: by turns results change places and the number changes, and once the
 * second result is in the place of the first input. The last one is as the first. */
static bool work_run(work *w, loom_error *err) {
  static const int places[5][2] = {{2, 3}, {3, 2}, {3, 2}, {2, 0}, {2, 3}};
  for (int i = w->graphs ? 0 : 4; i < 5; i++) {
    const loom_address inputs[] = {w->memory[0], w->memory[1], 0};
    const loom_address outputs[] = {w->memory[places[i][0]], w->memory[places[i][1]]};
    float by = i == 4 ? 0.5f : (float)i;
    uint64_t scalar = 0;
    memcpy(&scalar, &by, sizeof by);
    loom_device_call call = {
        .inputs = inputs, .scalars = &scalar, .outputs = outputs, .graphs = w->graphs};
    if (!loom_device_plan_run(w->loaded, &call, &w->status, err)) return false;
    if (i == 3 && !work_fill(w, 0, err)) return false;
  }
  return true;
}

/* All that a caller does. False: something failed. */
static bool work_do(work *w, uint32_t last, loom_error *err) {
  memset(w->memory, 0, sizeof w->memory);
  w->loaded = NULL;
  w->plan = build_load(plan_bytes(last));
  for (int i = 0; i < 4; i++)
    if (!loom_device_alloc(w->device, sizeof w->in[0], &w->memory[i], err)) return false;
  for (int i = 0; i < 2; i++)
    if (!work_fill(w, i, err)) return false;
  if (!loom_device_plan_load(w->device, w->plan, &w->loaded, err) || !work_run(w, err))
    return false;
  for (int i = 0; i < 2; i++)
    if (!loom_device_download(w->device, w->out[i], w->memory[2 + i], sizeof w->out[0], err))
      return false;
  return true;
}

static void work_check(const work *w) {
  assert_int_equal(w->status, 0);
  for (int k = 0; k < COUNT; k++) {
    assert_true(w->out[0][k] == (float)(3 * k));
    assert_true(w->out[1][k] == (float)(3 * k) + 0.5f);
  }
}

static const char *const kinds[] = {"memory", "module", "link", "stream", "event", "graph", "exec"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Behind work that has been done: what is still there. */
static void settle(loom_device *device, long out[KINDS]) {
  assert_true(loom_device_wait(device, NULL));
  assert_int_equal(null.pending(), 0);
  assert_int_equal(null.depth(), 0);
  assert_int_equal(NULL_SYMBOL(0, null.last()), 0);
  for (int i = 0; i < KINDS; i++)
    out[i] = null.live(kinds[i]);
}

static void a_plan_runs(void **state) {
  work w = {.device = open_device()};
  loom_error err = {0};
  long after[KINDS];
  assert_string_equal(loom_device_architecture(w.device), NULL_SYMBOL("sm_90", "gfx90a"));
  assert_string_equal(loom_device_kind(w.device), DEVICE);
  assert_true(loom_device_is_simulated(w.device));
  for (int i = 0; i < 3; i++) {
    if (!work_do(&w, 1, &err)) fail_msg("%s", err.message);
    work_check(&w);
    work_fini(&w);
    settle(w.device, after);
    assert_int_equal(after[0] + after[1] + after[2], 0);
  }
}

/* Nothing waits before a result is read, where kernels report nothing. */
static void work_is_only_ordered(void **state) {
  loom_device *device = open_device();
  loom_address memory;
  float value = 3, back = 0;
  assert_true(loom_device_alloc(device, 4, &memory, NULL));
  assert_true(loom_device_upload(device, memory, &value, 4, NULL));
  long waits = null.calls(NULL_SYMBOL("cuStreamSynchronize", "hipStreamSynchronize"));
  value = 4; /* the upload has read it */
  assert_true(null.pending() > 0);
  assert_int_equal(null.calls(NULL_SYMBOL("cuStreamSynchronize", "hipStreamSynchronize")), waits);
  assert_true(loom_device_download(device, &back, memory, 4, NULL));
  assert_true(back == 3);
  loom_device_free(device, memory);
  assert_int_equal(null.pending(), 1);
  assert_true(loom_device_wait(device, NULL));
}

static loom_address touched;
static void touch(void) {
  if (*(volatile char *)(uintptr_t)touched) _exit(7);
}

static void the_host_cannot_touch_device_memory(void **state) {
  loom_device *device = open_device();
  assert_true(loom_device_alloc(device, 4, &touched, NULL));
  assert_true(loom_device_wait(device, NULL));
  fflush(NULL);
  pid_t child = fork();
  if (!child) {
    signal(SIGSEGV, SIG_DFL);
    touch();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  assert_true(WIFSIGNALED(status));
  loom_device_free(device, touched);
}

/* Errors of kernels come at the call, floating-point flags not at all. */
static void kernels_report_errors(void **state) {
  work w = {.device = open_device()};
  loom_error err = {0};
  assert_true(work_do(&w, 1, &err));
  assert_int_equal(w.status, 0); /* it raised a flag */
  float large = 2e6f;
  uint64_t scalar = 0;
  assert_true(loom_device_upload(w.device, w.memory[0], &large, 4, &err));
  const loom_address inputs[] = {w.memory[0], w.memory[1], 0};
  loom_device_call call = {.inputs = inputs, .scalars = &scalar, .outputs = &w.memory[2]};
  assert_true(loom_device_plan_run(w.loaded, &call, &w.status, &err));
  assert_int_equal(w.status, LOOM_STATUS_INDEX);
  work_fini(&w);
}

static void a_kernel_breaks(void) {
  work w = {.device = open_device()};
  loom_error err = {0};
  if (work_do(&w, 2, &err)) _exit(1);
  if (!strstr(err.message, "the work of " DEVICE_0 " has failed: unspecified launch failure") &&
      !strstr(err.message, " bytes of a run on " DEVICE_0 " cannot be read: unspecified")) {
    fprintf(stderr, "%s\n", err.message);
    _exit(2);
  }
  if (loom_device_wait(w.device, &err)) _exit(3); /* as long as the process lives */
}

/* ---- other streams ---- */

static void in_context(void **stream) {
#ifndef NULL_HIP
  void *context = NULL;
  assert_int_equal(other.PrimaryCtxRetain(&context, 100), 0);
  assert_int_equal(other.CtxPushCurrent(context), 0);
#endif
  if (!*stream) assert_int_equal(other.StreamCreate(stream, 0), 0);
}

static void out_of_context(void) {
#ifndef NULL_HIP
  void *context;
  assert_int_equal(other.CtxPopCurrent(&context), 0);
  assert_int_equal(other.PrimaryCtxRelease(100), 0);
#endif
}

static void streams_wait_for_each_other(void **state) {
  loom_device *device = open_device();
  void *stream = NULL;
  uint64_t theirs = 0;
  loom_address ours;
  int value = 7, back = 0;
  in_context(&stream);
  assert_int_equal(other.MemAllocAsync(&theirs, 4, stream), 0);
  assert_int_equal(other.MemcpyHtoDAsync(theirs, &value, 4, stream), 0);
  /* The device reads what the other stream has yet to write ... */
  assert_true(loom_device_after(device, (uint64_t)(uintptr_t)stream, NULL));
  assert_true(loom_device_download(device, &back, theirs, 4, NULL));
  assert_int_equal(back, 7);
  /* ... and the other stream what the device has yet to write. */
  assert_true(loom_device_alloc(device, 4, &ours, NULL));
  value = 8;
  assert_true(loom_device_upload(device, ours, &value, 4, NULL));
  assert_true(loom_device_before(device, (uint64_t)(uintptr_t)stream, NULL));
  assert_int_equal(other.MemcpyDtoHAsync(&back, ours, 4, stream), 0);
  assert_int_equal(back, 8);
  assert_true(loom_device_owns(device, ours, NULL));
  loom_error err = {0};
  assert_false(loom_device_owns(device, (loom_address)(uintptr_t)&value, &err));
  assert_non_null(strstr(err.message, "an address is no memory of " DEVICE_0 ": invalid argument"));
  loom_device_free(device, ours);
  assert_true(loom_device_before(device, (uint64_t)(uintptr_t)stream, NULL));
  assert_int_equal(other.MemFreeAsync(theirs, stream), 0);
  assert_int_equal(other.StreamSynchronize(stream), 0);
  assert_int_equal(other.StreamDestroy(stream), 0);
  out_of_context();
}

/* ---- failures ---- */

/* With each call of the driver failed once, in each place where it is made. Without graphs those of
 * graphs are never made. */
static void fail_each_call(bool graphs) {
  static const char *const symbols[] = {
#define LOOM_DRIVER(NAME, CUDA, HIP, PARAMETERS) NULL_SYMBOL(CUDA, HIP),
#include "runtime/driver.def"
#undef LOOM_DRIVER
#ifdef NULL_HIP
#define LOOM_HIP(NAME, SYMBOL, PARAMETERS) SYMBOL,
#include "runtime/hip.def"
#undef LOOM_HIP
#else
#define LOOM_CUDA(NAME, SYMBOL, PARAMETERS) SYMBOL,
#include "runtime/cuda.def"
#undef LOOM_CUDA
#endif
  };
  work w = {.device = open_device(), .graphs = graphs};
  int fails = 0, of_graphs = 0;
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    for (int skip = 0; skip < 100; skip++) {
      long before[KINDS], after[KINDS];
      loom_error err = {0};
      setenv("FRAMELOOM_CACHE", skip % 2 ? "1" : "0", 1);
      settle(w.device, before);
      null.fail_next(symbols[i], skip, DRIVER_UNKNOWN);
      bool good = work_do(&w, 1, &err);
      bool came = null.failed_now();
      if (came) { /* what gives something back may be unheard */
        static const char unheard[] =
            "cuLinkDestroy cuMemFreeAsync cuModuleLoadData cuCtxPushCurrent_v2 "
            "cuTensorMapEncodeTiled " /* without graphs it is made again */
            "hipFreeAsync hipGetDevice";
        bool graph = strstr(symbols[i], "Graph") != NULL; /* the run is done without it */
        of_graphs += graph;
        if (graph && !good) fail_msg("%s, call %d: %s", symbols[i], skip, err.message);
        if (good && !graph && !strstr(unheard, symbols[i]))
          fail_msg("%s failed, and nobody noticed", symbols[i]);
        if (!good && !strstr(err.message, UNKNOWN_ERROR))
          fail_msg("%s, call %d: %s", symbols[i], skip, err.message);
      }
      if (good) work_check(&w);
      null.fail_next("", 0, 0);
      work_fini(&w);
      settle(w.device, after);
      for (int k = 0; k < KINDS; k++) { /* what could not be given back stays */
        bool freed = came && strcmp(symbols[i], "cuLinkDestroy") == 0;
        if (after[k] != before[k] && !freed)
          fail_msg("%s, call %d: %ld of %s, before %ld", symbols[i], skip, after[k], kinds[k],
                   before[k]);
      }
      /* The next call works. */
      if (!work_do(&w, 1, &err)) fail_msg("after %s: %s", symbols[i], err.message);
      work_check(&w);
      work_fini(&w);
      fails += came;
      if (!came) break;
    }
  }
  unsetenv("FRAMELOOM_CACHE");
  assert_true(fails > 25);
  assert_int_equal(of_graphs != 0, graphs);
}

static void every_call_can_fail(void **state) { fail_each_call(false); }
static void every_call_of_graphs_can_fail(void **state) {
  fail_each_call(true);
  assert_non_null(strstr(loom_notice_text(LOOM_NOTICE_GRAPHS),
                         "a graph of launches on " DEVICE_0 " is not possible: unknown error"));
}

/* From the second run on; what differs from the run before is changed. */
static void launches_are_one_graph(void **state) {
  static const char launch[] = NULL_SYMBOL("cuLaunchKernelEx", "hipModuleLaunchKernel");
  static const char set[] =
      NULL_SYMBOL("cuGraphExecKernelNodeSetParams", "hipGraphExecKernelNodeSetParams");
  work w = {.device = open_device(), .graphs = true};
  loom_error err = {0};
  long launches = null.calls(launch), sets = null.calls(set);
  assert_true(work_do(&w, 1, &err));
  work_check(&w);
  loom_device_plan_facts facts = loom_device_plan_facts_of(w.loaded);
  assert_int_equal(facts.graph, LOOM_GRAPH_USED);
  assert_int_equal(facts.launches, 2);
  assert_int_equal(facts.copies, 1);
  assert_int_equal(facts.replays, 4);
  assert_int_equal(null.calls(launch), launches + 2);
  assert_true(null.calls(set) > sets);
  assert_int_equal(null.live("graph"), 1);
  assert_int_equal(null.live("exec"), 1);
  work_fini(&w);
  assert_true(loom_device_wait(w.device, &err));
  assert_int_equal(null.live("graph") + null.live("exec"), 0);
}

#ifndef NULL_HIP
static void code_comes_from_the_cache(void **state) {
  work w = {.device = open_device()};
  loom_error err = {0};
  for (int i = 0; i < 2; i++) {
    long links = null.calls("cuLinkCreate_v2");
    assert_true(work_do(&w, 1, &err));
    work_check(&w);
    work_fini(&w);
    if (i) assert_int_equal(null.calls("cuLinkCreate_v2"), links);
  }
  /* What the driver does not take is made anew. */
  long links = null.calls("cuLinkCreate_v2");
  null.fail_next("cuModuleLoadData", 0, DRIVER_INVALID_IMAGE);
  assert_true(work_do(&w, 1, &err));
  work_check(&w);
  work_fini(&w);
  assert_int_equal(null.calls("cuLinkCreate_v2"), links + 1);
}

static void too_new_code(void) {
  loom_error err = {0};
  work w = {0};
  null.describe(12040, 1, 75);
  setenv("FRAMELOOM_CACHE", "0", 1);
  w.device = open_device();
  if (work_do(&w, 1, &err) ||
      !strstr(err.message, "the driver refuses a kernel's code for sm_75: ptxas error: SM version "
                           "specified by .target is higher")) {
    fprintf(stderr, "%s\n", err.message);
    _exit(1);
  }
}

#else

/* A code object is for one architecture. */
static void other_code(void) {
  loom_error err = {0};
  work w = {0};
  null.describe(60300000, 1, 0x942);
  w.device = open_device();
  if (work_do(&w, 1, &err) ||
      !strstr(err.message, "kernels cannot be loaded on hip:0: device kernel image is invalid")) {
    fprintf(stderr, "%s\n", err.message);
    _exit(1);
  }
}

/* Whatever the thread's device was, it is so again. */
static void the_current_device_stays(void **state) {
  work w = {0};
  loom_error err = {0};
  open_device();
  assert_true(loom_device_open("hip:1", &w.device, &err));
  for (int i = 0; i < 20; i++) {
    null.fail_next("hipSetDevice", i, DRIVER_UNKNOWN);
    if (work_do(&w, 1, &err)) work_check(&w);
    work_fini(&w);
    null.fail_next("", 0, 0);
    assert_int_equal(null.depth(), 0);
    assert_int_equal(null.last(), 0);
  }
  assert_true(work_do(&w, 1, &err));
  work_check(&w);
  assert_true(loom_device_owns(w.device, w.memory[0], &err));
  assert_false(loom_device_owns(open_device(), w.memory[0], &err));
  assert_non_null(strstr(err.message, "an array lies on hip:1, not on hip:0"));
  work_fini(&w);
  assert_true(loom_device_wait(w.device, &err));
}
#endif

static void refuses_plan(void) {
  loom_error err = {0};
  loom_bytes bytes = plan_bytes(1);
  assert_null(loom_plan_load(bytes.data, bytes.size, &err));
  assert_non_null(strstr(err.message, "plan: not valid for a device"));
  free(bytes.data);
}

/* Maps of other kernels or buffers than there are, too many, in another order; shared memory. */
static void maps_are_checked(void **state) {
  const loom_tensor_map good = kernel_maps[0];
  const uint32_t count = kernel_map_count;
  static const uint32_t wrong[][2] = {{3, 0}, {0, 3}, {1, 2}};
  kernel_map_count = 1;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    kernel_maps[0].kernel = wrong[i][0];
    kernel_maps[0].buffer = wrong[i][1];
    refuses_plan();
  }
  kernel_maps[0] = good;
  kernel_maps[0].kind = LOOM_MAP_KINDS;
  refuses_plan();
  kernel_maps[0] = good;
  kernel_maps[0].parameters[1][0] = 2; /* of one */
  refuses_plan();
  kernel_map_count = 3;
  kernel_maps[0] = kernel_maps[1] = kernel_maps[2] = good;
  refuses_plan();
  kernel_map_count = 2;
  kernel_maps[0].kernel = 1;
  refuses_plan();
  kernel_maps[0] = good;
  kernel_map_count = count;
  kernel_shared = LOOM_PLAN_SHARED + 1;
  refuses_plan();
  kernel_shared = 0;
}

static void plans_are_checked(void **state) {
  build_survive_damage(plan_bytes(1));
  loom_device *device = open_device();
  loom_device_plan *loaded;
  loom_error err = {0};
  const plan_parts none = {0};
  loom_plan *plan = build_load(build_plan(&none));
  assert_false(loom_device_plan_load(device, plan, &loaded, &err));
  assert_non_null(strstr(err.message, "a plan for this machine's CPU cannot run on " DEVICE_0));
  loom_plan_unref(plan);
}

/* The context is not one that a child process may use. */
static void forked(void) {
  loom_error err = {0};
  loom_device *device;
  loom_address memory;
  if (!loom_device_open(DEVICE_0, &device, &err)) _exit(1);
  if (loom_device_alloc(device, 4, &memory, &err) || !strstr(err.message, "was forked")) _exit(2);
}

static void a_child_is_told(void **state) {
  open_device();
  apart(forked);
}

static void failures_of_their_own(void **state) {
  apart(a_kernel_breaks);
  apart(NULL_SYMBOL(too_new_code, other_code));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(failures_of_their_own), /* before a device is opened */
      cmocka_unit_test(a_plan_runs),
      cmocka_unit_test(work_is_only_ordered),
      cmocka_unit_test(the_host_cannot_touch_device_memory),
      cmocka_unit_test(kernels_report_errors),
      cmocka_unit_test(streams_wait_for_each_other),
      cmocka_unit_test(every_call_can_fail),
      cmocka_unit_test(launches_are_one_graph),
      cmocka_unit_test(every_call_of_graphs_can_fail),
      cmocka_unit_test(NULL_SYMBOL(code_comes_from_the_cache, the_current_device_stays)),
      cmocka_unit_test(maps_are_checked),
      cmocka_unit_test(plans_are_checked),
      cmocka_unit_test(a_child_is_told),
  };
  return cmocka_run_group_tests(tests, open_driver, close_driver);
}
