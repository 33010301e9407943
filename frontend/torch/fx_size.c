/* Sizes of torch's as numbers of the graph.
 *
 * torch writes sizes and strides as sympy expressions over its symbols. Each symbol of a module is
 * read from a placeholder on every call: an int, or a size of a tensor. The caller of an import
 * says what the symbols stand for: symbols of the captured graph, or, where a graph can only be
 * compiled for known sizes, the values of one call. Expressions become numbers by the same rules in
 * both cases.
 *
 * What is known of a symbol (its range, a number that divides it) comes from torch's guards. It is
 * checked again on every call (fx_symbols_fit), so that a version never runs for a size that
 * violates it. */
#include "frontend/base/base.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"
#include "frontend/torch/torch.h"

#include <string.h>

#define SIZE_SYMBOL_MIN 2 /* torch treats 0 and 1 in ways of their own, as broadcasting does */
#define SIZE_SYMBOL_MAX ((int64_t)1 << 40)

/* The name of a type without its module. */
static const char *size_kind(PyObject *expr) {
  const char *name = Py_TYPE(expr)->tp_name, *dot = strrchr(name, '.');
  return dot ? dot + 1 : name;
}

/* symint.node.expr, a new reference; NULL without an exception for what is no symbolic int. */
static PyObject *size_expr(PyObject *number) {
  PyObject *node = PyObject_GetAttrString(number, "node");
  PyObject *type = node ? PyObject_GetAttrString(node, "pytype") : NULL;
  PyObject *expr = type == (PyObject *)&PyLong_Type ? PyObject_GetAttrString(node, "expr") : NULL;
  Py_XDECREF(type);
  Py_XDECREF(node);
  error_drop();
  return expr;
}

/* ---- the symbols of a module ---- */

static const fx_symbol *symbols_find(const fx_symbols *s, PyObject *name) {
  for (uint32_t i = 0; i < s->count; i++)
    if (PyUnicode_Compare(s->rows[i].name, name) == 0) return &s->rows[i];
  return NULL;
}

/* A bound of a range of torch's; `open` when there is none. */
static int64_t symbols_bound(PyObject *range, const char *which, int64_t open) {
  PyObject *bound = range ? PyObject_GetAttrString(range, which) : NULL;
  PyObject *number = bound ? PyNumber_Long(bound) : NULL;
  int64_t value = number ? PyLong_AsLongLong(number) : open;
  if (PyErr_Occurred()) value = open;
  error_drop();
  Py_XDECREF(number);
  Py_XDECREF(bound);
  return value;
}

static PyObject *symbols_environment(PyObject *number) {
  PyObject *node = PyObject_GetAttrString(number, "node");
  PyObject *env = node ? PyObject_GetAttrString(node, "shape_env") : NULL;
  Py_XDECREF(node);
  error_drop();
  return env;
}

/* What a guard like Eq(s0, 8*((s0//8))), Eq(3*s0, 24*((s0//8))) or Eq(Mod(s0, 8), 0) says: a number
 * that divides the symbol; 1 where it says nothing of the kind. */
static int64_t symbols_divisor(const char *guard, const char *symbol) {
  char name[64] = "", again[64] = "";
  long long factor = 1, by = 0, divisor = 0;
  if (sscanf(guard, "Eq(Mod(%63[^,], %lld), 0)", name, &divisor) == 2)
    return !strcmp(name, symbol) && divisor > 0 ? divisor : 1;
  if (sscanf(guard, "Eq(%lld*%63[^,], %lld*((%63[^/]//%lld)))", &factor, name, &by, again,
             &divisor) != 5) {
    factor = 1;
    if (sscanf(guard, "Eq(%63[^,], %lld*((%63[^/]//%lld)))", name, &by, again, &divisor) != 4)
      return 1;
  }
  bool says = !strcmp(name, symbol) && !strcmp(again, symbol) && divisor > 0 && factor > 0 &&
              by % divisor == 0 && by / divisor == factor;
  return says ? divisor : 1;
}

static int64_t symbols_unit(PyObject *env, const char *symbol) {
  PyObject *guards = env ? PyObject_GetAttrString(env, "guards") : NULL;
  Py_ssize_t count = guards && PyList_Check(guards) ? PyList_GET_SIZE(guards) : 0;
  int64_t unit = 1;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *expr = PyObject_GetAttrString(PyList_GET_ITEM(guards, i), "expr");
    PyObject *text = expr && !strcmp(size_kind(expr), "Equality") ? PyObject_Str(expr) : NULL;
    const char *words = text ? PyUnicode_AsUTF8(text) : NULL;
    int64_t divisor = words ? symbols_divisor(words, symbol) : 1;
    if (divisor > unit && divisor < SIZE_SYMBOL_MAX && divisor % unit == 0) unit = divisor;
    Py_XDECREF(text);
    Py_XDECREF(expr);
  }
  error_drop();
  Py_XDECREF(guards);
  return unit;
}

/* Range, divisor and hint of a row from the shape environment of `number`. */
static void symbols_describe(fx_symbol *row, PyObject *number, PyObject *symbol) {
  PyObject *env = symbols_environment(number);
  PyObject *ranges = env ? PyObject_GetAttrString(env, "var_to_range") : NULL;
  PyObject *range = ranges ? PyObject_GetItem(ranges, symbol) : NULL;
  PyObject *node = PyObject_GetAttrString(number, "node");
  PyObject *hint = node ? PyObject_GetAttrString(node, "hint") : NULL;
  const char *name = PyUnicode_AsUTF8(row->name);
  error_drop();
  row->min = symbols_bound(range, "lower", 0);
  row->max = symbols_bound(range, "upper", SIZE_SYMBOL_MAX);
  if (row->min < SIZE_SYMBOL_MIN) row->min = SIZE_SYMBOL_MIN;
  if (row->max > SIZE_SYMBOL_MAX) row->max = SIZE_SYMBOL_MAX;
  row->unit = name ? symbols_unit(env, name) : 1;
  row->hint = hint && PyLong_Check(hint) ? PyLong_AsLongLong(hint) / row->factor : 0;
  row->hinted = hint && PyLong_Check(hint);
  error_drop();
  Py_XDECREF(hint);
  Py_XDECREF(node);
  Py_XDECREF(range);
  Py_XDECREF(ranges);
  Py_XDECREF(env);
}

static bool symbols_add(fx_symbols *s, PyObject *number, PyObject *symbol, fx_symbol row) {
  row.name = PyObject_Str(symbol);
  if (!row.name) return false;
  if (symbols_find(s, row.name)) return Py_DECREF(row.name), true;
  if (s->count == FX_MAX_SYMBOLS) {
    Py_DECREF(row.name);
    PyErr_SetString(PyExc_NotImplementedError, "too many symbolic sizes");
    return false;
  }
  symbols_describe(&row, number, symbol);
  s->rows[s->count++] = row;
  return true;
}

/* Which forms of expressions a scan takes symbols from; rising: the plainer come first. */
typedef enum { SCAN_SYMBOL, SCAN_MULTIPLE, SCAN_WHOLE } symbols_scan;

/* 3*s0: the factor, with the symbol in `symbol` (borrowed from `args`). */
static int64_t symbols_factor(PyObject *args, PyObject **symbol) {
  if (!args || !PyTuple_Check(args) || PyTuple_GET_SIZE(args) != 2) return 0;
  PyObject *number = PyNumber_Long(PyTuple_GET_ITEM(args, 0));
  int64_t factor = number ? PyLong_AsLongLong(number) : 0;
  if (PyErr_Occurred()) factor = 0;
  error_drop();
  Py_XDECREF(number);
  *symbol = PyTuple_GET_ITEM(args, 1);
  return strcmp(size_kind(*symbol), "Symbol") ? 0 : factor;
}

/* Does the expression hold a symbol that no placeholder tells? */
static bool symbols_missing(const fx_symbols *s, PyObject *expr) {
  PyObject *free = PyObject_GetAttrString(expr, "free_symbols");
  PyObject *iterator = free ? PyObject_GetIter(free) : NULL, *symbol;
  bool missing = false;
  while (iterator && (symbol = PyIter_Next(iterator))) {
    PyObject *name = PyObject_Str(symbol);
    missing |= name && !symbols_find(s, name);
    Py_XDECREF(name);
    Py_DECREF(symbol);
  }
  Py_XDECREF(iterator);
  Py_XDECREF(free);
  return missing;
}

static bool symbols_scan_one(fx_symbols *s, PyObject *number, symbols_scan scan, fx_symbol row) {
  if (PyLong_Check(number)) return true;
  PyObject *expr = size_expr(number), *symbol = expr;
  if (!expr) return true;
  bool plain = !strcmp(size_kind(expr), "Symbol"), good = true;
  PyObject *args = scan == SCAN_MULTIPLE && !strcmp(size_kind(expr), "Mul")
                       ? PyObject_GetAttrString(expr, "args")
                       : NULL;
  row.factor = scan == SCAN_MULTIPLE ? symbols_factor(args, &symbol) : 1;
  if (scan == SCAN_SYMBOL ? plain : scan == SCAN_MULTIPLE ? row.factor > 0 : !plain)
    if (scan != SCAN_WHOLE || (row.axis < 0 && symbols_missing(s, expr)))
      good = symbols_add(s, number, symbol, row);
  Py_XDECREF(args);
  Py_DECREF(expr);
  return good && !PyErr_Occurred();
}

static bool symbols_scan_tensor(fx_symbols *s, PyObject *meta, symbols_scan scan, uint32_t place) {
  PyObject *shape = PyObject_GetAttrString(meta, "shape");
  bool good = shape && PyTuple_Check(shape);
  for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(shape); i++)
    good = symbols_scan_one(s, PyTuple_GET_ITEM(shape, i), scan,
                            (fx_symbol){.place = place, .axis = (int32_t)i});
  Py_XDECREF(shape);
  return good;
}

bool fx_find_symbols(const fx_input *inputs, uint32_t count, PyObject *const *metas,
                     fx_symbols *out) {
  for (symbols_scan scan = SCAN_SYMBOL; scan <= SCAN_WHOLE; scan++) {
    for (uint32_t i = 0; i < count; i++)
      if (inputs[i].kind == FX_INPUT_SIZE &&
          !symbols_scan_one(out, metas[i], scan, (fx_symbol){.place = i, .axis = -1}))
        return false;
    for (uint32_t i = 0; i < count; i++)
      if (inputs[i].kind == FX_INPUT_TENSOR && !symbols_scan_tensor(out, metas[i], scan, i))
        return false;
  }
  return true;
}

void fx_symbols_fini(fx_symbols *s) {
  for (uint32_t i = 0; i < s->count; i++)
    Py_XDECREF(s->rows[i].name);
  s->count = 0;
}

bool fx_symbols_fit(const fx_symbols *s, const int64_t *values) {
  for (uint32_t i = 0; i < s->count; i++) {
    const fx_symbol *row = &s->rows[i];
    if (values[i] < row->min || values[i] > row->max || values[i] % row->unit) return false;
  }
  return true;
}

/* ---- the symbols in an import ---- */

/* Symbol `i` of torch's as a number of the graph: a symbol of it, times its unit. */
static bool size_make_symbol(fx_import *im, const fx_symbol *row, int64_t *out) {
  const loom_symbol known = {.min = (row->min + row->unit - 1) / row->unit,
                             .max = row->max / row->unit,
                             .divisor = 1,
                             .hint = row->hint / row->unit};
  loom_dim dim;
  return loom_dim_symbol(im->graph, &known, &dim) &&
         loom_stride_combine(im->graph, LOOM_EXPR_MUL, loom_stride_of_dim(dim), row->unit, out);
}

bool fx_bind_symbols(fx_import *im) {
  const fx_symbols *s = im->symbols;
  im->sizes = PyDict_New();
  for (uint32_t i = 0; s && im->sizes && i < s->count; i++) {
    int64_t number = im->values_of_symbols ? im->values_of_symbols[i] : 0;
    if (!im->values_of_symbols && !size_make_symbol(im, &s->rows[i], &number)) return false;
    im->hints[i] = im->values_of_symbols ? number : s->rows[i].hint / s->rows[i].unit;
    PyObject *code = PyLong_FromLongLong(number);
    if (!code || PyDict_SetItem(im->sizes, s->rows[i].name, code) < 0) Py_CLEAR(im->sizes);
    Py_XDECREF(code);
  }
  return im->sizes != NULL;
}

/* ---- expressions ---- */

static bool size_read_expr(fx_import *im, PyObject *expr, int64_t *out);

/* Looks the name up; 0: not there, -1: an exception. */
static int size_by_name(fx_import *im, PyObject *expr, int64_t *out) {
  PyObject *name = PyObject_Str(expr);
  PyObject *number = name && im->sizes ? PyDict_GetItemWithError(im->sizes, name) : NULL;
  if (number) *out = PyLong_AsLongLong(number);
  Py_XDECREF(name);
  return PyErr_Occurred() ? -1 : number != NULL;
}

/* a KIND b; the extreme of two numbers of which one is never beyond the other is that one. */
static bool size_combine(fx_import *im, loom_expr_kind kind, int64_t a, int64_t b, int64_t *out) {
  int64_t difference, low, high;
  bool extreme = kind == LOOM_EXPR_MIN || kind == LOOM_EXPR_MAX;
  if (extreme && loom_stride_minus(im->graph, a, b, &difference)) {
    loom_stride_range(im->graph, difference, &low, &high);
    bool max = kind == LOOM_EXPR_MAX;
    if (low >= 0) return *out = max ? a : b, true;
    if (high <= 0) return *out = max ? b : a, true;
  }
  return loom_stride_combine(im->graph, kind, a, b, out);
}

static bool size_combine_args(fx_import *im, PyObject *args, loom_expr_kind kind, int64_t *out) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
    int64_t next;
    if (!size_read_expr(im, PyTuple_GET_ITEM(args, i), &next)) return false;
    if (i == 0)
      *out = next;
    else if (!size_combine(im, kind, *out, next, out))
      return false;
  }
  return PyTuple_GET_SIZE(args) > 0;
}

/* base ** exponent for a known natural exponent. */
static bool size_power(fx_import *im, PyObject *args, int64_t *out) {
  int64_t base, exponent;
  if (PyTuple_GET_SIZE(args) != 2 || !size_read_expr(im, PyTuple_GET_ITEM(args, 0), &base) ||
      !size_read_expr(im, PyTuple_GET_ITEM(args, 1), &exponent) || LOOM_STRIDE_IS_SYM(exponent) ||
      exponent < 0 || exponent > 8)
    return false;
  for (*out = 1; exponent > 0; exponent--)
    if (!loom_stride_combine(im->graph, LOOM_EXPR_MUL, *out, base, out)) return false;
  return true;
}

/* For expressions that are not translated: when all symbols have values, sympy computes the result.
 */
static bool size_substitute(fx_import *im, PyObject *expr, int64_t *out) {
  PyObject *values = im->values_of_symbols ? PyDict_New() : NULL, *symbol;
  PyObject *free = values ? PyObject_GetAttrString(expr, "free_symbols") : NULL;
  PyObject *iterator = free ? PyObject_GetIter(free) : NULL;
  while (iterator && (symbol = PyIter_Next(iterator))) {
    PyObject *name = PyObject_Str(symbol);
    PyObject *value = name ? PyDict_GetItemWithError(im->sizes, name) : NULL;
    if (value) PyDict_SetItem(values, symbol, value);
    Py_XDECREF(name);
    Py_DECREF(symbol);
  }
  PyObject *done = iterator ? PyObject_CallMethod(expr, "subs", "O", values) : NULL;
  PyObject *number = done ? PyNumber_Long(done) : NULL;
  if (number) *out = PyLong_AsLongLong(number);
  bool good = number && !PyErr_Occurred();
  error_drop();
  Py_XDECREF(number);
  Py_XDECREF(done);
  Py_XDECREF(iterator);
  Py_XDECREF(free);
  Py_XDECREF(values);
  return good;
}

static bool size_read_call(fx_import *im, PyObject *expr, int64_t *out) {
  static const struct {
    const char *name;
    loom_expr_kind kind;
  } kinds[] = {{"Add", LOOM_EXPR_ADD},           {"Mul", LOOM_EXPR_MUL},
               {"FloorDiv", LOOM_EXPR_FLOORDIV}, {"CleanDiv", LOOM_EXPR_FLOORDIV},
               {"Mod", LOOM_EXPR_MOD},           {"PythonMod", LOOM_EXPR_MOD},
               {"Min", LOOM_EXPR_MIN},           {"Max", LOOM_EXPR_MAX}};
  const char *kind = size_kind(expr);
  PyObject *args = PyObject_GetAttrString(expr, "args");
  bool good = false, power = !strcmp(kind, "Pow") || !strcmp(kind, "PowByNatural");
  if (args && PyTuple_Check(args) && power) good = size_power(im, args, out);
  for (size_t i = 0; args && PyTuple_Check(args) && i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(kind, kinds[i].name)) good = size_combine_args(im, args, kinds[i].kind, out);
  Py_XDECREF(args);
  error_drop();
  return good || size_substitute(im, expr, out);
}

static bool size_read_expr(fx_import *im, PyObject *expr, int64_t *out) {
  PyObject *number = PyNumber_Long(expr);
  if (number) {
    *out = PyLong_AsLongLong(number);
    Py_DECREF(number);
    return !PyErr_Occurred() && !LOOM_STRIDE_IS_SYM(*out);
  }
  error_drop();
  int found = size_by_name(im, expr, out);
  if (found) return found > 0;
  return strcmp(size_kind(expr), "Symbol") != 0 && size_read_call(im, expr, out);
}

bool fx_read_number(fx_import *im, PyObject *number, int64_t *out) {
  if (PyLong_Check(number)) {
    *out = PyLong_AsLongLong(number);
    return !PyErr_Occurred() && !LOOM_STRIDE_IS_SYM(*out);
  }
  const fx_value *v = fx_value_of(im, number);
  if (v && v->kind == FX_SIZE) return *out = v->number, true;
  if (im->number_of && im->number_of(number, out)) return true;
  PyObject *expr = v ? NULL : size_expr(number);
  bool good = expr && size_read_expr(im, expr, out);
  if (!good && !PyErr_Occurred())
    PyErr_Format(PyExc_NotImplementedError, "the size %S is not known from the inputs",
                 expr ? expr : Py_None);
  Py_XDECREF(expr);
  return good;
}

bool fx_read_dim(fx_import *im, PyObject *number, loom_dim *out) {
  int64_t value;
  if (!fx_read_number(im, number, &value)) return false;
  if (loom_dim_of_stride(value, out)) return true;
  PyErr_SetString(PyExc_NotImplementedError, "a negative size");
  return false;
}

int64_t fx_hint(const fx_import *im, int64_t number) {
  int64_t value = 0;
  return loom_stride_eval(im->graph, number, im->hints, &value) ? value : 0;
}

/* ---- specs ---- */

bool fx_one(int64_t size) { return !LOOM_STRIDE_IS_SYM(size) && size <= 1; }

bool fx_spec_at(const loom_graph *graph, const torch_spec *spec, const int64_t *symbols,
                torch_spec *out) {
  out->dtype = spec->dtype;
  out->rank = spec->rank;
  for (int i = 0; i < spec->rank; i++)
    if (!loom_stride_eval(graph, spec->sizes[i], symbols, &out->sizes[i]) ||
        !loom_stride_eval(graph, spec->strides[i], symbols, &out->strides[i]) || out->sizes[i] < 0)
      return false;
  return true;
}

static bool size_next(fx_import *im, int64_t *next, int64_t size) {
  return fx_one(size) || loom_stride_combine(im->graph, LOOM_EXPR_MUL, *next, size, next);
}

void fx_spec_order(const fx_import *im, const torch_spec *spec, int64_t *out) {
  for (int i = 0; i < spec->rank; i++) { /* a stable insertion sort */
    int at = i;
    int64_t stride = fx_hint(im, spec->strides[i]);
    while (at > 0 && fx_hint(im, spec->strides[out[at - 1]]) < stride)
      out[at] = out[at - 1], at--;
    out[at] = i;
  }
}

bool fx_spec_dense(fx_import *im, torch_spec *spec, int64_t *out) {
  int64_t order[LOOM_MAX_RANK], next = 1;
  int n = spec->rank;
  fx_spec_order(im, spec, order);
  bool dense = true;
  for (int k = n - 1; k >= 0 && dense; k--) {
    int64_t axis = order[k];
    out[axis] = next;
    dense = (fx_one(spec->sizes[axis]) || spec->strides[axis] == next) &&
            (k == 0 || size_next(im, &next, spec->sizes[axis]));
  }
  int64_t ordered[LOOM_MAX_RANK];
  bool same = dense; /* as C order, where strides mean something? */
  next = 1;
  for (int i = n - 1; i >= 0; i--) {
    ordered[i] = next;
    same = same && (fx_one(spec->sizes[i]) || out[i] == next);
    if (i > 0 && !size_next(im, &next, spec->sizes[i])) return dense;
  }
  if (!dense) memcpy(spec->strides, ordered, sizeof *ordered * (size_t)n);
  if (!dense || same) memcpy(out, ordered, sizeof *ordered * (size_t)n);
  return true;
}
