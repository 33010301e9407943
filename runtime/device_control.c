/* Loops and branches of a plan on a device. The host runs them: it orders the work of a region, a
 * plan of its own whose kernels are in the plan's module, again and again. It waits for the device
 * where it has to know a number that lies there: the count of a loop, once, and the condition of a
 * loop or a branch, each time. A count that is a constant of the graph is in the
 * instruction.
 *
 * Each value that a loop carries has two buffers, that of its result and a spare one. An iteration
 * reads the ones and writes the others; the first one reads the initial values where they lie. At
 * the end what lies in spare ones is copied. Memory comes and goes in the order of the stream.
 */
#include "runtime/device_internal.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

typedef struct loop {
  device_run *outer;
  const loom_plan_instr *in;
  uint32_t count; /* carried values */
  uint32_t shift; /* input of the body that is the first of them */
  const uint32_t *carry;
  uint64_t *size;         /* bytes of each */
  loom_address *sides[2]; /* buffers of the results, spare ones */
  loom_address *inputs;   /* of the body */
  loom_address *outputs;  /* of the body */
  device_run body, test;
  loom_address index, more; /* the index of a counting loop, the condition of another */
} loop;

/* ---- regions ---- */

/* Ready to be run any number of times. */
static bool region_open(device_run *region, const device_run *outer, uint32_t number,
                        const loom_address *inputs, const loom_address *outputs, loom_error *err) {
  *region = (device_run){.p = outer->p,
                         .device = outer->device,
                         .plan = outer->p->plan->regions[number],
                         .kernels = outer->p->kernels[number],
                         .call = outer->call,
                         .inputs = inputs,
                         .outputs = outputs,
                         .status = outer->status};
  uint64_t after;
  return device_run_open(region, outer->registers, 0, &after, err) &&
         (!region->stopped ||
          loom_fail(err, "a region of a plan is run with sizes that it is not for"));
}

static bool region_run(device_run *region, device_run *outer, loom_error *err) {
  bool good = device_run_instrs(region, err);
  outer->stopped |= region->stopped;
  return good;
}

/* Is a region's buffer as large as the one that it gets? */
static bool region_pair(const device_run *region, uint32_t buffer, const device_run *outer,
                        uint32_t given, loom_error *err) {
  uint64_t a, b;
  return device_run_size(region, buffer, &a, err) && device_run_size(outer, given, &b, err) &&
         (a == b || loom_fail(err, "a region of a plan is run with a buffer of another size"));
}

static bool region_fits(const device_run *region, const device_run *outer, const uint32_t *reads,
                        uint32_t shift, const uint32_t *writes, loom_error *err) {
  const loom_plan_header *h = loom_plan_header_of(region->plan);
  const loom_plan_input *inputs = (const void *)(region->plan->bytes + h->inputs.offset);
  bool good = true;
  for (uint32_t i = shift; good && i < h->input_count; i++)
    good = region_pair(region, inputs[i].buffer, outer, reads[i], err);
  for (uint32_t i = 0; good && writes && i < h->output_count; i++)
    good = region_pair(region, region->plan->outputs[i], outer, writes[i], err);
  return good;
}

/* ---- loops ---- */

/* An iteration: reads what the body's inputs name, and leaves the carried values on a side. */
static bool loop_step(loop *l, int side, loom_error *err) {
  loom_address *now = l->inputs + l->shift, *next = l->sides[side];
  uint32_t results = loom_plan_header_of(l->body.plan)->output_count;
  bool good = true;
  memset(l->outputs, 0, results * sizeof *l->outputs);
  for (uint32_t i = 0; i < l->count; i++)
    if (!(l->carry[i] & LOOM_PLAN_CARRY_BEFORE) && !l->outputs[l->carry[i]])
      l->outputs[l->carry[i]] = next[i];
  good = region_run(&l->body, l->outer, err);
  for (uint32_t i = 0; good && i < l->count; i++) {
    bool before = l->carry[i] & LOOM_PLAN_CARRY_BEFORE;
    uint32_t from = l->carry[i] & ~LOOM_PLAN_CARRY_BEFORE;
    loom_address source = before ? now[from] : l->outputs[from];
    if (source != next[i] && l->size[i])
      good = device_run_copy(l->outer, next[i], source, l->size[i], err);
  }
  memcpy(now, next, l->count * sizeof *now);
  return good;
}

static bool loop_stops(const loop *l) {
  if (!l->outer->stopped && loom_poll_now()) l->outer->stopped = LOOM_STATUS_INTERRUPTED;
  return l->outer->stopped;
}

static bool loop_put(const loop *l, loom_address to, uint32_t word, loom_error *err) {
  const loom_device *device = l->outer->device;
  const driver *d = device->driver;
  return driver_check(d, d->MemsetD32Async(to, word, 1, device->stream), err,
                      "the index of a loop on %s cannot be written", device->name);
}

static bool loop_read_count(const loop *l, int64_t *out, loom_error *err) {
  if (l->in->op) return *out = (int64_t)l->in->op - 1, true;
  return device_run_read(l->outer, out, l->inputs[0], sizeof *out, err);
}

/* Are the body's buffers as large as what they become, in this iteration? Sizes may depend on its
 * index, also of what the body reads. */
static bool loop_fits(loop *l, int64_t index, loom_error *err) {
  const uint32_t *list = l->outer->plan->indices + l->in->buffers;
  uint32_t reads = l->in->buffer_count - l->count, symbol = l->shift ? l->in->b : l->in->op;
  if (!symbol && index) return true;
  if (symbol && !device_run_set_symbol(&l->body, symbol - 1, index, err)) return false;
  bool good = region_fits(&l->body, l->outer, list, l->shift, NULL, err);
  for (uint32_t i = 0; good && i < l->count; i++)
    good =
        l->carry[i] & LOOM_PLAN_CARRY_BEFORE ||
        region_pair(&l->body, l->body.plan->outputs[l->carry[i]], l->outer, list[reads + i], err);
  return good;
}

/* The side of the last iteration is that of the results. */
static bool loop_for(loop *l, loom_error *err) {
  int64_t count = 0;
  bool good =
      loop_read_count(l, &count, err) && device_run_alloc(l->outer, &l->index, sizeof count, err);
  l->inputs[0] = l->index;
  for (int64_t i = 0; good && i < count && !loop_stops(l); i++) {
    good = loop_fits(l, i, err) && loop_put(l, l->index, (uint32_t)i, err) &&
           ((uint32_t)i || loop_put(l, l->index + 4, (uint32_t)(i >> 32), err)) &&
           loop_step(l, (count - i) % 2 == 0, err);
  }
  return good;
}

/* Is the condition true? What kernels have reported ends the loop, too, for what they have computed
 * since may keep it true. */
static bool loop_asks(loop *l, bool *more, loom_error *err) {
  uint32_t words[DEVICE_WORDS_OF_STATUS] = {0}, status = 0, count = l->outer->p->report_count;
  uint8_t truth = 0;
  bool good = region_run(&l->test, l->outer, err);
  if (good && l->outer->status)
    good = device_run_read(l->outer, words, l->outer->status, count * sizeof *words, err);
  for (uint32_t i = 0; i < count; i++)
    status |= words[i];
  good = good && device_run_read(l->outer, &truth, l->more, sizeof truth, err);
  *more = truth && !(status & PLAN_STOPS);
  return good;
}

static bool loop_while(loop *l, loom_error *err) {
  bool more = true;
  int side = 0;
  const uint32_t *reads = l->outer->plan->indices + l->in->buffers;
  bool good = device_run_alloc(l->outer, &l->more, 1, err) &&
              region_open(&l->test, l->outer, l->in->b, l->inputs, &l->more, err) &&
              region_fits(&l->test, l->outer, reads, 0, NULL, err);
  for (int64_t i = 0; good && !loop_stops(l); i++) {
    good = loop_asks(l, &more, err);
    if (!good || !more || l->outer->stopped) break;
    good = loop_fits(l, i, err) && loop_step(l, side, err);
    side = !side;
  }
  return good;
}

/* What does not lie where the results are is copied there: spare buffers and, where nothing was
 * run, initial values. */
static bool loop_settle(loop *l, loom_error *err) {
  const loom_address *now = l->inputs + l->shift;
  bool good = true;
  for (uint32_t i = 0; good && i < l->count; i++)
    if (now[i] != l->sides[0][i] && l->size[i])
      good = device_run_copy(l->outer, l->sides[0][i], now[i], l->size[i], err);
  return good;
}

/* Nothing that the loop reads lies where it writes. */
static bool loop_is_apart(const loop *l, uint32_t reads, loom_error *err) {
  for (uint32_t i = 0; i < reads; i++)
    for (uint32_t k = 0; k < l->count; k++)
      if (l->size[k] && l->inputs[i] == l->sides[0][k])
        return loom_fail(err, "a loop of a plan writes where it reads");
  return true;
}

/* Its lists are there. Before it runs, the symbol that it counts in is 0. */
static bool loop_open(loop *l, uint32_t reads, loom_error *err) {
  device_run *r = l->outer;
  const uint32_t *list = r->plan->indices + l->in->buffers;
  uint32_t symbol = l->shift ? l->in->b : l->in->op;
  for (uint32_t i = 0; i < reads; i++)
    l->inputs[i] = device_run_find(r, list[i]);
  for (uint32_t i = 0; i < l->count; i++) {
    uint32_t from = l->carry[i] & ~LOOM_PLAN_CARRY_BEFORE;
    bool before = l->carry[i] & LOOM_PLAN_CARRY_BEFORE;
    uint64_t initial, other;
    if (!device_run_size(r, list[reads + i], &l->size[i], err) ||
        !device_run_size(r, list[l->shift + i], &initial, err) ||
        !device_run_size(r, list[reads + (before ? from : i)], &other, err))
      return false;
    if (initial != l->size[i] || other != l->size[i])
      return loom_fail(err, "a loop of a plan carries a value of another size");
    l->sides[0][i] = device_run_find(r, list[reads + i]);
    if (!device_run_alloc(r, &l->sides[1][i], l->size[i], err)) return false;
  }
  if (symbol) r->registers[symbol - 1] = 0;
  return loop_is_apart(l, reads, err) &&
         region_open(&l->body, r, l->in->a, l->inputs, l->outputs, err);
}

static void loop_close(loop *l) {
  for (uint32_t i = 0; i < l->count; i++)
    device_run_free(l->outer, l->sides[1][i]);
  device_run_free(l->outer, l->index);
  device_run_free(l->outer, l->more);
  device_run_close(&l->body);
  device_run_close(&l->test);
}

static bool run_loop(device_run *r, const loom_plan_instr *in, loom_error *err) {
  uint32_t n = in->c, reads = in->buffer_count - n;
  const loom_plan *body = r->p->plan->regions[in->a];
  size_t words = 3 * (size_t)n + reads + loom_plan_header_of(body)->output_count + 1;
  uint64_t *at = calloc(words, sizeof *at);
  if (!at) return loom_fail(err, "out of memory");
  loop l = {.outer = r,
            .in = in,
            .count = n,
            .shift = in->opcode == LOOM_PLAN_FOR,
            .carry = r->plan->indices + in->params,
            .size = at,
            .sides = {at + n, at + 2 * n},
            .inputs = at + 3 * n,
            .outputs = at + 3 * n + reads};
  bool good = loop_open(&l, reads, err) && (l.shift ? loop_for(&l, err) : loop_while(&l, err));
  good = good && (r->stopped || loop_settle(&l, err));
  if (!good) r->device->driver->StreamSynchronize(r->device->stream);
  loop_close(&l);
  free(at);
  return good;
}

/* ---- branches ---- */

static bool branch_run(device_run *r, const loom_plan_instr *in, loom_address *places,
                       loom_error *err) {
  const uint32_t *list = r->plan->indices + in->buffers;
  uint32_t reads = in->buffer_count - in->c;
  uint8_t taken = 0;
  device_run region = {0};
  for (uint32_t i = 0; i < in->buffer_count; i++)
    places[i] = device_run_find(r, list[i]);
  bool good = device_run_read(r, &taken, places[0], sizeof taken, err) &&
              region_open(&region, r, taken ? in->a : in->b, places + 1, places + reads, err) &&
              region_fits(&region, r, list + 1, 0, list + reads, err) &&
              region_run(&region, r, err);
  device_run_close(&region);
  return good;
}

static bool run_branch(device_run *r, const loom_plan_instr *in, loom_error *err) {
  loom_address *places = calloc(in->buffer_count + 1u, sizeof *places);
  if (!places) return loom_fail(err, "out of memory");
  bool good = branch_run(r, in, places, err);
  free(places);
  return good;
}

bool device_control(device_run *r, const loom_plan_instr *in, loom_error *err) {
  return in->opcode == LOOM_PLAN_BRANCH ? run_branch(r, in, err) : run_loop(r, in, err);
}
