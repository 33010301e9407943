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

typedef struct device_graph device_graph;

struct loom_device_plan {
  loom_device *device;
  loom_plan *plan;
  void *module;
  device_graph *graph; /* device_graph.c; NULL: the plan has a single launch */
  bool silent;         /* no kernel reports anything */
  device_kernel kernels[];
};

/* ---- device_run.c ---- */

#define DEVICE_WORDS (LOOM_PLAN_LAUNCH_BYTES / sizeof(uint64_t))

/* An instruction of a run: what the driver gets, and where that lies. */
typedef struct device_step {
  driver_step driver;
  bool idle; /* there is nothing to do */
  void *arguments[5];
  int64_t begin, end;
  loom_address status;
  uint32_t word_count;
  uint64_t words[DEVICE_WORDS];
} device_step;

/* ---- device_graph.c ---- */

/* Sets p->graph. */
bool device_graph_new(loom_device_plan *p, loom_error *err);
/* No run of it is under way. */
void device_graph_free(loom_device_plan *p);
/* For a run by the graph: NULL, or open, then each instruction's step, then close, which orders the
 * run where all steps were good and returns whether it has. Between, the graph is the thread's. */
device_graph *device_graph_open(loom_device_plan *p);
bool device_graph_step(device_graph *graph, uint32_t instr, const device_step *step);
bool device_graph_close(device_graph *graph, bool good);

#endif
