/* Costs of the runtime by itself: fork and join, blocks, an empty plan, the disk cache. Prints the
 * best of many. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test/runtime/build.h"

#define ROUNDS 30

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Runs `statement` `repeat` times a round, ROUNDS rounds; prints the best round's ns for one. */
#define MEASURE(label, repeat, statement)                                                          \
  do {                                                                                             \
    double best = 1e30;                                                                            \
    for (int round = 0; round < ROUNDS; round++) {                                                 \
      double start = now_ns();                                                                     \
      for (int again = 0; again < (repeat); again++) {                                             \
        statement;                                                                                 \
      }                                                                                            \
      double took = (now_ns() - start) / (repeat);                                                 \
      if (took < best) best = took;                                                                \
    }                                                                                              \
    printf("%-58s %10.1f ns\n", label, best);                                                      \
  } while (0)

static uint32_t nothing(void *const *buffers, const uint64_t *params, void *scratch, int64_t begin,
                        int64_t end) {
  return 0;
}

static void bench_threads(void) {
  char label[64];
  MEASURE("launch, 1 chunk", 10000, loom_threads_launch(nothing, NULL, NULL, 0, 0, 1));
  snprintf(label, sizeof label, "launch, 16 chunks, %d threads, workers awake",
           loom_threads_count());
  MEASURE(label, 10000, loom_threads_launch(nothing, NULL, NULL, 0, 0, 16));
  double best = 1e30;
  for (int round = 0; round < ROUNDS; round++) {
    usleep(2000);
    double start = now_ns();
    loom_threads_launch(nothing, NULL, NULL, 0, 0, 16);
    double took = now_ns() - start;
    if (took < best) best = took;
  }
  printf("%-58s %10.1f ns\n", "launch, 16 chunks, workers parked", best);
}

static void bench_blocks(void) {
  static const size_t sizes[] = {64, 4096, 60000, 262144, 4 << 20, 64 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char label[64];
    snprintf(label, sizeof label, "block of %zu bytes: alloc and free", sizes[i]);
    MEASURE(label, 10000, loom_block_free(loom_block_alloc(sizes[i]), sizes[i]));
  }
}

/* A plan of one launch of one chunk with `count` inputs and one output, whose kernel is `nothing`.
 */
static loom_plan *empty_plan(uint32_t count) {
  loom_plan_input inputs[9];
  loom_plan_buffer buffers[9];
  uint32_t indices[10] = {0};
  for (uint32_t i = 0; i < count; i++) {
    inputs[i] = (loom_plan_input){LOOM_PLAN_ARRAY, i};
    buffers[i] = (loom_plan_buffer){.kind = LOOM_PLAN_BUFFER_INPUT, .index = i, .size = 64};
    indices[i] = i;
  }
  inputs[count] = (loom_plan_input){LOOM_PLAN_SCALAR, 0};
  buffers[count] = (loom_plan_buffer){.kind = LOOM_PLAN_BUFFER_OUTPUT, .size = 64};
  indices[count] = count;
  loom_plan_instr launch = {.opcode = LOOM_PLAN_LAUNCH,
                            .a = 1,
                            .fp_mask = 15,
                            .buffer_count = count + 1,
                            .params = count + 1,
                            .param_count = 1,
                            .chunks = 1};
  loom_bytes bytes = build_plan(&(plan_parts){.inputs = inputs,
                                              .input_count = count + 1,
                                              .buffers = buffers,
                                              .buffer_count = count + 1,
                                              .instrs = &launch,
                                              .instr_count = 1,
                                              .indices = indices,
                                              .index_count = count + 2,
                                              .output_count = 1,
                                              .scalar_count = 1});
  loom_error err;
  loom_plan *plan = loom_plan_load(bytes.data, bytes.size, &err);
  free(bytes.data);
  if (!plan) fprintf(stderr, "%s\n", err.message);
  return plan;
}

static void bench_plans(void) {
  static float data[9][16];
  void *inputs[9], *outputs[] = {data[8]};
  for (int i = 0; i < 9; i++)
    inputs[i] = data[i];
  uint64_t scalars[] = {(uint64_t)(uintptr_t)nothing};
  loom_call call = {.inputs = inputs, .scalars = scalars, .outputs = outputs};
  for (uint32_t count = 1; count <= 8; count *= 2) {
    char label[64];
    snprintf(label, sizeof label, "plan of one empty kernel, %u inputs", count);
    loom_plan *plan = empty_plan(count);
    if (plan) MEASURE(label, 10000, loom_plan_run(plan, &call));
    loom_plan_unref(plan);
  }
}

static void bench_loading(void) {
  loom_bytes bytes = build_plan(&(plan_parts){.output_count = 0});
  MEASURE("plan: load (map the image) and drop", 100,
          loom_plan_unref(loom_plan_load(bytes.data, bytes.size, NULL)));
  free(bytes.data);
  char folder[] = "/tmp/loom-bench-XXXXXX";
  if (!mkdtemp(folder)) return;
  setenv("FRAMELOOM_CACHE_DIR", folder, 1);
  char key[2000] = {1};
  static char data[40000];
  loom_bytes found;
  MEASURE("disk cache: write 40 kB", 10, loom_cache_write(key, sizeof key, data, sizeof data));
  MEASURE("disk cache: read 40 kB", 100,
          if (loom_cache_read(key, sizeof key, &found)) free(found.data));
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", folder);
  if (system(command)) fprintf(stderr, "%s is left behind\n", folder);
}

int main(void) {
  bench_threads();
  bench_blocks();
  bench_plans();
  bench_loading();
  return 0;
}
