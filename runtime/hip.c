/* What HIP, AMD's driver, does in ways of its own: a thread has a current device and no stack of
 * contexts, the architecture is a name in a structure, and images are machine code. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "runtime/device_internal.h"

#define HIP_NESTED 8 /* calls of hip_enter() that one thread has open, at most */

static driver hip_driver;
static struct {
#define LOOM_HIP(NAME, SYMBOL, PARAMETERS) int(*NAME) PARAMETERS;
#include "runtime/hip.def"
#undef LOOM_HIP
} hip;

static const char *hip_find(void *library) {
  const char *missing = NULL;
  void *address;
#define LOOM_HIP(NAME, SYMBOL, PARAMETERS)                                                         \
  address = dlsym(library, SYMBOL);                                                                \
  memcpy(&hip.NAME, &address, sizeof address);                                                     \
  if (!address && !missing) missing = SYMBOL;
#include "runtime/hip.def"
#undef LOOM_HIP
  return missing;
}

/* ---- devices ---- */

/* "gfx90a:sramecc+:xnack-" is gfx90a in modes for which all code is made alike. */
static bool hip_architecture(loom_device *device, const char *name, size_t size, loom_error *err) {
  size_t length = 0;
  while (length < size && name[length] && name[length] != ':')
    length++;
  if (length == size || length >= sizeof device->architecture || strncmp(name, "gfx", 3) != 0)
    return loom_fail(err, "HIP: %s has no architecture with a name", device->name);
  snprintf(device->architecture, sizeof device->architecture, "%.*s", (int)length, name);
  return true;
}

static bool hip_describe(loom_device *device, loom_error *err) {
  const driver *d = device->driver;
  hip_properties properties;
  int pools = 0;
  memset(&properties, 0, sizeof properties);
  if (!driver_check(d, hip.GetDeviceProperties(&properties, device->number), err,
                    "the architecture of %s cannot be read", device->name) ||
      !driver_check(d, d->DeviceGetAttribute(&pools, HIP_MEMORY_POOLS, device->handle), err,
                    "the memory of %s cannot be described", device->name))
    return false;
  if (!pools)
    return loom_fail(err, "HIP: %s has no memory that is ordered by streams", device->name);
  return hip_architecture(device, properties.architecture, sizeof properties.architecture, err);
}

/* The driver makes a device's context when it is first used. */
static bool hip_retain(loom_device *device, loom_error *err) { return true; }
static void hip_release(loom_device *device) {}

/* What was the thread's: hipCtxPopCurrent() would not make the device before current again. */
typedef struct hip_state {
  int device, error;
} hip_state;

static _Thread_local hip_state hip_states[HIP_NESTED];
static _Thread_local int hip_depth;

/* The driver keeps an error for whoever asks for the last one, also that an event is not ready. */
static void hip_forget(void) { hip.GetLastError(); }

static bool hip_enter(loom_device *device, loom_error *err) {
  const driver *d = device->driver;
  hip_state before = {0, hip.PeekAtLastError()};
  if (hip_depth == HIP_NESTED) return loom_fail(err, "HIP: too many nested calls");
  bool good =
      driver_check(d, hip.GetDevice(&before.device), err, "the current device cannot be read") &&
      driver_check(d, before.device == device->handle ? 0 : hip.SetDevice(device->handle), err,
                   "%s cannot be used", device->name);
  if (good) hip_states[hip_depth++] = before;
  if (!good && !before.error) hip_forget();
  return good;
}

/* Nobody could do anything about an error but try again, which is done once. */
static void hip_leave(loom_device *device) {
  hip_state before = hip_states[--hip_depth];
  if (before.device != device->handle && hip.SetDevice(before.device)) hip.SetDevice(before.device);
  if (!before.error) hip_forget();
}

/* Only newer drivers have a number for the default stream beside NULL. */
static void *hip_stream(uint64_t number) {
  return number == LOOM_STREAM_LEGACY ? NULL : (void *)(uintptr_t)number;
}

static int hip_start(const loom_device *device, const driver_step *launch) {
  return hip.LaunchKernel(launch->function, launch->blocks, 1, 1, launch->threads, 1, 1, 0,
                          device->stream, launch->arguments, NULL);
}

static int hip_copy_over(const loom_device *to_device, uint64_t to, const loom_device *from_device,
                         uint64_t from, size_t size) {
  return hip.MemcpyPeerAsync(to, to_device->handle, from, from_device->handle, size,
                             to_device->stream);
}

/* ---- graphs ---- */

static hip_kernel_node hip_node(const driver_step *launch) {
  return (hip_kernel_node){.function = launch->function,
                           .grid = {launch->blocks, 1, 1},
                           .block = {launch->threads, 1, 1},
                           .arguments = launch->arguments};
}

static int hip_add(const loom_device *device, void *graph, void *const *before, size_t count,
                   const driver_step *step, void **node) {
  hip_kernel_node kernel = hip_node(step);
  return step->function ? hip.GraphAddKernelNode(node, graph, before, count, &kernel)
                        : hip.GraphAddMemcpyNode(node, graph, before, count, step->to, step->from,
                                                 step->size, HIP_COPY_WITHIN);
}

static int hip_set(const loom_device *device, void *exec, void *node, const driver_step *step) {
  hip_kernel_node kernel = hip_node(step);
  return step->function ? hip.GraphSetKernelNode(exec, node, &kernel)
                        : hip.GraphSetMemcpyNode(exec, node, step->to, step->from, step->size,
                                                 HIP_COPY_WITHIN);
}

const driver_kind driver_hip = {
    .name = "HIP",
    .prefix = "hip",
    .maker = "AMD",
    .advice = "Install ROCm's runtime",
    .library = "libamdhip64.so",
    .path = LOOM_ENV_HIP_DRIVER,
    .least = HIP_LEAST,
    .major = 10000000,
    .minor = 100000,
    .target = LOOM_PLAN_AMDGPU,
    .most_threads = UINT32_MAX,
    .driver = &hip_driver,
    .find = hip_find,
    .describe = hip_describe,
    .retain = hip_retain,
    .release = hip_release,
    .enter = hip_enter,
    .leave = hip_leave,
    .stream = hip_stream,
    .forget = hip_forget,
    .launch = hip_start,
    .copy = hip_copy_over,
    .graph_add = hip_add,
    .graph_set = hip_set,
};
