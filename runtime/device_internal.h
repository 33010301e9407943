/* What the files of devices share. Sections by file. */
#ifndef LOOM_DEVICE_INTERNAL_H
#define LOOM_DEVICE_INTERNAL_H

#include <pthread.h>

#include "runtime/device.h"
#include "runtime/driver.h"

/* ---- device.c ---- */

typedef struct device_reports device_reports;

struct loom_device {
  const driver *driver;
  char name[16], architecture[16];
  int number, handle;
  void *context;           /* CUDA's */
  void *stream, *event;    /* `event` orders other streams */
  loom_device *root;       /* the device with its own stream */
  pthread_mutex_t lock;    /* the root's: of `event` and `others` */
  loom_device *others;     /* the root's: those of loom_device_on(), the last one first */
  device_reports *reports; /* the root's: device_report.c; NULL: nobody has needed it */
};

/* Around calls of the driver: makes the device the thread's. */
bool device_enter(loom_device *device, loom_error *err);
void device_leave(loom_device *device);
/* Waits for all work that was ordered by way of the device, also on streams of others. */
void device_finish(loom_device *device);

/* ---- device_plan.c ---- */

#define DEVICE_WORDS_OF_STATUS 16 /* of a run; further kernels share the last one */

typedef struct device_kernel {
  void *function;
  uint32_t buffers, params; /* words of the lists that it gets */
  uint32_t threads;
  bool blocks, silent;
  uint32_t report;             /* which word of the status it writes; silent ones none */
  uint32_t shared;             /* bytes that a launch gives it */
  const loom_tensor_map *maps; /* the plan's */
  uint32_t map_count;
} device_kernel;

typedef struct device_graphs device_graphs;
typedef struct device_graph device_graph;
typedef struct device_parts device_parts;

struct loom_device_plan {
  loom_device *device;
  loom_plan *plan;
  void *module;
  device_graphs *graphs; /* device_graph.c; NULL: there is none to make of the plan */
  bool silent;           /* no kernel reports anything */
  device_parts *parts;   /* device_parts.c; NULL: the arena is always one piece */
  bool asks;             /* the host reads conditions and counts on the device */
  _Atomic bool captured; /* a graph of others has its kernels: its code is never unloaded */
  uint32_t
      report_count; /* words of the status: one for each kernel that reports, as far as there are */
  char reports[DEVICE_WORDS_OF_STATUS][64]; /* for people */
  /* For the plan, then for each of its regions. */
  device_kernel *kernels[];
};

/* ---- device_run.c ---- */

/* A run of a plan or of a region. */
typedef struct device_run {
  loom_device_plan *p;
  loom_device *device; /* with the stream that the work is ordered on */
  const loom_plan *plan;
  const device_kernel *kernels;
  const loom_device_call *call;
  const loom_address *inputs, *outputs;
  int64_t *registers;  /* NULL: none */
  loom_address memory; /* arena, and of a plan the status; 0: none */
  uint64_t room;       /* bytes of it */
  loom_address status; /* words of the plan's `report_count`; 0: no kernel reports anything */
  uint32_t stopped;    /* the status that has ended the run early */
  loom_address *parts; /* memory of the parts of the arena; NULL: it is one piece */
  bool captured;       /* others make a graph of the stream's work */
} device_run;

/* Makes `registers`, and memory for the arena and `more` bytes behind it, which begin at *after. Of
 * a region, `symbols` are the outer registers. Symbols that do not fit set `stopped`. */
bool device_run_open(device_run *r, const int64_t *symbols, uint64_t more, uint64_t *after,
                     loom_error *err);
/* Another value for a symbol, between two runs of a region. */
bool device_run_set_symbol(device_run *r, uint32_t symbol, int64_t value, loom_error *err);
void device_run_close(device_run *r);
/* Bytes of a buffer. */
bool device_run_size(const device_run *r, uint32_t buffer, uint64_t *out, loom_error *err);
loom_address device_run_find(const device_run *r, uint32_t buffer);
/* Orders the instructions' work. It ends early, without an error, where `stopped` is set. */
bool device_run_instrs(device_run *r, loom_error *err);
/* Bytes of device memory behind the work so far: waits for it. */
bool device_run_read(const device_run *r, void *to, loom_address from, size_t size,
                     loom_error *err);
bool device_run_copy(const device_run *r, loom_address to, loom_address from, uint64_t size,
                     loom_error *err);
/* Memory in the order of the stream, the caller's or the driver's; at least a byte. 0 is
 * freed, too. */
bool device_run_alloc(const device_run *r, loom_address *out, uint64_t size, loom_error *err);
void device_run_free(const device_run *r, loom_address memory);

#define DEVICE_WORDS (LOOM_PLAN_LAUNCH_BYTES / sizeof(uint64_t))

/* An instruction of a run: what the driver gets, and where that lies. */
typedef struct device_step {
  driver_step driver;
  bool idle; /* there is nothing to do */
  void *arguments[6];
  _Alignas(64) uint64_t maps[LOOM_MAP_MOST * LOOM_MAP_BYTES / 8];
  int64_t begin, end;
  loom_address status;
  uint32_t word_count;
  uint64_t words[DEVICE_WORDS];
} device_step;

/* ---- device_control.c ---- */

/* Runs a loop or a branch. */
bool device_control(device_run *r, const loom_plan_instr *in, loom_error *err);

/* ---- device_parts.c ---- */

/* The buffers of an instruction; `copied` is room for those of a copy. */
const uint32_t *device_instr_buffers(const loom_plan *plan, const loom_plan_instr *in,
                                     uint32_t copied[2], uint32_t *count);
/* Sets p->parts. */
bool device_parts_new(loom_device_plan *p, loom_error *err);
void device_parts_free(loom_device_plan *p);
/* For a run whose memory is the caller's: open, then before and after each instruction with each of
 * its buffers, then close. */
bool device_parts_open(device_run *r, loom_error *err);
bool device_parts_before(device_run *r, uint32_t instr, uint32_t buffer, loom_error *err);
void device_parts_after(device_run *r, uint32_t instr, uint32_t buffer);
loom_address device_parts_find(const device_run *r, uint32_t buffer);
void device_parts_close(device_run *r);

/* ---- device_report.c ---- */

/* Before a plan whose kernels report errors is run: not while a stream is captured. */
bool device_report_ready(loom_device *device, loom_error *err);
/* Has the run's words copied when they are known. Not ordered: there are too many calls whose words
 * have not come. */
bool device_report_order(const device_run *r, bool *ordered, loom_error *err);

/* ---- device_order.c ---- */

typedef struct device_order device_order;

/* Of instructions [first, end). NULL: there is no memory. */
device_order *device_order_new(const loom_plan *plan, uint32_t first, uint32_t end);
void device_order_free(device_order *order);
/* The steps, by number from `first` on, that a step has to wait for. Others come before these. */
const uint32_t *device_order_before(const device_order *order, uint32_t step, uint32_t *count);
/* Steps of the longest path. */
uint32_t device_order_depth(const device_order *order);

/* ---- device_graph.c ---- */

/* Sets p->graphs. */
bool device_graphs_new(loom_device_plan *p, loom_error *err);
/* No run of them is under way. */
void device_graphs_free(loom_device_plan *p);
/* The end of the piece that begins with an instruction; 0: none does. */
uint32_t device_graph_piece(const loom_device_plan *p, uint32_t first);
/* For a piece by its graph on this stream: NULL, or open, then each instruction's step, then close,
 * which orders the piece where all steps were good and returns whether it has. Between, the plan's
 * graphs are the thread's. */
device_graph *device_graph_open(loom_device_plan *p, loom_device *device, uint32_t first);
bool device_graph_step(device_graph *graph, uint32_t instr, const device_step *step);
bool device_graph_close(device_graph *graph, bool good);

#endif
