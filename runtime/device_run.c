/* Running a plan on a device. Kernels get their lists of buffers and numbers by value, so that
 * nothing is copied before a launch. What a call needs on the device besides arguments and results
 * is one piece of memory, the arena and behind it a word for the status, where it needs either. It
 * is given back in the order of the stream, so that nothing waits. The stream is the device's own
 * or one of others, and the memory is the driver's or the caller's. Calls of the host are made
 * between launches, and order their work on the same stream. */
#include "runtime/device_internal.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

loom_address device_run_find(const device_run *r, uint32_t buffer) {
  const place *at = &r->plan->places[buffer];
  if (at->kind == PLACE_OUTPUT) return r->outputs[at->index];
  if (at->kind == PLACE_ARENA && r->parts) return device_parts_find(r, buffer);
  if (at->kind == PLACE_ARENA) return r->memory + at->offset;
  if (at->kind == PLACE_ARENA_AT) return r->memory + (uint64_t)r->registers[at->index];
  return r->inputs[at->index]; /* PLACE_INPUT, PLACE_CONST */
}

static bool run_wrong_sizes(loom_error *err) {
  return loom_fail(err, "a plan on a device is run with sizes that it is not for");
}

bool device_run_size(const device_run *r, uint32_t buffer, uint64_t *out, loom_error *err) {
  return run_buffer_size(&r->plan->buffers[buffer], r->registers, out) || run_wrong_sizes(err);
}

/* ---- instructions ---- */

/* What a launch hands over: the buffers that the kernel reads, then its numbers. */
static void run_fill(const device_run *r, const loom_plan_instr *in, uint64_t *words) {
  const uint32_t *indices = r->plan->indices;
  const device_kernel *kernel = &r->kernels[in->a];
  for (uint32_t k = 0; k < kernel->buffers + kernel->params; k++)
    words[k] = 0;
  for (uint32_t k = 0; k < kernel->buffers && k < in->buffer_count; k++)
    words[k] = device_run_find(r, indices[in->buffers + k]);
  for (uint32_t k = 0; k < kernel->params && k < in->param_count; k++) {
    uint32_t number = indices[in->params + k], own = number & ~LOOM_PLAN_PARAM_REGISTER;
    words[kernel->buffers + k] =
        own == number ? r->call->scalars[number] : (uint64_t)r->registers[own];
  }
}

/* Tensor maps of the launch's buffers. Of one that does not begin at a multiple of 16 bytes there
 * is none: the kernel sees that, and does without. Nor is there one of no elements. */
static bool run_maps(const device_run *r, const device_kernel *kernel, device_step *out,
                     loom_error *err) {
  const driver *d = r->device->driver;
  for (uint32_t i = 0; i < kernel->map_count; i++) {
    uint64_t *to = out->maps + i * LOOM_MAP_BYTES / sizeof *out->maps;
    uint64_t address = out->words[kernel->maps[i].buffer] + (uint64_t)kernel->maps[i].offset;
    loom_tensor_map map = kernel->maps[i];
    memset(to, 0, LOOM_MAP_BYTES);
    if (!loom_map_known(&map, out->words + kernel->buffers)) return run_wrong_sizes(err);
    bool some = map.extents[0] && map.extents[1] && map.extents[2];
    if (some && address % 16 == 0 &&
        !driver_check(d, d->kind->map(to, &map, address), err, "a tensor map cannot be made on %s",
                      r->device->name))
      return false;
  }
  return true;
}

static bool run_launch(const device_run *r, const loom_plan_instr *in, device_step *out,
                       loom_error *err) {
  const device_kernel *kernel = &r->kernels[in->a];
  int64_t chunks =
      in->flags & LOOM_PLAN_CHUNKS_REGISTER ? r->registers[in->chunks] : (int64_t)in->chunks;
  if (chunks < 0 || chunks > INT64_MAX / 2) return run_wrong_sizes(err);
  uint64_t grid = kernel->blocks ? (uint64_t)chunks
                                 : ((uint64_t)chunks + kernel->threads - 1) / kernel->threads;
  if (grid > INT32_MAX || grid * kernel->threads > r->device->driver->kind->most_threads)
    return loom_fail(err, "a launch of %llu blocks", (unsigned long long)grid);
  out->word_count = kernel->buffers + kernel->params;
  run_fill(r, in, out->words);
  out->status = r->status ? r->status + kernel->report * sizeof(uint32_t) : 0;
  out->begin = in->b;
  out->end = out->begin + chunks;
  void *arguments[] = {
      out->words, out->words + kernel->buffers, &out->begin, &out->end, &out->status, out->maps};
  memcpy(out->arguments, arguments, sizeof arguments);
  out->driver = (driver_step){.function = kernel->function,
                              .blocks = (unsigned)grid,
                              .threads = kernel->threads,
                              .shared = kernel->shared,
                              .arguments = out->arguments};
  return run_maps(r, kernel, out, err);
}

/* What an instruction asks of the driver. `idle`: nothing. */
static bool run_step(const device_run *r, const loom_plan_instr *in, device_step *out,
                     loom_error *err) {
  out->driver = (driver_step){.function = NULL};
  out->word_count = 0;
  out->idle = true;
  bool sizes = in->opcode == LOOM_PLAN_SIZE || in->opcode == LOOM_PLAN_CHECK;
  if (sizes && run_size(in, r->registers)) return run_wrong_sizes(err);
  if (in->opcode == LOOM_PLAN_LAUNCH) {
    if (!run_launch(r, in, out, err)) return false;
    out->idle = !out->driver.blocks;
  }
  if (in->opcode == LOOM_PLAN_COPY) {
    out->driver.from = device_run_find(r, in->a);
    out->driver.to = device_run_find(r, in->b);
    uint64_t size;
    if (!device_run_size(r, in->a, &out->driver.size, err) ||
        !device_run_size(r, in->b, &size, err))
      return false;
    if (size != out->driver.size) return run_wrong_sizes(err);
    out->idle = !out->driver.size || out->driver.from == out->driver.to;
  }
  return true;
}

static bool run_plainly(const device_run *r, const loom_plan_instr *in, const device_step *step,
                        loom_error *err) {
  loom_device *device = r->device;
  const driver *d = device->driver;
  const driver_step *todo = &step->driver;
  if (step->idle) return true;
  if (!todo->function) return device_run_copy(r, todo->to, todo->from, todo->size, err);
  const loom_plan_kernel *rows =
      (const void *)(r->plan->bytes + loom_plan_header_of(r->plan)->kernels.offset);
  return driver_check(d, d->kind->launch(device, todo), err, "kernel %s cannot be launched on %s",
                      r->plan->names + rows[in->a].name, device->name);
}

#define RUN_FEW 32 /* buffers of a call of the host that need no allocation */

/* What the call does is ordered behind the launches before it, and before those behind it. */
static bool run_host(device_run *r, const loom_plan_instr *in, loom_error *err) {
  void *few[RUN_FEW], **buffers = few;
  const char *name = r->plan->names + in->a;
  if (!r->call->host) return loom_fail(err, "%.100s runs on the host", name);
  if (in->buffer_count > RUN_FEW) buffers = malloc(in->buffer_count * sizeof *buffers);
  if (!buffers) return loom_fail(err, "out of memory");
  for (uint32_t i = 0; i < in->buffer_count; i++)
    buffers[i] = (void *)(uintptr_t)device_run_find(r, r->plan->indices[in->buffers + i]);
  loom_host_call call = {.name = name,
                         .slot = in->b,
                         .reads = in->c,
                         .count = in->buffer_count,
                         .buffers = buffers,
                         .symbols = r->registers};
  if (r->call->host(r->call->host_context, &call)) r->stopped = LOOM_STATUS_HOST;
  if (buffers != few) free(buffers);
  return true;
}

static bool run_instr(device_run *r, const loom_plan_instr *in, loom_error *err) {
  device_step step;
  switch (in->opcode) {
  case LOOM_PLAN_FOR:
  case LOOM_PLAN_WHILE:
  case LOOM_PLAN_BRANCH: return device_control(r, in, err);
  case LOOM_PLAN_HOST_CALL: return run_host(r, in, err);
  default: return run_step(r, in, &step, err) && run_plainly(r, in, &step, err);
  }
}

/* ---- what comes and goes within a run ---- */

static bool run_lend(const device_run *r, uint32_t buffer, loom_error *err) {
  const loom_plan_buffer *b = &r->plan->buffers[buffer];
  const loom_device_call *call = r->call;
  if (b->kind != LOOM_PLAN_BUFFER_OUTPUT || call->outputs[b->index]) return true;
  return call->lend(call->lend_context, b->index) ||
         loom_fail(err, "there is no memory for a result on %s", r->device->name);
}

static bool run_lend_all(device_run *r, uint32_t instr, loom_error *err) {
  uint32_t copied[2], count;
  const uint32_t *list = device_instr_buffers(r->plan, &r->plan->instrs[instr], copied, &count);
  bool good = true;
  for (uint32_t i = 0; good && i < count; i++)
    good = (!r->call->lend || run_lend(r, list[i], err)) &&
           (!r->parts || device_parts_before(r, instr, list[i], err));
  return good;
}

static void run_give_up_all(device_run *r, uint32_t instr) {
  uint32_t copied[2], count;
  const uint32_t *list = device_instr_buffers(r->plan, &r->plan->instrs[instr], copied, &count);
  for (uint32_t i = 0; i < count; i++) {
    const loom_plan_buffer *b = &r->plan->buffers[list[i]];
    if (r->parts) device_parts_after(r, instr, list[i]);
    if (r->call->give_up && b->kind == LOOM_PLAN_BUFFER_INPUT &&
        r->plan->last[b->index] == instr + 1)
      r->call->give_up(r->call->lend_context, b->index);
  }
}

/* The instructions of a whole plan, whose caller makes results when they are needed. */
static bool run_lending(device_run *r, loom_error *err) {
  bool good = true;
  const loom_plan_header *h = loom_plan_header_of(r->plan);
  for (uint32_t i = h->prologue; good && !r->stopped && i < h->instrs.count; i++) {
    good = run_lend_all(r, i, err) && run_instr(r, &r->plan->instrs[i], err);
    if (good) run_give_up_all(r, i);
  }
  return good;
}

bool device_run_instrs(device_run *r, loom_error *err) {
  bool good = true;
  const loom_plan_header *h = loom_plan_header_of(r->plan);
  for (uint32_t i = h->prologue; good && !r->stopped && i < h->instrs.count; i++)
    good = run_instr(r, &r->plan->instrs[i], err);
  return good;
}

/* A piece by its graph. False: nothing was ordered. */
static bool run_graph(const device_run *r, uint32_t first, uint32_t end) {
  loom_error ignored;
  device_graph *graph = device_graph_open(r->p, r->device, first);
  if (!graph) return false;
  device_step step;
  bool good = true;
  for (uint32_t i = first; good && i < end; i++)
    good = run_step(r, &r->plan->instrs[i], &step, &ignored) && device_graph_step(graph, i, &step);
  return device_graph_close(graph, good);
}

/* The same as device_run_instrs(), of a whole plan: by graphs, as far as there are any. */
static bool run_pieces(device_run *r, loom_error *err) {
  bool good = true;
  const loom_plan_header *h = loom_plan_header_of(r->plan);
  for (uint32_t i = 0; r->call->lend && good && i < h->buffers.count; i++)
    good = run_lend(r, i, err);
  for (uint32_t i = h->prologue, end; good && !r->stopped && i < h->instrs.count;) {
    end = device_graph_piece(r->p, i);
    if (end && run_graph(r, i, end)) {
      i = end;
      continue;
    }
    good = run_instr(r, &r->plan->instrs[i++], err);
  }
  return good;
}

/* ---- memory ---- */

bool device_run_copy(const device_run *r, loom_address to, loom_address from, uint64_t size,
                     loom_error *err) {
  const loom_device *device = r->device;
  const driver *d = device->driver;
  return driver_check(d, d->MemcpyDtoDAsync(to, from, size, device->stream), err,
                      "%llu bytes cannot be copied on %s", (unsigned long long)size, device->name);
}

bool device_run_read(const device_run *r, void *to, loom_address from, size_t size,
                     loom_error *err) {
  const loom_device *device = r->device;
  const driver *d = device->driver;
  return driver_check(d, d->MemcpyDtoHAsync(to, from, size, device->stream), err,
                      "%zu bytes of a run on %s cannot be read", size, device->name) &&
         driver_check(d, d->StreamSynchronize(device->stream), err, "the work of %s has failed",
                      device->name);
}

bool device_run_alloc(const device_run *r, loom_address *out, uint64_t size, loom_error *err) {
  const loom_device *device = r->device;
  const driver *d = device->driver;
  const loom_device_call *call = r->call;
  if (call->allocate) {
    *out = call->allocate(call->memory_context, size ? size : 1);
    return *out || loom_fail(err, "%llu bytes on %s cannot be allocated", (unsigned long long)size,
                             device->name);
  }
  return driver_check(d, d->MemAllocAsync(out, size ? size : 1, device->stream), err,
                      "%llu bytes on %s cannot be allocated", (unsigned long long)size,
                      device->name);
}

void device_run_free(const device_run *r, loom_address memory) {
  const loom_device_call *call = r->call;
  if (!call->allocate)
    loom_device_free(r->device, memory);
  else if (memory)
    call->release(call->memory_context, memory);
}

/* The arena grows where it has to; what is in it is lost. */
static bool run_arena(device_run *r, uint64_t arena, uint64_t more, uint64_t *after,
                      loom_error *err) {
  *after = (arena + 255) / 256 * 256;
  if (*after + more <= r->room) return true;
  device_run_free(r, r->memory);
  r->memory = 0;
  r->room = 0;
  if (!device_run_alloc(r, &r->memory, *after + more, err)) return false;
  r->room = *after + more;
  return true;
}

bool device_run_open(device_run *r, const int64_t *symbols, uint64_t more, uint64_t *after,
                     loom_error *err) {
  uint32_t count = loom_plan_header_of(r->plan)->register_count;
  *after = 0;
  if (count && !(r->registers = calloc(count, sizeof *r->registers)))
    return loom_fail(err, "out of memory");
  uint64_t arena;
  if ((count && run_prologue(r->plan, symbols, r->registers)) ||
      run_arena_size(r->plan, r->registers, &arena))
    return r->stopped = LOOM_STATUS_SIZE, true;
  if (r->parts) arena = 0;
  return run_arena(r, arena, more, after, err);
}

bool device_run_set_symbol(device_run *r, uint32_t symbol, int64_t value, loom_error *err) {
  uint64_t arena, after;
  r->registers[symbol] = value;
  for (uint32_t i = 0; i < loom_plan_header_of(r->plan)->prologue; i++)
    if (run_size(&r->plan->instrs[i], r->registers)) return run_wrong_sizes(err);
  if (run_arena_size(r->plan, r->registers, &arena)) return run_wrong_sizes(err);
  return run_arena(r, arena, 0, &after, err);
}

void device_run_close(device_run *r) {
  if (r->p) device_run_free(r, r->memory);
  if (r->p) device_parts_close(r);
  free(r->registers);
}

/* The call's memory, with no status reported. */
static bool run_memory(device_run *r, loom_error *err) {
  const driver *d = r->device->driver;
  uint64_t after;
  uint32_t words = r->p->report_count;
  if (!device_run_open(r, r->call->symbols, words * sizeof(uint32_t), &after, err)) return false;
  if (r->p->silent || r->stopped) return true;
  r->status = r->memory + after;
  return driver_check(d, d->MemsetD32Async(r->status, 0, words, r->device->stream), err,
                      "the status of a run on %s cannot be cleared", r->device->name);
}

/* ---- all of it ---- */

/* Errors of this run, at once: its results are not to be used. */
static bool run_read_status(const device_run *r, uint32_t *out, loom_error *err) {
  uint32_t words[DEVICE_WORDS_OF_STATUS] = {0}, status = r->stopped;
  size_t size = r->p->report_count * sizeof *words;
  bool known = r->p->silent || r->stopped & (LOOM_STATUS_SIZE | LOOM_STATUS_HOST);
  bool good = known || device_run_read(r, words, r->status, size, err);
  for (uint32_t i = 0; i < r->p->report_count; i++)
    status |= words[i] & PLAN_STOPS;
  *out = status;
  return good;
}

/* The same at once or later, as the caller wants it. */
static bool run_end(const device_run *r, uint32_t *status, loom_error *err) {
  bool ordered = false;
  bool later = r->call->defers && !r->p->silent && !r->stopped;
  if (later && !device_report_order(r, &ordered, err)) return false;
  if (ordered || !later || !r->captured) return ordered || run_read_status(r, status, err);
  return loom_fail(err, "too many graphs have been captured on %s whose kernels report errors",
                   r->device->name);
}

/* A stream that is captured cannot be waited for, which conditions, counts and errors at once need.
 */
static bool run_ask_capture(device_run *r, loom_error *err) {
  const driver *d = r->device->driver;
  const loom_device_call *call = r->call;
  int capturing = 0;
  if (!call->on) return true;
  if (!driver_check(d, d->StreamIsCapturing(r->device->stream, &capturing), err,
                    "a stream of %s cannot be asked", r->device->name))
    return false;
  r->captured = capturing != 0;
  if (!capturing) return true;
  bool waits = r->p->asks || (!r->p->silent && !call->defers);
  if (waits || !call->allocate)
    return loom_fail(err,
                     "work on %s is being captured into a graph, and this call has to wait for it",
                     r->device->name);
  return r->p->captured = true;
}

static bool run_all(device_run *r, uint32_t *status, loom_error *err) {
  loom_device *device = r->device;
  if (!run_ask_capture(r, err)) return false;
  bool graphs = r->call->graphs && !r->captured;
  bool parts = !graphs && r->call->allocate && r->p->parts;
  bool lends = parts || r->call->lend;
  bool good = (!parts || device_parts_open(r, err)) && run_memory(r, err);
  good = good && (r->stopped || (graphs  ? run_pieces(r, err)
                                 : lends ? run_lending(r, err)
                                         : device_run_instrs(r, err)));
  *status = r->stopped;
  good = good && run_end(r, status, err);
  if (!good && !r->captured)
    device->driver->StreamSynchronize(device->stream); /* it reads memory */
  device_run_close(r);
  return good;
}

bool loom_device_plan_run(loom_device_plan *p, const loom_device_call *call, uint32_t *status,
                          loom_error *err) {
  loom_device *device = call->on ? call->on : p->device;
  device_run r = {.p = p,
                  .device = device,
                  .plan = p->plan,
                  .kernels = p->kernels[0],
                  .call = call,
                  .inputs = call->inputs,
                  .outputs = call->outputs};
  run_poll poll = {call->poll, NULL, call->poll ? coarse_ms() : 0}, *outer = loom_polling;
  *status = 0;
  if (!device_enter(device, err)) return false;
  loom_polling = call->poll ? &poll : NULL;
  bool good = run_all(&r, status, err);
  loom_polling = outer;
  device_leave(device);
  return good;
}
