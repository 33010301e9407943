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
 * - rest: in the order of capture, each read by its source;
 * - sizes: read the capture's symbols, one after the other, and compare what follows from them. */
#include "frontend/captured/guard.h"
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/internal.h"
#include "frontend/captured/objects.h"

#define GUARD_MAX_DICTS 16

/* Where a held guard looks: the object itself, or a field of one that is alive while names hold. */
typedef struct guard_held {
  const guard *g;
  PyObject *object, **place; /* borrowed */
  bool none;                 /* an empty field means None */
} guard_held;

struct guard_program {
  const guard **args, **named, **rest, **sizes; /* point into the capture's guards */
  guard_held *held;
  uint32_t arg_count, named_count, held_count, rest_count, size_count, dict_count;
  PyObject **codes; /* code objects that no tool may monitor (borrowed) */
  uint32_t code_count;
  const capture *captured;
  PyObject *dicts[GUARD_MAX_DICTS]; /* owned */
  uint64_t versions[GUARD_MAX_DICTS];
  uint32_t borrowed; /* bits of the dictionaries that are not owned after all */
  bool versions_known;
};

/* ---- one guard ------------------------------------------------------------------------------ */

/* Same exact type and bits; both are known to be of one immutable builtin type, so that comparing
 * runs no user code. */
static bool guard_number_equal(PyObject *a, PyObject *b) {
  if (a == b) return true;
  PyTypeObject *type = Py_TYPE(a);
  if (type != Py_TYPE(b)) return false;
  if (type == &PyFloat_Type)
    return !memcmp(&((PyFloatObject *)a)->ob_fval, &((PyFloatObject *)b)->ob_fval, 8);
  if (type == &PyComplex_Type)
    return !memcmp(&((PyComplexObject *)a)->cval, &((PyComplexObject *)b)->cval, 16);
  if (type != &PyLong_Type && type != &PyUnicode_Type && type != &PyBytes_Type) return false;
  int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) error_drop();
  return equal == 1;
}

static bool guard_length(PyObject *object, int64_t length) {
  if (PyTuple_Check(object)) return PyTuple_GET_SIZE(object) == length;
  if (PyList_Check(object)) return PyList_GET_SIZE(object) == length;
  if (PyDict_Check(object)) return PyDict_GET_SIZE(object) == length;
  if (PyAnySet_Check(object)) return PySet_GET_SIZE(object) == length;
  if (object_is_over_deque(object)) return Py_SIZE(object) == length;
  return false;
}

/* A key that is compared by value, or the very object. */
bool guard_key_equal(PyObject *a, PyObject *b) {
  if (a == b || !PyTuple_CheckExact(a)) return guard_number_equal(a, b);
  if (!PyTuple_CheckExact(b) || PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); i++)
    if (!guard_key_equal(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
  return true;
}

/* Ordered ones have an order of their own; the iterator's code is C and runs none for plain keys.
 */
static bool guard_ordered_keys(PyObject *object, PyObject *keys) {
  if (!live_order_is_plain(object)) return false;
  PyObject *iterator = PyODict_Type.tp_iter(object), *key;
  bool equal = iterator != NULL;
  for (Py_ssize_t i = 0; equal && i < PyTuple_GET_SIZE(keys); i++) {
    equal = (key = Py_TYPE(iterator)->tp_iternext(iterator)) &&
            guard_key_equal(key, PyTuple_GET_ITEM(keys, i));
    Py_XDECREF(key);
  }
  Py_XDECREF(iterator);
  error_drop();
  return equal;
}

static bool guard_dict_keys(PyObject *object, PyObject *keys) {
  if (!PyDict_Check(object) || PyDict_GET_SIZE(object) != PyTuple_GET_SIZE(keys)) return false;
  if (PyODict_Check(object)) return guard_ordered_keys(object, keys);
  Py_ssize_t position = 0, i = 0;
  PyObject *key, *item;
  while (PyDict_Next(object, &position, &key, &item))
    if (!guard_key_equal(key, PyTuple_GET_ITEM(keys, i++))) return false;
  return true;
}

static bool guard_nonzero(PyObject *object) {
  return PyFloat_CheckExact(object) && PyFloat_AS_DOUBLE(object) != 0;
}

/* Is none of the first `written` objects there a second time? In a table of them, by address. */
static bool guard_are_distinct(PyObject *const *objects, uint32_t written, uint32_t count) {
  size_t slots = 16;
  while (slots < 2 * (size_t)written)
    slots *= 2;
  PyObject **table = calloc(slots, sizeof(PyObject *));
  bool distinct = table != NULL;
  for (uint32_t i = 0; distinct && i < count; i++) {
    size_t at = ((uintptr_t)objects[i] >> 4) * 0x9e3779b97f4a7c15u >> 32 & (slots - 1);
    while (table[at] && table[at] != objects[i])
      at = (at + 1) & (slots - 1);
    distinct = !table[at];
    if (i < written) table[at] = objects[i];
  }
  free(table);
  return distinct;
}

static bool guard_are_apart(const guard *g, PyObject *const *args) {
  const guard_apart *p = g->payload;
  PyObject **objects = calloc(p->count, sizeof *objects);
  uint32_t have = 0;
  while (objects && have < p->count && (objects[have] = source_read(p->sources[have], args)))
    have++;
  bool holds = objects && have == p->count &&
               (g->adapter ? g->adapter->apart(objects, p->written, p->count)
                           : guard_are_distinct(objects, p->written, p->count));
  while (have-- > 0)
    Py_DECREF(objects[have]);
  free(objects);
  return holds;
}

/* `object` is what the guard's source reads, NULL when it is gone. */
static inline bool guard_holds_on(const guard *g, PyObject *object, PyObject *const *args) {
  if (g->kind == GUARD_MISSING) return !object;
  if (g->kind == GUARD_CUSTOM)
    return (object || !g->source) && g->adapter->guard(g->payload, object);
  if (!object) return false;
  switch (g->kind) {
  case GUARD_PRESENT: return true;
  case GUARD_TYPE: return (PyObject *)Py_TYPE(object) == g->object;
  case GUARD_IDENTITY: return object == g->object;
  case GUARD_NUMBER: return guard_number_equal(object, g->object);
  case GUARD_LENGTH: return guard_length(object, g->number);
  case GUARD_DICT_KEYS: return guard_dict_keys(object, g->object);
  case GUARD_SET_TABLE: return PyAnySet_Check(object) && set_tables_equal(object, g->object);
  case GUARD_ARRAY: return g->adapter->guard_array(object, g->payload);
  case GUARD_NONZERO: return guard_nonzero(object);
  case GUARD_APART: return guard_are_apart(g, args);
  case GUARD_IN_PARTS: return guard_parts_hold(g->payload, object);
  default: break;
  }
  PyObject *other = source_read(g->source2, args);
  bool holds = false;
  if (g->kind == GUARD_SAME) holds = other && (object == other) == (g->number != 0);
  if (g->kind == GUARD_DISJOINT) holds = other && g->adapter->disjoint(object, other);
  Py_XDECREF(other);
  return holds;
}

static bool guard_holds(const guard *g, PyObject *const *args) {
  if (!g->source) return guard_holds_on(g, NULL, args);
  if (g->source->kind == SOURCE_ARG) return guard_holds_on(g, args[g->source->index], args);
  PyObject *object = source_read(g->source, args);
  bool holds = guard_holds_on(g, object, args);
  Py_XDECREF(object);
  return holds;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

/* What the source of a size guard reads on this call. */
static bool guard_read_size(const guard *g, PyObject *const *args, int64_t *out) {
  const size_guard *p = g->payload;
  const source *s = g->source;
  PyObject *object = s->kind == SOURCE_ARG ? Py_XNewRef(args[s->index]) : source_read(s, args);
  bool good = false;
  int overflow = 0;
  if (object && p->field != SIZE_OF_INT) {
    good = loom_adapters()[0]->size(object, p->field, p->axis, out);
  } else if (object && PyLong_CheckExact(object)) {
    *out = PyLong_AsLongLongAndOverflow(object, &overflow);
    good = !overflow;
  }
  Py_XDECREF(object);
  return good;
}

static bool guard_binds(const guard *g, const loom_graph *graph, int64_t now, int64_t *symbols) {
  const size_guard *p = g->payload;
  int64_t number = graph->exprs[LOOM_STRIDE_EXPR(p->left)].value;
  const loom_symbol *known = &graph->symbols[number];
  if (p->right != 1 && now % p->right != 0) return false;
  symbols[number] = p->right != 1 ? now / p->right : now;
  return symbols[number] >= known->min && symbols[number] <= known->max;
}

static bool guard_computes(const capture *c, const size_guard *p, int64_t *symbols) {
  int64_t now;
  if (!formula_int_now(c, p->right, symbols, &now)) return false;
  if (p->test == SIZE_ANSWERS) return now == p->left;
  int64_t number = c->graph.exprs[LOOM_STRIDE_EXPR(p->left)].value;
  symbols[number] = now;
  return now >= c->graph.symbols[number].min && now <= c->graph.symbols[number].max;
}

static bool guard_size_holds(const guard *g, const capture *c, PyObject *const *args,
                             int64_t *symbols) {
  const size_guard *p = g->payload;
  const loom_graph *graph = &c->graph;
  int64_t now, left, right;
  if (p->test >= SIZE_COMPUTES) return guard_computes(c, p, symbols);
  if (p->test == SIZE_BINDS || p->test == SIZE_READS) {
    if (!guard_read_size(g, args, &now)) return false;
    if (p->test == SIZE_BINDS) return guard_binds(g, graph, now, symbols);
    return loom_stride_eval(graph, p->left, symbols, &left) && now == left;
  }
  if (!loom_stride_eval(graph, p->left, symbols, &left) ||
      !loom_stride_eval(graph, p->right, symbols, &right))
    return false;
  switch (p->test) {
  case SIZE_EQUAL: return left == right;
  case SIZE_DIFFERS: return left != right;
  case SIZE_LESS: return left < right;
  default: return left <= right;
  }
}

/* ---- building ------------------------------------------------------------------------------- */

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
static bool guard_resolve(guard_held *h) {
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

/* Than its source. */
static bool guard_reads_more(const guard *g) {
  return g->kind == GUARD_SAME || g->kind == GUARD_DISJOINT || g->kind == GUARD_APART;
}

static bool guard_is_held(guard_program *p, const guard *g) {
  const source *s = g->source;
  guard_held probe = {.g = g};
  if (!s || guard_reads_more(g) || g->kind == GUARD_MISSING) return false;
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

guard_program *guard_program_new(const capture *c) {
  guard_program *p = calloc(1, sizeof *p);
  const guard **all = p ? calloc(4 * (size_t)c->guard_count + 1, sizeof *all) : NULL;
  guard_held *held = p ? calloc((size_t)c->guard_count + 1, sizeof *held) : NULL;
  if (!all || !held) {
    free(all);
    free(held);
    free(p);
    return (guard_program *)PyErr_NoMemory();
  }
  p->args = all;
  p->named = all + c->guard_count;
  p->rest = all + 2 * (size_t)c->guard_count;
  p->sizes = all + 3 * (size_t)c->guard_count;
  p->held = held;
  p->captured = c;
  if (!guard_add_codes(p, c)) {
    guard_program_free(p);
    return (guard_program *)PyErr_NoMemory();
  }
  for (uint32_t i = 0; i < c->guard_count; i++) {
    const guard *g = &c->guards[i];
    bool simple = !guard_reads_more(g) && g->kind != GUARD_CUSTOM;
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
      p->rest[p->rest_count++] = g;
  }
  return p;
}

void guard_program_free(guard_program *p) {
  if (!p) return;
  for (uint32_t i = 0; i < p->dict_count; i++)
    if (!(p->borrowed >> i & 1)) Py_DECREF(p->dicts[i]);
  free(p->args);
  free(p->held);
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

/* ---- checking ------------------------------------------------------------------------------- */

static bool guard_versions_hold(const guard_program *p) {
  if (!p->versions_known) return false;
  for (uint32_t i = 0; i < p->dict_count; i++)
    if (python_dict_version(p->dicts[i]) != p->versions[i]) return false;
  return true;
}

static bool guard_check_named(guard_program *p, PyObject *const *args) {
  p->versions_known = false;
  for (uint32_t i = 0; i < p->named_count; i++)
    if (!guard_holds(p->named[i], args)) return false;
  for (uint32_t i = 0; i < p->held_count; i++)
    if (!guard_resolve(&p->held[i])) return false;
  for (uint32_t i = 0; i < p->dict_count; i++)
    p->versions[i] = python_dict_version(p->dicts[i]);
  p->versions_known = true;
  return true;
}

static inline bool guard_held_holds(const guard_held *h, PyObject *const *args) {
  PyObject *object = h->place ? *h->place : h->object;
  if (!object && h->none) object = Py_None;
  return guard_holds_on(h->g, object, args);
}

bool guard_program_check(guard_program *p, PyObject *const *args, int64_t *symbols) {
  for (uint32_t i = 0; i < p->arg_count; i++)
    if (!guard_holds_on(p->args[i], args[p->args[i]->source->index], args)) return false;
  if (!guard_versions_hold(p) && !guard_check_named(p, args)) return false;
  for (uint32_t i = 0; i < p->held_count; i++)
    if (!guard_held_holds(&p->held[i], args)) return false;
  for (uint32_t i = 0; i < p->rest_count; i++)
    if (!guard_holds(p->rest[i], args)) return false;
  for (uint32_t i = 0; PYTHON_MONITORS_CODE && i < p->code_count; i++)
    if (python_code_is_monitored(p->codes[i])) return false;
  for (uint32_t i = 0; i < p->size_count; i++)
    if (!guard_size_holds(p->sizes[i], p->captured, args, symbols)) return false;
  return true;
}

/* ---- what they cost ---- */

#define COST_ROUNDS 5
#define COST_TIMES 200

typedef enum cost_kind { COST_ARG, COST_NAMES, COST_HELD, COST_READ, COST_SIZE } cost_kind;

static bool cost_once(guard_program *p, cost_kind kind, const void *what, PyObject *const *args,
                      int64_t *symbols) {
  const guard *g = what;
  switch (kind) {
  case COST_ARG: return guard_holds_on(g, args[g->source->index], args);
  case COST_NAMES: return guard_versions_hold(p);
  case COST_HELD: return guard_held_holds(what, args);
  case COST_READ: return guard_holds(g, args);
  default: return guard_size_holds(g, p->captured, args, symbols);
  }
}

/* The least of a few rounds. */
static double cost_of(guard_program *p, cost_kind kind, const void *what, PyObject *const *args,
                      int64_t *symbols) {
  double least = 0;
  volatile bool held;
  for (int round = 0; round < COST_ROUNDS; round++) {
    uint64_t start = loom_clock_ns();
    for (int i = 0; i < COST_TIMES; i++)
      held = cost_once(p, kind, what, args, symbols);
    double ns = (double)(loom_clock_ns() - start) / COST_TIMES;
    if (!round || ns < least) least = ns;
  }
  (void)held;
  return least;
}

double *guard_program_cost(guard_program *p, const capture *c, PyObject *const *args) {
  int64_t symbols[LOOM_MAX_SYMBOLS] = {0};
  double *ns = calloc((size_t)c->guard_count + 1, sizeof *ns);
  if (!ns || !guard_program_check(p, args, symbols)) return ns;
  for (uint32_t i = 0; i < p->arg_count; i++)
    ns[p->args[i] - c->guards] = cost_of(p, COST_ARG, p->args[i], args, symbols);
  double names = p->named_count ? cost_of(p, COST_NAMES, NULL, args, symbols) : 0;
  for (uint32_t i = 0; i < p->named_count; i++)
    ns[p->named[i] - c->guards] = names / p->named_count;
  for (uint32_t i = 0; i < p->held_count; i++)
    ns[p->held[i].g - c->guards] = cost_of(p, COST_HELD, &p->held[i], args, symbols);
  for (uint32_t i = 0; i < p->rest_count; i++)
    ns[p->rest[i] - c->guards] = cost_of(p, COST_READ, p->rest[i], args, symbols);
  for (uint32_t i = 0; i < p->size_count; i++)
    ns[p->sizes[i] - c->guards] = cost_of(p, COST_SIZE, p->sizes[i], args, symbols);
  return ns;
}

const guard *guard_next_failure(const capture *c, PyObject *const *args, int64_t *symbols,
                                uint32_t *from) {
  while (*from < c->guard_count) {
    const guard *g = &c->guards[(*from)++];
    bool holds =
        g->kind == GUARD_SIZE ? guard_size_holds(g, c, args, symbols) : guard_holds(g, args);
    if (!holds) return g;
  }
  return NULL;
}

const guard *guard_first_failure(const capture *c, PyObject *const *args) {
  int64_t symbols[LOOM_MAX_SYMBOLS] = {0};
  uint32_t from = 0;
  return guard_next_failure(c, args, symbols, &from);
}
