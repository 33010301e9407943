/* What the files of devices share. Sections by file. */
#ifndef LOOM_DEVICE_INTERNAL_H
#define LOOM_DEVICE_INTERNAL_H

#include <pthread.h>

#include "runtime/device.h"
#include "runtime/driver.h"

/* ---- device.c ---- */

/* Memory of the host that a device copies from while the caller goes on. */
typedef struct device_stage {
  struct device_stage *next;
  void *event; /* behind the copy that reads it */
  size_t size;
  uint8_t *memory;
} device_stage;

struct loom_device {
  const driver *driver;
  char name[16], architecture[16];
  int number, handle;
  void *context;        /* CUDA's */
  void *stream, *event; /* `event` orders other streams */
  pthread_mutex_t lock; /* of `event` and of `stages` */
  device_stage *stages; /* those that nobody fills */
  /* Of a device: those of loom_device_on(), the last one first, under its lock. */
  struct loom_device *others;
};

/* Around calls of the driver: makes the device the thread's. */
bool device_enter(loom_device *device, loom_error *err);
void device_leave(loom_device *device);
/* Waits for all work that was ordered by way of the device, also on streams of others. */
void device_finish(loom_device *device);
/* Memory for `size` bytes that nothing reads any more: for device_stage_put(), or
 * device_stage_copy() and then that. */
device_stage *device_stage_get(loom_device *device, size_t size, loom_error *err);
bool device_stage_copy(loom_device *device, device_stage *stage, loom_address to, size_t size,
                       loom_error *err);
void device_stage_put(loom_device *device, device_stage *stage);

/* ---- device_plan.c ---- */

typedef struct device_kernel {
  void *function;
  uint32_t threads;
  bool blocks, silent;
} device_kernel;

struct loom_device_plan {
  loom_device *device;
  loom_plan *plan;
  void *module;
  size_t tables; /* bytes of the lists of a run */
  bool silent;   /* no kernel reports anything */
  device_kernel kernels[];
};

#endif
