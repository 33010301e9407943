/* Devices by the drivers of GPUs (driver.h): one stream each, and memory in the order of that
 * stream. */
#include "runtime/device_internal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICE_MOST 64

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static const driver_kind *const device_kinds[] = {&driver_cuda, &driver_hip};
enum { DEVICE_KINDS = sizeof device_kinds / sizeof *device_kinds };
static loom_device *device_table[DEVICE_KINDS][DEVICE_MOST];
static pid_t device_process; /* that has opened the first one */
static bool device_forked;   /* this process was forked from that one */
static pthread_once_t device_watch = PTHREAD_ONCE_INIT;

/* In a new process. (To ask for its number takes a call of the system each time.) */
static void device_note_fork(void) { device_forked = device_process != 0; }
static void device_watch_forks(void) { pthread_atfork(NULL, NULL, device_note_fork); }

const char *loom_device_name(const loom_device *device) { return device->name; }
const char *loom_device_kind(const loom_device *device) { return device->driver->kind->prefix; }
const char *loom_device_architecture(const loom_device *device) { return device->architecture; }
int loom_device_number(const loom_device *device) { return device->number; }
bool loom_device_is_simulated(const loom_device *device) { return device->driver->simulated; }
uint64_t loom_device_stream(const loom_device *device) {
  return (uint64_t)(uintptr_t)device->stream;
}

static _Thread_local const loom_device *device_held;

bool device_enter(loom_device *device, loom_error *err) {
  const driver_kind *kind = device->driver->kind;
  if (device_held == device) return true;
  if (__builtin_expect(device_forked, false))
    return loom_fail(err,
                     "%s: %s was opened before this process was forked, and cannot be used "
                     "here: start processes by \"spawn\"",
                     kind->name, device->name);
  return kind->enter(device, err);
}

void device_leave(loom_device *device) {
  if (device_held != device) device->driver->kind->leave(device);
}

bool loom_device_hold(loom_device *device, const loom_device **before, loom_error *err) {
  *before = device_held;
  if (!device_enter(device, err)) return false;
  device_held = device;
  return true;
}

void loom_device_let_go(loom_device *device, const loom_device *before) {
  device_held = before;
  device_leave(device);
}

/* ---- opening ---- */

/* The driver's number in device_kinds, and the device's. */
static bool device_parse(const char *name, int *out_kind, int *out, loom_error *err) {
  for (int i = 0; i < DEVICE_KINDS; i++) {
    size_t length = strlen(device_kinds[i]->prefix);
    const char *digits = name + length + 1;
    char *end = NULL;
    if (strncmp(name, device_kinds[i]->prefix, length) != 0) continue;
    *out_kind = i;
    *out = 0;
    if (!name[length]) return true;
    if (name[length] != ':' || *digits < '0' || *digits > '9') continue;
    long number = strtol(digits, &end, 10);
    *out = (int)number;
    if (!*end && number < DEVICE_MOST) return true;
  }
  return loom_fail(err,
                   "there is no device '%.40s': devices are called cuda, cuda:0, cuda:1, ... and "
                   "hip, hip:0, hip:1, ...",
                   name);
}

static bool device_find(loom_device *device, loom_error *err) {
  const driver *d = device->driver;
  int count = 0;
  const char *name = device->name;
  if (!driver_check(d, d->DeviceGetCount(&count), err, "the devices cannot be counted"))
    return false;
  if (device->number >= count)
    return loom_fail(err, "%s: there is no %s: this machine has %d device%s", d->kind->name, name,
                     count, count == 1 ? "" : "s");
  return driver_check(d, d->DeviceGet(&device->handle, device->number), err, "%s cannot be found",
                      name) &&
         d->kind->describe(device, err);
}

static bool device_make_stream(loom_device *device, loom_error *err) {
  const driver *d = device->driver;
  if (!device_enter(device, err)) return false;
  bool good = driver_check(d, d->StreamCreate(&device->stream, DRIVER_STREAM_NON_BLOCKING), err,
                           "a stream of %s cannot be made", device->name);
  good = good && driver_check(d, d->EventCreate(&device->event, DRIVER_EVENT_DISABLE_TIMING), err,
                              "an event of %s cannot be made", device->name);
  if (!good && device->stream) d->StreamDestroy(device->stream);
  device_leave(device);
  return good;
}

static bool device_start(loom_device *device, const driver_kind *kind, loom_error *err) {
  device->driver = driver_open(kind, err);
  if (!device->driver || !device_find(device, err) || !kind->retain(device, err)) return false;
  if (device_make_stream(device, err)) return true;
  kind->release(device);
  return false;
}

static loom_device *device_new(const driver_kind *kind, int number, loom_error *err) {
  loom_device *device = calloc(1, sizeof *device);
  if (!device) return loom_fail(err, "out of memory"), NULL;
  device->root = device;
  device->number = number;
  snprintf(device->name, sizeof device->name, "%s:%d", kind->prefix, number);
  pthread_mutex_init(&device->lock, NULL);
  pthread_once(&device_watch, device_watch_forks);
  pid_t before = device_process;
  if (!before) device_process = getpid();
  if (device_start(device, kind, err)) return device;
  if (kind->driver->opened && kind->forget) kind->forget();
  device_process = before;
  pthread_mutex_destroy(&device->lock);
  free(device);
  return NULL;
}

bool loom_device_open(const char *name, loom_device **out, loom_error *err) {
  int kind = 0, number = 0;
  if (!device_parse(name, &kind, &number, err)) return false;
  pthread_mutex_lock(&device_lock);
  loom_device **at = &device_table[kind][number];
  if (!*at) *at = device_new(device_kinds[kind], number, err);
  *out = *at;
  pthread_mutex_unlock(&device_lock);
  return *out != NULL;
}

/* ---- memory ---- */

bool loom_device_alloc(loom_device *device, size_t size, loom_address *out, loom_error *err) {
  const driver *d = device->driver;
  *out = 0;
  if (!device_enter(device, err)) return false;
  bool good = driver_check(d, d->MemAllocAsync(out, size ? size : 1, device->stream), err,
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

/* The driver has read memory that is not its own when the call returns. */
bool loom_device_upload(loom_device *device, loom_address to, const void *data, size_t size,
                        loom_error *err) {
  const driver *d = device->driver;
  if (!size) return true;
  if (!device_enter(device, err)) return false;
  bool good = driver_check(d, d->MemcpyHtoDAsync(to, data, size, device->stream), err,
                           "%zu bytes cannot be copied to %s", size, device->name);
  device_leave(device);
  return good;
}

static bool device_wait(loom_device *device, loom_error *err) {
  const driver *d = device->driver;
  return driver_check(d, d->StreamSynchronize(device->stream), err, "the work of %s has failed",
                      device->name);
}

bool loom_device_download(loom_device *device, void *to, loom_address from, size_t size,
                          loom_error *err) {
  const driver *d = device->driver;
  if (!device_enter(device, err)) return false;
  bool good = !size || driver_check(d, d->MemcpyDtoHAsync(to, from, size, device->stream), err,
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
static bool device_chain(loom_device *device, void *first, void *second, loom_error *err) {
  const driver *d = device->driver;
  if (first == second) return true;
  if (!device_enter(device, err)) return false;
  pthread_mutex_lock(&device->root->lock);
  bool good = driver_check(d, d->EventRecord(device->event, first), err,
                           "an event of %s cannot be recorded", device->name) &&
              driver_check(d, d->StreamWaitEvent(second, device->event, 0), err,
                           "a stream of %s cannot wait for another", device->name);
  pthread_mutex_unlock(&device->root->lock);
  device_leave(device);
  return good;
}

bool loom_device_after(loom_device *device, uint64_t stream, loom_error *err) {
  return device_chain(device, device->driver->kind->stream(stream), device->stream, err);
}

bool loom_device_before(loom_device *device, uint64_t stream, loom_error *err) {
  return device_chain(device, device->stream, device->driver->kind->stream(stream), err);
}

loom_device *loom_device_on(loom_device *device, void *stream, loom_error *err) {
  device = device->root;
  if (stream == device->stream) return device;
  pthread_mutex_lock(&device->lock);
  loom_device *found = device->others;
  while (found && found->stream != stream)
    found = found->others;
  if (!found && (found = malloc(sizeof *found))) {
    *found = *device; /* `others` is the next one */
    found->stream = stream;
    device->others = found;
  }
  pthread_mutex_unlock(&device->lock);
  if (!found) loom_fail(err, "out of memory");
  return found;
}

void device_finish(loom_device *device) {
  device->driver->StreamSynchronize(device->stream);
  pthread_mutex_lock(&device->lock);
  loom_device *other = device->others;
  pthread_mutex_unlock(&device->lock);
  for (; other; other = other->others) /* none of them ever goes */
    device->driver->StreamSynchronize(other->stream);
}

bool loom_device_owner(loom_device *device, loom_address address, int *out, loom_error *err) {
  const driver *d = device->driver;
  if (!device_enter(device, err)) return false;
  bool good = driver_check(d, d->PointerGetAttribute(out, DRIVER_POINTER_DEVICE, address), err,
                           "an address is no memory of %s", device->name);
  device_leave(device);
  return good;
}

bool loom_device_owns(loom_device *device, loom_address address, loom_error *err) {
  int number = -1;
  return loom_device_owner(device, address, &number, err) &&
         (number == device->number ||
          loom_fail(err, "an array lies on %s:%d, not on %s", device->driver->kind->prefix, number,
                    device->name));
}

/* ---- other devices ---- */

/* The second device goes on when the first one's work so far is done. Each of them is entered for
 * its own event and stream. */
static bool device_follow(loom_device *first, loom_device *second, loom_error *err) {
  const driver *d = first->driver;
  bool good = device_enter(first, err);
  if (!good) return false;
  pthread_mutex_lock(&first->root->lock);
  good = driver_check(d, d->EventRecord(first->event, first->stream), err,
                      "an event of %s cannot be recorded", first->name);
  if (good && (good = device_enter(second, err))) {
    good = driver_check(d, d->StreamWaitEvent(second->stream, first->event, 0), err,
                        "%s cannot wait for %s", second->name, first->name);
    device_leave(second);
  }
  pthread_mutex_unlock(&first->root->lock);
  device_leave(first);
  return good;
}

bool loom_device_copy(loom_device *device, loom_address to, loom_device *from_device,
                      loom_address from, size_t size, loom_error *err) {
  const driver *d = device->driver;
  if (d != from_device->driver)
    return loom_fail(err, "there are no copies from %s to %s: their drivers differ",
                     from_device->name, device->name);
  if (!size) return true;
  if (!device_follow(from_device, device, err) || !device_enter(device, err)) return false;
  bool good = driver_check(d, d->kind->copy(device, to, from_device, from, size), err,
                           "%zu bytes cannot be copied from %s to %s", size, from_device->name,
                           device->name);
  if (good && !device_follow(device, from_device, err)) {
    good = false;
    d->StreamSynchronize(device->stream); /* nobody may free what is read */
  }
  device_leave(device);
  return good;
}
