/* Views of dictionaries, as keys(), values() and items() give them: they show the dictionary as it
 * is when they are read. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

static const value_type value_view_type;

static value *view_items(tracer *t, value *view) {
  return dict_list(t, view->any.a, (int)view->any.i);
}

static value *view_iter(tracer *t, value *view) {
  return dict_iterator(t, view->any.a, (int)view->any.i, false);
}

static value *view_reversed(tracer *t, value *view) {
  return dict_iterator(t, view->any.a, (int)view->any.i, true);
}

static value *view_length(tracer *t, value *view) {
  Py_ssize_t size = dict_size(t, view->any.a);
  return size < 0 ? NULL : value_int(t, size);
}

static int view_truth(tracer *t, value *view) {
  Py_ssize_t size = dict_size(t, view->any.a);
  return size < 0 ? -1 : size != 0;
}

static int view_contains(tracer *t, value *view, value *item) {
  if (view->any.i == 0) return dict_has(t, view->any.a, item);
  value *items = view_items(t, view);
  return items ? trace_contains(t, items, item) : -1;
}

static value *view_as_set(tracer *t, value *v) {
  if (value_is_set(v)) return v;
  return set_from(t, v, false);
}

/* Keys and items are like sets; values are not. */
static bool view_is_like_set(const value *v) {
  return v->type == &value_view_type && v->any.i != 1;
}

/* The operators of views make their sets in ways of their own. */
static PyObject *view_operand(tracer *t, value *v) {
  return view_is_like_set(v) ? order_view(t, v->any.a, v->any.i == 2) : order_operand(t, v);
}

static value *view_binary(tracer *t, int op, value *l, value *r, bool inplace) {
  bool known = op == 1 || op == 7 || op == 10 || op == 12; /* & | - ^ */
  if (!known || !(view_is_like_set(l) || view_is_like_set(r))) return trace_not_implemented(t);
  value *both[2] = {l, r}, *sets[2];
  for (int i = 0; i < 2; i++) {
    value *content = object_content(both[i]);
    if (content && value_is_set(content)) both[i] = content;
    if (!value_is_any_set(both[i]) && !view_is_like_set(both[i]))
      both[i] = trace_to_tuple(t, both[i]);
    if (!both[i] || !(sets[i] = view_as_set(t, both[i]))) return NULL;
  }
  value *a = set_from(t, sets[0], false); /* of a frozen set, too, it gives a set */
  value *result = a ? trace_binary(t, op, a, sets[1], false) : NULL;
  PyObject *left = result ? view_operand(t, both[0]) : NULL;
  PyObject *right = left ? view_operand(t, both[1]) : NULL;
  if (result) order_binary(t, result, op, left, right);
  Py_XDECREF(left);
  Py_XDECREF(right);
  return trace_pending(t) ? NULL : result;
}

static value *view_compare(tracer *t, int op, value *l, value *r) {
  value *content = object_content(r);
  if (content && value_is_set(content)) r = content;
  bool set = value_is_any_set(r);
  if (!view_is_like_set(l) || !(set || view_is_like_set(r))) return trace_not_implemented(t);
  value *a = view_as_set(t, l), *b = a ? view_as_set(t, r) : NULL;
  return b ? trace_compare(t, op, a, b) : NULL;
}

static PyObject *view_python_type(tracer *t, value *view) {
  static PyTypeObject *const types[2][3] = {
      {&PyDictKeys_Type, &PyDictValues_Type, &PyDictItems_Type},
      {&PyODictKeys_Type, &PyODictValues_Type, &PyODictItems_Type}};
  return (PyObject *)types[dict_is_ordered(t, view->any.a)][view->any.i];
}

/* By the method that makes them. One made inside may be what a model or an object holds. */
static recipe *view_rebuild(tracer *t, value *view) {
  static const char *const names[3] = {"keys", "values", "items"};
  value *dict = view->any.a;
  if (container_holds(t, dict)) return NULL;
  PyObject *type = (PyObject *)(dict_is_ordered(t, dict) ? &PyODict_Type : &PyDict_Type);
  PyObject *method = PyObject_GetAttrString(type, names[view->any.i]);
  return method ? trace_rebuild_call(t, method, &dict, 1) : trace_fail(t);
}

static const value_type value_view_type = {.name = "dictionary view",
                                           .kinds = VALUE_IS_PAIRS,
                                           .binary = view_binary,
                                           .compare = view_compare,
                                           .truth = view_truth,
                                           .length = view_length,
                                           .contains = view_contains,
                                           .iter = view_iter,
                                           .python_type = view_python_type,
                                           .rebuild = view_rebuild,
                                           .reversed = view_reversed};

value *dict_view(tracer *t, value *dict, int what) {
  value *view = value_new(t, &value_view_type);
  if (!view) return NULL;
  view->any.a = dict;
  view->any.i = what;
  return view;
}
