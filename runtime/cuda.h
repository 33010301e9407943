/* The CUDA driver as far as the runtime uses it: what its header would declare. Also read by the
 * driver of the tests (test/runtime/nullcuda.c).
 *
 * Section by file: cuda.c.
 */
#ifndef LOOM_CUDA_H
#define LOOM_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"

#define CUDA_LEAST 11080 /* the first version with cuLaunchKernelEx */

/* CUresult */
enum {
  CUDA_INVALID_VALUE = 1,
  CUDA_OUT_OF_MEMORY = 2,
  CUDA_NOT_INITIALIZED = 3,
  CUDA_NO_DEVICE = 100,
  CUDA_INVALID_DEVICE = 101,
  CUDA_INVALID_IMAGE = 200,
  CUDA_INVALID_CONTEXT = 201,
  CUDA_INVALID_PTX = 218,
  CUDA_INVALID_HANDLE = 400,
  CUDA_NOT_FOUND = 500,
  CUDA_NOT_READY = 600,
  CUDA_LAUNCH_FAILED = 719,
  CUDA_UNKNOWN = 999
};

/* CUdevice_attribute, CUpointer_attribute, flags, CUjit_option, CUjitInputType */
enum {
  CUDA_MAJOR = 75,
  CUDA_MINOR = 76,
  CUDA_MEMORY_POOLS = 115,
  CUDA_POINTER_DEVICE = 9,
  CUDA_STREAM_NON_BLOCKING = 1,
  CUDA_EVENT_DISABLE_TIMING = 2,
  CUDA_JIT_ERROR_LOG = 5,
  CUDA_JIT_ERROR_LOG_SIZE = 6,
  CUDA_INPUT_PTX = 1
};

/* CUlaunchConfig */
typedef struct cuda_launch {
  unsigned grid[3], block[3], shared;
  void *stream;
  void *attributes;
  unsigned attribute_count;
} cuda_launch;

typedef struct cuda_driver {
#define LOOM_CUDA(NAME, SYMBOL, PARAMETERS) int(*NAME) PARAMETERS;
#include "runtime/cuda.def"
#undef LOOM_CUDA
  int version;    /* 12040: CUDA 12.4 */
  bool simulated; /* the driver of the tests: it runs kernels on this machine */
} cuda_driver;

/* ---- cuda.c ---- */

/* The driver, opened and initialised at the first call. NULL: it is missing or too old, or has no
 * device. A later call tries again. */
const cuda_driver *cuda_open(loom_error *err);
/* Is `result` success? Else fails with what was tried, and the driver's own words. */
bool cuda_check(const cuda_driver *driver, int result, loom_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
