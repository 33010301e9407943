/* Opens the driver of a vendor's GPUs (driver.def) when a device is first asked for. No toolkit is
 * needed: the driver's own library is all that is used. */
#include "runtime/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *driver_path(const driver_kind *kind) {
  const char *path = loom_env(kind->path);
  return path ? path : kind->library;
}

bool driver_check(const driver *d, int result, loom_error *err, const char *format, ...) {
  const char *name = NULL, *text = NULL;
  char what[300];
  va_list list;
  if (!result) return true;
  va_start(list, format);
  vsnprintf(what, sizeof what, format, list);
  va_end(list);
  if (d->GetErrorName(result, &name) || !name) name = "an unknown error";
  if (d->GetErrorString(result, &text) || !text) text = "no description";
  return loom_fail(err, "%s: %s: %.100s (%.60s, %d)", d->kind->name, what, text, name, result);
}

static bool driver_find(void *library, const driver_kind *kind, loom_error *err) {
  driver *out = kind->driver;
  const char *missing = NULL;
  void *address;
#define LOOM_DRIVER(NAME, CUDA, HIP, PARAMETERS)                                                   \
  address = dlsym(library, kind->target == LOOM_PLAN_NVPTX ? CUDA : HIP);                          \
  memcpy(&out->NAME, &address, sizeof address);                                                    \
  if (!address && !missing) missing = kind->target == LOOM_PLAN_NVPTX ? CUDA : HIP;
#include "runtime/driver.def"
#undef LOOM_DRIVER
  if (!missing) missing = kind->find(library);
  out->simulated = dlsym(library, "loom_nullgpu_pending") != NULL;
  out->kind = kind;
  return !missing || loom_fail(err,
                               "%s: the driver %.100s is too old: it has no %s. A driver for "
                               "%s %d.%d or later is needed",
                               kind->name, driver_path(kind), missing, kind->name,
                               kind->least / kind->major, kind->least % kind->major / kind->minor);
}

/* Some drivers say at once that there is no device, some when they count them. */
static bool driver_start(driver *d, loom_error *err) {
  const driver_kind *kind = d->kind;
  int count = 0;
  int status = d->Init(0);
  if (status != DRIVER_NO_DEVICE) {
    if (!driver_check(d, status, err, "the driver cannot be started") ||
        !driver_check(d, d->DriverGetVersion(&d->version), err,
                      "the driver's version cannot be read"))
      return false;
    if (d->version < kind->least)
      return loom_fail(err,
                       "%s: the driver is too old: it supports %s %d.%d, and %d.%d or later is "
                       "needed",
                       kind->name, kind->name, d->version / kind->major,
                       d->version % kind->major / kind->minor, kind->least / kind->major,
                       kind->least % kind->major / kind->minor);
    status = d->DeviceGetCount(&count);
  }
  if (status == DRIVER_NO_DEVICE || (!status && count <= 0))
    return loom_fail(err, "%s: this machine has no %s GPU", kind->name, kind->maker);
  return driver_check(d, status, err, "the devices cannot be counted");
}

/* A library that cannot be used is closed again. One that is in use never is. */
static bool driver_load(const driver_kind *kind, loom_error *err) {
  void *library = dlopen(driver_path(kind), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return loom_fail(err, "%s: there is no driver: %.200s. %s", kind->name, dlerror(),
                     kind->advice);
  bool found = driver_find(library, kind, err);
  kind->driver->opened = found && driver_start(kind->driver, err);
  if (found && !kind->driver->opened && kind->forget) kind->forget();
  if (!kind->driver->opened) dlclose(library);
  return kind->driver->opened;
}

const driver *driver_open(const driver_kind *kind, loom_error *err) {
  pthread_mutex_lock(&driver_lock);
  bool good = kind->driver->opened || driver_load(kind, err);
  pthread_mutex_unlock(&driver_lock);
  return good ? kind->driver : NULL;
}
