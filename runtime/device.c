/* Devices by the CUDA driver: the primary context (which other libraries of the process share), one
 * stream, memory in the order of that stream. */
#include "runtime/device_internal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICE_MOST 64
#define DEVICE_STAGES 16 /* kept, at most */

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static loom_device *device_table[DEVICE_MOST];
static pid_t device_process; /* that has opened the first one */

const char *loom_device_name(const loom_device *device) { return device->name; }
const char *loom_device_architecture(const loom_device *device) { return device->architecture; }
int loom_device_number(const loom_device *device) { return device->number; }
bool loom_device_is_simulated(const loom_device *device) { return device->driver->simulated; }
uint64_t loom_device_stream(const loom_device *device) {
  return (uint64_t)(uintptr_t)device->stream;
}

bool device_enter(loom_device *device, loom_error *err) {
  const cuda_driver *d = device->driver;
  if (device_process != getpid())
    return loom_fail(err,
                     "CUDA: %s was opened before this process was forked, and cannot be used "
                     "here: start processes by \"spawn\"",
                     device->name);
  return cuda_check(d, d->CtxPushCurrent(device->context), err, "the context of %s cannot be used",
                    device->name);
}

void device_leave(loom_device *device) {
  void *context;
  device->driver->CtxPopCurrent(&context);
}

/* ---- opening ---- */

static bool device_parse(const char *name, int *out, loom_error *err) {
  char *end = NULL;
  long number = 0;
  bool good = strncmp(name, "cuda", 4) == 0 && (!name[4] || name[4] == ':');
  if (good && name[4]) {
    number = strtol(name + 5, &end, 10);
    good = name[5] >= '0' && name[5] <= '9' && !*end && number < DEVICE_MOST;
  }
  *out = (int)number;
  return good ||
         loom_fail(err, "there is no device '%.40s': devices are called cuda, cuda:0, cuda:1, ...",
                   name);
}

static bool device_describe(loom_device *device, loom_error *err) {
  const cuda_driver *d = device->driver;
  int count = 0, major = 0, minor = 0, pools = 0;
  const char *name = device->name;
  if (!cuda_check(d, d->DeviceGetCount(&count), err, "the devices cannot be counted")) return false;
  if (device->number >= count)
    return loom_fail(err, "CUDA: there is no %s: this machine has %d device%s", name, count,
                     count == 1 ? "" : "s");
  if (!cuda_check(d, d->DeviceGet(&device->handle, device->number), err, "%s cannot be found",
                  name) ||
      !cuda_check(d, d->DeviceGetAttribute(&major, CUDA_MAJOR, device->handle), err,
                  "the architecture of %s cannot be read", name) ||
      !cuda_check(d, d->DeviceGetAttribute(&minor, CUDA_MINOR, device->handle), err,
                  "the architecture of %s cannot be read", name) ||
      !cuda_check(d, d->DeviceGetAttribute(&pools, CUDA_MEMORY_POOLS, device->handle), err,
                  "the memory of %s cannot be described", name))
    return false;
  if (major < 7)
    return loom_fail(err, "CUDA: %s is too old: it has sm_%d%d, and sm_70 is needed", name, major,
                     minor);
  if (!pools) return loom_fail(err, "CUDA: %s has no memory that is ordered by streams", name);
  snprintf(device->architecture, sizeof device->architecture, "sm_%d%d", major % 100, minor % 10);
  return true;
}

static bool device_make_stream(loom_device *device, loom_error *err) {
  const cuda_driver *d = device->driver;
  if (!device_enter(device, err)) return false;
  bool good = cuda_check(d, d->StreamCreate(&device->stream, CUDA_STREAM_NON_BLOCKING), err,
                         "a stream of %s cannot be made", device->name);
  good = good && cuda_check(d, d->EventCreate(&device->event, CUDA_EVENT_DISABLE_TIMING), err,
                            "an event of %s cannot be made", device->name);
  if (!good && device->stream) d->StreamDestroy(device->stream);
  device_leave(device);
  return good;
}

static bool device_start(loom_device *device, loom_error *err) {
  const cuda_driver *d = device->driver = cuda_open(err);
  if (!d || !device_describe(device, err)) return false;
  if (!cuda_check(d, d->PrimaryCtxRetain(&device->context, device->handle), err,
                  "the context of %s cannot be made", device->name))
    return false;
  if (device_make_stream(device, err)) return true;
  d->PrimaryCtxRelease(device->handle);
  return false;
}

static loom_device *device_new(int number, loom_error *err) {
  loom_device *device = calloc(1, sizeof *device);
  if (!device) return loom_fail(err, "out of memory"), NULL;
  device->number = number;
  snprintf(device->name, sizeof device->name, "cuda:%d", number);
  pthread_mutex_init(&device->lock, NULL);
  pid_t before = device_process;
  if (!before) device_process = getpid();
  if (device_start(device, err)) return device;
  device_process = before;
  pthread_mutex_destroy(&device->lock);
  free(device);
  return NULL;
}

bool loom_device_open(const char *name, loom_device **out, loom_error *err) {
  int number;
  if (!device_parse(name, &number, err)) return false;
  pthread_mutex_lock(&device_lock);
  if (!device_table[number]) device_table[number] = device_new(number, err);
  *out = device_table[number];
  pthread_mutex_unlock(&device_lock);
  return *out != NULL;
}

/* ---- memory ---- */

bool loom_device_alloc(loom_device *device, size_t size, loom_address *out, loom_error *err) {
  const cuda_driver *d = device->driver;
  *out = 0;
  if (!device_enter(device, err)) return false;
  bool good = cuda_check(d, d->MemAllocAsync(out, size ? size : 1, device->stream), err,
                         "%zu bytes on %s cannot be allocated", size, device->name);
  device_leave(device);
  return good;
}

/* Nobody could do anything about an error but try again, which is done once. */
void loom_device_free(loom_device *device, loom_address address) {
  loom_error ignored;
  bool done = !address;
  for (int i = 0; i < 2 && !done; i++) {
    if (!device_enter(device, &ignored)) continue;
    done = !device->driver->MemFreeAsync(address, device->stream);
    device_leave(device);
  }
}

static void stage_free(loom_device *device, device_stage *stage) {
  if (stage->event) device->driver->EventDestroy(stage->event);
  if (stage->memory) device->driver->MemFreeHost(stage->memory);
  free(stage);
}

static device_stage *stage_new(loom_device *device, size_t size, loom_error *err) {
  const cuda_driver *d = device->driver;
  device_stage *stage = calloc(1, sizeof *stage);
  void *memory = NULL;
  if (!stage) return loom_fail(err, "out of memory"), NULL;
  stage->size = (size + 4095) / 4096 * 4096;
  bool good = cuda_check(d, d->MemHostAlloc(&memory, stage->size, 0), err,
                         "%zu bytes of the host for copies to %s cannot be allocated", stage->size,
                         device->name);
  stage->memory = memory;
  good = good && cuda_check(d, d->EventCreate(&stage->event, CUDA_EVENT_DISABLE_TIMING), err,
                            "an event of %s cannot be made", device->name);
  if (good) return stage;
  stage_free(device, stage);
  return NULL;
}

device_stage *device_stage_get(loom_device *device, size_t size, loom_error *err) {
  device_stage *found = NULL;
  pthread_mutex_lock(&device->lock);
  for (device_stage **at = &device->stages; *at; at = &(*at)->next) {
    if ((*at)->size < size || device->driver->EventQuery((*at)->event)) continue;
    found = *at;
    *at = found->next;
    break;
  }
  pthread_mutex_unlock(&device->lock);
  return found ? found : stage_new(device, size, err);
}

bool device_stage_copy(loom_device *device, device_stage *stage, loom_address to, size_t size,
                       loom_error *err) {
  const cuda_driver *d = device->driver;
  return cuda_check(d, d->MemcpyHtoDAsync(to, stage->memory, size, device->stream), err,
                    "%zu bytes cannot be copied to %s", size, device->name) &&
         cuda_check(d, d->EventRecord(stage->event, device->stream), err,
                    "an event of %s cannot be recorded", device->name);
}

/* A stage whose event failed may be read still: it is not freed before the stream is done. */
void device_stage_put(loom_device *device, device_stage *stage) {
  uint32_t count = 0;
  pthread_mutex_lock(&device->lock);
  for (device_stage *s = device->stages; s; s = s->next)
    count++;
  bool keep = count < DEVICE_STAGES;
  if (keep) {
    stage->next = device->stages;
    device->stages = stage;
  }
  pthread_mutex_unlock(&device->lock);
  if (keep) return;
  device->driver->StreamSynchronize(device->stream);
  stage_free(device, stage);
}

/* The driver has read memory that is not its own when the call returns. */
bool loom_device_upload(loom_device *device, loom_address to, const void *data, size_t size,
                        loom_error *err) {
  const cuda_driver *d = device->driver;
  if (!size) return true;
  if (!device_enter(device, err)) return false;
  bool good = cuda_check(d, d->MemcpyHtoDAsync(to, data, size, device->stream), err,
                         "%zu bytes cannot be copied to %s", size, device->name);
  device_leave(device);
  return good;
}

static bool device_wait(loom_device *device, loom_error *err) {
  const cuda_driver *d = device->driver;
  return cuda_check(d, d->StreamSynchronize(device->stream), err, "the work of %s has failed",
                    device->name);
}

bool loom_device_download(loom_device *device, void *to, loom_address from, size_t size,
                          loom_error *err) {
  const cuda_driver *d = device->driver;
  if (!device_enter(device, err)) return false;
  bool good = !size || cuda_check(d, d->MemcpyDtoHAsync(to, from, size, device->stream), err,
                                  "%zu bytes cannot be copied from %s", size, device->name);
  good = good && device_wait(device, err);
  device_leave(device);
  return good;
}

bool loom_device_wait(loom_device *device, loom_error *err) {
  if (!device_enter(device, err)) return false;
  bool good = device_wait(device, err);
  device_leave(device);
  return good;
}

/* ---- other streams ---- */

/* The second stream goes on when the first one's work so far is done. */
static bool device_order(loom_device *device, void *first, void *second, loom_error *err) {
  const cuda_driver *d = device->driver;
  if (first == second) return true;
  if (!device_enter(device, err)) return false;
  pthread_mutex_lock(&device->lock);
  bool good = cuda_check(d, d->EventRecord(device->event, first), err,
                         "an event of %s cannot be recorded", device->name) &&
              cuda_check(d, d->StreamWaitEvent(second, device->event, 0), err,
                         "a stream of %s cannot wait for another", device->name);
  pthread_mutex_unlock(&device->lock);
  device_leave(device);
  return good;
}

bool loom_device_after(loom_device *device, uint64_t stream, loom_error *err) {
  return device_order(device, (void *)(uintptr_t)stream, device->stream, err);
}

bool loom_device_before(loom_device *device, uint64_t stream, loom_error *err) {
  return device_order(device, device->stream, (void *)(uintptr_t)stream, err);
}

bool loom_device_owns(loom_device *device, loom_address address, loom_error *err) {
  const cuda_driver *d = device->driver;
  int number = -1;
  if (!device_enter(device, err)) return false;
  bool good = cuda_check(d, d->PointerGetAttribute(&number, CUDA_POINTER_DEVICE, address), err,
                         "an address is no memory of %s", device->name);
  device_leave(device);
  return good && (number == device->number ||
                  loom_fail(err, "an array lies on cuda:%d, not on %s", number, device->name));
}
