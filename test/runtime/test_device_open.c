/* driver.c, device.c: opening a device on the tests' driver, and what is said where that fails.
 * With NULL_HIP it is about HIP, else about CUDA. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "devices.h"

static void refuses(const char *name, const char *text) {
  loom_device *device;
  loom_error err = {0};
  if (loom_device_open(name, &device, &err) || !strstr(err.message, text)) {
    fprintf(stderr, "opening %s: '%s', not '%s'\n", name, err.message, text);
    _exit(1);
  }
}

static void no_library(void) {
  setenv(DRIVER_VARIABLE, "/nowhere/libgpu.so", 1);
  refuses(DEVICE, "there is no driver: /nowhere/libgpu.so: cannot open shared object file");
}
static void another_library(void) {
  setenv(DRIVER_VARIABLE, "libm.so.6", 1);
  refuses(DEVICE,
          NULL_SYMBOL("is too old: it has no cuGetErrorName. A driver for CUDA 11.8 or later",
                      "is too old: it has no hipDrvGetErrorName. A driver for HIP 6.0 or later"));
}
static void an_old_driver(void) {
  null.describe(NULL_SYMBOL(11040, 50700000), 1, NULL_SYMBOL(80, 0x90a));
  refuses(DEVICE, NULL_SYMBOL("it supports CUDA 11.4, and 11.8 or later is needed",
                              "it supports HIP 5.7, and 6.0 or later is needed"));
}
static void no_gpu(void) {
  null.describe(NULL_SYMBOL(12040, 60300000), 0, NULL_SYMBOL(80, 0x90a));
  refuses(DEVICE_0,
          NULL_SYMBOL("this machine has no NVIDIA GPU", "HIP: this machine has no AMD GPU"));
}
static void an_old_gpu(void) {
  null.describe(NULL_SYMBOL(12040, 60300000), 1, NULL_SYMBOL(61, 0));
  refuses(DEVICE_0, NULL_SYMBOL(DEVICE_0 " is too old: it has sm_61, and sm_70 is needed",
                                "HIP: hip:0 has no architecture with a name"));
}
static void other_names(void) {
  refuses(DEVICE ":2", "there is no " DEVICE ":2: this machine has 2 devices");
  refuses("gpu", "there is no device 'gpu'");
  refuses(DEVICE ":", "there is no device '" DEVICE ":'");
  refuses(DEVICE ":1x", "there is no device '" DEVICE ":1x'");
  refuses(DEVICE ":-1", "there is no device '" DEVICE ":-1'");
  refuses(DEVICE ":64", "there is no device '" DEVICE ":64'");
  refuses(DEVICE "a", "there is no device '" DEVICE "a'");
}

static void what_is_missing_is_told(void **state) {
  apart(no_library);
  apart(another_library);
  apart(an_old_driver);
  apart(no_gpu);
  apart(an_old_gpu);
  apart(other_names);
}

static const char *opening;
static void opening_fails_once(void) {
  loom_device *device;
  loom_error err = {0};
  null.fail_next(opening, 0, DRIVER_UNKNOWN);
  bool opened = loom_device_open(DEVICE_0, &device, &err);
  if (opened || !null.failed_now() || !strstr(err.message, UNKNOWN_ERROR)) _exit(1);
  if (null.live("context") || null.live("stream") || null.live("event") || null.depth() ||
      NULL_SYMBOL(0, null.last()))
    _exit(2);
  if (!loom_device_open(DEVICE_0, &device, &err)) _exit(3);
}

static void opening_can_be_tried_again(void **state) {
#ifdef NULL_HIP
  static const char *const calls[] = {
      "hipInit",      "hipDriverGetVersion",         "hipGetDeviceCount",
      "hipDeviceGet", "hipGetDevicePropertiesR0600", "hipDeviceGetAttribute",
      "hipGetDevice", "hipStreamCreateWithFlags",    "hipEventCreateWithFlags"};
#else
  static const char *const calls[] = {"cuInit",
                                      "cuDriverGetVersion",
                                      "cuDeviceGetCount",
                                      "cuDeviceGet",
                                      "cuDeviceGetAttribute",
                                      "cuDevicePrimaryCtxRetain",
                                      "cuCtxPushCurrent_v2",
                                      "cuStreamCreate",
                                      "cuEventCreate"};
#endif
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    opening = calls[i];
    apart(opening_fails_once);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_missing_is_told),
      cmocka_unit_test(opening_can_be_tried_again),
  };
  return cmocka_run_group_tests(tests, open_driver, close_driver);
}
