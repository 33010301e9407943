/* Special methods of lists, tuples, dicts and sets that are asked for by name: `d.__getitem__` as a
 * key function, `list.__setitem__(x, 0, y)`, and methods of the models' types called through the
 * type, `deque.append(d, x)`. Each does what the type's own slot does, and does not try the other
 * operand's methods. */
#include "frontend/base/base.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

/* A builtin container, of no class of its own. */
static bool special_holds(const value *v) {
  return value_is_container(v) && !(value_is_tuple(v) && tuple_class(v));
}

/* Operands whose own methods the operator would ask, where the slot does not. */
static bool special_is_plain(const value *v) {
  if (special_holds(v) || value_is_number(v)) return true;
  if (!value_is_const(v)) return false;
  PyObject *o = v->object;
  return o == Py_None || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) ||
         PyBool_Check(o);
}

static value *special_compare(tracer *t, const char *name, value *v, value *other) {
  if (object_content(other)) other = object_content(other); /* whatever its class says */
  for (int op = 0; op < 6; op++) {
    if (strcmp(compare_methods[op], name) != 0 || value_is_instance(other)) continue;
    bool ordered = op == Py_EQ || op == Py_NE || !value_is_dict(v);
    if (other->type != v->type || !ordered) return value_const(t, Py_NotImplemented);
    return trace_compare(t, op, v, other);
  }
  return NULL;
}

static value *special_binary(tracer *t, const char *name, value *v, value *other) {
  static const struct {
    const char *name;
    int op;
    bool inplace;
  } rows[] = {{"__add__", 0, false},  {"__iadd__", 0, true},  {"__mul__", 5, false},
              {"__imul__", 5, true},  {"__or__", 7, false},   {"__ior__", 7, true},
              {"__and__", 1, false},  {"__iand__", 1, true},  {"__sub__", 10, false},
              {"__isub__", 10, true}, {"__xor__", 12, false}, {"__ixor__", 12, true}};
  bool times = !strcmp(name, "__mul__") || !strcmp(name, "__imul__");
  bool number = value_is_const(other) ? PyLong_CheckExact(other->object) : value_is_number(other);
  if (times ? !number : other->type != v->type) return NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].name, name)) return trace_binary(t, rows[i].op, v, other, rows[i].inplace);
  return NULL;
}

static value *special_item(tracer *t, const char *name, value *v, value *const *args,
                           Py_ssize_t count) {
  if (count == 0 && !strcmp(name, "__len__")) return trace_length(t, v);
  if (count == 0 && !strcmp(name, "__iter__")) return trace_iter(t, v);
  bool keyed = !value_is_set(v), changes = keyed && !value_is_tuple(v);
  if (keyed && count == 1 && !strcmp(name, "__getitem__")) return trace_get_item(t, v, args[0]);
  if (changes && count == 2 && !strcmp(name, "__setitem__"))
    return trace_set_item(t, v, args[0], args[1]) ? t->constants.none : NULL;
  if (changes && count == 1 && !strcmp(name, "__delitem__"))
    return trace_set_item(t, v, args[0], NULL) ? t->constants.none : NULL;
  if (count == 1 && !strcmp(name, "__contains__")) {
    int found = trace_contains(t, v, args[0]);
    return found < 0 ? NULL : value_bool(t, found);
  }
  return NULL;
}

static value *special_call(tracer *t, const char *name, value *v, value *const *args,
                           Py_ssize_t count, PyObject *kwnames) {
  value *result = kwnames ? NULL : special_item(t, name, v, args, count);
  bool pair = !kwnames && count == 1 && special_is_plain(args[0]);
  if (!result && pair && !trace_pending(t)) result = special_binary(t, name, v, args[0]);
  bool compared = pair || (!kwnames && count == 1 && object_content(args[0]));
  if (!result && compared && !trace_pending(t)) result = special_compare(t, name, v, args[0]);
  if (result || trace_pending(t)) return result;
  return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a %s", name, v->type->name);
}

#define SPECIALS(X)                                                                                \
  X(len)                                                                                           \
  X(iter)                                                                                          \
  X(getitem)                                                                                       \
  X(setitem)                                                                                       \
  X(delitem)                                                                                       \
  X(contains)                                                                                      \
  X(add)                                                                                           \
  X(iadd)                                                                                          \
  X(mul)                                                                                           \
  X(imul)                                                                                          \
  X(or)                                                                                            \
  X(ior)                                                                                           \
  X(and)                                                                                           \
  X(iand)                                                                                          \
  X(sub)                                                                                           \
  X(isub)                                                                                          \
  X(xor)                                                                                           \
  X(ixor)                                                                                          \
  X(lt)                                                                                            \
  X(le)                                                                                            \
  X(eq)                                                                                            \
  X(ne)                                                                                            \
  X(gt)                                                                                            \
  X(ge)

#define SPECIAL_FUNCTION(NAME)                                                                     \
  static value *special_##NAME(tracer *t, value *v, value *const *args, Py_ssize_t count,          \
                               PyObject *kwnames) {                                                \
    return special_call(t, "__" #NAME "__", v, args, count, kwnames);                              \
  }
SPECIALS(SPECIAL_FUNCTION)

#define SPECIAL_ROW(NAME) {"__" #NAME "__", special_##NAME},
static const builtin_method special_methods[] = {SPECIALS(SPECIAL_ROW){NULL, NULL}};

const builtin_method *special_find(const value *self, const char *name) {
  bool holds = special_holds(self);
  for (const builtin_method *m = special_methods; holds && m->name; m++)
    if (!strcmp(m->name, name)) return m;
  return NULL;
}

value *special_of_model(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                        PyObject *kwnames) {
  PyObject *cls = value_is_instance(args[0]) ? object_class(args[0]) : NULL;
  PyObject *real = cls && model_owns(cls) ? model_real(cls) : cls;
  /* What numbers do comes before what sequences do, but not where it is asked for by name; dict's
   * own method of an OrderedDict leaves the order as it is. */
  const char *name = PyUnicode_AsUTF8(PyDescr_NAME(descr));
  if (!strcmp(name, "__add__") || !strcmp(name, "__mul__") || !strcmp(name, "__rmul__") ||
      !strcmp(name, "__iadd__") || !strcmp(name, "__imul__"))
    return t->constants.not_implemented;
  if (real == cls || _PyType_Lookup((PyTypeObject *)real, PyDescr_NAME(descr)) != descr)
    return t->constants.not_implemented;
  PyObject *named = model_named(t, cls, PyDescr_NAME(descr));
  value *method = named ? type_attr(t, cls, named, args[0], NULL) : NULL;
  if (method) return trace_call(t, method, args + 1, count - 1, kwnames);
  return trace_pending(t) ? NULL : t->constants.not_implemented;
}
