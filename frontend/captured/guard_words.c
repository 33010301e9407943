/* Guards in words, for logs and reports: "a: float32[16]". */
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/internal.h"

/* Its repr() runs nothing but the interpreter's own code. */
static bool guard_has_plain_repr(PyObject *object) {
  return object == Py_None || PyBool_Check(object) || PyCode_Check(object) ||
         PyFunction_Check(object) || PyCFunction_Check(object) || Py_IS_TYPE(object, &PyType_Type);
}

/* "a.shape[0]": what a size guard reads, of the object called `name`. */
static PyObject *guard_size_name(const size_guard *p, PyObject *name) {
  if (p->field == SIZE_OF_INT) return Py_NewRef(name);
  if (p->field == SIZE_OF_DIM) return PyUnicode_FromFormat("%U.shape[%d]", name, (int)p->axis);
  return PyUnicode_FromFormat("%U.strides[%d]//%U.itemsize", name, (int)p->axis, name);
}

/* What binds a symbol: "a.shape[0]". */
static PyObject *guard_symbol_name(const capture *c, int64_t symbol) {
  for (uint32_t i = 0; i < c->guard_count; i++) {
    const guard *g = &c->guards[i];
    const size_guard *p = g->payload;
    if (g->kind != GUARD_SIZE || (p->test != SIZE_BINDS && p->test != SIZE_COMPUTES) ||
        c->graph.exprs[LOOM_STRIDE_EXPR(p->left)].value != symbol)
      continue;
    if (p->test == SIZE_COMPUTES) return formula_words(c, p->right);
    PyObject *name = source_name(g->source), *text = name ? guard_size_name(p, name) : NULL;
    if (text && p->right != 1)
      Py_SETREF(text, PyUnicode_FromFormat("(%U//%lld)", text, (long long)p->right));
    Py_XDECREF(name);
    return text;
  }
  return PyUnicode_FromFormat("s%lld", (long long)symbol);
}

static PyObject *guard_expr_words(const capture *c, uint32_t index) {
  static const char *const words[] = {
      [LOOM_EXPR_ADD] = "(%U + %U)",   [LOOM_EXPR_MUL] = "%U*%U",
      [LOOM_EXPR_FLOORDIV] = "%U//%U", [LOOM_EXPR_MOD] = "%U%%%U",
      [LOOM_EXPR_MIN] = "min(%U, %U)", [LOOM_EXPR_MAX] = "max(%U, %U)"};
  const loom_expr *e = &c->graph.exprs[index];
  if (e->kind == LOOM_EXPR_CONST) return PyUnicode_FromFormat("%lld", (long long)e->value);
  if (e->kind == LOOM_EXPR_SYMBOL) return guard_symbol_name(c, e->value);
  PyObject *l = guard_expr_words(c, e->lhs), *r = guard_expr_words(c, e->rhs);
  PyObject *text = l && r ? PyUnicode_FromFormat(words[e->kind], l, r) : NULL;
  Py_XDECREF(l);
  Py_XDECREF(r);
  return text;
}

PyObject *guard_number_words(const capture *c, int64_t number) {
  if (!LOOM_STRIDE_IS_SYM(number)) return PyUnicode_FromFormat("%lld", (long long)number);
  return guard_expr_words(c, LOOM_STRIDE_EXPR(number));
}

static PyObject *guard_describe_range(const capture *c, const size_guard *p, PyObject *what) {
  const loom_symbol *s = &c->graph.symbols[c->graph.exprs[LOOM_STRIDE_EXPR(p->left)].value];
  if (p->right != 1)
    return PyUnicode_FromFormat("%U %% %lld == 0 and %lld <= %U <= %lld", what, (long long)p->right,
                                (long long)s->min * p->right, what, (long long)s->max * p->right);
  bool low = s->min > INT64_MIN / 4 + 1, high = s->max < ((int64_t)1 << 40);
  if (low && high)
    return PyUnicode_FromFormat("%lld <= %U <= %lld", (long long)s->min, what, (long long)s->max);
  if (low) return PyUnicode_FromFormat("%lld <= %U", (long long)s->min, what);
  if (high) return PyUnicode_FromFormat("%U <= %lld", what, (long long)s->max);
  return PyUnicode_FromFormat("%U is any size", what);
}

static PyObject *guard_describe_formula(const capture *c, const size_guard *p) {
  PyObject *words = formula_words(c, p->right), *text = NULL;
  if (words && p->test == SIZE_COMPUTES) text = guard_describe_range(c, p, words);
  if (words && p->test == SIZE_ANSWERS)
    text = PyUnicode_FromFormat(p->left ? "%U" : "not %U", words);
  Py_XDECREF(words);
  return text;
}

static PyObject *guard_describe_size(const capture *c, const guard *g, PyObject *name) {
  static const char *const words[] = {[SIZE_READS] = "%U == %U",
                                      [SIZE_EQUAL] = "%U == %U",
                                      [SIZE_DIFFERS] = "%U != %U",
                                      [SIZE_LESS] = "%U < %U",
                                      [SIZE_AT_MOST] = "%U <= %U"};
  const size_guard *p = g->payload;
  bool reads = p->test == SIZE_BINDS || p->test == SIZE_READS;
  if (p->test >= SIZE_COMPUTES) return guard_describe_formula(c, p);
  PyObject *left = reads ? guard_size_name(p, name) : guard_number_words(c, p->left), *text = NULL;
  if (left && p->test == SIZE_BINDS) {
    text = guard_describe_range(c, p, left);
  } else if (left) {
    PyObject *right = guard_number_words(c, reads ? p->left : p->right);
    if (right) text = PyUnicode_FromFormat(words[p->test], left, right);
    Py_XDECREF(right);
  }
  Py_XDECREF(left);
  return text;
}

PyObject *guard_words(PyObject *object) {
  PyObject *text = PyObject_Repr(object);
  if (text || !PyErr_ExceptionMatches(PyExc_ValueError)) return text;
  error_drop(); /* an int of more digits than may be written, or something that holds one */
  return PyLong_Check(object)
             ? PyUnicode_FromFormat("an int of %zu bits", _PyLong_NumBits(object))
             : PyUnicode_FromFormat("<%s with a large int>", Py_TYPE(object)->tp_name);
}

/* `format` takes the name and the words of an object. */
static PyObject *guard_describe_object(const char *format, PyObject *name, PyObject *object) {
  PyObject *words = guard_words(object);
  PyObject *text = words ? PyUnicode_FromFormat(format, name, words) : NULL;
  Py_XDECREF(words);
  return text;
}

static PyObject *guard_describe_number(PyObject *name, PyObject *number) {
  return guard_describe_object("%U is exactly %U", name, number);
}

static const PyTypeObject *guard_parts_type(const guard *g) {
  return ((const guard_parts *)g->payload)->type;
}

/* Of a library's type; or what the library says in words. */
static PyObject *guard_describe_custom(const guard *g, PyObject *name) {
  PyObject *number = g->adapter->number(g->payload);
  PyObject *text = !number                   ? NULL
                   : PyUnicode_Check(number) ? PyUnicode_FromFormat("%U %U", name, number)
                                             : guard_describe_number(name, number);
  Py_XDECREF(number);
  return text;
}

static PyObject *guard_describe_on(const capture *c, const guard *g, PyObject *name,
                                   PyObject *other) {
  switch (g->kind) {
  case GUARD_TYPE:
    return PyUnicode_FromFormat("type(%U) is %s", name, ((PyTypeObject *)g->object)->tp_name);
  case GUARD_IDENTITY:
    if (guard_has_plain_repr(g->object)) return guard_describe_object("%U is %U", name, g->object);
    return PyUnicode_FromFormat("%U is <%s at %p>", name, Py_TYPE(g->object)->tp_name, g->object);
  case GUARD_NUMBER: return guard_describe_number(name, g->object);
  case GUARD_LENGTH: return PyUnicode_FromFormat("len(%U) == %lld", name, (long long)g->number);
  case GUARD_DICT_KEYS:
  case GUARD_SET_TABLE: return guard_describe_object("list(%U) == list(%U)", name, g->object);
  case GUARD_MISSING: return PyUnicode_FromFormat("%U does not exist", name);
  case GUARD_PRESENT: return PyUnicode_FromFormat("%U exists", name);
  case GUARD_ARRAY:
    return g->adapter->describe ? g->adapter->describe(name, g->payload)
                                : PyUnicode_FromFormat("%U is an array of the same kind", name);
  case GUARD_SAME:
    return PyUnicode_FromFormat("%U %s %U", name, g->number ? "is" : "is not", other);
  case GUARD_DISJOINT: return PyUnicode_FromFormat("%U and %U do not overlap", name, other);
  case GUARD_APART:
    return PyUnicode_FromFormat(g->adapter ? "%U and %u others overlap none of %u arrays"
                                           : "%U and %u others are none of %u objects",
                                name, ((const guard_apart *)g->payload)->written - 1,
                                ((const guard_apart *)g->payload)->count);
  case GUARD_NONZERO: return PyUnicode_FromFormat("%U != 0", name);
  case GUARD_IN_PARTS:
    return PyUnicode_FromFormat("%U is the same %s", name, guard_parts_type(g)->tp_name);
  case GUARD_SIZE: return guard_describe_size(c, g, name);
  case GUARD_CUSTOM: return guard_describe_custom(g, name);
  }
  return PyUnicode_FromString("?");
}

PyObject *guard_describe(const capture *c, const guard *g) {
  PyObject *name = g->source ? source_name(g->source) : PyUnicode_FromString("the process");
  PyObject *other = g->source2 ? source_name(g->source2) : PyUnicode_FromString("");
  PyObject *text = name && other ? guard_describe_on(c, g, name, other) : NULL;
  Py_XDECREF(name);
  Py_XDECREF(other);
  return text;
}
