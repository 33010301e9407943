/* One compiled version of a function: runs its plan on live arguments and builds the result. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/run/internal.h"
#include "frontend/run/run.h"
#include "graph/ops.h"

#include <fenv.h>
#include <unistd.h>

/* Results of ops below which a run keeps the GIL: giving it up and taking it back costs more than
 * such a kernel. */
#define ENTRY_GIL_WORK 65536

const dispatch_hooks *loom_dispatch;

bool backend_from_name(const char *name, backend *out) {
  for (int i = 0; loom_backend_names[i]; i++)
    if (!strcmp(name, loom_backend_names[i])) return *out = (backend)i, true;
  return false;
}

/* ---- making one ----------------------------------------------------------------------------- */

/* How long it takes does not follow from sizes: others are to run meanwhile, and signals to be
 * heeded. */
static bool entry_is_open_ended(const loom_graph *graph) {
  for (uint32_t i = 0; i < graph->node_count; i++) {
    loom_opcode op = graph->nodes[i].op;
    if (op == LOOM_OP_HOST_CALL || op == LOOM_OP_FOR || op == LOOM_OP_WHILE || op == LOOM_OP_IF)
      return true;
  }
  return false;
}

static bool entry_has_work(const loom_graph *graph) {
  int64_t work = 0;
  for (uint32_t i = 0; i < graph->value_count && work < ENTRY_GIL_WORK; i++) {
    int64_t elements = loom_type_elements(&graph->values[i].type);
    if (elements < 0) return true;
    work += elements;
  }
  return work >= ENTRY_GIL_WORK || entry_is_open_ended(graph);
}

/* The symbols' values in the call that was captured. */
void entry_hints(const loom_graph *graph, int64_t *out) {
  for (uint32_t i = 0; i < graph->symbol_count && i < LOOM_MAX_SYMBOLS; i++)
    out[i] = graph->symbols[i].hint;
}

/* The value with the most elements by the hints when some size is symbolic, else NULL. */
static const loom_type *entry_largest(const loom_graph *graph) {
  int64_t hints[LOOM_MAX_SYMBOLS], most = -1;
  const loom_type *largest = NULL;
  if (entry_is_open_ended(graph)) return NULL;
  entry_hints(graph, hints);
  for (uint32_t i = 0; i < graph->value_count; i++) {
    const loom_type *type = &graph->values[i].type;
    loom_type now;
    if (!size_type_is_symbolic(type) || !size_resolve(graph, type, NULL, hints, &now, NULL) ||
        loom_type_elements(&now) <= most)
      continue;
    most = loom_type_elements(&now);
    largest = type;
  }
  return largest;
}

/* Is it worth while to give up the GIL for this call? */
static bool entry_releases(const entry *e, const int64_t *symbols) {
  const loom_graph *graph = &e->captured->graph;
  int64_t work = e->operations, size;
  if (!e->symbolic) return e->release_gil;
  for (int i = 0; i < e->largest.rank; i++)
    if (!loom_dim_eval(graph, e->largest.dims[i], symbols, &size) ||
        __builtin_mul_overflow(work, size, &work))
      return true;
  return work >= ENTRY_GIL_WORK;
}

static const recipe *entry_output_recipe(const capture *c, int64_t number) {
  const recipe *found = recipe_find_output(c->result, number);
  for (uint32_t i = 0; i < c->shared_count && !found; i++)
    found = recipe_find_output(c->shared[i], number);
  for (uint32_t i = 0; i < c->effect_count && !found; i++)
    found = recipe_find_output(c->effects[i].target, number);
  for (uint32_t i = 0; i < c->change_count && !found; i++)
    found = recipe_find_output(c->changes[i].made, number);
  return found;
}

/* Are objects changed, or is something read for the results that may be another by then? */
static bool entry_reads_again(const capture *c) {
  const capture_tables *tables = c->tables;
  bool found = c->change_count > 0;
  for (uint32_t i = 0; i < tables->recipe_count && !found; i++) {
    const source *s = tables->recipes[i]->source;
    found = s && s->kind != SOURCE_ARG && s->kind != SOURCE_FUNCTION && s->kind != SOURCE_CONST;
  }
  return found;
}

static bool entry_is_simple(entry *e) {
  const capture *c = e->captured;
  if (e->kind != BACKEND_LOOM || c->effect_count || c->change_count || c->shared_count || c->late)
    return false;
  if (c->graph.output_count != 1 || c->result->kind != RECIPE_OUTPUT) return false;
  if (c->input_count > ENTRY_SIMPLE_INPUTS) return false;
  for (uint32_t i = 0; i < c->input_count; i++) {
    if (c->graph.inputs[i].kind != LOOM_INPUT_ARRAY || c->inputs[i].constant) return false;
    const source *from = c->inputs[i].source;
    if (!from) return false;
    e->slots[i] = from->kind == SOURCE_ARG ? (uint32_t)from->index : ENTRY_READ;
    e->reads |= e->slots[i] == ENTRY_READ;
  }
  return true;
}

/* Is the size of this output known only when the plan has run so far? */
static bool entry_is_late(const capture *c, uint32_t number) {
  return size_type_is_late(&c->graph, loom_graph_type(&c->graph, c->graph.outputs[number].value),
                           c->late);
}

/* Is the plan's output, with the sizes of the call that was captured, no larger than the graph's?
 */
static bool entry_agrees(const entry *e, uint32_t number, const int64_t *hints) {
  const loom_graph *graph = &e->captured->graph;
  loom_type now;
  size_t planned = 0;
  if (entry_is_late(e->captured, number)) return true; /* run_late_output */
  return size_resolve(graph, loom_graph_type(graph, graph->outputs[number].value), NULL, hints,
                      &now, NULL) &&
         loom_plan_output_size(e->plan, number, hints, &planned) &&
         planned <= (size_t)loom_type_elements(&now) * loom_dtype_size(now.dtype);
}

/* Does the plan look for constants and scalars only where the graph has some? */
static bool entry_inputs_agree(const entry *e) {
  const loom_graph *graph = &e->captured->graph;
  for (uint32_t i = 0; i < graph->input_count; i++) {
    uint32_t planned = loom_plan_kind_of_input(e->plan, i);
    if ((planned == LOOM_PLAN_CONST && graph->inputs[i].kind != LOOM_INPUT_CONST) ||
        (planned == LOOM_PLAN_SCALAR && graph->inputs[i].kind != LOOM_INPUT_SCALAR))
      return false;
  }
  return true;
}

/* Sizes of outputs, and whether plan and capture agree on them. */
static bool entry_measure(entry *e, loom_error *err) {
  const capture *c = e->captured;
  if (e->plan && loom_plan_header_of(e->plan)->output_count != c->graph.output_count)
    return loom_fail(err, "the plan has another number of outputs than the graph");
  if (e->plan && loom_plan_header_of(e->plan)->input_count != c->graph.input_count)
    return loom_fail(err, "the plan has another number of inputs than the graph");
  if (e->plan && loom_plan_header_of(e->plan)->symbol_count > c->graph.symbol_count)
    return loom_fail(err, "the plan has more symbols than the graph");
  if (e->plan && !entry_inputs_agree(e))
    return loom_fail(err, "the plan takes its inputs from elsewhere than the graph");
  int64_t hints[LOOM_MAX_SYMBOLS];
  entry_hints(&c->graph, hints);
  for (uint32_t i = 0; i < c->graph.output_count; i++) {
    const loom_type *type = loom_graph_type(&c->graph, c->graph.outputs[i].value);
    int64_t elements = loom_type_elements(type);
    bool symbolic = size_type_is_symbolic(type);
    if (elements < 0 && !symbolic) return loom_fail(err, "a result is too large");
    e->sizes[i] = symbolic ? 0 : (size_t)elements * loom_dtype_size(type->dtype);
    e->outputs[i] = entry_output_recipe(c, i);
    if (e->plan && !entry_agrees(e, i, hints))
      return loom_fail(err, "the plan has a larger output than the graph");
  }
  return true;
}

static void entry_bind_constants(const entry *e) {
  const capture *c = e->captured;
  for (uint32_t i = 0; i < c->input_count && e->plan; i++)
    if (c->graph.inputs[i].kind == LOOM_INPUT_CONST)
      loom_plan_set_const(e->plan, i, e->adapter->data(c->inputs[i].constant));
}

entry *entry_new(capture *captured, loom_plan *plan, backend kind, PyObject *code,
                 loom_error *err) {
  entry *e = calloc(1, sizeof *e);
  if (!e) {
    capture_free(captured);
    if (plan) loom_plan_unref(plan);
    return (entry *)PyErr_NoMemory();
  }
  uint32_t outputs = captured->graph.output_count;
  e->refs = 1;
  e->kind = kind;
  e->captured = captured;
  e->plan = plan;
  e->code = e->fits = Py_NewRef(code);
  e->adapter = loom_adapters()[0];
  e->outputs = calloc((size_t)outputs + 1, sizeof *e->outputs);
  e->sizes = calloc((size_t)outputs + 1, sizeof *e->sizes);
  e->targets = calloc((size_t)outputs + 1, sizeof *e->targets);
  e->guards = guard_program_new(captured);
  bool memory = e->outputs && e->sizes && e->targets;
  if (!memory || !e->guards || !entry_measure(e, err)) {
    if (!memory) PyErr_NoMemory();
    entry_unref(e);
    return NULL;
  }
  e->operations = captured->graph.node_count;
  e->simple = entry_is_simple(e);
  e->stopped = captured->stopped;
  e->reads_again = entry_reads_again(captured);
  direct_find(e);
  entry_bind_constants(e);
  if (!entry_let_go(e)) {
    if (!PyErr_Occurred()) PyErr_NoMemory();
    entry_unref(e);
    return NULL;
  }
  e->release_gil = entry_has_work(&captured->graph);
  const loom_type *largest = e->release_gil ? entry_largest(&captured->graph) : NULL;
  e->symbolic = largest != NULL;
  if (largest) e->largest = *largest;
  return e;
}

void entry_settle(entry *e) {
  if (e->plan)
    capture_pack(e->captured);
  else
    capture_compact(e->captured);
}

void entry_unref(entry *e) {
  if (!e || --e->refs) return;
  entry_unwatch(e);
  free(e->life.pins);
  guard_program_free(e->guards);
  if (e->plan) loom_plan_unref(e->plan);
  capture_free(e->captured);
  free(e->outputs);
  free(e->sizes);
  free(e->targets);
  free(e->spans);
  free(e->guard_ns);
  witness_free(e->witness);
  Py_XDECREF(e->code);
  Py_XDECREF(e->name);
  Py_XDECREF(e->user);
  Py_XDECREF(e->runner);
  free(e);
}

/* An entry that a running call shares has more references than the collector can see: it is left
 * alone. */
int entry_traverse(entry *e, visitproc visit, void *arg) {
  if (e->refs != 1) return 0;
  Py_VISIT(e->code);
  Py_VISIT(e->user);
  Py_VISIT(e->runner);
  int stopped = guard_program_traverse(e->guards, visit, arg);
  return stopped ? stopped : capture_traverse(e->captured, visit, arg);
}

/* ---- running -------------------------------------------------------------------------------- */

/* What a plan's calls of the host get. */
typedef struct entry_context {
  const entry *e;
  PyObject *kept;   /* list of what owns the memory of results of host calls, or NULL */
  int64_t *symbols; /* of the run, or NULL: no host call tells any */
  struct run_state *state;
} entry_context;

static int entry_host(void *context, const loom_host_call *call) {
  entry_context *in = context;
  const entry *e = in->e;
  PyGILState_STATE state = PyGILState_Ensure();
  hook_scope scope;
  bool paused = loom_dispatch->pause(&scope);
  int failed = e->adapter->host_call
                   ? e->adapter->host_call(e->captured, call->name, call->slot, call->buffers,
                                           call->reads, call->count, call->symbols, &in->kept)
                   : 1;
  if (paused) loom_dispatch->go_on(&scope);
  PyGILState_Release(state);
  if (!failed && in->symbols)
    memcpy(in->symbols, call->symbols, sizeof *in->symbols * e->captured->graph.symbol_count);
  return failed;
}

static uint32_t entry_launch_plan(loom_plan *plan, const loom_call *call, bool release) {
  if (!release) return loom_plan_run(plan, call);
  uint32_t status;
  Py_BEGIN_ALLOW_THREADS status = loom_plan_run(plan, call);
  Py_END_ALLOW_THREADS return status;
}

/* The same of a version whose runs have raised flags. */
__attribute__((noinline)) static uint32_t
entry_launch_witnessed(const entry *e, const loom_call *call, bool release) {
  loom_plan *plan = witness_plan(e, call->symbols);
  uint32_t status = entry_launch_plan(plan, call, release);
  witness_ran(e, plan, status);
  return status;
}

static uint32_t entry_launch(const entry *e, const loom_call *call, bool release) {
  if (!e->plan) return 0; /* nothing is computed */
  if (__builtin_expect(e->witness != NULL, 0)) return entry_launch_witnessed(e, call, release);
  return entry_launch_plan(e->plan, call, release);
}

#define ENTRY_AGAIN 64 /* calls that run again before the user is told */

/* The plain function reports the exceptions. Always false. */
static bool entry_report_again(entry *e, bool *fallback) {
  PyObject *name = ((PyCodeObject *)e->code)->co_qualname;
  loom_log(LOOM_LOG_BREAKS,
           "FL%04d: %U runs as plain Python: a floating-point exception is to be reported",
           BREAK_AGAIN, name);
  if (++e->again == ENTRY_AGAIN) {
    const char *text = PyUnicode_AsUTF8(name);
    if (!text) error_drop();
    loom_notice(LOOM_NOTICE_AGAIN,
                "%d calls of %.200s have run a second time, as plain Python, to report "
                "floating-point exceptions: it is as slow as without frameloom, or slower. Use "
                "np.errstate(...='ignore') where they are expected",
                ENTRY_AGAIN, text ? text : "a function");
    if (!loom_warn_notices()) return false;
  }
  *fallback = true;
  return false;
}

/* Are the results good? Else the plain function has to run (*fallback): at once, or to meet the
 * pending exception, which a signal handler has raised; or an exception of ours is set. */
static bool entry_accept(entry *e, uint32_t status, const loom_call *call,
                         const loom_violation *violation, bool *fallback) {
  if (!status) return true;
  if (status & LOOM_STATUS_BOUNDS) {
    error_drop();
    checked_raise(violation->text);
    return false;
  }
  if (status & LOOM_STATUS_MEMORY) {
    *fallback = true; /* it may do with less, or says what it wanted */
    return false;
  }
  if (status & LOOM_STATUS_INTERRUPTED) {
    *fallback = true; /* for what a signal handler raised, too */
    return false;
  }
  if (status & (LOOM_STATUS_INDEX | LOOM_STATUS_HOST | LOOM_STATUS_SIZE)) {
    *fallback = true;
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) {
      *fallback = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
      return false;
    }
    error_drop_users(); /* the plain function raises it, with the user's own lines in the traceback
                         */
    return false;
  }
  uint32_t flags = status & e->captured->fp_ops & 15u;
  if (!flags) return true;
  int matters = witness_flags_matter(e, flags, call);
  if (matters > 0) return entry_report_again(e, fallback);
  return matters == 0;
}

/* Data of the inputs that are not arguments; the objects, new references, go to `live`. */
static bool entry_read_inputs(const entry *e, PyObject *const *args, PyObject **live,
                              void **inputs) {
  for (uint32_t i = 0; i < e->captured->input_count; i++) {
    live[i] = NULL;
    if (e->slots[i] != ENTRY_READ) continue;
    live[i] = source_read(e->captured->inputs[i].source, args);
    if (live[i]) inputs[i] = e->adapter->data(live[i]);
  }
  for (uint32_t i = 0; i < e->captured->input_count; i++)
    if (e->slots[i] == ENTRY_READ && !live[i]) return false;
  return true;
}

/* Nothing has been changed yet: the plain function shall say what is wrong, if it is. */
static bool entry_gave_up(void) {
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception)) error_drop_users();
  return !PyErr_Occurred();
}

static PyObject *entry_launch_simple(entry *e, void *const *inputs, const int64_t *symbols,
                                     bool *fallback) {
  void *data;
  const capture *c = e->captured;
  PyObject *result = e->adapter->new_output(c->result->payload, &c->graph, symbols, &data);
  if (!result) {
    *fallback = entry_gave_up();
    return NULL;
  }
  bool release = entry_releases(e, symbols);
  entry_context context = {.e = e};
  loom_violation violation;
  loom_call call = {.inputs = inputs,
                    .outputs = &data,
                    .violation = &violation,
                    .host = entry_host,
                    .poll = release ? loom_poll_signals : NULL,
                    .host_context = &context,
                    .symbols = symbols};
  uint32_t status = entry_launch(e, &call, release);
  Py_XDECREF(context.kept);
  if (!status || entry_accept(e, status, &call, &violation, fallback)) return result;
  Py_DECREF(result);
  return NULL;
}

static PyObject *entry_run_simple(entry *e, PyObject *const *args, const int64_t *symbols,
                                  bool *fallback) {
  void *inputs[ENTRY_SIMPLE_INPUTS];
  inputs[0] = NULL;
  uint32_t count = e->captured->input_count;
  for (uint32_t i = 0; i < count; i++)
    inputs[i] = e->slots[i] != ENTRY_READ ? e->adapter->data(args[e->slots[i]]) : NULL;
  if (!e->reads) return entry_launch_simple(e, inputs, symbols, fallback);
  PyObject *live[ENTRY_SIMPLE_INPUTS], *result = NULL;
  if (entry_read_inputs(e, args, live, inputs))
    result = entry_launch_simple(e, inputs, symbols, fallback);
  else
    *fallback = true;
  for (uint32_t i = 0; i < count; i++)
    Py_XDECREF(live[i]);
  return result;
}

/* ---- running, the general way --------------------------------------------------------------- */

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
    s->sizes[i] = e->sizes[i];
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
  s->sizes = c->sized ? (size_t *)(at + 3 * in + 2 * out) : e->sizes;
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
    if (!PyErr_Occurred() && e->spans && direct_open_loop(e, &s->run, i, &s->kept)) continue;
    if (PyErr_Occurred()) return false;
    if (e->outputs[i]) {
      s->run.arrays[i] = e->adapter->new_output(e->outputs[i]->payload, &e->captured->graph,
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
  if (!e->outputs[i]) {
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
      e->adapter->new_output(e->outputs[i]->payload, graph, symbols, &s->run.data[i]);
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
  if (!e->operations && !graph->output_count) return 0;
  loom_buffer *buffers = run_buffers(s, e);
  if (!buffers) return LOOM_STATUS_MEMORY;
  *raised = !backend_run(e, buffers, s->live, buffers + graph->input_count);
  free(buffers);
  return 0;
}

/* A run that has written into arguments and raised flags is reported now, if it has to be: whether
 * that may be was asked before it wrote (direct_allowed), and filters may have changed since. */
static bool run_accept(const run_state *s, entry *e, uint32_t status, const loom_call *call,
                       const loom_violation *violation, bool *fallback) {
  uint32_t flags = status & e->captured->fp_ops & 15u;
  if (s->direct && e->again_behind && !e->reporter)
    return entry_accept(e, status, call, violation, fallback);
  if (s->direct && !(status & ~15u)) return !e->reporter || !flags || direct_report(e, flags) == 0;
  if (s->direct && (status & LOOM_STATUS_MEMORY)) return PyErr_NoMemory(), false;
  return entry_accept(e, status, s->direct || s->kept ? NULL : call, violation, fallback);
}

/* What the run refers to weakly stays alive until its end. */
static bool entry_pin(const entry *e, bool *fallback) {
  *fallback = !e->fits;
  for (uint32_t i = 0; e->fits && i < e->life.pin_count; i++)
    Py_INCREF(e->life.pins[i]);
  return e->fits != NULL;
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
  bool same = e->fits && guard_program_check(e->guards, args, now) &&
              (!bytes || !memcmp(now, symbols, bytes));
  for (uint32_t i = 0; i < c->input_count && same; i++)
    same = run_input_is_current(s, e, args, i);
  error_drop();
  return same;
}

static PyObject *entry_run_general(entry *e, PyObject *const *args, const int64_t *symbols,
                                   bool *fallback, bool *changed) {
  run_state s;
  PyObject *result = NULL;
  if (!run_init(&s, e, args, symbols)) return NULL;
  if (e->life.pin_count && !entry_pin(e, fallback)) {
    run_fini(&s, e);
    return NULL;
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
    *changed = s.direct && !e->again_behind;
    if (!raised && run_accept(&s, e, status, &call, &violation, fallback)) {
      bool aside = e->reads_again && !s.direct && (release || e->kind == BACKEND_USER);
      *fallback = aside && !run_is_current(&s, e, args, symbols);
      result = *fallback ? NULL : effects_commit(&s.run, changed);
      if (!result && !*changed) *fallback = entry_gave_up();
    }
  }
  if (s.kept) direct_close(s.kept, !result && !*changed);
  run_fini(&s, e);
  for (uint32_t i = 0; i < e->life.pin_count; i++)
    Py_DECREF(e->life.pins[i]);
  return result;
}

/* A function most calls of which end in the plain one, since what was assumed of sizes that depend
 * on data does not hold, is not run in vain each time. */
static bool entry_is_vain(entry *e) {
  if (e->given_up < ENTRY_GIVE_UPS) return false;
  return ++e->passed_by % ENTRY_TRY_AGAIN != 0;
}

/* Many runs in a row have ended in the plain function. */
static void entry_gives_up(entry *e) {
  if (e->captured->late)
    loom_log(LOOM_LOG_BREAKS,
             "%U runs as plain Python most of the time: a size that depends on data "
             "is smaller than was assumed, or does not fit",
             ((PyCodeObject *)e->code)->co_qualname);
  if (loom_dispatch->give_up(e)) e->given_up = 0;
}

PyObject *entry_run_part(entry *e, PyObject *const *args, const int64_t *symbols, bool *fallback,
                         bool *changed) {
  if (e->kind == BACKEND_EAGER || (e->captured->late && entry_is_vain(e))) {
    *fallback = true;
    return NULL;
  }
  e->refs++; /* reset() may drop it while the GIL is away */
  e->hits++;
  PyObject *result = e->simple ? entry_run_simple(e, args, symbols, fallback)
                               : entry_run_general(e, args, symbols, fallback, changed);
  if (result)
    e->given_up = 0;
  else if (e->given_up < ENTRY_GIVE_UPS && ++e->given_up == ENTRY_GIVE_UPS)
    entry_gives_up(e);
  entry_unref(e);
  return result;
}

void entries_unref(entry_list *list) {
  if (!list || --list->refs) return;
  for (uint32_t i = 0; i < list->count; i++)
    entry_unref(list->items[i]);
  free(list);
}
