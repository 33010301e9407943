/* Checking guards. No Python code runs. */
#include "frontend/captured/guard.h"
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/internal.h"
#include "frontend/captured/objects.h"

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

static bool guard_library_key_equal(PyObject *a, PyObject *b) {
  bool equal = false;
  for (const loom_adapter *const *one = loom_adapters(); *one && !equal; one++)
    equal = (*one)->same_key && (*one)->same_key(a, b);
  return equal;
}

/* A key that is compared by value, or the very object. */
bool guard_key_equal(PyObject *a, PyObject *b) {
  if (a == b || !PyTuple_CheckExact(a))
    return guard_number_equal(a, b) || guard_library_key_equal(a, b);
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

static bool guard_are_apart(const guard *g, PyObject *const *objects) {
  const guard_apart *p = g->payload;
  for (uint32_t i = 0; i < p->count; i++)
    if (!objects[i]) return false;
  return g->adapter ? g->adapter->apart(objects, p->written, p->count)
                    : guard_are_distinct(objects, p->written, p->count);
}

/* `object` is what the guard's source reads, NULL when it is gone; `others` are what other sources
 * of the guard read. */
static inline bool guard_holds_on(const guard *g, PyObject *object, PyObject *const *others) {
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
  case GUARD_APART: return others && guard_are_apart(g, others);
  case GUARD_IN_PARTS: return guard_parts_hold(g->payload, object);
  case GUARD_SAME: return others && others[0] && (object == others[0]) == (g->number != 0);
  case GUARD_DISJOINT: return others && others[0] && g->adapter->disjoint(object, others[0]);
  default: return false;
  }
}

const source *const *guard_others(const guard *g, uint32_t *count) {
  const guard_apart *apart = g->payload;
  *count = g->kind == GUARD_APART                               ? apart->count
           : g->kind == GUARD_SAME || g->kind == GUARD_DISJOINT ? 1
                                                                : 0;
  return g->kind == GUARD_APART ? apart->sources : (const source *const *)&g->source2;
}

/* One guard by itself. */
static bool guard_holds(const guard *g, PyObject *const *args) {
  uint32_t count = 0;
  const source *const *sources = guard_others(g, &count);
  PyObject *object = g->source ? source_read(g->source, args) : NULL;
  PyObject **others = count ? calloc(count, sizeof *others) : NULL;
  for (uint32_t i = 0; others && i < count; i++)
    others[i] = source_read(sources[i], args);
  bool holds = (others || !count) && guard_holds_on(g, object, others);
  for (uint32_t i = 0; others && i < count; i++)
    Py_XDECREF(others[i]);
  free(others);
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
    for (const loom_adapter *const *a = loom_adapters(); *a && !good; a++)
      good = (*a)->size && (*a)->size(object, p->field, p->axis, out);
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

static inline bool guard_held_holds(const guard_held *h) {
  PyObject *object = h->place ? *h->place : h->object;
  if (!object && h->none) object = Py_None;
  return guard_holds_on(h->g, object, NULL);
}

/* ---- the rest: each source is read once ---- */

#define READS_ON_STACK 32 /* longer programs take memory for what they read */

static PyObject *guard_at(guard_place place, PyObject *const *reads, PyObject *const *args) {
  if (place >= 0) return reads[place];
  return place == GUARD_NOWHERE ? NULL : args[-1 - place];
}

static PyObject *guard_read_now(const guard_read *r, PyObject *const *reads,
                                PyObject *const *args) {
  if (r->base == GUARD_NOWHERE) return source_read(r->s, args);
  PyObject *base = guard_at(r->base, reads, args);
  return base ? source_read_from(r->s, base) : NULL;
}

static bool guard_rest_holds(const guard_rest *r, PyObject *const *reads, PyObject *const *args) {
  PyObject *object = guard_at(r->object, reads, args), *one;
  if (r->other_count == 1) {
    one = guard_at(*r->others, reads, args);
    return guard_holds_on(r->g, object, &one);
  }
  PyObject **others = r->other_count ? calloc(r->other_count, sizeof *others) : NULL;
  for (uint32_t i = 0; others && i < r->other_count; i++)
    others[i] = guard_at(r->others[i], reads, args);
  bool holds = (others || !r->other_count) && guard_holds_on(r->g, object, others);
  free(others);
  return holds;
}

/* Does the rest hold? `have`: how many sources have been read, which the caller gives back. */
static bool guard_rest_all(const guard_program *p, PyObject *const *args, PyObject **reads,
                           uint32_t *have) {
  for (uint32_t i = 0; i < p->rest_count; i++) {
    for (; *have < p->rest[i].reads; ++*have)
      reads[*have] = guard_read_now(&p->reads[*have], reads, args);
    if (!guard_rest_holds(&p->rest[i], reads, args)) return false;
  }
  return true;
}

static bool guard_check_rest(const guard_program *p, PyObject *const *args) {
  PyObject *few[READS_ON_STACK];
  bool on_stack = p->read_count <= READS_ON_STACK;
  PyObject **reads = on_stack ? few : malloc(p->read_count * sizeof *reads);
  uint32_t have = 0;
  bool holds = reads && guard_rest_all(p, args, reads, &have);
  while (have-- > 0)
    Py_XDECREF(reads[have]);
  if (!on_stack) free(reads);
  return holds;
}

bool guard_program_check(guard_program *p, PyObject *const *args, int64_t *symbols) {
  for (uint32_t i = 0; i < p->arg_count; i++)
    if (!guard_holds_on(p->args[i], args[p->args[i]->source->index], NULL)) return false;
  if (!guard_versions_hold(p) && !guard_check_named(p, args)) return false;
  for (uint32_t i = 0; i < p->held_count; i++)
    if (!guard_held_holds(&p->held[i])) return false;
  if (p->rest_count && !guard_check_rest(p, args)) return false;
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

/* Of the rest: the guard and the sources that are read for it, those before it being there. */
typedef struct cost_rest {
  const guard_rest *r;
  uint32_t from;
  PyObject **reads;
} cost_rest;

static bool cost_read(const guard_program *p, const cost_rest *c, PyObject *const *args) {
  for (uint32_t i = c->from; i < c->r->reads; i++)
    Py_XSETREF(c->reads[i], guard_read_now(&p->reads[i], c->reads, args));
  return guard_rest_holds(c->r, c->reads, args);
}

static bool cost_once(guard_program *p, cost_kind kind, const void *what, PyObject *const *args,
                      int64_t *symbols) {
  const guard *g = what;
  switch (kind) {
  case COST_ARG: return guard_holds_on(g, args[g->source->index], NULL);
  case COST_NAMES: return guard_versions_hold(p);
  case COST_HELD: return guard_held_holds(what);
  case COST_READ: return cost_read(p, what, args);
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

static void cost_of_rest(guard_program *p, const capture *c, PyObject *const *args, double *ns) {
  PyObject **reads = calloc((size_t)p->read_count + 1, sizeof *reads);
  cost_rest one = {.reads = reads};
  for (uint32_t i = 0; reads && i < p->rest_count; i++) {
    one.r = &p->rest[i];
    ns[one.r->g - c->guards] = cost_of(p, COST_READ, &one, args, NULL);
    one.from = one.r->reads;
  }
  for (uint32_t i = 0; reads && i < p->read_count; i++)
    Py_XDECREF(reads[i]);
  free(reads);
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
  cost_of_rest(p, c, args, ns);
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
