/* What the CUDA driver does in ways of its own: a device has a primary context, which other
 * libraries of the process share, and the driver makes machine code of PTX. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device_internal.h"

static driver cuda_driver;
static struct {
#define LOOM_CUDA(NAME, SYMBOL, PARAMETERS) int(*NAME) PARAMETERS;
#include "runtime/cuda.def"
#undef LOOM_CUDA
} cuda;

static const char *cuda_find(void *library) {
  const char *missing = NULL;
  void *address;
#define LOOM_CUDA(NAME, SYMBOL, PARAMETERS)                                                        \
  address = dlsym(library, SYMBOL);                                                                \
  memcpy(&cuda.NAME, &address, sizeof address);                                                    \
  if (!address && !missing) missing = SYMBOL;
#define LOOM_CUDA_LATER(NAME, SYMBOL, PARAMETERS)                                                  \
  address = dlsym(library, SYMBOL);                                                                \
  memcpy(&cuda.NAME, &address, sizeof address);
#include "runtime/cuda.def"
#undef LOOM_CUDA
  return missing;
}

/* ---- devices ---- */

static bool cuda_describe(loom_device *device, loom_error *err) {
  const driver *d = device->driver;
  int major = 0, minor = 0, pools = 0;
  const char *name = device->name;
  if (!driver_check(d, d->DeviceGetAttribute(&major, CUDA_MAJOR, device->handle), err,
                    "the architecture of %s cannot be read", name) ||
      !driver_check(d, d->DeviceGetAttribute(&minor, CUDA_MINOR, device->handle), err,
                    "the architecture of %s cannot be read", name) ||
      !driver_check(d, d->DeviceGetAttribute(&pools, CUDA_MEMORY_POOLS, device->handle), err,
                    "the memory of %s cannot be described", name))
    return false;
  if (major < 7)
    return loom_fail(err, "CUDA: %s is too old: it has sm_%d%d, and sm_70 is needed", name, major,
                     minor);
  if (!pools) return loom_fail(err, "CUDA: %s has no memory that is ordered by streams", name);
  bool group = major == 9 && minor == 0 && loom_env_switch(LOOM_ENV_WGMMA) &&
               cuda.TensorMapEncodeTiled; /* since CUDA 12.0 */
  snprintf(device->architecture, sizeof device->architecture, "sm_%d%d%s", major % 100, minor % 10,
           group ? "a" : "");
  return true;
}

static bool cuda_retain(loom_device *device, loom_error *err) {
  return driver_check(device->driver, cuda.PrimaryCtxRetain(&device->context, device->handle), err,
                      "the context of %s cannot be made", device->name);
}

static void cuda_release(loom_device *device) { cuda.PrimaryCtxRelease(device->handle); }

static bool cuda_enter(loom_device *device, loom_error *err) {
  return driver_check(device->driver, cuda.CtxPushCurrent(device->context), err,
                      "the context of %s cannot be used", device->name);
}

static void cuda_leave(loom_device *device) {
  void *context;
  cuda.CtxPopCurrent(&context);
}

/* The driver has the same numbers for its default streams. */
static void *cuda_stream(uint64_t number) { return (void *)(uintptr_t)number; }

static int cuda_start(const loom_device *device, const driver_step *launch) {
  cuda_launch all = {.grid = {launch->blocks, 1, 1},
                     .block = {launch->threads, 1, 1},
                     .shared = launch->shared,
                     .stream = device->stream};
  return cuda.LaunchKernelEx(&all, launch->function, launch->arguments, NULL);
}

static int cuda_allow(void *function, unsigned shared) {
  return cuda.FuncSetAttribute(function, CUDA_DYNAMIC_SHARED, (int)shared);
}

static int cuda_map(void *out, const loom_tensor_map *map, uint64_t address) {
  static const int types[LOOM_MAP_KINDS] = {CUDA_MAP_UINT16, CUDA_MAP_TFLOAT32, CUDA_MAP_UINT8};
  const uint32_t box[] = {map->box[0], map->box[1], 1}, steps[] = {1, 1, 1};
  if (!cuda.TensorMapEncodeTiled) return DRIVER_NOT_FOUND; /* a plan of another driver */
  return cuda.TensorMapEncodeTiled(out, types[map->kind], 3, (void *)(uintptr_t)address,
                                   map->extents, map->strides, box, steps, CUDA_MAP_NONE,
                                   CUDA_MAP_SWIZZLE_128, CUDA_MAP_L2_128, CUDA_MAP_NONE);
}

static int cuda_copy_over(const loom_device *to_device, uint64_t to, const loom_device *from_device,
                          uint64_t from, size_t size) {
  return cuda.MemcpyPeerAsync(to, to_device->context, from, from_device->context, size,
                              to_device->stream);
}

/* ---- graphs ---- */

static cuda_kernel_node cuda_node(const driver_step *launch) {
  return (cuda_kernel_node){.function = launch->function,
                            .grid = {launch->blocks, 1, 1},
                            .block = {launch->threads, 1, 1},
                            .shared = launch->shared,
                            .arguments = launch->arguments};
}

static cuda_copy cuda_copy_of(const driver_step *step) {
  return (cuda_copy){.from = {.type = CUDA_MEMORY_DEVICE, .device = step->from},
                     .to = {.type = CUDA_MEMORY_DEVICE, .device = step->to},
                     .width = step->size,
                     .height = 1,
                     .depth = 1};
}

static int cuda_add(const loom_device *device, void *graph, void *const *before, size_t count,
                    const driver_step *step, void **node) {
  cuda_kernel_node kernel = cuda_node(step);
  cuda_copy copy = cuda_copy_of(step);
  return step->function
             ? cuda.GraphAddKernelNode(node, graph, before, count, &kernel)
             : cuda.GraphAddMemcpyNode(node, graph, before, count, &copy, device->context);
}

static int cuda_set(const loom_device *device, void *exec, void *node, const driver_step *step) {
  cuda_kernel_node kernel = cuda_node(step);
  cuda_copy copy = cuda_copy_of(step);
  return step->function ? cuda.GraphSetKernelNode(exec, node, &kernel)
                        : cuda.GraphSetMemcpyNode(exec, node, &copy, device->context);
}

/* ---- machine code ---- */

static bool cuda_keep(const void *cubin, size_t size, loom_bytes *out, loom_error *err) {
  out->data = malloc(size ? size : 1);
  if (!out->data) return loom_fail(err, "out of memory");
  memcpy(out->data, cubin, size);
  out->size = size;
  return true;
}

/* PTX to a cubin. */
static bool cuda_link(const loom_device *device, const loom_bytes *ptx, loom_bytes *out,
                      loom_error *err) {
  const driver *d = device->driver;
  char log[200] = "";
  int options[] = {CUDA_JIT_ERROR_LOG, CUDA_JIT_ERROR_LOG_SIZE};
  void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
  void *link = NULL, *cubin = NULL;
  size_t size = 0;
  if (!driver_check(d, cuda.LinkCreate(2, options, values, &link), err,
                    "the driver's linker cannot be started for %s", device->name))
    return false;
  int status =
      cuda.LinkAddData(link, CUDA_INPUT_PTX, ptx->data, ptx->size, "frameloom", 0, NULL, NULL);
  bool good = driver_check(d, status, err, "the driver refuses a kernel's code for %s: %s",
                           device->architecture, log);
  good = good && driver_check(d, cuda.LinkComplete(link, &cubin, &size), err,
                              "the driver cannot make a kernel's code for %s: %s",
                              device->architecture, log);
  good = good && cuda_keep(cubin, size, out, err);
  cuda.LinkDestroy(link);
  return good;
}

const driver_kind driver_cuda = {
    .name = "CUDA",
    .prefix = "cuda",
    .maker = "NVIDIA",
    .advice = "Install NVIDIA's driver",
    .library = "libcuda.so.1",
    .path = LOOM_ENV_CUDA_DRIVER,
    .least = CUDA_LEAST,
    .major = 1000,
    .minor = 10,
    .target = LOOM_PLAN_NVPTX,
    .most_threads = UINT64_MAX,
    .driver = &cuda_driver,
    .find = cuda_find,
    .describe = cuda_describe,
    .retain = cuda_retain,
    .release = cuda_release,
    .enter = cuda_enter,
    .leave = cuda_leave,
    .stream = cuda_stream,
    .launch = cuda_start,
    .copy = cuda_copy_over,
    .graph_add = cuda_add,
    .graph_set = cuda_set,
    .allow = cuda_allow,
    .map = cuda_map,
    .link = cuda_link,
};
