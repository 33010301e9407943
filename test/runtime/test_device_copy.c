/* device.c: copies between two devices of a driver of the tests (nullgpu.h), which runs work as
 * late as it may. With NULL_HIP it is about HIP, else about CUDA. */
#include <stdlib.h>
#include <string.h>

#include "devices.h"

enum { COUNT = 5000 };

static const char synchronize[] = NULL_SYMBOL("cuStreamSynchronize", "hipStreamSynchronize");
static const char copy_over[] = NULL_SYMBOL("cuMemcpyPeerAsync", "hipMemcpyPeerAsync");

typedef struct pair {
  loom_device *devices[2];
  loom_address memory[2];
  int32_t in[COUNT], out[COUNT];
} pair;

static void pair_open(pair *p) {
  loom_error err = {0};
  for (int i = 0; i < 2; i++) {
    char name[16];
    snprintf(name, sizeof name, DEVICE ":%d", i);
    if (!loom_device_open(name, &p->devices[i], &err)) fail_msg("%s", err.message);
  }
  for (int i = 0; i < COUNT; i++)
    p->in[i] = i * 7 + 1;
}

/* From device 0 to device 1, where the source is freed and its place is written at once; then to
 * the host. */
static bool pair_do(pair *p, loom_error *err) {
  loom_address late = 0;
  memset(p->memory, 0, sizeof p->memory);
  memset(p->out, 0, sizeof p->out);
  bool good = true;
  for (int i = 0; i < 2; i++)
    good = good && loom_device_alloc(p->devices[i], sizeof p->in, &p->memory[i], err);
  good = good && loom_device_upload(p->devices[0], p->memory[0], p->in, sizeof p->in, err) &&
         loom_device_copy(p->devices[1], p->memory[1], p->devices[0], p->memory[0], sizeof p->in,
                          err) &&
         loom_device_upload(p->devices[0], p->memory[0], p->out, sizeof p->out, err);
  loom_device_free(p->devices[0], p->memory[0]);
  good = good && loom_device_alloc(p->devices[0], sizeof p->in, &late, err);
  good = good && loom_device_download(p->devices[1], p->out, p->memory[1], sizeof p->out, err);
  loom_device_free(p->devices[0], late);
  loom_device_free(p->devices[1], p->memory[1]);
  return good;
}

static void settled(const pair *p) {
  for (int i = 0; i < 2; i++)
    assert_true(loom_device_wait(p->devices[i], NULL));
  assert_int_equal(null.pending(), 0);
  assert_int_equal(null.depth(), 0);
  assert_int_equal(null.live("memory"), 0);
}

static void work_of_both_is_in_order(void **state) {
  pair p;
  loom_error err = {0};
  pair_open(&p);
  for (int i = 0; i < 3; i++) {
    if (!pair_do(&p, &err)) fail_msg("%s", err.message);
    assert_memory_equal(p.in, p.out, sizeof p.in);
    settled(&p);
  }
}

/* What the source's device gets to do next comes behind the copy, also where it is waited for
 * first. */
static void the_source_waits(void **state) {
  pair p;
  loom_error err = {0};
  pair_open(&p);
  for (int i = 0; i < 2; i++)
    assert_true(loom_device_alloc(p.devices[i], sizeof p.in, &p.memory[i], &err));
  assert_true(loom_device_upload(p.devices[0], p.memory[0], p.in, sizeof p.in, &err));
  long waits = null.calls(synchronize);
  assert_true(
      loom_device_copy(p.devices[1], p.memory[1], p.devices[0], p.memory[0], sizeof p.in, &err));
  assert_true(loom_device_copy(p.devices[1], p.memory[1], p.devices[0], p.memory[0], 0, &err));
  memset(p.out, 0, sizeof p.out);
  assert_true(loom_device_upload(p.devices[0], p.memory[0], p.out, sizeof p.out, &err));
  assert_int_equal(null.calls(synchronize), waits);
  assert_true(loom_device_wait(p.devices[0], &err));
  assert_true(loom_device_download(p.devices[1], p.out, p.memory[1], sizeof p.out, &err));
  assert_memory_equal(p.in, p.out, sizeof p.in);
  for (int i = 0; i < 2; i++)
    loom_device_free(p.devices[i], p.memory[i]);
  settled(&p);
}

static void each_call_fails_once(void **state) {
  static const char *const symbols[] = {
      copy_over,
      synchronize,
      NULL_SYMBOL("cuEventRecord", "hipEventRecord"),
      NULL_SYMBOL("cuStreamWaitEvent", "hipStreamWaitEvent"),
      NULL_SYMBOL("cuCtxPushCurrent_v2", "hipSetDevice"),
      NULL_SYMBOL("cuMemAllocAsync", "hipMallocAsync"),
      NULL_SYMBOL("cuMemFreeAsync", "hipFreeAsync"),
  };
  pair p;
  int fails = 0;
  pair_open(&p);
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
    for (int skip = 0;; skip++) {
      loom_error err = {0};
      null.fail_next(symbols[i], skip, DRIVER_UNKNOWN);
      bool good = pair_do(&p, &err), came = null.failed_now();
      null.fail_next("", 0, 0);
      if (!good && !strstr(err.message, UNKNOWN_ERROR))
        fail_msg("%s, call %d: %s", symbols[i], skip, err.message);
      if (good) assert_memory_equal(p.in, p.out, sizeof p.in);
      settled(&p);
      fails += !good;
      if (!came) break;
    }
  assert_true(fails > 10);
}

static void memory_has_an_owner(void **state) {
  pair p;
  loom_error err = {0};
  pair_open(&p);
  for (int i = 0; i < 2; i++) {
    int number = -1;
    assert_true(loom_device_alloc(p.devices[i], 100, &p.memory[i], &err));
    assert_true(loom_device_owner(p.devices[0], p.memory[i] + 50, &number, &err));
    assert_int_equal(number, i);
  }
  assert_false(loom_device_copy(p.devices[1], p.memory[0], p.devices[0], p.memory[1], 100, &err));
  assert_non_null(strstr(err.message, "100 bytes cannot be copied from " DEVICE_0 " to " DEVICE
                                      ":1: invalid argument"));
  for (int i = 0; i < 2; i++)
    loom_device_free(p.devices[i], p.memory[i]);
  settled(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(work_of_both_is_in_order),
      cmocka_unit_test(the_source_waits),
      cmocka_unit_test(each_call_fails_once),
      cmocka_unit_test(memory_has_an_owner),
  };
  return cmocka_run_group_tests(tests, open_driver, close_driver);
}
