/* What the tests of devices share: the driver of the tests, opened. With NULL_HIP it is HIP's, else
 * CUDA's. Sections by file.
 */
#ifndef LOOM_TEST_DEVICES_H
#define LOOM_TEST_DEVICES_H

#include "build.h"
#include "nullgpu.h"
#include "runtime/device.h"

#ifdef NULL_HIP
#define DRIVER_LIBRARY LOOM_NULLHIP
#define DRIVER_VARIABLE "FRAMELOOM_HIP_DRIVER"
#define DEVICE "hip"
#else
#define DRIVER_LIBRARY LOOM_NULLCUDA
#define DRIVER_VARIABLE "FRAMELOOM_CUDA_DRIVER"
#define DEVICE "cuda"
#endif
#define DEVICE_0 DEVICE ":0"
#define UNKNOWN_ERROR NULL_SYMBOL("(CUDA_ERROR_UNKNOWN, 999)", "(hipErrorUnknown, 999)")

/* ---- devices.c ---- */

/* The driver's functions for tests. */
extern struct null_functions {
  void (*fail_next)(const char *, int, int);
  bool (*failed_now)(void);
  long (*live)(const char *);
  long (*calls)(const char *);
  long (*pending)(void);
  int (*depth)(void);
  void (*describe)(int, int, int);
  void (*kernel)(const char *, loom_kernel_fn, uint32_t, uint32_t, uint32_t, uint32_t);
  int (*last)(void);
} null;
/* The driver as another library of the process uses it. */
extern struct other_functions {
#define LOOM_DRIVER(NAME, CUDA, HIP, PARAMETERS) int(*NAME) PARAMETERS;
#include "runtime/driver.def"
#undef LOOM_DRIVER
#ifndef NULL_HIP
#define LOOM_CUDA(NAME, SYMBOL, PARAMETERS) int(*NAME) PARAMETERS;
#include "runtime/cuda.def"
#undef LOOM_CUDA
#endif
} other;

/* Of a group of tests: opens the driver, with a disk cache of its own, and takes that away. */
int open_driver(void **state);
int close_driver(void **state);
/* Runs a test in a process of its own, in which no device has been opened. */
void apart(void (*test)(void));

#endif
