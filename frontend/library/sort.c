/* sorted(): the interpreter's own sort, over keys whose comparisons call capture. So the keys are
 * compared in the interpreter's own order, which differs between versions, and which a class's
 * __lt__ may show.
 */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/library/internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/values.h"

typedef struct sort_key {
  PyObject_HEAD tracer *t;
  value *rank;
  Py_ssize_t place; /* of its item among those to be sorted */
} sort_key;

static PyObject *sort_compare(PyObject *left, PyObject *right, int op) {
  sort_key *l = (sort_key *)left, *r = (sort_key *)right;
  value *less = trace_compare(l->t, op, l->rank, r->rank);
  int truth = less ? trace_truth(l->t, less) : -1;
  if (truth < 0 && !PyErr_Occurred()) PyErr_SetNone(PyExc_StopAsyncIteration); /* ends the sort */
  return truth < 0 ? NULL : PyBool_FromLong(truth);
}

static PyTypeObject sort_key_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "frameloom._native.sort_key",
    .tp_basicsize = sizeof(sort_key), .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_richcompare = sort_compare};

/* A list of keys for these values: new reference. */
static PyObject *sort_keys(tracer *t, value *const *ranks, Py_ssize_t count) {
  PyObject *keys = PyType_Ready(&sort_key_type) < 0 ? NULL : PyList_New(count);
  for (Py_ssize_t i = 0; keys && i < count; i++) {
    sort_key *key = PyObject_New(sort_key, &sort_key_type);
    if (!key) {
      Py_CLEAR(keys);
      break;
    }
    *key = (sort_key){.ob_base = key->ob_base, .t = t, .rank = ranks[i], .place = i};
    PyList_SET_ITEM(keys, i, (PyObject *)key);
  }
  return keys;
}

static bool sort_run(tracer *t, PyObject *keys, bool reverse) {
  PyObject *sort = PyObject_GetAttrString(keys, "sort"), *none = PyTuple_New(0);
  PyObject *keywords = Py_BuildValue("{s:i}", "reverse", reverse);
  PyObject *done = sort && none && keywords ? PyObject_Call(sort, none, keywords) : NULL;
  Py_XDECREF(sort);
  Py_XDECREF(none);
  Py_XDECREF(keywords);
  Py_XDECREF(done);
  if (done) return true;
  if (!trace_pending(t)) return trace_fail(t), false;
  if (PyErr_ExceptionMatches(PyExc_StopAsyncIteration)) error_drop();
  return false;
}

value *builtin_sorted(tracer *t, const builtin_args *a) {
  static const char *const keywords[] = {"key", "reverse", NULL};
  if (!builtin_check(t, a, 1, 1, keywords)) return NULL;
  value *key = builtin_keyword(a, "key"), *flag = builtin_keyword(a, "reverse");
  if (flag && !(flag = value_whole(t, flag))) return NULL;
  int reverse = flag ? trace_truth(t, flag) : 0;
  value *set = !key && value_is_set(a->args[0]) ? a->args[0] : NULL;
  value *items = set ? order_any(t, set) : trace_listed(t, a->args[0]);
  if (!items || reverse < 0) return NULL;
  value *result = value_list(t, items->seq.items, items->seq.count), **ranks = items->seq.items;
  if (result && key && !value_is_none(key)) {
    ranks = trace_alloc(t, (size_t)(items->seq.count + 1) * sizeof *ranks);
    for (Py_ssize_t i = 0; ranks && i < items->seq.count; i++)
      if (!(ranks[i] = trace_call1(t, key, items->seq.items[i]))) return NULL;
  }
  PyObject *keys = result && ranks ? sort_keys(t, ranks, items->seq.count) : NULL;
  bool good = keys && sort_run(t, keys, reverse);
  for (Py_ssize_t i = 0; good && i < items->seq.count; i++)
    result->seq.items[i] = items->seq.items[((sort_key *)PyList_GET_ITEM(keys, i))->place];
  if (!keys && !trace_pending(t)) trace_fail(t);
  Py_XDECREF(keys);
  return good ? result : NULL;
}
