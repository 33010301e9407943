/* How a version runs the general way: arguments and objects are read, outputs are allocated or
 * found in arguments, the plan runs, and results and effects are made. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/run/internal.h"
#include "frontend/run/run.h"

#include <fenv.h>

#define RUN_STACK 2048 /* bytes for the bookkeeping of a run that need no allocation */
#define RUN_SMALL 64   /* bytes of a temporary output that need no block */

/* Everything that one run owns, in one piece of memory. */
typedef struct run_state {
  loom_run run;
  PyObject **live; /* for each input: the object that holds its data */
  void **inputs;
  uint64_t *scalars;
  size_t *sizes;     /* for each output its bytes */
  bool direct;       /* writes into arguments: has to come to its end */
  direct_kept *kept; /* what it writes over by loops */
  uint8_t *small;
  void *memory;                      /* NULL: nothing to give back */
  int64_t symbols[LOOM_MAX_SYMBOLS]; /* where host calls tell some: -1 as long as they have not */
  uint64_t stack[RUN_STACK / 8];
} run_state;

/* The bytes of each output on this call; false when they overflow. */
static bool run_measure(run_state *s, const entry *e) {
  const loom_graph *graph = &e->captured->graph;
  for (uint32_t i = 0; i < graph->output_count; i++) {
    const loom_type *type = loom_graph_type(graph, graph->outputs[i].value);
    loom_type now;
    s->sizes[i] = e->outputs.sizes[i];
    if (!size_type_is_symbolic(type) || entry_is_late(e->captured, i)) continue;
    if (!size_resolve(graph, type, NULL, s->run.symbols, &now, NULL) ||
        __builtin_mul_overflow((size_t)loom_type_elements(&now), loom_dtype_size(now.dtype),
                               &s->sizes[i]) ||
        s->sizes[i] > INT64_MAX)
      return false;
    size_t planned = 0;
    if (e->plan &&
        (!loom_plan_output_size(e->plan, i, s->run.symbols, &planned) || planned > s->sizes[i]))
      return false;
  }
  return true;
}

static bool run_init(run_state *s, const entry *e, PyObject *const *args, const int64_t *symbols) {
  const capture *c = e->captured;
  size_t in = c->input_count, out = c->graph.output_count, shared = c->shared_count;
  size_t bytes = (3 * in + 3 * out + shared) * 8 + out * RUN_SMALL + RUN_SMALL;
  void *start = memset(s->stack, 0, bytes <= RUN_STACK ? bytes : 0);
  s->memory = NULL;
  s->direct = false;
  s->kept = NULL;
  if (bytes > RUN_STACK) {
    start = s->memory = calloc(1, bytes);
    if (!start) return PyErr_NoMemory(), false;
  }
  uint8_t *small = (uint8_t *)(((uintptr_t)start + RUN_SMALL - 1) / RUN_SMALL * RUN_SMALL);
  void **at = (void **)(small + out * RUN_SMALL);
  s->small = small;
  s->live = (PyObject **)at;
  s->inputs = at + in;
  s->scalars = (uint64_t *)(at + 2 * in);
  s->run = (loom_run){.captured = c,
                      .adapter = e->adapter,
                      .args = args,
                      .symbols = symbols,
                      .arrays = (PyObject **)(at + 3 * in),
                      .data = at + 3 * in + out,
                      .shared = (PyObject **)(at + 3 * in + 3 * out)};
  s->sizes = c->sized ? (size_t *)(at + 3 * in + 2 * out) : e->outputs.sizes;
  for (uint32_t i = 0; c->late && i < LOOM_MAX_SYMBOLS; i++)
    s->symbols[i] = c->late >> i & 1 ? -1 : symbols[i];
  if (c->late) s->run.symbols = s->symbols;
  return true;
}

static void run_fini(run_state *s, const entry *e) {
  const capture *c = e->captured;
  for (uint32_t i = 0; i < c->input_count; i++)
    Py_XDECREF(s->live[i]);
  for (uint32_t i = 0; i < c->shared_count; i++)
    Py_XDECREF(s->run.shared[i]);
  for (uint32_t i = 0; i < c->graph.output_count; i++) {
    if (s->run.arrays[i])
      Py_DECREF(s->run.arrays[i]);
    else if (s->run.data[i] && s->sizes[i] > RUN_SMALL)
      loom_block_free(s->run.data[i], s->sizes[i]);
  }
  free(s->memory);
}

/* The bits of a live number for an input of `dtype`; false when it does not fit. */
static bool run_scalar(const entry *e, PyObject *number, loom_dtype dtype, uint64_t *out) {
  double real;
  *out = 0;
  if (PyFloat_CheckExact(number)) {
    real = PyFloat_AS_DOUBLE(number);
  } else if (PyLong_CheckExact(number) || PyBool_Check(number)) {
    if (!loom_dtype_is_float(dtype)) {
      if (loom_dtype_is_unsigned(dtype)) {
        *out = PyLong_AsUnsignedLongLong(number);
      } else {
        int64_t integer = PyLong_AsLongLong(number);
        memcpy(out, &integer, sizeof integer);
      }
      if (PyErr_Occurred()) return error_drop(), false;
      size_t size = loom_dtype_size(dtype);
      if (size < 8) *out &= ((uint64_t)1 << (8 * size)) - 1;
      return true;
    }
    real = PyLong_AsDouble(number);
    if (PyErr_Occurred()) return error_drop(), false;
  } else {
    return e->adapter->scalar_bits && e->adapter->scalar_bits(number, dtype, out);
  }
  float single = (float)real;
  if (dtype == LOOM_F64) return memcpy(out, &real, sizeof real), true;
  if (dtype == LOOM_F32) return memcpy(out, &single, sizeof single), true;
  return false;
}

static bool run_size(const run_state *s, const entry *e, int64_t number, uint64_t *out) {
  int64_t now;
  if (!loom_stride_eval(&e->captured->graph, number, s->run.symbols, &now)) return false;
  memcpy(out, &now, sizeof now);
  return true;
}

/* A float that Python computes of sizes. */
static bool run_formula(const run_state *s, const entry *e, int64_t slot, uint64_t *out) {
  PyObject *now = formula_now(e->captured, slot, s->run.symbols);
  bool good = now && PyFloat_CheckExact(now);
  double real = good ? PyFloat_AS_DOUBLE(now) : 0;
  memcpy(out, &real, sizeof *out);
  Py_XDECREF(now);
  return good;
}

static bool run_gather(run_state *s, const entry *e, PyObject *const *args) {
  const capture *c = e->captured;
  uint32_t scalars = 0;
  for (uint32_t i = 0; i < c->input_count; i++) {
    const loom_input *input = &c->graph.inputs[i];
    if (!c->inputs[i].source && !c->inputs[i].constant) {
      int64_t formula = c->inputs[i].formula;
      if (!(formula ? run_formula(s, e, formula - 1, &s->scalars[scalars])
                    : run_size(s, e, c->inputs[i].size, &s->scalars[scalars])))
        return false;
      s->inputs[i] = &s->scalars[scalars++];
      continue;
    }
    s->live[i] = c->inputs[i].constant ? Py_NewRef(c->inputs[i].constant)
                                       : source_read(c->inputs[i].source, args);
    if (!s->live[i]) return false;
    if (input->kind != LOOM_INPUT_SCALAR) {
      s->inputs[i] = e->adapter->data(s->live[i]);
      continue;
    }
    loom_dtype dtype = loom_graph_type(&c->graph, input->value)->dtype;
    if (!run_scalar(e, s->live[i], dtype, &s->scalars[scalars])) return false;
    s->inputs[i] = &s->scalars[scalars++];
  }
  return true;
}

static bool run_allocate(run_state *s, const entry *e) {
  bool direct = e->captured->effect_count && e->kind != BACKEND_USER && direct_allowed(e);
  for (uint32_t i = 0; i < e->captured->graph.output_count; i++) {
    if (entry_is_late(e->captured, i)) continue; /* run_late_output */
    if (direct && direct_open(e, &s->run, i)) {
      s->direct = true;
      continue;
    }
    if (!PyErr_Occurred() && e->direct.spans && direct_open_loop(e, &s->run, i, &s->kept)) continue;
    if (PyErr_Occurred()) return false;
    if (e->outputs.recipes[i]) {
      s->run.arrays[i] = e->adapter->new_output(e->outputs.recipes[i]->payload, &e->captured->graph,
                                                s->run.symbols, &s->run.data[i]);
      if (!s->run.arrays[i]) return false;
    } else {
      s->run.data[i] =
          s->sizes[i] > RUN_SMALL ? loom_block_alloc(s->sizes[i]) : s->small + i * RUN_SMALL;
      if (!s->run.data[i]) return PyErr_NoMemory(), false;
    }
  }
  return true;
}

/* Memory for an output whose size the plan knows only now. */
static void *run_late_output(void *context, uint32_t i, size_t bytes, const int64_t *symbols) {
  const entry_context *in = context;
  run_state *s = in->state;
  const entry *e = in->e;
  if (!e->outputs.recipes[i]) {
    s->sizes[i] = bytes;
    return s->run.data[i] = bytes > RUN_SMALL ? loom_block_alloc(bytes) : s->small + i * RUN_SMALL;
  }
  const loom_graph *graph = &e->captured->graph;
  const loom_type *type = loom_graph_type(graph, graph->outputs[i].value);
  loom_type now;
  if (!size_resolve(graph, type, NULL, symbols, &now, NULL) ||
      (size_t)loom_type_elements(&now) * loom_dtype_size(now.dtype) < bytes)
    return NULL;
  PyGILState_STATE state = PyGILState_Ensure();
  s->run.arrays[i] =
      e->adapter->new_output(e->outputs.recipes[i]->payload, graph, symbols, &s->run.data[i]);
  if (!s->run.arrays[i]) error_drop();
  PyGILState_Release(state);
  return s->run.arrays[i] ? s->run.data[i] : NULL;
}

/* Inputs and outputs as they are on this call: one piece of memory, inputs first. NULL when it is
 * short, or a size overflows. */
static loom_buffer *run_buffers(const run_state *s, const entry *e) {
  const loom_graph *graph = &e->captured->graph;
  loom_buffer *inputs =
      calloc((size_t)graph->input_count + graph->output_count + 1, sizeof *inputs);
  loom_buffer *outputs = inputs ? inputs + graph->input_count : NULL;
  bool good = inputs != NULL;
  for (uint32_t i = 0; good && i < graph->input_count; i++) {
    inputs[i].data = s->inputs[i];
    good =
        size_resolve(graph, loom_graph_type(graph, graph->inputs[i].value),
                     graph->inputs[i].strides, s->run.symbols, &inputs[i].type, inputs[i].strides);
  }
  for (uint32_t i = 0; good && i < graph->output_count; i++) {
    outputs[i].data = s->run.data[i];
    good = size_resolve(graph, loom_graph_type(graph, graph->outputs[i].value),
                        graph->outputs[i].strides, s->run.symbols, &outputs[i].type,
                        outputs[i].strides);
  }
  if (good) return inputs;
  free(inputs);
  return NULL;
}

/* Runs the graph with the reference interpreter; status bits like those of a plan. */
static uint32_t run_interpret(run_state *s, const entry *e) {
  const loom_graph *graph = &e->captured->graph;
  if (e->captured->late) return LOOM_STATUS_HOST; /* it knows no host calls */
  loom_buffer *buffers = run_buffers(s, e);
  if (!buffers) return LOOM_STATUS_MEMORY;
  loom_error err = {0};
  feclearexcept(FE_ALL_EXCEPT);
  bool good = loom_interpret(graph, buffers, buffers + graph->input_count, s->run.symbols, &err);
  int raised = fetestexcept(FE_ALL_EXCEPT);
  feclearexcept(FE_ALL_EXCEPT);
  free(buffers);
  if (!good) {
    loom_log(LOOM_LOG_BREAKS, "the interpreter failed: %s", err.message);
    return LOOM_STATUS_INDEX;
  }
  return (raised & FE_DIVBYZERO ? LOOM_FP_DIVIDE : 0) |
         (raised & FE_OVERFLOW ? LOOM_FP_OVERFLOW : 0) |
         (raised & FE_UNDERFLOW ? LOOM_FP_UNDERFLOW : 0) |
         (raised & FE_INVALID ? LOOM_FP_INVALID : 0);
}

/* A status of a run by the user's backend: what it raises is raised by the call (*raised). */
static uint32_t run_user(run_state *s, entry *e, bool *raised) {
  const loom_graph *graph = &e->captured->graph;
  if (!e->operations && !graph->output_count && !e->user.device) return 0;
  loom_buffer *buffers = run_buffers(s, e);
  if (!buffers) return LOOM_STATUS_MEMORY;
  *raised = !backend_run(e, buffers, s->live, buffers + graph->input_count, s->run.symbols);
  free(buffers);
  return 0;
}

/* A run that has written into arguments and raised flags is reported now, if it has to be: whether
 * that may be was asked before it wrote (direct_allowed), and filters may have changed since. */
static bool run_accept(const run_state *s, entry *e, uint32_t status, const loom_call *call,
                       const loom_violation *violation, bool *fallback) {
  uint32_t flags = status & e->captured->fp_ops & 15u;
  if (s->direct && e->direct.again_behind && !e->direct.reporter)
    return entry_accept(e, status, call, violation, fallback);
  if (s->direct && !(status & ~15u))
    return !e->direct.reporter || !flags || direct_report(e, flags) == 0;
  if (s->direct && (status & LOOM_STATUS_MEMORY)) return PyErr_NoMemory(), false;
  return entry_accept(e, status, s->direct || s->kept ? NULL : call, violation, fallback);
}

/* What the run refers to weakly stays alive until its end. */
static bool entry_pin(const entry *e, bool *fallback) {
  *fallback = !e->life.fits;
  for (uint32_t i = 0; e->life.fits && i < e->life.pin_count; i++)
    Py_INCREF(e->life.pins[i]);
  return e->life.fits != NULL;
}

/* Does this input still read the same memory, or the same number? */
static bool run_input_is_current(const run_state *s, const entry *e, PyObject *const *args,
                                 uint32_t i) {
  const capture *c = e->captured;
  const loom_input *input = &c->graph.inputs[i];
  const source *from = c->inputs[i].source;
  if (!from || from->kind == SOURCE_ARG || c->inputs[i].constant) return true;
  PyObject *object = source_read(from, args);
  uint64_t bits;
  bool same = false;
  if (object && input->kind == LOOM_INPUT_SCALAR)
    same = run_scalar(e, object, loom_graph_type(&c->graph, input->value)->dtype, &bits) &&
           !memcmp(&bits, s->inputs[i], sizeof bits);
  else if (object)
    same = e->adapter->data(object) == s->inputs[i];
  Py_XDECREF(object);
  return same;
}

/* Is what the run has looked at still what is there? Results and changes are made with what is read
 * now, and other threads and handlers have had their turn since the guards were looked at: then the
 * plain function runs, as if it had been called a little later. */
static bool run_is_current(const run_state *s, const entry *e, PyObject *const *args,
                           const int64_t *symbols) {
  const capture *c = e->captured;
  int64_t now[LOOM_MAX_SYMBOLS];
  size_t bytes = sizeof *now * c->graph.symbol_count;
  if (bytes) memcpy(now, symbols, bytes);
  bool same = e->life.fits && guard_program_check(e->guards, args, now) &&
              (!bytes || !memcmp(now, symbols, bytes));
  for (uint32_t i = 0; i < c->input_count && same; i++)
    same = run_input_is_current(s, e, args, i);
  error_drop();
  return same;
}

PyObject *entry_run_general(entry *e, PyObject *const *args, const int64_t *symbols, bool *fallback,
                            bool *changed) {
  run_state s;
  PyObject *result = NULL;
  if (!run_init(&s, e, args, symbols)) return NULL;
  if (e->life.pin_count && !entry_pin(e, fallback)) {
    run_fini(&s, e);
    return backend_cannot_fall_back(e, fallback);
  }
  if (!run_gather(&s, e, args) || (e->captured->sized && !run_measure(&s, e)) ||
      !run_allocate(&s, e)) {
    *fallback = entry_gave_up();
  } else {
    bool release = entry_releases(e, symbols);
    entry_context context = {.e = e, .symbols = e->captured->late ? s.symbols : NULL, .state = &s};
    loom_violation violation;
    loom_call call = {.inputs = s.inputs,
                      .violation = &violation,
                      .scalars = s.scalars,
                      .outputs = s.run.data,
                      .host = entry_host,
                      .allocate = run_late_output,
                      .poll = release && !s.direct ? loom_poll_signals : NULL,
                      .host_context = &context,
                      .symbols = s.run.symbols};
    bool raised = false;
    uint32_t status = e->kind == BACKEND_INTERPRET ? run_interpret(&s, e)
                      : e->kind == BACKEND_USER    ? run_user(&s, e, &raised)
                                                   : entry_launch(e, &call, release);
    Py_XDECREF(context.kept);
    *changed = s.direct && !e->direct.again_behind;
    if (!raised && run_accept(&s, e, status, &call, &violation, fallback)) {
      bool aside = e->gil.reads_again && !s.direct && (release || e->kind == BACKEND_USER);
      *fallback = aside && !run_is_current(&s, e, args, symbols);
      result = *fallback ? NULL : effects_commit(&s.run, changed);
      if (!result && !*changed) *fallback = entry_gave_up();
    }
  }
  if (s.kept) direct_close(s.kept, !result && !*changed);
  run_fini(&s, e);
  for (uint32_t i = 0; i < e->life.pin_count; i++)
    Py_DECREF(e->life.pins[i]);
  return result ? result : backend_cannot_fall_back(e, fallback);
}
