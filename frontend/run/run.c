/* How a version runs: the way that all runs share, and the short way of a version whose inputs are
 * arrays and whose result is a new one. run_general.c has the other way. */
#include "frontend/run/run.h"
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/run/internal.h"
#include "loom_ops_control.h"

/* Results of ops below which a run keeps the GIL: giving it up and taking it back costs more than
 * such a kernel. */
#define ENTRY_GIL_WORK 65536

/* ---- giving up the GIL ---------------------------------------------------------------------- */

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

bool entry_releases(const entry *e, const int64_t *symbols) {
  const loom_graph *graph = &e->captured->graph;
  int64_t work = e->operations, size;
  if (!e->gil.symbolic) return e->gil.release;
  for (int i = 0; i < e->gil.largest.rank; i++)
    if (!loom_dim_eval(graph, e->gil.largest.dims[i], symbols, &size) ||
        __builtin_mul_overflow(work, size, &work))
      return true;
  return work >= ENTRY_GIL_WORK;
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

void entry_gil_init(entry_gil *gil, const capture *c) {
  gil->reads_again = entry_reads_again(c);
  gil->release = entry_has_work(&c->graph);
  const loom_type *largest = gil->release ? entry_largest(&c->graph) : NULL;
  gil->symbolic = largest != NULL;
  if (largest) gil->largest = *largest;
}

/* ---- the plan -------------------------------------------------------------------------------- */

int entry_host(void *context, const loom_host_call *call) {
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

uint32_t entry_launch(const entry *e, const loom_call *call, bool release) {
  if (!e->plan) return 0; /* nothing is computed */
  if (__builtin_expect(e->witness != NULL, 0)) return entry_launch_witnessed(e, call, release);
  return entry_launch_plan(e->plan, call, release);
}

#define ENTRY_AGAIN 64 /* calls that run again before the user is told */

/* The plain function reports the exceptions. Always false. */
static bool entry_report_again(entry *e, bool *fallback) {
  PyObject *name = ((PyCodeObject *)e->life.code)->co_qualname;
  loom_log(LOOM_LOG_BREAKS,
           "FL%04d: %U runs as plain Python: a floating-point exception is to be reported",
           BREAK_AGAIN, name);
  if (++e->counts.again == ENTRY_AGAIN) {
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
bool entry_accept(entry *e, uint32_t status, const loom_call *call, const loom_violation *violation,
                  bool *fallback) {
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
    if (e->simple.slots[i] != ENTRY_READ) continue;
    live[i] = source_read(e->captured->inputs[i].source, args);
    if (live[i]) inputs[i] = e->adapter->data(live[i]);
  }
  for (uint32_t i = 0; i < e->captured->input_count; i++)
    if (e->simple.slots[i] == ENTRY_READ && !live[i]) return false;
  return true;
}

/* Nothing has been changed yet: the plain function shall say what is wrong, if it is. */
bool entry_gave_up(void) {
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
    inputs[i] =
        e->simple.slots[i] != ENTRY_READ ? e->adapter->data(args[e->simple.slots[i]]) : NULL;
  if (!e->simple.reads) return entry_launch_simple(e, inputs, symbols, fallback);
  PyObject *live[ENTRY_SIMPLE_INPUTS], *result = NULL;
  if (entry_read_inputs(e, args, live, inputs))
    result = entry_launch_simple(e, inputs, symbols, fallback);
  else
    *fallback = true;
  for (uint32_t i = 0; i < count; i++)
    Py_XDECREF(live[i]);
  return result;
}

static bool simple_find(entry_simple *simple, const capture *c, backend kind) {
  if (kind != BACKEND_LOOM || c->effect_count || c->change_count || c->shared_count || c->late)
    return false;
  if (c->graph.output_count != 1 || c->result->kind != RECIPE_OUTPUT) return false;
  if (c->input_count > ENTRY_SIMPLE_INPUTS) return false;
  for (uint32_t i = 0; i < c->input_count; i++) {
    if (c->graph.inputs[i].kind != LOOM_INPUT_ARRAY || c->inputs[i].constant) return false;
    const source *from = c->inputs[i].source;
    if (!from) return false;
    simple->slots[i] = from->kind == SOURCE_ARG ? (uint32_t)from->index : ENTRY_READ;
    simple->reads |= simple->slots[i] == ENTRY_READ;
  }
  return true;
}

void entry_simple_init(entry_simple *simple, const capture *c, backend kind) {
  simple->is = simple_find(simple, c, kind);
}

/* A function most calls of which end in the plain one, since what was assumed of sizes that depend
 * on data does not hold, is not run in vain each time. */
static bool entry_is_vain(entry *e) {
  if (e->counts.given_up < ENTRY_GIVE_UPS) return false;
  return ++e->counts.passed_by % ENTRY_TRY_AGAIN != 0;
}

/* Many runs in a row have ended in the plain function. */
static void entry_gives_up(entry *e) {
  if (e->captured->late)
    loom_log(LOOM_LOG_BREAKS,
             "%U runs as plain Python most of the time: a size that depends on data "
             "is smaller than was assumed, or does not fit",
             ((PyCodeObject *)e->life.code)->co_qualname);
  if (loom_dispatch->give_up(e)) e->counts.given_up = 0;
}

/* A run that has drawn numbers, and in place of which the plain function is to run: what it has
 * drawn is drawn again. */
static PyObject *entry_run_drawing(entry *e, PyObject *const *args, const int64_t *symbols,
                                   bool *fallback, bool *changed) {
  PyObject *before = e->adapter->drawn(e->life.drawn_from);
  if (!before) return NULL;
  PyObject *result = e->simple.is ? entry_run_simple(e, args, symbols, fallback)
                                  : entry_run_general(e, args, symbols, fallback, changed);
  if (!result && *fallback) e->adapter->draw_again(e->life.drawn_from, before);
  e->adapter->drawn_end();
  Py_DECREF(before);
  return result;
}

PyObject *entry_run_part(entry *e, PyObject *const *args, const int64_t *symbols, bool *fallback,
                         bool *changed) {
  if (e->kind == BACKEND_EAGER || (e->captured->late && entry_is_vain(e))) {
    *fallback = true;
    return NULL;
  }
  e->refs++; /* reset() may drop it while the GIL is away */
  e->counts.hits++;
  int threads = loom_threads_limit(e->adapter->threads());
  PyObject *result = e->life.drawn_from ? entry_run_drawing(e, args, symbols, fallback, changed)
                     : e->simple.is     ? entry_run_simple(e, args, symbols, fallback)
                                        : entry_run_general(e, args, symbols, fallback, changed);
  loom_threads_limit(threads);
  if (result)
    e->counts.given_up = 0;
  else if (e->counts.given_up < ENTRY_GIVE_UPS && ++e->counts.given_up == ENTRY_GIVE_UPS)
    entry_gives_up(e);
  entry_unref(e);
  return result;
}
