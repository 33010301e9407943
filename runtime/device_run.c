/* Running a plan on a device: what a call needs there besides arguments and results is one piece of
 * memory, the arena and behind it the launches' lists and a word for the status. It is filled by
 * one copy and given back in the order of the stream, so that nothing waits. */
#include "runtime/device_internal.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

#define RUN_FEW 32 /* buffers of a call of the host's that need no allocation */

typedef struct device_run {
  loom_device_plan *p;
  loom_device *device; /* with the stream that the work is ordered on */
  const loom_device_call *call;
  run sizes;           /* what the symbols determine: registers, and the arena's size */
  loom_address memory; /* arena, lists, status */
  size_t arena;        /* where the lists begin */
  device_stage *stage; /* of the lists */
  uint32_t *status;    /* of the caller */
} device_run;

static loom_address run_find(const device_run *r, uint32_t buffer) {
  const place *at = &r->p->plan->places[buffer];
  if (at->kind == PLACE_OUTPUT) return r->call->outputs[at->index];
  if (at->kind == PLACE_ARENA) return r->memory + at->offset;
  if (at->kind == PLACE_ARENA_AT) return r->memory + (uint64_t)r->sizes.registers[at->index];
  return r->call->inputs[at->index]; /* PLACE_INPUT, PLACE_CONST */
}

/* Writes the lists of all launches. */
static void run_fill(const device_run *r) {
  const loom_plan *plan = r->p->plan;
  const loom_plan_header *h = loom_plan_header_of(plan);
  uint64_t *at = (uint64_t *)r->stage->memory;
  for (uint32_t i = 0; i < h->instrs.count; i++) {
    const loom_plan_instr *in = &plan->instrs[i];
    if (in->opcode != LOOM_PLAN_LAUNCH) continue;
    for (uint32_t k = 0; k < in->buffer_count; k++)
      *at++ = run_find(r, plan->indices[in->buffers + k]);
    for (uint32_t k = 0; k < in->param_count; k++) {
      uint32_t entry = plan->indices[in->params + k], number = entry & ~LOOM_PLAN_PARAM_REGISTER;
      *at++ = entry == number ? r->call->scalars[number] : (uint64_t)r->sizes.registers[number];
    }
  }
  *at = 0;
}

static bool run_launch(const device_run *r, const loom_plan_instr *in, loom_address lists,
                       loom_error *err) {
  const driver *d = r->device->driver;
  const device_kernel *kernel = &r->p->kernels[in->a];
  loom_address params = lists + in->buffer_count * sizeof(uint64_t), scratch = 0;
  loom_address status = r->memory + r->arena + r->p->tables - sizeof(uint64_t);
  int64_t chunks = in->chunks, begin = in->b;
  if (in->flags & LOOM_PLAN_CHUNKS_REGISTER) chunks = r->sizes.registers[in->chunks];
  if (chunks <= 0) return true;
  int64_t end = begin + chunks;
  uint64_t grid = kernel->blocks ? (uint64_t)chunks
                                 : ((uint64_t)chunks + kernel->threads - 1) / kernel->threads;
  if (grid > INT32_MAX || grid * kernel->threads > d->kind->most_threads)
    return loom_fail(err, "a launch of %llu blocks", (unsigned long long)grid);
  void *arguments[] = {&lists, &params, &scratch, &begin, &end, &status};
  const loom_plan_kernel *rows =
      (const void *)(r->p->plan->bytes + loom_plan_header_of(r->p->plan)->kernels.offset);
  return driver_check(
      d, d->kind->launch(r->device, kernel->function, (unsigned)grid, kernel->threads, arguments),
      err, "kernel %s cannot be launched on %s", r->p->plan->names + rows[in->a].name,
      r->device->name);
}

static bool run_copy(const device_run *r, const loom_plan_instr *in, loom_error *err) {
  const driver *d = r->device->driver;
  loom_address from = run_find(r, in->a), to = run_find(r, in->b);
  uint64_t size = 0, room = 0;
  if (!run_size_of(&r->sizes, in->a, &size) || !run_size_of(&r->sizes, in->b, &room) ||
      size != room)
    return loom_fail(err, "a copy of %llu bytes to %llu on %s", (unsigned long long)size,
                     (unsigned long long)room, r->device->name);
  return !size || from == to ||
         driver_check(d, d->MemcpyDtoDAsync(to, from, size, r->device->stream), err,
                      "%llu bytes cannot be copied on %s", (unsigned long long)size,
                      r->device->name);
}

/* What the call does is ordered behind the launches before it, and before those behind it. */
static bool run_host(const device_run *r, const loom_plan_instr *in, loom_error *err) {
  void *few[RUN_FEW], **buffers = few;
  const char *name = r->p->plan->names + in->a;
  if (!r->call->host) return loom_fail(err, "%.100s runs on the host", name);
  if (in->buffer_count > RUN_FEW) buffers = malloc(in->buffer_count * sizeof *buffers);
  if (!buffers) return loom_fail(err, "out of memory");
  for (uint32_t i = 0; i < in->buffer_count; i++)
    buffers[i] = (void *)(uintptr_t)run_find(r, r->p->plan->indices[in->buffers + i]);
  loom_host_call call = {.name = name,
                         .slot = in->b,
                         .reads = in->c,
                         .count = in->buffer_count,
                         .buffers = buffers,
                         .symbols = r->sizes.registers};
  if (r->call->host(r->call->host_context, &call)) *r->status = LOOM_STATUS_HOST;
  if (buffers != few) free(buffers);
  return true;
}

static bool run_instrs(const device_run *r, loom_error *err) {
  const loom_plan *plan = r->p->plan;
  loom_address lists = r->memory + r->arena;
  bool good = true;
  uint32_t count = loom_plan_header_of(plan)->instrs.count;
  for (uint32_t i = 0; good && !*r->status && i < count; i++) {
    const loom_plan_instr *in = &plan->instrs[i];
    if (in->opcode == LOOM_PLAN_COPY) good = run_copy(r, in, err);
    if (in->opcode == LOOM_PLAN_HOST_CALL) good = run_host(r, in, err);
    if (in->opcode != LOOM_PLAN_LAUNCH) continue;
    good = run_launch(r, in, lists, err);
    lists += ((uint64_t)in->buffer_count + in->param_count) * sizeof(uint64_t);
  }
  return good;
}

/* Errors of this run, at once: its results are not to be used. */
static bool run_read_status(const device_run *r, loom_error *err) {
  const driver *d = r->device->driver;
  uint32_t status = 0;
  if (r->p->silent || *r->status) return true;
  if (!driver_check(d,
                    d->MemcpyDtoHAsync(&status, r->memory + r->arena + r->p->tables - 8,
                                       sizeof status, r->device->stream),
                    err, "the status of a run on %s cannot be read", r->device->name) ||
      !driver_check(d, d->StreamSynchronize(r->device->stream), err, "the work of %s has failed",
                    r->device->name))
    return false;
  *r->status = status & PLAN_STOPS;
  return true;
}

static bool run_allocate(device_run *r, size_t size, loom_error *err) {
  const driver *d = r->device->driver;
  const loom_device_call *call = r->call;
  if (!call->allocate)
    return driver_check(d, d->MemAllocAsync(&r->memory, size, r->device->stream), err,
                        "%zu bytes on %s cannot be allocated", size, r->device->name);
  r->memory = call->allocate(call->allocate_context, size);
  return r->memory || loom_fail(err, "%zu bytes on %s cannot be allocated", size, r->device->name);
}

/* The lists of a run lie in memory of the host that later runs write to: a graph that is replayed
 * later would read theirs. */
static bool run_refuse_capture(const device_run *r, loom_error *err) {
  const driver *d = r->device->driver;
  int capturing = 0;
  if (!r->call->on) return true;
  return driver_check(d, d->StreamIsCapturing(r->device->stream, &capturing), err,
                      "a stream of %s cannot be asked", r->device->name) &&
         (!capturing ||
          loom_fail(err,
                    "work on %s is being captured into a graph, of which a plan can be no part",
                    r->device->name));
}

static bool run_all(device_run *r, loom_error *err) {
  loom_device *device = r->device;
  const driver *d = device->driver;
  size_t size = r->arena + r->p->tables;
  if (!run_refuse_capture(r, err) || !run_allocate(r, size, err)) return false;
  r->stage = device_stage_get(device, r->p->tables, err);
  bool good = r->stage != NULL;
  if (good) run_fill(r);
  good = good && device_stage_copy(device, r->stage, r->memory + r->arena, r->p->tables, err) &&
         run_instrs(r, err) && run_read_status(r, err);
  if (!good) d->StreamSynchronize(device->stream); /* what was ordered still reads the memory */
  if (r->stage) device_stage_put(device, r->stage);
  if (!r->call->allocate) loom_device_free(device, r->memory);
  return good;
}

/* Registers, for known sizes none. False: they do not fit, as *status says, or with an error. */
static bool run_registers(device_run *r, const int64_t *symbols, loom_error *err) {
  const loom_plan_header *h = loom_plan_header_of(r->p->plan);
  r->sizes = (run){.plan = r->p->plan, .arena_size = h->arena_size};
  if (h->register_count) {
    r->sizes.registers = malloc(h->register_count * sizeof *r->sizes.registers);
    if (!r->sizes.registers) return loom_fail(err, "out of memory");
    *r->status = run_prologue(r->p->plan, symbols, r->sizes.registers);
    if (!*r->status) *r->status = run_arena(&r->sizes);
  }
  r->arena = ((size_t)r->sizes.arena_size + 255) / 256 * 256;
  return !*r->status;
}

bool loom_device_plan_run(loom_device_plan *p, const loom_device_call *call, uint32_t *status,
                          loom_error *err) {
  loom_device *device = call->on ? call->on : p->device;
  device_run r = {.p = p, .device = device, .call = call, .status = status};
  *status = 0;
  bool good = run_registers(&r, call->symbols, err) && device_enter(device, err);
  if (good) {
    good = run_all(&r, err);
    device_leave(device);
  }
  free(r.sizes.registers);
  return good || *status;
}
