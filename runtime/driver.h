/* The drivers of GPUs, CUDA's and HIP's, as far as the runtime uses them: what their headers would
 * declare. Also read by the drivers of the tests (test/runtime/nullgpu.h).
 *
 * A driver is a table of functions that both vendors have alike (driver.def) and a driver_kind, in
 * which the rest stands.
 *
 * Sections by file: driver.c, cuda.c, hip.c.
 */
#ifndef LOOM_DRIVER_H
#define LOOM_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/runtime.h"

/* CUresult and hipError_t, which have these numbers in common. */
enum {
  DRIVER_INVALID_VALUE = 1,
  DRIVER_OUT_OF_MEMORY = 2,
  DRIVER_NOT_INITIALIZED = 3,
  DRIVER_NO_DEVICE = 100,
  DRIVER_INVALID_DEVICE = 101,
  DRIVER_INVALID_IMAGE = 200,
  DRIVER_INVALID_CONTEXT = 201,
  DRIVER_INVALID_PTX = 218,
  DRIVER_INVALID_HANDLE = 400,
  DRIVER_NOT_FOUND = 500,
  DRIVER_NOT_READY = 600,
  DRIVER_LAUNCH_FAILED = 719,
  DRIVER_CAPTURE_UNSUPPORTED = 900,
  DRIVER_UNKNOWN = 999
};

/* Of CUpointer_attribute and hipPointer_attribute, and flags; also in common. */
enum {
  DRIVER_POINTER_DEVICE = 9,
  DRIVER_STREAM_NON_BLOCKING = 1,
  DRIVER_EVENT_DISABLE_TIMING = 2,
  DRIVER_HOST_PORTABLE = 1
};

/* ---- driver.c ---- */

typedef struct driver_kind driver_kind;

typedef struct driver {
#define LOOM_DRIVER(NAME, CUDA, HIP, PARAMETERS) int(*NAME) PARAMETERS;
#include "runtime/driver.def"
#undef LOOM_DRIVER
  const driver_kind *kind;
  int version;    /* as the driver writes it: 12040 is CUDA 12.4, 60300000 is HIP 6.3 */
  bool opened;    /* found, and initialised */
  bool simulated; /* the driver of the tests: it runs kernels on this machine */
} driver;

struct loom_device;

/* A launch of blocks of one dimension, or (`function` NULL) a copy on the device. */
typedef struct driver_step {
  void *function;
  unsigned blocks, threads, shared;
  void **arguments;
  uint64_t to, from, size;
} driver_step;

/* What the two drivers do in ways of their own. Functions that can fail report it. */
struct driver_kind {
  const char *name, *prefix; /* "CUDA"; "cuda", in the names of devices */
  const char *maker;         /* of GPUs: "NVIDIA" */
  const char *advice;        /* what to do without a driver */
  const char *library;       /* where the environment names no other */
  loom_env_variable path;
  int least;                          /* the oldest version */
  int major, minor;                   /* its version is `number / major`.`number % major / minor` */
  loom_plan_target target;            /* of plans */
  uint64_t most_threads;              /* of a launch */
  driver *driver;                     /* static storage */
  const char *(*find)(void *library); /* the symbol of a function that is missing, or NULL */
  /* Fills in the device's architecture. */
  bool (*describe)(struct loom_device *device, loom_error *err);
  /* Before the device is used first, and where that fails behind it. */
  bool (*retain)(struct loom_device *device, loom_error *err);
  void (*release)(struct loom_device *device);
  /* Make the device the thread's, and what was the thread's again. Calls may be nested. */
  bool (*enter)(struct loom_device *device, loom_error *err);
  void (*leave)(struct loom_device *device);
  /* A stream of others by the number that loom_device_after() takes. */
  void *(*stream)(uint64_t number);
  /* Outside of enter() and leave(): others of this thread are not to see an error that was noticed
   * here. NULL: none would. */
  void (*forget)(void);
  /* The driver's status, of these four. */
  int (*launch)(const struct loom_device *device, const driver_step *launch);
  /* From one device to another, on the stream of the latter. */
  int (*copy)(const struct loom_device *to_device, uint64_t to,
              const struct loom_device *from_device, uint64_t from, size_t size);
  /* Adds a step to a graph, behind the nodes `before`. */
  int (*graph_add)(const struct loom_device *device, void *graph, void *const *before, size_t count,
                   const driver_step *step, void **node);
  /* Changes a step's addresses and numbers in what was made of the graph. */
  int (*graph_set)(const struct loom_device *device, void *exec, void *node,
                   const driver_step *step);
  /* A kernel may be launched with so many bytes of shared memory from now on. NULL: none may. */
  int (*allow)(void *function, unsigned shared);
  /* A tensor map of what lies at an address, whose 128 bytes begin at a multiple of 64. NULL: there
   * are none. A driver may be too old for them. */
  int (*map)(void *out, const loom_tensor_map *map, uint64_t address);
  /* Machine code of a plan's image, malloc'ed. NULL: the image is machine code. */
  bool (*link)(const struct loom_device *device, const loom_bytes *image, loom_bytes *out,
               loom_error *err);
};

/* The driver, opened and initialised at the first call. NULL: it is missing or too old, or has no
 * device. A later call tries again. */
const driver *driver_open(const driver_kind *kind, loom_error *err);
/* Is `result` success? Else fails with what was tried, and the driver's own words. */
bool driver_check(const driver *d, int result, loom_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- cuda.c ---- */

#define CUDA_LEAST 11080 /* the first version with cuLaunchKernelEx */

/* CUdevice_attribute, CUjit_option, CUjitInputType */
enum {
  CUDA_MAJOR = 75,
  CUDA_MINOR = 76,
  CUDA_MEMORY_POOLS = 115,
  CUDA_DYNAMIC_SHARED = 8, /* CUfunction_attribute */
  CUDA_JIT_ERROR_LOG = 5,
  CUDA_JIT_ERROR_LOG_SIZE = 6,
  CUDA_INPUT_PTX = 1
};

/* CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion; the first one of other enums */
enum {
  CUDA_MAP_UINT8 = 0,
  CUDA_MAP_UINT16 = 1,
  CUDA_MAP_TFLOAT32 = 11,
  CUDA_MAP_SWIZZLE_128 = 3,
  CUDA_MAP_L2_128 = 2,
  CUDA_MAP_NONE = 0
};

/* CUlaunchConfig */
typedef struct cuda_launch {
  unsigned grid[3], block[3], shared;
  void *stream;
  void *attributes;
  unsigned attribute_count;
} cuda_launch;

#define CUDA_MEMORY_DEVICE 2 /* CUmemorytype */

/* CUDA_KERNEL_NODE_PARAMS, version 1 */
typedef struct cuda_kernel_node {
  void *function;
  unsigned grid[3], block[3], shared;
  void **arguments, **extra;
} cuda_kernel_node;

/* One side of CUDA_MEMCPY3D. */
typedef struct cuda_copy_side {
  size_t x, y, z, level;
  int type;
  void *host;
  uint64_t device;
  void *array, *reserved;
  size_t pitch, height;
} cuda_copy_side;

/* CUDA_MEMCPY3D */
typedef struct cuda_copy {
  cuda_copy_side from, to;
  size_t width, height, depth;
} cuda_copy;

extern const driver_kind driver_cuda;

/* ---- hip.c ---- */

#define HIP_LEAST 60000000 /* the first version with hipGetDevicePropertiesR0600 */

/* hipDeviceAttribute_t */
enum { HIP_MEMORY_POOLS = 88 };

/* hipDeviceProp_tR0600 has 1,472 bytes. Room is left for one that has more. */
typedef struct hip_properties {
  char skipped[1160];
  char architecture[256]; /* "gfx90a:sramecc+:xnack-" */
  char rest[2680];
} hip_properties;

#define HIP_COPY_WITHIN 3 /* hipMemcpyKind: hipMemcpyDeviceToDevice */

/* hipKernelNodeParams */
typedef struct hip_kernel_node {
  unsigned block[3];
  void **extra;
  void *function;
  unsigned grid[3];
  void **arguments;
  unsigned shared;
} hip_kernel_node;

extern const driver_kind driver_hip;

#endif
