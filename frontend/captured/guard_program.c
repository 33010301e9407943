/* Guards as a flat program: which of a callable's compiled versions fits this call. No Python code
 * runs.
 *
 * Five groups, in this order:
 *
 * - args: on arguments themselves. Nothing has to be read for them, and they fail most often;
 * - named: depend on the contents of a few dictionaries (globals, builtins, modules) alone, since
 *   what they compare (identity, or the bits of an immutable object) cannot change in any other
 *   way. They are skipped while these dictionaries have the version tags that they had when all of
 *   these guards held last: a tag changes with every write to its dictionary;
 * - held: on objects that such names lead to, or on a field of a function or cell that they lead
 *   to. The object or field is found again together with the named group, and is compared on every
 *   call;
 * - rest: in the order of capture. What their sources read is kept for the check, so that a path
 *   which several guards begin with is walked once;
 * - sizes: read the capture's symbols, one after the other, and compare what follows from them. */
#include "frontend/base/base.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/internal.h"

static bool guard_add_dict(guard_program *p, PyObject *dict) {
  if (!dict || !PyDict_CheckExact(dict)) return false;
  for (uint32_t i = 0; i < p->dict_count; i++)
    if (p->dicts[i] == dict) return true;
  if (p->dict_count == GUARD_MAX_DICTS) return false;
  p->dicts[p->dict_count++] = Py_NewRef(dict);
  return true;
}

static PyObject *guard_builtins(PyObject *globals) {
  PyObject *builtins = PyDict_GetItemString(globals, "__builtins__");
  if (!builtins) builtins = PyEval_GetBuiltins();
  return builtins && PyModule_CheckExact(builtins) ? PyModule_GetDict(builtins) : builtins;
}

/* Does reading this source depend on nothing but dictionaries that the program watches? Adds them.
 */
static bool guard_watch_source(guard_program *p, const source *s) {
  if (s->kind == SOURCE_CONST || s->kind == SOURCE_FUNCTION) return s->object != NULL;
  if (s->kind == SOURCE_GLOBAL) {
    if (!guard_add_dict(p, s->object)) return false;
    PyObject *found = PyDict_GetItemWithError(s->object, s->key);
    if (!found) error_drop();
    return found || guard_add_dict(p, guard_builtins(s->object));
  }
  if (s->kind != SOURCE_ATTR || !s->base || !guard_watch_source(p, s->base)) return false;
  PyObject *base = source_read(s->base, NULL);
  bool good = base && PyModule_CheckExact(base) && guard_add_dict(p, PyModule_GetDict(base));
  Py_XDECREF(base);
  return good;
}

static bool guard_is_named(guard_program *p, const guard *g) {
  bool kind = g->kind == GUARD_IDENTITY || g->kind == GUARD_NUMBER || g->kind == GUARD_MISSING ||
              g->kind == GUARD_PRESENT;
  if (g->kind == GUARD_TYPE) kind = !(((PyTypeObject *)g->object)->tp_flags & Py_TPFLAGS_HEAPTYPE);
  return kind && g->source && guard_watch_source(p, g->source);
}

/* The field that a source reads of a function or of one of its cells, NULL when it is none such. */
static PyObject **guard_field(const source *s, PyObject *base, bool *none) {
  PyFunctionObject *f = (PyFunctionObject *)base;
  *none = false;
  if (!PyFunction_Check(base)) return NULL;
  if (s->kind == SOURCE_CELL) {
    if (!f->func_closure || s->index >= PyTuple_GET_SIZE(f->func_closure)) return NULL;
    return &((PyCellObject *)PyTuple_GET_ITEM(f->func_closure, s->index))->ob_ref;
  }
  if (s->kind != SOURCE_ATTR || !PyUnicode_Check(s->key)) return NULL;
  if (!PyUnicode_CompareWithASCIIString(s->key, "__code__")) return &f->func_code;
  if (!PyUnicode_CompareWithASCIIString(s->key, "__globals__")) return &f->func_globals;
  *none = true;
  if (!PyUnicode_CompareWithASCIIString(s->key, "__defaults__")) return &f->func_defaults;
  if (!PyUnicode_CompareWithASCIIString(s->key, "__kwdefaults__")) return &f->func_kwdefaults;
  return NULL;
}

/* Finds what a held guard looks at; false when its source leads nowhere. */
bool guard_resolve(guard_held *h) {
  const source *s = h->g->source;
  h->place = NULL;
  h->object = NULL;
  PyObject *base = s->base ? source_read(s->base, NULL) : NULL;
  if (base) h->place = guard_field(s, base, &h->none);
  Py_XDECREF(base); /* the dictionaries, or the callable itself, keep it alive */
  if (h->place) return true;
  h->object = source_read(s, NULL);
  Py_XDECREF(h->object);
  return h->object != NULL;
}

static bool guard_is_held(guard_program *p, const guard *g) {
  const source *s = g->source;
  guard_held probe = {.g = g};
  uint32_t others;
  guard_others(g, &others);
  if (!s || others || g->kind == GUARD_MISSING) return false;
  if (guard_watch_source(p, s)) return guard_resolve(&probe);
  return s->base && guard_watch_source(p, s->base) && guard_resolve(&probe) && probe.place;
}

/* What the dispatcher itself makes sure of: that the function is one, and its code. */
static bool guard_is_given(const guard *g) {
  const source *s = g->source;
  if (!s) return false;
  if (s->kind == SOURCE_FUNCTION) return g->kind == GUARD_TYPE || g->kind == GUARD_IDENTITY;
  return g->kind == GUARD_IDENTITY && s->kind == SOURCE_ATTR && s->base->kind == SOURCE_FUNCTION &&
         PyUnicode_CompareWithASCIIString(s->key, "__code__") == 0;
}

/* Is a name that has to exist read by another guard anyway? */
static bool guard_is_implied(const capture *c, const guard *g) {
  if (g->kind != GUARD_PRESENT) return false;
  for (uint32_t i = 0; i < c->guard_count; i++) {
    const guard *other = &c->guards[i];
    bool reads = other->kind != GUARD_PRESENT && other->kind != GUARD_MISSING &&
                 other->kind != GUARD_CUSTOM && other->kind != GUARD_SIZE;
    if (reads && other->source == g->source) return true;
  }
  return false;
}

/* Code whose instructions are in the graph. */
static bool guard_add_codes(guard_program *p, const capture *c) {
  if (!PYTHON_MONITORS_CODE) return true;
  p->codes = calloc((size_t)c->guard_count + 1, sizeof *p->codes);
  for (uint32_t i = 0; p->codes && i < c->guard_count; i++)
    if (c->guards[i].kind == GUARD_IDENTITY && PyCode_Check(c->guards[i].object))
      p->codes[p->code_count++] = c->guards[i].object;
  return p->codes != NULL;
}

/* ---- what the rest reads ---- */

typedef struct read_plan {
  guard_program *p;
  uint32_t capacity;
  pointer_map places; /* of sources, from 1 on */
  loom_arena arena;   /* of the map */
} read_plan;

static bool plan_add(read_plan *plan, const source *s, guard_place base) {
  guard_program *p = plan->p;
  if (p->read_count == plan->capacity) {
    uint32_t capacity = plan->capacity ? 2 * plan->capacity : 16;
    guard_read *more = realloc(p->reads, capacity * sizeof *more);
    if (!more) return false;
    p->reads = more;
    plan->capacity = capacity;
  }
  p->reads[p->read_count++] = (guard_read){s, base};
  return pointer_map_set(&plan->places, &plan->arena, s, (void *)(uintptr_t)p->read_count);
}

/* Where what a source reads will be: read after its base, once. False: out of memory. */
static bool plan_place(read_plan *plan, const source *s, guard_place *place) {
  guard_place base = GUARD_NOWHERE;
  uintptr_t known = s && s->kind != SOURCE_ARG ? (uintptr_t)pointer_map_get(&plan->places, s) : 0;
  *place = !s ? GUARD_NOWHERE : known ? (guard_place)known - 1 : (guard_place)(-1 - s->index);
  if (!s || known || s->kind == SOURCE_ARG) return true;
  if (s->base && s->kind != SOURCE_FUNCTION && !plan_place(plan, s->base, &base)) return false;
  *place = (guard_place)plan->p->read_count;
  return plan_add(plan, s, base);
}

static bool plan_guard(read_plan *plan, const guard *g, guard_place *others) {
  guard_rest *r = &plan->p->rest[plan->p->rest_count++];
  const source *const *sources = guard_others(g, &r->other_count);
  r->g = g;
  r->others = others;
  if (!plan_place(plan, g->source, &r->object)) return false;
  for (uint32_t i = 0; i < r->other_count; i++)
    if (!plan_place(plan, sources[i], &r->others[i])) return false;
  r->reads = plan->p->read_count;
  return true;
}

/* Plans what is read for these guards. False: out of memory. */
static bool guard_plan_reads(guard_program *p, const guard *const *rest, uint32_t count) {
  read_plan plan = {.p = p};
  uint32_t others = 0, more;
  for (uint32_t i = 0; i < count; i++) {
    guard_others(rest[i], &more);
    others += more;
  }
  p->rest = calloc((size_t)count + 1, sizeof *p->rest);
  p->others = calloc((size_t)others + 1, sizeof *p->others);
  bool good = p->rest && p->others;
  guard_place *at = p->others;
  for (uint32_t i = 0; good && i < count; i++) {
    good = plan_guard(&plan, rest[i], at);
    at += p->rest[i].other_count;
  }
  loom_arena_fini(&plan.arena);
  return good;
}

/* ---- the program ---- */

static void guard_sort(guard_program *p, const guard **rest, uint32_t *rest_count) {
  const capture *c = p->captured;
  uint32_t others;
  for (uint32_t i = 0; i < c->guard_count; i++) {
    const guard *g = &c->guards[i];
    guard_others(g, &others);
    bool simple = !others && g->kind != GUARD_CUSTOM;
    if (guard_is_given(g) || guard_is_implied(c, g)) continue;
    if (g->kind == GUARD_SIZE)
      p->sizes[p->size_count++] = g;
    else if (simple && g->source && g->source->kind == SOURCE_ARG)
      p->args[p->arg_count++] = g;
    else if (guard_is_named(p, g))
      p->named[p->named_count++] = g;
    else if (guard_is_held(p, g))
      p->held[p->held_count++].g = g;
    else
      rest[(*rest_count)++] = g;
  }
}

guard_program *guard_program_new(const capture *c) {
  guard_program *p = calloc(1, sizeof *p);
  if (!p) return (guard_program *)PyErr_NoMemory();
  p->args = calloc(3 * (size_t)c->guard_count + 1, sizeof *p->args);
  p->held = calloc((size_t)c->guard_count + 1, sizeof *p->held);
  const guard **rest = calloc((size_t)c->guard_count + 1, sizeof *rest);
  uint32_t rest_count = 0;
  bool good = p->args && p->held && rest;
  if (good) {
    p->named = p->args + c->guard_count;
    p->sizes = p->args + 2 * (size_t)c->guard_count;
    p->captured = c;
    guard_sort(p, rest, &rest_count);
    good = guard_add_codes(p, c) && guard_plan_reads(p, rest, rest_count);
  }
  free(rest);
  if (good) return p;
  guard_program_free(p);
  return (guard_program *)PyErr_NoMemory();
}

void guard_program_free(guard_program *p) {
  if (!p) return;
  for (uint32_t i = 0; i < p->dict_count; i++)
    if (!(p->borrowed >> i & 1)) Py_DECREF(p->dicts[i]);
  free(p->args);
  free(p->held);
  free(p->rest);
  free(p->others);
  free(p->reads);
  free(p->codes);
  free(p);
}

int guard_program_traverse(guard_program *p, visitproc visit, void *arg) {
  for (uint32_t i = 0; p && i < p->dict_count; i++)
    if (!(p->borrowed >> i & 1)) Py_VISIT(p->dicts[i]);
  return 0;
}

void guard_program_let_go(guard_program *p, const capture *c) {
  for (uint32_t i = 0; i < p->dict_count; i++)
    if (capture_borrows(c, p->dicts[i]) && !(p->borrowed >> i & 1)) {
      p->borrowed |= 1u << i;
      Py_DECREF(p->dicts[i]);
    }
}
