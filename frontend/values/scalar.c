/* Instances of Python classes over int, float, complex, str and bytes, such as members of an
 * IntEnum: attributes like any object's, and besides them the number or text that they are.
 * Operations that the class does not override are applied to the number or text. */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/numbers_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/values.h"

PyTypeObject *scalar_base(PyTypeObject *type) {
  PyTypeObject *base = type;
  while (base && !python_type_is_builtin(base))
    base = base->tp_base;
  bool known = base == &PyLong_Type || base == &PyFloat_Type || base == &PyComplex_Type ||
               base == &PyUnicode_Type || base == &PyBytes_Type;
  return known && base != type ? base : NULL;
}

value *scalar_content(const value *v) {
  value *content = value_is_instance(v) ? (value *)(intptr_t)v->any.n : NULL;
  return content && value_is_const(content) ? content : NULL;
}

bool scalar_wrap(tracer *t, value *v) {
  if (!scalar_base(Py_TYPE(v->object))) return true;
  PyObject *exact = trace_keep(t, scalar_exact(v->object));
  PyObject *key = exact ? trace_keep(t, PyUnicode_InternFromString("the number or text")) : NULL;
  const source *s = key ? trace_source(t, SOURCE_DERIVED, v->source, NULL, key, 0) : NULL;
  value *content = s ? value_const(t, exact) : trace_fail(t);
  if (!content) return false;
  guard_simple(t, GUARD_NUMBER, s, exact, 0);
  v->any.n = (Py_ssize_t)(intptr_t)content;
  return true;
}

/* The method is the builtin type's own. */
static bool scalar_keeps(tracer *t, value *v, const char *name) {
  PyTypeObject *type = (PyTypeObject *)object_class(v), *base = scalar_base(type);
  PyObject *key = base ? trace_keep(t, PyUnicode_InternFromString(name)) : NULL;
  return key && class_lookup(t, type, key) == _PyType_Lookup(base, key);
}

value *value_scalar_of(tracer *t, value *v, const char *const *hooks) {
  static const char *const conversions[] = {"__int__", "__index__", "__float__", "__complex__"};
  value *content = scalar_content(v);
  for (int i = 0; content && hooks[i]; i++)
    if (class_special(t, v->any.a, hooks[i])) content = NULL;
  for (int i = 0; content && i < 4; i++)
    if (!scalar_keeps(t, v, conversions[i])) content = NULL;
  return content;
}

value *scalar_plain(tracer *t, value *v, const char *name) {
  value *content = scalar_content(v);
  return content && scalar_keeps(t, v, name) ? content : NULL;
}

/* ---- operators ------------------------------------------------------------------------------ */

/* May a member of such a class meet this operand? Yes for numbers, texts and sequences. Other
 * operands look at the class: to NumPy a member of an IntEnum is an int64, whereas an int takes the
 * array's type. */
static bool scalar_meets(const value *v) {
  return scalar_content(v) || value_is_number(v) ||
         (value_is_const(v) && object_is_scalar(v->object)) || value_is_sequence(v);
}

static bool scalar_keeps_operator(tracer *t, value *v, int op, bool inplace) {
  static const char *const prefixes[] = {"", "r", "i"};
  char name[24];
  for (int i = 0; i < 2 + inplace; i++) {
    snprintf(name, sizeof name, "__%s%s__", prefixes[i], object_operator_name(op));
    if (!scalar_keeps(t, v, name)) return false;
  }
  return true;
}

static bool scalar_is_text(const value *v) {
  return v && value_is_const(v) && (PyUnicode_Check(v->object) || PyBytes_Check(v->object));
}

/* The rank of a number among int (1), float (2) and complex (3); 0: another value. An operator of a
 * higher rank converts operands of a lower one without asking their class. */
static int scalar_rank(tracer *t, value *v) {
  PyTypeObject *type = NULL;
  if (value_is_const(v) || value_is_number(v)) type = (PyTypeObject *)value_type_of(t, v);
  return type == &PyComplex_Type                        ? 3
         : type == &PyFloat_Type                        ? 2
         : type == &PyLong_Type || type == &PyBool_Type ? 1
                                                        : 0;
}

static bool scalar_is_below(tracer *t, value *l, value *r) {
  value *content = scalar_content(r);
  int rank = content && !scalar_content(l) ? scalar_rank(t, content) : 0;
  bool whole =
      rank == 1 && value_is_const(l) && PyBool_Check(l->object); /* no class is over bool */
  return rank && (whole || scalar_rank(t, l) > rank);
}

void scalar_operands(tracer *t, int op, value **l, value **r, bool inplace) {
  value *a = scalar_content(*l), *b = scalar_content(*r);
  if ((!a && !b) || !scalar_meets(*l) || !scalar_meets(*r)) return;
  if ((a && !scalar_keeps_operator(t, *l, op, inplace)) ||
      (b && !scalar_is_below(t, *l, *r) && !scalar_keeps_operator(t, *r, op, false)))
    return;
  /* A text that is formatted asks for the other's own. */
  if (b && op == 6 && (scalar_is_text(a) || scalar_is_text(*l)) &&
      (!scalar_keeps(t, *r, "__str__") || !scalar_keeps(t, *r, "__repr__")))
    return;
  if (a) *l = a;
  if (b) *r = b;
}

void scalar_compared(tracer *t, int op, value **l, value **r) {
  value *both[2] = {*l, *r};
  if (!scalar_content(*l) && !scalar_content(*r)) return;
  if (!scalar_meets(*l) || !scalar_meets(*r)) return;
  for (int i = 0; i < 2; i++) {
    if (!scalar_content(both[i])) continue;
    bool ordered = op == Py_EQ || op == Py_NE || scalar_rank(t, *l) < 3; /* complex have no order */
    if ((!i || !ordered || !scalar_is_below(t, *l, *r)) &&
        (!scalar_keeps(t, both[i], compare_methods[i ? compare_swapped[op] : op]) ||
         !scalar_keeps(t, both[i], "__eq__") || !scalar_keeps(t, both[i], "__ne__")))
      return;
    both[i] = scalar_content(both[i]);
  }
  *l = both[0];
  *r = both[1];
}

value *scalar_key(tracer *t, value *key) {
  value *content = scalar_content(key);
  if (!content || !scalar_keeps(t, key, "__hash__") || !scalar_keeps(t, key, "__eq__")) return NULL;
  return content;
}

/* ---- the builtin type's own methods --------------------------------------------------------- */

/* Answers NotImplemented to what it does not know. */
static bool scalar_is_operator(const char *name) {
  static const char *const others[] = {"__lt__", "__le__",     "__eq__",      "__ne__", "__gt__",
                                       "__ge__", "__divmod__", "__rdivmod__", NULL};
  for (int i = 0; others[i]; i++)
    if (!strcmp(name, others[i])) return true;
  for (int op = 0; op < 13; op++) {
    const char *own = object_operator_name(op);
    size_t length = strlen(own), from = name[2] == 'r' && strncmp(name + 2, own, length) ? 3 : 2;
    if (!strncmp(name, "__", 2) && !strncmp(name + from, own, length) &&
        !strcmp(name + from + length, "__"))
      return true;
  }
  return false;
}

static value **scalar_arguments(tracer *t, value *const *args, Py_ssize_t count) {
  value **plain = trace_alloc(t, sizeof *plain * (size_t)(count + 1));
  for (Py_ssize_t i = 0; plain && i < count; i++)
    plain[i] = scalar_content(args[i]) ? scalar_content(args[i]) : args[i];
  return plain;
}

/* Of these functions' arguments only the name or the count is taken so; others are objects. */
static bool scalar_second_alone(const char *function) {
  static const char *const names[] = {"getattr", "hasattr", "setattr", "delattr", "repeat", NULL};
  for (int i = 0; names[i]; i++)
    if (!strcmp(function, names[i])) return true;
  return false;
}

value **scalar_taken(tracer *t, const char *function, value *const *args, Py_ssize_t count) {
  value **plain = scalar_arguments(t, args, count);
  bool second = function && scalar_second_alone(function);
  for (Py_ssize_t i = 0; plain && second && i < count; i++)
    if (i != 1) plain[i] = args[i];
  return plain;
}

/* Text in which nothing is found or filled in stays the object that it is, where the builtin method
 * is not careful to give an exact one. */
static value *scalar_unchanged(const char *name, value *self, const value *plain, value *given) {
  if (!given || !value_is_const(plain)) return given;
  if (!strncmp(name, "format", 6)) return given == plain ? self : given;
  bool right = !strcmp(name, "rpartition");
  if (!value_is_tuple(given) || given->seq.count != 3) return given;
  if (!right && strcmp(name, "partition") != 0) return given;
  const value *found = given->seq.items[1];
  if (value_is_const(found) && PyObject_Size(found->object) == 0)
    given->seq.items[right ? 2 : 0] = self;
  return given;
}

value *scalar_call(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                   PyObject *kwnames) {
  const char *name = PyUnicode_AsUTF8(PyDescr_NAME(descr));
  if (!strcmp(name, "__init__")) return t->constants.none;
  if (kwnames && !strncmp(name, "__", 2))
    return t->constants.not_implemented; /* which few of these take */
  bool separates = !strcmp(name, "partition") || !strcmp(name, "rpartition");
  if (separates && count > 1 && scalar_content(args[1])) /* the result holds the argument itself */
    return t->constants.not_implemented;
  value **plain = scalar_arguments(t, args, count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
  if (!plain) return NULL;
  if (!strcmp(name, "__iter__")) return trace_iter(t, plain[0]);
  if (!strcmp(name, "__hash__") && value_is_const(plain[0]) && object_is_nan(plain[0]->object))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the hash of a number that is none");
  if (strncmp(name, "__", 2) != 0) {
    value *method = trace_get_attr(t, plain[0], PyDescr_NAME(descr));
    value *given = method ? trace_call(t, method, plain + 1, count - 1, kwnames) : NULL;
    return scalar_unchanged(name, args[0], plain[0], given);
  }
  value *result = call_real(t, descr, plain, count, kwnames);
  if (result == plain[0] && scalar_is_text(result) && !strcmp(name, "__mod__")) return args[0];
  if (result != t->constants.not_implemented || !scalar_is_operator(name) || count != 2)
    return result;
  bool text = PyUnicode_Check(plain[0]->object) || PyBytes_Check(plain[0]->object);
  if (value_is_const(args[1]) || value_is_number(args[1]) || text)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an operator of a class over a number or text");
  /* The operand is an array or an object: it has its turn. */
  return value_const(t, Py_NotImplemented);
}

value *scalar_attr(tracer *t, value *v, PyObject *name, PyObject *descr) {
  value *content = scalar_content(v);
  bool own = content &&
             (Py_IS_TYPE(descr, &PyGetSetDescr_Type) || Py_IS_TYPE(descr, &PyMemberDescr_Type)) &&
             PyDescr_TYPE(descr) == scalar_base((PyTypeObject *)object_class(v));
  return own ? trace_get_attr(t, content, name) : NULL;
}

/* Does the function read the plain number or text of such an argument? Only where the class does
 * not define the conversion. */
bool scalar_is_taken(tracer *t, const char *function, value *const *args, Py_ssize_t count) {
  static const char *const names[] = {
      "int", "float",  "complex", "divmod",    "pow", "round",   "range",   "chr",     "bin", "hex",
      "oct", "islice", "repeat",  "enumerate", "ord", "getattr", "hasattr", "setattr", NULL};
  static const char *const ways[] = {"__index__", "__int__",    "__float__",   "__complex__",
                                     "__round__", "__divmod__", "__rdivmod__", "__pow__",
                                     "__iter__",  NULL};
  bool known = !function, any = false; /* a module of pure functions: they are about numbers */
  for (int i = 0; function && names[i] && !known; i++)
    known = !strcmp(function, names[i]);
  bool operators = function && (!strcmp(function, "pow") || !strcmp(function, "divmod"));
  bool second = known && function && scalar_second_alone(function);
  for (Py_ssize_t i = second; known && i < (second && count > 2 ? 2 : count); i++) {
    if (operators && !scalar_meets(args[i])) return false;
    if (!scalar_content(args[i])) continue;
    any = true;
    for (int k = 0; ways[k]; k++)
      if (!scalar_keeps(t, args[i], ways[k])) return false;
  }
  return any;
}

/* ---- made inside ---------------------------------------------------------------------------- */

value *scalar_make(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                   PyObject *kwnames) {
  PyObject *base = (PyObject *)scalar_base((PyTypeObject *)cls);
  value *type = value_const(t, base);
  value *content = type ? trace_call(t, type, args, count, kwnames) : NULL;
  if (!content) return NULL;
  if (!value_is_const(content) || !Py_IS_TYPE(content->object, (PyTypeObject *)base))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a new %s", ((PyTypeObject *)cls)->tp_name);
  value *v = value_object_new(t, cls);
  if (!v || !(v->any.b = value_dict(t))) return NULL;
  v->any.n = (Py_ssize_t)(intptr_t)content;
  return v;
}
