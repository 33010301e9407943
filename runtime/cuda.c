/* Opens the CUDA driver (cuda.def) when a device is first asked for. The toolkit is not needed: the
 * driver's own library, which comes with the kernel module, is all that is used. */
#include "runtime/cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/runtime.h"

static pthread_mutex_t cuda_lock = PTHREAD_MUTEX_INITIALIZER;
static cuda_driver cuda_functions;
static bool cuda_opened;

static const char *cuda_path(void) {
  const char *path = loom_env(LOOM_ENV_CUDA_DRIVER);
  return path ? path : "libcuda.so.1";
}

bool cuda_check(const cuda_driver *driver, int result, loom_error *err, const char *format, ...) {
  const char *name = NULL, *text = NULL;
  char what[300];
  va_list list;
  if (!result) return true;
  va_start(list, format);
  vsnprintf(what, sizeof what, format, list);
  va_end(list);
  if (driver->GetErrorName(result, &name) || !name) name = "an unknown error";
  if (driver->GetErrorString(result, &text) || !text) text = "no description";
  return loom_fail(err, "CUDA: %s: %.100s (%.60s, %d)", what, text, name, result);
}

static bool cuda_find(void *library, cuda_driver *out, loom_error *err) {
  const char *missing = NULL;
  void *address;
#define LOOM_CUDA(NAME, SYMBOL, PARAMETERS)                                                        \
  address = dlsym(library, SYMBOL);                                                                \
  memcpy(&out->NAME, &address, sizeof address);                                                    \
  if (!address && !missing) missing = SYMBOL;
#include "runtime/cuda.def"
#undef LOOM_CUDA
  out->simulated = dlsym(library, "loom_nullcuda_pending") != NULL;
  return !missing || loom_fail(err,
                               "CUDA: the driver %.100s is too old: it has no %s. A driver for "
                               "CUDA %d.%d or later is needed",
                               cuda_path(), missing, CUDA_LEAST / 1000, CUDA_LEAST % 1000 / 10);
}

static bool cuda_start(cuda_driver *d, loom_error *err) {
  int count = 0;
  int status = d->Init(0);
  if (status != CUDA_NO_DEVICE && !cuda_check(d, status, err, "the driver cannot be started"))
    return false;
  if (status == CUDA_NO_DEVICE) return loom_fail(err, "CUDA: this machine has no NVIDIA GPU");
  if (!cuda_check(d, d->DriverGetVersion(&d->version), err, "the driver's version cannot be read"))
    return false;
  if (d->version < CUDA_LEAST)
    return loom_fail(err,
                     "CUDA: the driver is too old: it supports CUDA %d.%d, and %d.%d or later is "
                     "needed",
                     d->version / 1000, d->version % 1000 / 10, CUDA_LEAST / 1000,
                     CUDA_LEAST % 1000 / 10);
  if (!cuda_check(d, d->DeviceGetCount(&count), err, "the devices cannot be counted")) return false;
  return count > 0 || loom_fail(err, "CUDA: this machine has no NVIDIA GPU");
}

/* A library that cannot be used is closed again. One that is in use never is. */
static bool cuda_load(loom_error *err) {
  void *library = dlopen(cuda_path(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return loom_fail(err, "CUDA: there is no driver: %.200s. Install NVIDIA's driver", dlerror());
  cuda_opened = cuda_find(library, &cuda_functions, err) && cuda_start(&cuda_functions, err);
  if (!cuda_opened) dlclose(library);
  return cuda_opened;
}

const cuda_driver *cuda_open(loom_error *err) {
  pthread_mutex_lock(&cuda_lock);
  bool good = cuda_opened || cuda_load(err);
  pthread_mutex_unlock(&cuda_lock);
  return good ? &cuda_functions : NULL;
}
