/* Devices: memory, order of work, plans that run there. Knows neither MLIR, LLVM nor Python.
 *
 * A device does the runtime's work in order, on one stream of its own: a call that says nothing
 * else returns before the work is done. Functions may be called from any thread, and leave the
 * thread's current context as they found it.
 *
 * Sections by file: device.c, device_plan.c, device_run.c, device_control.c, device_report.c,
 * device_graph.c.
 */
#ifndef LOOM_DEVICE_H
#define LOOM_DEVICE_H

#include "runtime/runtime.h"

/* ---- device.c ---- */

typedef struct loom_device loom_device; /* opened once in a process, and never closed */
typedef uint64_t loom_address;          /* of device memory; never to be read by the host */

/* "cuda" or "cuda:N" (NVIDIA), "hip" or "hip:N" (AMD). Fails with a message when the driver is
 * missing or too old, there is no such device, or this process was forked from one that has opened
 * a device. */
bool loom_device_open(const char *name, loom_device **out, loom_error *err);
const char *loom_device_name(const loom_device *device);         /* "cuda:0" */
const char *loom_device_architecture(const loom_device *device); /* "sm_90", "gfx90a" */
const char *loom_device_kind(const loom_device *device);         /* "cuda" or "hip" */
int loom_device_number(const loom_device *device);
/* The tests' driver runs kernels on this machine, and needs code for it. */
bool loom_device_is_simulated(const loom_device *device);

/* At least `size` bytes, for work that is ordered behind this call. */
bool loom_device_alloc(loom_device *device, size_t size, loom_address *out, loom_error *err);
/* Given back when the work so far is done. */
void loom_device_free(loom_device *device, loom_address address);
/* `data` may change as soon as this returns. */
bool loom_device_upload(loom_device *device, loom_address to, const void *data, size_t size,
                        loom_error *err);
/* Waits for the work so far. */
bool loom_device_download(loom_device *device, void *to, loom_address from, size_t size,
                          loom_error *err);
bool loom_device_wait(loom_device *device, loom_error *err);
/* From one device's memory to another's of the same driver. It is ordered behind the work so far of
 * both, and what either gets to do from here on comes behind it: `from` may be freed. */
bool loom_device_copy(loom_device *device, loom_address to, loom_device *from_device,
                      loom_address from, size_t size, loom_error *err);

/* The device is the thread's until loom_device_let_go(), so that functions of this file need not
 * make it that. Others may make another one the thread's meanwhile, if they put this one back.
 * *before: what was held so far, for loom_device_let_go(). */
bool loom_device_hold(loom_device *device, const loom_device **before, loom_error *err);
void loom_device_let_go(loom_device *device, const loom_device *before);

#define LOOM_STREAM_LEGACY 1
/* Streams of others, as numbers: 1 is the legacy default stream, 2 the one of the thread. */
uint64_t loom_device_stream(const loom_device *device);
/* The same device with another stream in place of its own: what is ordered by way of it is ordered
 * there. Kept as long as the process lives. NULL after an error. */
loom_device *loom_device_on(loom_device *device, void *stream, loom_error *err);
/* Work that is ordered from here on begins when the other stream's work so far is done. */
bool loom_device_after(loom_device *device, uint64_t stream, loom_error *err);
/* What the other stream gets to do from here on begins when the device's work so far is done. */
bool loom_device_before(loom_device *device, uint64_t stream, loom_error *err);
/* The number of the device of this driver whose memory the address is. */
bool loom_device_owner(loom_device *device, loom_address address, int *out, loom_error *err);
/* Fails where the address is not memory of this device. */
bool loom_device_owns(loom_device *device, loom_address address, loom_error *err);

/* ---- device_plan.c, device_run.c ---- */

typedef struct loom_device_plan loom_device_plan; /* a plan whose kernels are on a device; shared */

/* The plan was compiled for the device's target and architecture. Machine code of PTX comes from
 * the disk cache, or is made by the driver. Takes a reference to the plan. */
bool loom_device_plan_load(loom_device *device, loom_plan *plan, loom_device_plan **out,
                           loom_error *err);
void loom_device_plan_free(loom_device_plan *plan);
/* Has a graph of others captured a run? It may use the plan's constants as long as the process
 * lives. */
bool loom_device_plan_is_captured(const loom_device_plan *plan);

typedef struct loom_device_call {
  const loom_address *inputs; /* for each input that is an array or a constant */
  const uint64_t *scalars;    /* in the order of the scalar inputs */
  const loom_address *outputs;
  /* Of the plan. Where they do not fit, the status is LOOM_STATUS_SIZE and nothing is done. */
  const int64_t *symbols;
  /* Of loom_device_on(): the work is ordered on that stream. NULL: on the plan's device's own. */
  loom_device *on;
  /* From the second call on, launches are graphs of the driver: one for each piece between what
   * the host does. Not where the stream is captured. */
  bool graphs;
  /* Errors of indices are not waited for: loom_device_reported() tells of them later, under this
   * title. */
  bool defers;
  const char *title;
  /* Asked now and then while loops are run: true stops the call. May be NULL. */
  int (*poll)(void *context);
  /* Calls of the host in the plan: their buffers are addresses of the device. They are to order
   * what they do on the same stream. One that fails ends the run with LOOM_STATUS_HOST. */
  loom_host_fn host;
  void *host_context;
  /* Memory for the run in place of the driver's; 0: there is none. What is released may be used by
   * what is ordered on the stream later. All is released when the run returns. NULL: the driver's.
   */
  loom_address (*allocate)(void *context, size_t size);
  void (*release)(void *context, loom_address memory);
  void *memory_context; /* of both */
  /* As in loom_call: outputs that are 0 are made, and their addresses written to `outputs`, before
   * what uses them first is ordered; an input is given up when what uses it last is. With graphs
   * all are made first and none is given up. Both may be NULL. */
  bool (*lend)(void *context, uint32_t output);
  void (*give_up)(void *context, uint32_t input);
  void *lend_context; /* of both */
} loom_device_call;

/* Orders the work of a call. Waits for it only where kernels can report errors, for conditions and
 * for counts of loops: *status gets LOOM_STATUS_INDEX and others like it, or
 * LOOM_STATUS_INTERRUPTED. */
bool loom_device_plan_run(loom_device_plan *plan, const loom_device_call *call, uint32_t *status,
                          loom_error *err);

/* ---- device_report.c ---- */

/* Has a kernel of a call that did not wait reported an error? Then *err says where; each is told
 * once. Nothing is waited for: what the device has not done yet is told later. */
bool loom_device_reported(loom_device *device, loom_error *err);
/* The same, when all such calls have ended. */
bool loom_device_reported_late(loom_device *device, loom_error *err);

/* ---- device_graph.c ---- */

/* What became of a plan's graph. */
typedef enum loom_device_graph_state {
  LOOM_GRAPH_SINGLE, /* there are no two launches or copies to put together */
  LOOM_GRAPH_LOOPS,  /* the host runs loops, branches or calls, and there are no two between */
  LOOM_GRAPH_UNUSED, /* no call has asked for it */
  LOOM_GRAPH_WAITS,  /* the next call makes it */
  LOOM_GRAPH_USED,
  LOOM_GRAPH_FAILED /* the driver refused it: launches are plain */
} loom_device_graph_state;

typedef struct loom_device_plan_facts {
  uint32_t launches, copies; /* without those of loops and branches */
  uint64_t arena;            /* bytes; 0 where they depend on sizes */
  bool asks;                 /* each call waits, since the host reads conditions or counts */
  bool reports;              /* kernels may report errors */
  loom_device_graph_state graph;
  uint32_t pieces;           /* graphs that a run takes */
  uint32_t depth;            /* steps of theirs that have to follow each other */
  uint64_t replays, updates; /* runs of graphs, and steps that were changed before them */
} loom_device_plan_facts;

loom_device_plan_facts loom_device_plan_facts_of(loom_device_plan *plan);

#endif
