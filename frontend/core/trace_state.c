/* The tracer's own services: how a step fails, what it appends to the capture, where it stands. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/learnt.h"
#include "frontend/captured/objects.h"
#include "frontend/core/hooks.h"
#include "frontend/core/internal.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const loop_hooks *loom_loops;
const eval_hooks *loom_eval;
const library_hooks *loom_library;

/* ---- the ways in which a step fails --------------------------------------------------------- */

bool trace_pending(const tracer *t) { return t->state != TRACE_GOING; }

bool trace_goes_deeper(tracer *t) {
  const char *here = __builtin_frame_address(0);
  ptrdiff_t used = t->spent.stack > here ? t->spent.stack - here : here - t->spent.stack;
  return used < TRACE_MAX_STACK ||
         trace_break(t, BREAK_RECURSION,
                     "objects that hold each other, or calls, are nested too deeply");
}

void *trace_fail(tracer *t) {
  if (!PyErr_Occurred()) PyErr_NoMemory();
  t->state = TRACE_ERROR;
  return NULL;
}

static void frame_location(const frame *f, loom_location *out) {
  PyCodeObject *code = f->code->object;
  const loom_instr *in =
      f->code->count ? &f->code->instrs[f->pc > 0 && f->pc <= f->code->count ? f->pc - 1 : 0]
                     : NULL;
  out->file = PyUnicode_AsUTF8(code->co_filename);
  out->function = PyUnicode_AsUTF8(code->co_qualname);
  error_drop();
  out->line = in ? in->line : code->co_firstlineno;
  out->column = in ? in->column : 0;
}

int32_t frame_line(const frame *f) {
  loom_location at;
  frame_location(f, &at);
  return at.line;
}

/* A break inside a library function names it, since the location is the user's line. */
static void break_inside(const frame *f, break_info *info) {
  loom_location inside;
  size_t used = strlen(info->detail);
  if (!f || !f->library) return;
  frame_location(f, &inside);
  const char *file = inside.file ? strrchr(inside.file, '/') : NULL;
  snprintf(info->detail + used, sizeof info->detail - used, " (in %s, %s:%d)", inside.function,
           file ? file + 1 : "?", (int)inside.line);
}

static void trace_set_break(tracer *t, int reason, const char *format, va_list list) {
  if (t->state == TRACE_BROKEN || t->state == TRACE_ERROR || t->state == TRACE_RESTART) return;
  if (loom_loops->blames(t)) return;
  break_info *info = &t->capture->broke;
  info->reason = reason;
  vsnprintf(info->detail, sizeof info->detail, format, list);
  info->location = trace_location(t);
  info->step = t->outer.step - 1;
  break_inside(t->frame, info);
  if (reason != BREAK_LOOP) loom_loops->note_break(t, reason);
  t->state = TRACE_BROKEN;
  t->raised = NULL;
}

void *trace_break(tracer *t, int reason, const char *format, ...) {
  va_list list;
  va_start(list, format);
  trace_set_break(t, reason, format, list);
  va_end(list);
  return NULL;
}

void *trace_raise_plainly(tracer *t, const char *format, ...) {
  va_list list;
  t->state = TRACE_GOING;
  va_start(list, format);
  trace_set_break(t, BREAK_RAISES, format, list);
  va_end(list);
  return NULL;
}

void *trace_raise_value(tracer *t, value *exception) {
  if (!exception || t->state != TRACE_GOING) return NULL;
  t->raised = exception;
  t->state = TRACE_RAISING;
  return NULL;
}

void trace_restart(tracer *t, Py_ssize_t arg) {
  if (t->state == TRACE_ERROR || t->state == TRACE_BROKEN) return;
  t->kept->numbers[arg] = NUMBER_KNOWN;
  t->state = TRACE_RESTART;
}

bool trace_map_set(tracer *t, pointer_map *map, const void *key, void *item) {
  return pointer_map_set(map, &t->memory.arena, key, item) || trace_fail(t) != NULL;
}

/* ---- how far a capture goes ----------------------------------------------------------------- */

/* Has the capture gone on for too long without an array operation? */
static bool trace_runs_out(tracer *t, uint64_t before) {
  int64_t *left = &loom_capture_patience, taken = (int64_t)(t->spent.steps - before);
  if (*left < 0 || t->spent.computes) return false;
  *left = taken < *left ? *left - taken : 0;
  if (!*left) trace_break(t, BREAK_PUT_OFF, "no array operation among so many instructions");
  return !*left;
}

bool trace_charge(tracer *t, Py_ssize_t items) {
  uint64_t before = t->spent.steps;
  t->spent.steps += 1 + (uint64_t)items / TRACE_ITEMS_A_STEP;
  if (trace_runs_out(t, before)) return false;
  if (t->spent.steps >> 12 != before >> 12 && PyErr_CheckSignals()) return trace_fail(t), false;
  if (t->spent.steps <= TRACE_MAX_STEPS) return true;
  trace_break(t, BREAK_LIMIT, "more than %u instructions were evaluated", TRACE_MAX_STEPS);
  return false;
}

void trace_spent_init(trace_spent *s, const char *stack) { s->stack = stack; }

/* ---- memory --------------------------------------------------------------------------------- */

bool trace_memory_init(trace_memory *m) { return (m->keep = PyList_New(0)) != NULL; }

void trace_memory_fini(trace_memory *m) {
  loom_arena_fini(&m->arena);
  Py_CLEAR(m->keep);
}

void *trace_alloc(tracer *t, size_t bytes) {
  void *p = loom_arena_alloc(&t->memory.arena, bytes);
  if (!p) trace_fail(t);
  return p;
}

void *trace_more(tracer *t, void *array, uint32_t count, uint32_t *capacity, size_t size) {
  if (count < *capacity) return array;
  uint32_t bigger = *capacity ? 2 * *capacity : 8;
  void *grown = trace_alloc(t, bigger * size);
  if (grown && count) memcpy(grown, array, count * size);
  if (grown) *capacity = bigger;
  return grown;
}

PyObject *trace_keep(tracer *t, PyObject *object) {
  if (!object) return NULL;
  int failed = PyList_Append(t->memory.keep, object);
  Py_DECREF(object);
  return failed ? trace_fail(t) : object;
}

/* Makes room for one more in a malloc'ed array of the capture. `array` is the address of the
 * array's pointer. */
bool trace_grow(tracer *t, void *array, uint32_t count, uint32_t *capacity, size_t size) {
  return loom_grow(array, count, capacity, size) || (trace_fail(t), false);
}

/* ---- places --------------------------------------------------------------------------------- */

/* The innermost frame of the user's own code; that of the compiled function when there is none. */
loom_location trace_location(tracer *t) {
  loom_location location = {0};
  const frame *chosen = NULL;
  for (const frame *f = t->frame; f; f = f->back) {
    chosen = f;
    if (!f->library) break;
  }
  if (chosen) frame_location(chosen, &location);
  location.checkpoint = t->loops.checkpoint;
  return location;
}

loom_location trace_innermost_location(const tracer *t) {
  loom_location location = {0};
  if (t->frame) frame_location(t->frame, &location);
  return location;
}

bool trace_checkpoint_begin(tracer *t) {
  if (t->loops.checkpoint) return false;
  t->loops.checkpoint = ++t->loops.checkpoint_count;
  return true;
}

void trace_checkpoint_end(tracer *t) { t->loops.checkpoint = 0; }

/* ---- what is appended to the capture -------------------------------------------------------- */

loom_graph *trace_graph(tracer *t) { return &t->capture->graph; }

void trace_operation(tracer *t, const char *name) { t->flags.operation = name; }

/* Notes what the library would warn of, were these flags raised. */
static void trace_note_warning(tracer *t, loom_node *node, uint32_t flags) {
  capture *c = t->capture;
  const frame *f = t->frame;
  struct capture_warning *w = c->warnings, *end = w + c->warning_count;
  bool told = t->flags.operation && f && !f->library && f->function &&
              f->function->globals == t->outer.frame->function->globals;
  if (!flags) return;
  int32_t line = told ? frame_line(f) : 0;
  while (told && w < end && (w->line != line || w->operation != t->flags.operation))
    w++;
  if (told && w == end) {
    struct capture_warning *grown = realloc(c->warnings, (c->warning_count + 1u) * sizeof *grown);
    if ((told = grown != NULL)) {
      c->warnings = grown;
      w = grown + c->warning_count++;
      *w = (struct capture_warning){.operation = t->flags.operation, .line = line};
    }
  }
  if (!told) {
    c->fp_untold |= flags;
    return;
  }
  w->flags |= flags;
  node->location.warning = (int32_t)(w - c->warnings) + 1;
}

loom_value trace_node(tracer *t, loom_opcode op, const loom_value *operands, uint32_t count,
                      const loom_attr *attrs, uint32_t attr_count, const loom_type *type) {
  loom_graph *graph = trace_graph(t);
  if (trace_pending(t)) return LOOM_NO_VALUE;
  if (graph->node_count >= TRACE_MAX_NODES) {
    trace_break(t, BREAK_LIMIT, "more than %u array operations", TRACE_MAX_NODES);
    return LOOM_NO_VALUE;
  }
  bool complex = type && loom_dtype_is_complex(type->dtype);
  for (uint32_t i = 0; i < count; i++)
    complex |= loom_dtype_is_complex(graph->values[operands[i]].type.dtype);
  if (complex && !loom_complex_has_code(op, attrs)) {
    trace_break(t, BREAK_UNSUPPORTED_DTYPE, "%s of complex numbers", loom_op_table[op].name);
    return LOOM_NO_VALUE;
  }
  loom_location location = trace_location(t);
  loom_error err = {0};
  t->spent.computes = true;
  loom_value v = loom_graph_node(graph, op, operands, count, attrs, attr_count, type, type ? 1 : 0,
                                 &location, &err);
  if (v == LOOM_NO_VALUE)
    trace_break(t, err.uncountable ? BREAK_LIMIT : BREAK_COMPILER, "%s: %s", loom_op_table[op].name,
                err.message);
  if (v != LOOM_NO_VALUE) {
    loom_node *node = &graph->nodes[graph->values[v].node];
    uint32_t flags = loom_node_fp(graph, node) & ~t->flags.ignored;
    t->flags.seen |= flags;
    trace_note_warning(t, node, flags);
  }
  return v == LOOM_NO_VALUE ? v : constants_fold(t, v);
}

static void trace_fp_apply(tracer *t) {
  const uint32_t all = LOOM_FP_DIVIDE | LOOM_FP_OVERFLOW | LOOM_FP_UNDERFLOW | LOOM_FP_INVALID;
  t->flags.ignored = t->loops.derived || t->flags.derives ? all : t->flags.asked;
}

void trace_fp_state(tracer *t, uint32_t ignored, uint32_t reported) {
  t->flags.asked = ignored;
  if (!t->loops.derived && !t->flags.derives) t->capture->fp_reported |= reported;
  trace_fp_apply(t);
}

void trace_derive(tracer *t, bool begins, bool outermost) {
  if (begins)
    t->loops.derived++;
  else
    t->loops.derived--;
  t->flags.derives |= outermost;
  trace_fp_apply(t);
}

static bool guard_equal(const guard *a, const guard *b) {
  return a->kind == b->kind && a->source == b->source && a->source2 == b->source2 &&
         a->object == b->object && a->number == b->number && !a->payload && !b->payload;
}

static const void *guard_key(const guard *g) {
  size_t h = (size_t)g->source * 31 + (size_t)g->kind * 0x9e3779b97f4a7c15u;
  h = (h ^ (size_t)g->object) * 0x9e3779b97f4a7c15u + (size_t)g->number;
  return (const void *)((h ^ (size_t)g->source2) | 1);
}

static void guard_drop(guard *g) {
  Py_XDECREF(g->object);
  free(g->payload);
}

/* The models never change, and nobody else sees what was made for the capture. */
static bool guard_is_needless(const tracer *t, const source *s) {
  while (s && s->base)
    s = s->base;
  if (!s || (s->kind != SOURCE_CONST && s->kind != SOURCE_GLOBAL)) return false;
  return model_owns(s->object) || class_is_made(t, s->object);
}

bool class_is_made(const tracer *t, PyObject *object) {
  return object && pointer_map_get(&t->known.made, object) != NULL;
}

/* What such a class has by a name it may have from a live class among its bases, which can change:
 * the source there; NULL where the name is its own, or is missing. Live classes in front of that
 * one are guarded to go on without it. */
static const source *class_made_source(tracer *t, PyObject *cls, PyObject *name) {
  PyObject *mro = ((PyTypeObject *)cls)->tp_mro;
  for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
    PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
    bool own = PyDict_GetItemWithError(python_type_dict(base), name);
    error_drop();
    bool fixed = class_is_made(t, (PyObject *)base) ||
                 !PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE) ||
                 base->tp_flags & Py_TPFLAGS_IMMUTABLETYPE;
    if (fixed && own) return NULL;
    if (fixed) continue;
    const source *at = trace_source(t, SOURCE_CONST, NULL, (PyObject *)base, NULL, 0);
    const source *s = at ? trace_source(t, SOURCE_ATTR, at, NULL, name, 0) : NULL;
    if (own || !s) return s;
    PyObject *item = _PyType_Lookup(base, name);
    guard_simple(t, item ? GUARD_IDENTITY : GUARD_MISSING, s, item, 0);
  }
  return NULL;
}

void trace_guard(tracer *t, guard g) {
  if (guard_is_needless(t, g.source)) return guard_drop(&g);
  const void *key = guard_key(&g);
  capture *c = t->capture;
  size_t known = (size_t)pointer_map_get(&t->known.guarded, key);
  /* What is looked at while an exception is on its way counts like anything else. */
  bool ended = trace_pending(t) && t->state != TRACE_RAISING;
  if ((known && guard_equal(&c->guards[known - 1], &g)) || ended) return guard_drop(&g);
  if (!trace_grow(t, &c->guards, c->guard_count, &t->tables->guard_capacity, sizeof g))
    return guard_drop(&g);
  g.location = trace_location(t);
  g.step = t->outer.step - 1;
  c->guards[c->guard_count++] = g;
  if (!g.payload) trace_map_set(t, &t->known.guarded, key, (void *)(size_t)c->guard_count);
}

bool trace_guard_payload(tracer *t, guard_kind kind, const source *s, const loom_adapter *adapter,
                         const void *payload, size_t size) {
  void *copy = malloc(size);
  if (!copy) {
    PyErr_NoMemory();
    return trace_fail(t) != NULL;
  }
  memcpy(copy, payload, size);
  trace_guard(
      t, (guard){
             .kind = kind, .source = s, .adapter = adapter, .payload = copy, .payload_size = size});
  return true;
}

void guard_simple(tracer *t, guard_kind kind, const source *s, PyObject *object, int64_t number) {
  if (!s) return;
  trace_guard(t,
              (guard){.kind = kind, .source = s, .object = Py_XNewRef(object), .number = number});
}

void trace_read_aside(tracer *t, const source *s) {
  trace_live *live = &t->live;
  if (!s || !live->aside || pointer_map_get(&live->aside_known, s)) return;
  live->aside_read =
      trace_more(t, live->aside_read, live->aside_count, &live->aside_room, sizeof s);
  if (!live->aside_read) return (void)trace_fail(t);
  if (trace_map_set(t, &live->aside_known, s, (void *)(uintptr_t)s))
    live->aside_read[live->aside_count++] = s;
}

const source *trace_source(tracer *t, source_kind kind, const source *base, PyObject *object,
                           PyObject *key, Py_ssize_t index) {
  source like = {.kind = kind, .base = base, .object = object, .key = key, .index = index};
  bool made = kind == SOURCE_ATTR && base && base->kind == SOURCE_CONST && t->known.made.count &&
              PyType_Check(base->object) && class_is_made(t, base->object);
  const source *live = made ? class_made_source(t, base->object, key) : NULL;
  if (live) return live;
  const source *s = source_table_get(t->tables->sources, &like);
  if (!s) trace_fail(t);
  trace_read_aside(t, s);
  return s;
}

loom_value trace_input(tracer *t, loom_input_kind kind, const loom_type *type,
                       const int64_t *strides, const source *s, PyObject *constant) {
  capture *c = t->capture;
  if (trace_pending(t) ||
      !trace_grow(t, &c->inputs, c->input_count, &t->tables->input_capacity, sizeof *c->inputs)) {
    Py_XDECREF(constant);
    return LOOM_NO_VALUE;
  }
  c->inputs[c->input_count++] = (struct capture_input){.source = s, .constant = constant};
  loom_value v = loom_graph_input(&c->graph, kind, type, strides);
  if (v == LOOM_NO_VALUE) trace_fail(t);
  return v;
}

int64_t trace_output(tracer *t, loom_value v, const int64_t *strides) {
  if (trace_pending(t)) return -1;
  if (trace_is_of_example(t, v)) {
    trace_break(t, BREAK_VMAP,
                "a value of one element leaves the function that frameloom.vmap maps");
    return -1;
  }
  if (!loom_graph_output(trace_graph(t), v, strides)) return trace_fail(t), -1;
  return trace_graph(t)->output_count - 1;
}

void **trace_state(tracer *t, const loom_adapter *adapter) {
  for (int i = 0; i < LOOM_MAX_ADAPTERS - 1; i++) {
    if (!t->adapters.owners[i]) t->adapters.owners[i] = adapter;
    if (t->adapters.owners[i] == adapter) return &t->adapters.states[i];
  }
  return &t->adapters.states[LOOM_MAX_ADAPTERS - 1];
}

void trace_effect(tracer *t, effect e) {
  capture *c = t->capture;
  if (trace_pending(t)) return;
  if (trace_grow(t, &c->effects, c->effect_count, &t->tables->effect_capacity, sizeof e))
    c->effects[c->effect_count++] = e;
}

void trace_change(tracer *t, change c) {
  capture *to = t->capture;
  if (trace_pending(t) ||
      !trace_grow(t, &to->changes, to->change_count, &t->tables->change_capacity, sizeof c)) {
    Py_XDECREF(c.key);
    return;
  }
  to->changes[to->change_count++] = c;
}

int64_t trace_host(tracer *t, PyObject *row) {
  capture *c = t->capture;
  if (!c->hosts) c->hosts = PyList_New(0);
  bool good = row && c->hosts && PyList_Append(c->hosts, row) == 0;
  Py_XDECREF(row);
  if (!good) return trace_fail(t), -1;
  return PyList_GET_SIZE(c->hosts) - 1;
}

recipe *trace_recipe(tracer *t, recipe_kind kind) {
  capture_tables *tables = t->tables;
  if (trace_pending(t) || !trace_grow(t, &tables->recipes, tables->recipe_count,
                                      &tables->recipe_capacity, sizeof *tables->recipes))
    return NULL;
  recipe *r = calloc(1, sizeof *r);
  if (!r) return trace_fail(t);
  r->kind = kind;
  tables->recipes[tables->recipe_count++] = r;
  return r;
}
