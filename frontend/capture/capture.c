/* From a function and its arguments to a capture: sets the tracer up, runs the function's frame,
 * and writes down how the result is rebuilt. */
#include "frontend/capture/capture.h"
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/capture/internal.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/learnt.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/eval/eval.h"
#include "frontend/library/library.h"
#include "frontend/loops/loops.h"
#include "frontend/values/containers.h"
#include "frontend/values/live.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <inttypes.h>

/* What is captured: of `function` or, with `start`, from there on, up to the instruction `stop`. */
typedef struct capture_order {
  PyFunctionObject *function;
  const frame_shape *start; /* NULL: at the beginning */
  int64_t stop;             /* -1: at the end */
  PyObject *const *args;
  Py_ssize_t count;
  const number_mode *modes; /* of the arguments; or NULL */
  size_table *sizes;        /* or NULL */
} capture_order;

/* ---- what is kept from one attempt to the next ---- */

static bool trace_kept_init(trace_kept *kept, const capture_order *o) {
  kept->never_choose = o->stop >= 0;
  for (int i = 0; i < LOOM_MAX_SYMBOLS; i++)
    kept->late[i] = LATE_FREE;
  kept->numbers = calloc((size_t)o->count + 1, sizeof *kept->numbers);
  if (!kept->numbers) return PyErr_NoMemory(), false;
  if (o->modes) memcpy(kept->numbers, o->modes, (size_t)o->count * sizeof *kept->numbers);
  return true;
}

static void trace_kept_fini(trace_kept *kept) {
  roll_bans_fini(&kept->bans);
  free(kept->numbers);
}

/* ---- the tracer ---- */

static bool tracer_init_capture(tracer *t) {
  capture *c = calloc(1, sizeof *c);
  capture_tables *tables = calloc(1, sizeof *tables);
  if (!c || !tables) {
    free(c);
    free(tables);
    return PyErr_NoMemory(), false;
  }
  t->capture = c;
  t->tables = c->tables = tables;
  loom_graph_init(&c->graph);
  tables->sources = source_table_new();
  tables->names = PyList_New(0);
  return (tables->sources && tables->names) || (PyErr_NoMemory(), false);
}

/* `stack`: of C, where capture begins. */
static bool tracer_init(tracer *t, const capture_order *o, trace_kept *kept, const char *stack) {
  t->kept = kept;
  t->call = (trace_call_state){.args = o->args, .count = o->count, .sizes = o->sizes};
  t->outer = (trace_outer){.start = o->start, .stop = o->stop};
  trace_spent_init(&t->spent, stack);
  trace_loops_init(&t->loops);
  return tracer_init_capture(t) && trace_memory_init(&t->memory) &&
         trace_constants_init(&t->constants, t);
}

static void tracer_fini(tracer *t) { trace_memory_fini(&t->memory); }

static value *capture_slot(tracer *t, Py_ssize_t i, PyObject *name) {
  const source *s = trace_source(t, SOURCE_ARG, NULL, NULL, name, i);
  return value_lazy(t, t->call.args[i], s);
}

static bool capture_arguments(tracer *t, frame *f) {
  if (t->call.count > f->code->locals)
    return trace_break(t, BREAK_OPCODE, "more arguments than locals") != NULL;
  for (Py_ssize_t i = 0; i < t->call.count; i++)
    if (t->call.args[i] && !(f->locals[i] = capture_slot(
                                 t, i, PyTuple_GET_ITEM(f->code->object->co_localsplusnames, i))))
      return false;
  return true;
}

/* A cell that the function has made: nothing but its content may be looked at. */
static value *capture_cell(tracer *t, Py_ssize_t i, PyObject *name) {
  PyObject *cell = t->call.args[i],
           *key = trace_keep(t, PyUnicode_InternFromString("cell_contents"));
  const source *s = trace_source(t, SOURCE_ARG, NULL, NULL, name, i);
  const source *content = s && key ? trace_source(t, SOURCE_DERIVED, s, NULL, key, 0) : NULL;
  value *v = content ? value_new(t, &value_cell_type) : NULL;
  if (!v) return NULL;
  v->source = s;
  v->object = trace_keep(t, Py_NewRef(cell));
  if (!trace_map_set(t, &t->known.wrapped, cell, v)) return NULL;
  if (!PyCell_GET(cell)) return guard_simple(t, GUARD_MISSING, content, NULL, 0), v;
  v->cell.content = value_lazy(t, PyCell_GET(cell), content);
  return v->cell.content ? v : NULL;
}

/* Free variables come with the function; the other slots hold what the frame held. */
static bool capture_frame_state(tracer *t, frame *f) {
  PyCodeObject *code = f->code->object;
  Py_ssize_t locals = code->co_nlocalsplus - code->co_nfreevars;
  value *closure = f->function->closure;
  for (Py_ssize_t i = 0; i < t->call.count; i++) {
    bool local = i < locals, handled = i >= locals + t->outer.start->depth;
    PyObject *name = local     ? Py_NewRef(PyTuple_GET_ITEM(code->co_localsplusnames, i))
                     : handled ? PyUnicode_FromString("<handled>")
                               : PyUnicode_FromFormat("stack[%zd]", i - locals);
    if (!trace_keep(t, name)) return trace_fail(t) != NULL;
    bool cell = local && t->call.args[i] && PyCell_Check(t->call.args[i]) &&
                loom_local_is_cell(code, (int32_t)i);
    value *v = !t->call.args[i] ? (local ? NULL : t->constants.null)
               : cell           ? capture_cell(t, i, name)
                                : capture_slot(t, i, name);
    if (!v && t->call.args[i]) return false;
    if (local)
      f->locals[i] = v;
    else if (handled)
      t->handled = v;
    else
      frame_push(f, v);
  }
  t->outer.handlers = t->outer.start->handled;
  for (int i = 0; closure && i < code->co_nfreevars; i++)
    f->locals[locals + i] = closure->seq.items[i];
  while (f->pc < f->code->count && f->code->instrs[f->pc].unit < t->outer.start->unit)
    f->pc++;
  return true;
}

static frame *capture_root(tracer *t, PyFunctionObject *function) {
  PyObject *own = function == loom_function_now ? NULL : (PyObject *)function;
  const source *s = trace_source(t, SOURCE_FUNCTION, NULL, own, NULL, 0);
  value *v = s ? value_wrap(t, (PyObject *)function, s) : NULL;
  function_data *data = v ? function_get(t, v) : NULL;
  frame *f = data ? frame_new(t, data) : NULL;
  if (!f) return NULL;
  return (t->outer.start ? capture_frame_state(t, f) : capture_arguments(t, f)) ? f : NULL;
}

/* Drops nodes that nothing needs, except those for which the library would have warned. `seen`: the
 * floating-point flags of nodes for which it would; none where all are operations of torch's. */
static bool capture_tidy(capture *c, uint32_t seen) {
  if (seen && !loom_graph_keep_raising(&c->graph)) return false;
  loom_graph_prune(&c->graph);
  for (uint32_t n = 0; n < c->graph.node_count; n++)
    c->fp_ops |= loom_node_fp(&c->graph, &c->graph.nodes[n]) & seen;
  return true;
}

/* One slot of a frame that is left: what nothing has looked at is the live object. */
static recipe *capture_slot_recipe(tracer *t, value *v) {
  if (!value_is_lazy(v)) return trace_rebuild(t, v);
  recipe *r = trace_recipe(t, RECIPE_SOURCE);
  if (r) r->source = v->source;
  return r;
}

/* What the frame holds in front of the instruction that comes next, as a tuple. */
static recipe *capture_frame(tracer *t, const frame *f) {
  const PyCodeObject *code = f->code->object;
  int32_t locals = code->co_nlocalsplus - code->co_nfreevars;
  frame_shape *at = &t->capture->at;
  int32_t slots = locals + f->sp + !!t->outer.leaving;
  *at = (frame_shape){
      .unit = f->code->instrs[f->pc].unit, .depth = f->sp, .handled = t->outer.handlers};
  if (!t->outer.handlers != !t->outer.leaving || slots > LOOM_MAX_SLOTS)
    return trace_break(t, BREAK_OPCODE, "the frame cannot be left here");
  recipe *all = trace_recipe(t, RECIPE_TUPLE);
  if (!all || !(all->items = calloc((size_t)slots + 1, sizeof *all->items))) return trace_fail(t);
  for (int32_t i = 0; i < slots; i++) {
    value *v = i < locals           ? f->locals[i]
               : i < locals + f->sp ? f->stack[i - locals]
                                    : t->outer.leaving;
    if (!v || v == t->constants.null) continue;
    if (!(all->items[all->count] = capture_slot_recipe(t, v))) return NULL;
    all->count++;
    slot_add(&at->present, i);
  }
  t->capture->stopped = true;
  return all;
}

/* What a capture made for itself (classes of the function's own) is no root that a version would be
 * tied to. */
static bool capture_is_spent(void *context, PyObject *root) {
  const tracer *t = context;
  return class_is_made(t, root) && !capture_reads(t->capture, root);
}

/* `result` is NULL when the frame was left in the middle. */
static void capture_finish(tracer *t, const frame *root, value *result) {
  for (frame *f = t->generators; f && !trace_pending(t); f = f->next_generator)
    if (!generator_drop(t, f) && !trace_pending(t))
      trace_break(t, BREAK_GENERATOR, "the generator %s is left inside a try",
                  PyUnicode_AsUTF8(f->function->code->co_qualname));
  if (context_is_set(t)) trace_break(t, BREAK_SIDE_EFFECT, "a context variable stays set");
  for (const loom_adapter *const *a = loom_adapters(); *a && !trace_pending(t); a++)
    if ((*a)->finish && !(*a)->finish(t) && !trace_pending(t))
      trace_break(t, BREAK_COMPILER, "%s", (*a)->name);
  if (!trace_pending(t))
    t->capture->result = result ? trace_rebuild(t, result) : capture_frame(t, root);
  if (!trace_pending(t)) shadow_finish(t);
  for (const loom_adapter *const *a = loom_adapters(); *a && !trace_pending(t); a++)
    if ((*a)->complete) (*a)->complete(t);
  if (!trace_pending(t) && !capture_tidy(t->capture, t->flags.seen)) PyErr_NoMemory();
  if (!trace_pending(t)) capture_mark_overwrites(t->capture);
  if (!trace_pending(t) && t->known.made.count)
    source_table_forget(t->tables->sources, capture_is_spent, t);
}

/* An exception that leaves the function: the original function raises it itself. */
static void capture_raises(tracer *t) {
  value *exception = t->raised;
  PyTypeObject *type = (PyTypeObject *)exception_class(exception);
  trace_raise_plainly(t, "%s: %s", type->tp_name, exception_message(exception));
}

static void capture_run(tracer *t, PyFunctionObject *function) {
  int flags = ((PyCodeObject *)function->func_code)->co_flags;
  bool yielded = false;
  frame *f = capture_root(t, function);
  t->outer.frame = f;
  if (f && !t->outer.start && flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) {
    f->pc = 1;
    t->frame = f;
    trace_break(t, BREAK_GENERATOR, "%s", PyUnicode_AsUTF8(function->func_name));
    return;
  }
  value *result = f ? frame_run(t, f, &yielded) : NULL;
  t->frame = f;
  if (roll_is_open(t)) return;
  if (result || t->outer.stopped) capture_finish(t, f, result);
  if (t->state == TRACE_RAISING) capture_raises(t);
  if (!t->capture->result && t->state == TRACE_GOING)
    trace_break(t, BREAK_OPCODE, "capture failed silently");
}

static void capture_forget_symbols(size_table *sizes) {
  for (uint32_t i = 0; sizes && i < sizes->count; i++)
    sizes->facts[i].symbol = 0;
}

/* NULL with *again set: what it has found out for the next attempt is in `kept`; else with an
 * exception. */
static capture *capture_attempt(const capture_order *o, trace_kept *kept, bool *again) {
  tracer t = {.capture = NULL};
  capture_forget_symbols(o->sizes);
  if (tracer_init(&t, o, kept, __builtin_frame_address(0))) capture_run(&t, o->function);
  trace_status state = PyErr_Occurred() ? TRACE_ERROR : t.state;
  tracer_fini(&t);
  *again = state == TRACE_RESTART;
  if (!*again && state != TRACE_ERROR) return t.capture;
  capture_free(t.capture);
  return NULL;
}

/* Too many sizes have to be known, one after the other: from here on all are. */
static void capture_know_sizes(const capture_order *o) {
  static const char why[] = "capture started again too often for other sizes that have to be known";
  if (o->sizes->never) return;
  o->sizes->never = true;
  for (uint32_t i = 0; i < o->sizes->count; i++) {
    size_fact *f = &o->sizes->facts[i];
    if (f->field != SIZE_OF_DIM || f->state != SIZE_SYMBOL) continue;
    snprintf(f->why, sizeof f->why, "%s", why);
    f->state = SIZE_PINNED;
  }
  loom_log(LOOM_LOG_DYNAMIC, "%U: not compiled for all sizes, but for each: %s",
           o->function->func_qualname, why);
}

/* No cycle is collected while a function is captured: capture makes many objects that live as long,
 * and the collector, which is started by their number, looks at all objects of the process. */
static capture *capture_attempts(const capture_order *o, trace_kept *kept) {
  size_table *sizes = o->sizes;
  capture *c = NULL;
  /* Each restart makes at least one argument known, so this ends; at last no size is a symbol. */
  for (uint32_t i = 0; sizes && i < sizes->count; i++)
    sizes->facts[i].skip = false;
  Py_ssize_t attempts = o->count + 2 + CAPTURE_SIZE_RESTARTS + 2 * ROLL_BANS;
  bool again = builtins_init();
  bool collects = PyGC_Disable();
  for (Py_ssize_t attempt = 0; again && attempt <= attempts; attempt++) {
    if (sizes && attempt >= CAPTURE_SIZE_RESTARTS) capture_know_sizes(o);
    c = capture_attempt(o, kept, &again);
  }
  if (collects) PyGC_Enable();
  return c;
}

static capture *capture_range(const capture_order *o) {
  trace_kept kept = {.numbers = NULL};
  if (!trace_kept_init(&kept, o)) return NULL;
  capture *c = capture_attempts(o, &kept);
  trace_kept_fini(&kept);
  return c;
}

capture *capture_from(PyFunctionObject *function, const frame_shape *start, PyObject *const *args,
                      Py_ssize_t count, const number_mode *modes, size_table *sizes) {
  return capture_range(&(capture_order){function, start, -1, args, count, modes, sizes});
}

capture *capture_function(PyFunctionObject *function, PyObject *const *args, Py_ssize_t count,
                          const number_mode *modes, size_table *sizes) {
  return capture_from(function, NULL, args, count, modes, sizes);
}

/* What a frame holds may be of a kind that cannot be rebuilt. So the last instruction is looked for
 * in front of which all can be: it is the one that makes such an object, and is then run as it is.
 */
capture *capture_until(PyFunctionObject *function, const frame_shape *start, PyObject *const *args,
                       Py_ssize_t count, const number_mode *modes, size_table *sizes,
                       int64_t step) {
  capture *best = NULL;
  int64_t good = -1, bad = step + 1, at = step;
  while (bad - good > 1) {
    capture *c = capture_range(&(capture_order){function, start, at, args, count, modes, sizes});
    if (!c) break;
    if (c->broke.reason == BREAK_PUT_OFF) {
      capture_free(c);
      break;
    }
    if (c->broke.reason || !c->stopped) {
      bad = at;
      capture_free(c);
    } else {
      good = at;
      capture_free(best);
      best = c;
    }
    at = good + (bad - good) / 2;
  }
  if (!PyErr_Occurred()) return best;
  capture_free(best);
  return NULL;
}
