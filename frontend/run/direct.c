/* Runs that write straight into arguments.
 *
 * A write of a function into an argument is an output of the graph, which an effect copies back
 * when the run's status is known. If a floating-point exception has to be reported, the plain
 * function has to find everything unchanged. When no exception can be reported, and nothing else
 * can stop the run, the plan writes large outputs into the argument itself. It does so if the graph
 * does not read that array, or if the kernel that writes it reads it element by element
 * (loom_plan_output_overwrites). It does so, too, when the only operation that can raise is the one
 * ufunc that writes the argument: NumPy reports its exceptions after it has written, and a run can
 * do the same. A kernel may raise other flags than NumPy (a product of matrices, an exponential).
 * Then the plain function runs after the kernel, if the array was given as out= and the graph does
 * not read it: the plain function, too, writes all of the array before it reports, and reads
 * nothing of it. A guard checks that the array shares no memory with others.
 *
 * A loop that writes parts of an argument writes into the argument itself, whatever it may raise.
 * The bytes that it may reach (the slices it writes, from the first index to the last) are saved
 * before, and restored when the run fails. */
#include "frontend/base/base.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/run/internal.h"
#include "frontend/run/run.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_control.h"
#include "loom_ops_elements.h"

#include <string.h>

#define DIRECT_BYTES 16384 /* smaller copies cost less than to look at the error state */

static const source *direct_root(const recipe *target) {
  while (target->kind == RECIPE_VIEW)
    target = target->items[0];
  return target->kind == RECIPE_SOURCE ? target->source : NULL;
}

static bool direct_is_read(const loom_graph *g, loom_value value) {
  for (uint32_t n = 0; n < g->node_count; n++)
    for (uint32_t i = 0; i < g->nodes[n].operand_count; i++)
      if (g->nodes[n].operands[i] == value) return true;
  for (uint32_t i = 0; i < g->output_count; i++)
    if (g->outputs[i].value == value) return true;
  return false;
}

/* Can anything but a floating-point exception make a run of the plan end early? */
static bool direct_is_safe(const loom_graph *g) {
  for (uint32_t n = 0; n < g->node_count; n++) {
    const loom_op_info *op = &loom_op_table[g->nodes[n].op];
    if (op->regions) return false;
    switch (g->nodes[n].op) {
    case LOOM_OP_HOST_CALL:
    case LOOM_OP_GATHER:
    case LOOM_OP_SCATTER:
    case LOOM_OP_ASSUME_SHAPE: return false;
    default: break;
    }
  }
  return true;
}

/* Is what this effect writes all that the function does to others, and made by the only operation
 * that can raise a flag? */
static bool direct_is_alone(const capture *c, const effect *e) {
  const loom_graph *g = &c->graph;
  int32_t maker = g->values[g->outputs[e->number].value].node;
  if (c->effect_count != 1 || c->change_count || c->fp_reported || maker < 0) return false;
  for (uint32_t n = 0; n < g->node_count; n++)
    if ((int32_t)n != maker && (loom_node_fp(g, &g->nodes[n]) & c->fp_ops)) return false;
  return true;
}

/* Does its kernel raise the flags exactly as the library does? */
static bool direct_is_reporter(const capture *c, const effect *e) {
  const loom_graph *g = &c->graph;
  if (e->report < 0 || !direct_is_alone(c, e)) return false;
  switch (g->nodes[g->values[g->outputs[e->number].value].node].op) {
  case LOOM_OP_ADD:
  case LOOM_OP_SUB:
  case LOOM_OP_MUL:
  case LOOM_OP_DIV: return true;
  default: return false;
  }
}

/* ---- loops ---- */

typedef struct direct_reach {
  int64_t low, high; /* elements */
} direct_reach;

/* Adds the elements that an update_slice of an array with these sizes and strides writes. */
static bool direct_add(const loom_graph *g, const loom_node *node, const loom_type *whole,
                       const int64_t *strides, direct_reach *reach) {
  const loom_type *part = loom_graph_type(g, node->operands[1]);
  int64_t low = 0, high = 0;
  for (int i = 0; i < whole->rank; i++) {
    int64_t first, last, none, many, step = node->attrs[1].ints[i];
    loom_stride_range(g, node->attrs[0].ints[i], &first, &last);
    loom_stride_range(g, loom_stride_of_dim(part->dims[i]), &none, &many);
    if (LOOM_STRIDE_IS_SYM(step) || step < 1 || first < 0) first = 0, last = whole->dims[i];
    if (many > whole->dims[i] || last > whole->dims[i] || step > whole->dims[i])
      last = whole->dims[i];
    else
      last += (many - 1) * step;
    if (last >= whole->dims[i]) last = whole->dims[i] - 1;
    if (first > last) return true; /* none */
    low += first * strides[i];
    high += last * strides[i];
  }
  if (low < reach->low) reach->low = low;
  if (high > reach->high) reach->high = high;
  return true;
}

/* The elements of `from` that are replaced on the way to `to`; false when it is something else. */
static bool direct_follow(const loom_graph *g, loom_value to, loom_value from,
                          const loom_type *whole, const int64_t *strides, direct_reach *reach) {
  while (to != from) {
    int32_t number = g->values[to].node;
    const loom_node *node = number < 0 ? NULL : &g->nodes[number];
    if (node && node->op == LOOM_OP_UPDATE_SLICE) {
      if (!direct_add(g, node, whole, strides, reach)) return false;
      to = node->operands[0];
      continue;
    }
    if (!node || node->op != LOOM_OP_FOR) return false;
    uint32_t result = to - node->first_result;
    const loom_graph *body = node->regions[0];
    if (!direct_follow(body, body->outputs[result].value, body->inputs[1 + result].value, whole,
                       strides, reach))
      return false;
    to = node->operands[1 + result];
  }
  return true;
}

static bool direct_has_loop(const loom_graph *g, loom_value to) {
  for (;;) {
    int32_t number = g->values[to].node;
    if (number < 0) return false;
    if (g->nodes[number].op != LOOM_OP_UPDATE_SLICE) return g->nodes[number].op == LOOM_OP_FOR;
    to = g->nodes[number].operands[0];
  }
}

/* Does a loop write parts of the argument, into which the plan may write them? */
static bool direct_find_loop(entry *e, uint32_t number, uint32_t input) {
  const loom_graph *g = &e->captured->graph;
  const loom_output *output = &g->outputs[number];
  const loom_type *type = loom_graph_type(g, output->value);
  int64_t size = (int64_t)loom_dtype_size(type->dtype);
  direct_reach reach = {INT64_MAX, -1};
  if (loom_plan_output_overwrites(e->plan, number) != (int32_t)input ||
      !direct_has_loop(g, output->value) || size_type_is_symbolic(type))
    return false;
  for (int i = 0; i < type->rank; i++)
    if (LOOM_STRIDE_IS_SYM(output->strides[i]) || output->strides[i] < 0) return false;
  if (!direct_follow(g, output->value, g->inputs[input].value, type, output->strides, &reach))
    return false;
  if (!e->direct.spans) e->direct.spans = calloc(g->output_count + 1u, sizeof *e->direct.spans);
  if (!e->direct.spans || reach.high < reach.low) return false;
  e->direct.spans[number] =
      (direct_span){(size_t)(reach.low * size), (size_t)((reach.high + 1) * size)};
  return true;
}

static void direct_find(entry *e) {
  const capture *c = e->captured;
  if (e->kind != BACKEND_LOOM) return;
  for (uint32_t i = 0; i < c->effect_count; i++) {
    const recipe *target = c->effects[i].target;
    uint32_t number = (uint32_t)c->effects[i].number;
    int64_t input = target->kind == RECIPE_SOURCE ? capture_array_input(c, target->source) : -1;
    if (input >= 0 && !e->outputs.recipes[number] && direct_find_loop(e, number, (uint32_t)input))
      e->direct.targets[number] = &c->effects[i];
  }
  if (!direct_is_safe(&c->graph)) return;
  for (uint32_t i = 0; i < c->effect_count; i++) {
    const recipe *target = c->effects[i].target;
    const source *s = direct_root(target);
    uint32_t number = (uint32_t)c->effects[i].number;
    if (!s || e->outputs.recipes[number]) continue;
    int64_t input = capture_array_input(c, s);
    bool free = input < 0 || !direct_is_read(&c->graph, c->graph.inputs[input].value);
    if (free ||
        (target->kind == RECIPE_SOURCE && loom_plan_output_overwrites(e->plan, number) == input))
      e->direct.targets[number] = &c->effects[i];
    if (free && c->effects[i].given) e->direct.again_behind = direct_is_alone(c, &c->effects[i]);
    if (e->direct.targets[number] && direct_is_reporter(c, &c->effects[i]))
      e->direct.reporter = &c->effects[i];
  }
}

bool entry_direct_init(entry *e) {
  size_t outputs = e->captured->graph.output_count;
  e->direct.targets = calloc(outputs + 1, sizeof *e->direct.targets);
  if (!e->direct.targets) return PyErr_NoMemory(), false;
  direct_find(e);
  return true;
}

void entry_direct_fini(entry_direct *direct) {
  free(direct->targets);
  free(direct->spans);
}

int direct_report(const entry *e, uint32_t flags) {
  const capture *c = e->captured;
  return e->adapter->report(PyList_GET_ITEM(c->hosts, e->direct.reporter->report), flags);
}

bool direct_allowed(const entry *e) {
  const capture *c = e->captured;
  bool any = false;
  if (e->direct.spans) return false;
  for (uint32_t i = 0; i < c->effect_count && !any; i++)
    any = e->direct.targets[c->effects[i].number] &&
          e->outputs.sizes[c->effects[i].number] >= DIRECT_BYTES;
  if (!any || c->fp_reported) return false;
  if (e->direct.reporter || e->direct.again_behind) return true;
  int matters = c->fp_ops ? e->adapter->flags_matter(c->fp_ops) : 0;
  if (matters < 0) error_drop();
  return !matters;
}

bool direct_open(const entry *e, loom_run *run, uint32_t i) {
  if (!e->direct.targets[i] || e->outputs.sizes[i] < DIRECT_BYTES) return false;
  const loom_output *output = &e->captured->graph.outputs[i];
  PyObject *target = recipe_build(run, e->direct.targets[i]->target);
  if (!target) return false;
  run->data[i] = e->adapter->direct(target, loom_graph_type(&e->captured->graph, output->value),
                                    output->strides, e->direct.targets[i]->uncounted);
  if (run->data[i])
    run->arrays[i] = target;
  else
    Py_DECREF(target);
  return run->data[i] != NULL;
}

#define DIRECT_CHUNK (256 << 10)

/* A kernel of the runtime's kind: params[0] bytes from one buffer to the other. */
static uint32_t direct_chunks(void *const *buffers, const uint64_t *params, void *scratch,
                              int64_t begin, int64_t end) {
  size_t from = (size_t)begin * DIRECT_CHUNK, to = (size_t)end * DIRECT_CHUNK;
  if (to > params[0]) to = params[0];
  memcpy((char *)buffers[1] + from, (const char *)buffers[0] + from, to - from);
  return 0;
}

static void direct_copy(void *to, void *from, size_t size) {
  void *buffers[] = {from, to};
  const uint64_t params[] = {size};
  loom_threads_launch(direct_chunks, buffers, params, 0, 0,
                      (int64_t)((size + DIRECT_CHUNK - 1) / DIRECT_CHUNK));
}

bool direct_open_loop(const entry *e, loom_run *run, uint32_t i, direct_kept **kept) {
  const direct_span *span = e->direct.spans ? &e->direct.spans[i] : NULL;
  if (!span || span->end == span->begin || !direct_open(e, run, i)) return false;
  size_t size = span->end - span->begin;
  direct_kept *k = loom_block_alloc(sizeof *k + size);
  if (!k) {
    Py_CLEAR(run->arrays[i]);
    run->data[i] = NULL;
    return false;
  }
  *k = (direct_kept){*kept, (char *)run->data[i] + span->begin, size};
  direct_copy(k->bytes, k->data, size);
  *kept = k;
  return true;
}

void direct_close(direct_kept *kept, bool put_back) {
  for (direct_kept *next; kept; kept = next) {
    next = kept->next;
    if (put_back) direct_copy(kept->data, kept->bytes, kept->size);
    loom_block_free(kept, sizeof *kept + kept->size);
  }
}
