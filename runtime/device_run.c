/* Running a plan on a device. Kernels get their lists of buffers and numbers by value, so that
 * nothing is copied before a launch. What a call needs on the device besides arguments and results
 * is one piece of memory, the arena and behind it a word for the status, where it needs either. It
 * is given back in the order of the stream, so that nothing waits. */
#include "runtime/device_internal.h"

#include <string.h>

#include "runtime/internal.h"

typedef struct device_run {
  loom_device_plan *p;
  const loom_device_call *call;
  loom_address memory; /* arena, status; 0: none */
  loom_address status; /* a word; 0: no kernel reports anything */
  uint32_t *reported;  /* of the caller */
} device_run;

static loom_address run_find(const device_run *r, uint32_t buffer) {
  const place *at = &r->p->plan->places[buffer];
  if (at->kind == PLACE_OUTPUT) return r->call->outputs[at->index];
  if (at->kind == PLACE_ARENA) return r->memory + at->offset;
  return r->call->inputs[at->index]; /* PLACE_INPUT, PLACE_CONST */
}

/* What a launch hands over: the buffers that the kernel reads, then its numbers. */
static void run_fill(const device_run *r, const loom_plan_instr *in, uint64_t *words) {
  const uint32_t *indices = r->p->plan->indices;
  const device_kernel *kernel = &r->p->kernels[in->a];
  for (uint32_t k = 0; k < kernel->buffers + kernel->params; k++)
    words[k] = 0;
  for (uint32_t k = 0; k < kernel->buffers && k < in->buffer_count; k++)
    words[k] = run_find(r, indices[in->buffers + k]);
  for (uint32_t k = 0; k < kernel->params && k < in->param_count; k++)
    words[kernel->buffers + k] = r->call->scalars[indices[in->params + k]];
}

static bool run_launch(const device_run *r, const loom_plan_instr *in, device_step *out,
                       loom_error *err) {
  const device_kernel *kernel = &r->p->kernels[in->a];
  uint64_t grid =
      kernel->blocks ? in->chunks : ((uint64_t)in->chunks + kernel->threads - 1) / kernel->threads;
  if (grid > INT32_MAX || grid * kernel->threads > r->p->device->driver->kind->most_threads)
    return loom_fail(err, "a launch of %llu blocks", (unsigned long long)grid);
  out->word_count = kernel->buffers + kernel->params;
  run_fill(r, in, out->words);
  out->status = r->status;
  out->begin = in->b;
  out->end = out->begin + in->chunks;
  void *arguments[] = {out->words, out->words + kernel->buffers, &out->begin, &out->end,
                       &out->status};
  memcpy(out->arguments, arguments, sizeof arguments);
  out->driver = (driver_step){.function = kernel->function,
                              .blocks = (unsigned)grid,
                              .threads = kernel->threads,
                              .arguments = out->arguments};
  return true;
}

/* What an instruction asks of the driver. `idle`: nothing. */
static bool run_step(const device_run *r, const loom_plan_instr *in, device_step *out,
                     loom_error *err) {
  out->driver = (driver_step){.function = NULL};
  out->word_count = 0;
  out->idle = true;
  if (in->opcode == LOOM_PLAN_LAUNCH) {
    if (!run_launch(r, in, out, err)) return false;
    out->idle = !out->driver.blocks;
  }
  if (in->opcode == LOOM_PLAN_COPY) {
    out->driver.from = run_find(r, in->a);
    out->driver.to = run_find(r, in->b);
    out->driver.size = r->p->plan->buffers[in->a].size;
    out->idle = !out->driver.size || out->driver.from == out->driver.to;
  }
  return true;
}

static bool run_plainly(const device_run *r, const loom_plan_instr *in, const device_step *step,
                        loom_error *err) {
  loom_device *device = r->p->device;
  const driver *d = device->driver;
  const driver_step *todo = &step->driver;
  if (step->idle) return true;
  if (!todo->function)
    return driver_check(d, d->MemcpyDtoDAsync(todo->to, todo->from, todo->size, device->stream),
                        err, "%llu bytes cannot be copied on %s", (unsigned long long)todo->size,
                        device->name);
  const loom_plan_kernel *rows =
      (const void *)(r->p->plan->bytes + loom_plan_header_of(r->p->plan)->kernels.offset);
  return driver_check(d, d->kind->launch(device, todo), err, "kernel %s cannot be launched on %s",
                      r->p->plan->names + rows[in->a].name, device->name);
}

static bool run_instrs(const device_run *r, loom_error *err) {
  const loom_plan *plan = r->p->plan;
  bool good = true;
  device_step step;
  for (uint32_t i = 0; good && i < loom_plan_header_of(plan)->instrs.count; i++)
    good =
        run_step(r, &plan->instrs[i], &step, err) && run_plainly(r, &plan->instrs[i], &step, err);
  return good;
}

/* The same by the plan's graph. False: nothing was ordered. */
static bool run_graph(const device_run *r) {
  loom_error ignored;
  const loom_plan *plan = r->p->plan;
  device_graph *graph = device_graph_open(r->p);
  if (!graph) return false;
  device_step step;
  bool good = true;
  for (uint32_t i = 0; good && i < loom_plan_header_of(plan)->instrs.count; i++)
    good = run_step(r, &plan->instrs[i], &step, &ignored) && device_graph_step(graph, i, &step);
  return device_graph_close(graph, good);
}

/* The call's memory, with no status reported. */
static bool run_memory(device_run *r, loom_error *err) {
  const driver *d = r->p->device->driver;
  void *stream = r->p->device->stream;
  size_t arena = ((size_t)loom_plan_header_of(r->p->plan)->arena_size + 255) / 256 * 256;
  size_t size = arena + (r->p->silent ? 0 : sizeof(uint64_t));
  if (!size) return true;
  if (!driver_check(d, d->MemAllocAsync(&r->memory, size, stream), err,
                    "%zu bytes on %s cannot be allocated", size, r->p->device->name))
    return false;
  if (r->p->silent) return true;
  r->status = r->memory + arena;
  return driver_check(d, d->MemsetD32Async(r->status, 0, 1, stream), err,
                      "the status of a run on %s cannot be cleared", r->p->device->name);
}

/* Errors of this run, at once: its results are not to be used. */
static bool run_read_status(const device_run *r, loom_error *err) {
  const driver *d = r->p->device->driver;
  uint32_t status = 0;
  if (r->p->silent) return true;
  if (!driver_check(d, d->MemcpyDtoHAsync(&status, r->status, sizeof status, r->p->device->stream),
                    err, "the status of a run on %s cannot be read", r->p->device->name) ||
      !driver_check(d, d->StreamSynchronize(r->p->device->stream), err, "the work of %s has failed",
                    r->p->device->name))
    return false;
  *r->reported = status & PLAN_STOPS;
  return true;
}

static bool run_all(device_run *r, loom_error *err) {
  loom_device *device = r->p->device;
  bool good = run_memory(r, err);
  good = good && ((r->call->graphs && run_graph(r)) || run_instrs(r, err));
  good = good && run_read_status(r, err);
  if (!good) device->driver->StreamSynchronize(device->stream); /* what was ordered reads memory */
  loom_device_free(device, r->memory);
  return good;
}

bool loom_device_plan_run(loom_device_plan *p, const loom_device_call *call, uint32_t *status,
                          loom_error *err) {
  device_run r = {.p = p, .call = call, .reported = status};
  *status = 0;
  if (!device_enter(p->device, err)) return false;
  bool good = run_all(&r, err);
  device_leave(p->device);
  return good;
}
