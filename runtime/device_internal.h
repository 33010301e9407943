/* What the files of devices share. Sections by file. */
#ifndef LOOM_DEVICE_INTERNAL_H
#define LOOM_DEVICE_INTERNAL_H

#include <pthread.h>

#include "runtime/device.h"
#include "runtime/driver.h"

/* ---- device.c ---- */

struct loom_device {
  const driver *driver;
  char name[16], architecture[16];
  int number, handle;
  void *context;        /* CUDA's */
  void *stream, *event; /* `event` orders other streams */
  pthread_mutex_t lock; /* of `event` */
};

/* Around calls of the driver: makes the device the thread's. */
bool device_enter(loom_device *device, loom_error *err);
void device_leave(loom_device *device);

/* ---- device_plan.c ---- */

typedef struct device_kernel {
  void *function;
  uint32_t buffers, params; /* words of the lists that it gets */
  uint32_t threads;
  bool blocks, silent;
} device_kernel;

struct loom_device_plan {
  loom_device *device;
  loom_plan *plan;
  void *module;
  bool silent; /* no kernel reports anything */
  device_kernel kernels[];
};

#endif
