/* The order of sets.
 *
 * The order in which Python iterates a set follows from the hashes of its items and from all
 * operations on it. So a set whose items are known has a real set at its side, its table, on which
 * Python's own code performs the same operations. An item may have another hash in the next call: a
 * number that only the run knows, a NaN, an object that is hashed by its address. With such an item
 * the set has no table, and its order is unknown. A set that existed before the call gets its table
 * when its order is first needed: then a guard compares the whole table. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/numbers.h"
#include "frontend/values/numbers_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"

#include <string.h>

/* ---- items ---------------------------------------------------------------------------------- */

static bool object_has_nan(PyObject *o) {
  PyObject *key;
  Py_hash_t hash;
  if (object_is_nan(o)) return true;
  for (Py_ssize_t i = 0; PyTuple_CheckExact(o) && i < PyTuple_GET_SIZE(o); i++)
    if (object_has_nan(PyTuple_GET_ITEM(o, i))) return true;
  for (Py_ssize_t pos = 0; PyAnySet_Check(o) && _PySet_NextEntry(o, &pos, &key, &hash);)
    if (object_has_nan(key)) return true;
  return false;
}

/* Its hash is made of addresses, and this very object is what the code names or a guard compares.
 */
static bool order_is_of_address(const value *v) {
  const PyTypeObject *type = Py_TYPE(v->object), *plain = &PyBaseObject_Type;
  bool address = type->tp_hash == plain->tp_hash && type->tp_richcompare == plain->tp_richcompare;
  return !v->any.i && (address || PyCFunction_CheckExact(v->object));
}

/* The object that stands for an item in a table: a new reference, or NULL without an exception. */
static PyObject *order_item(tracer *t, value *v);

static PyObject *order_tuple(tracer *t, const value *v) {
  PyObject *tuple = PyTuple_New(v->seq.count);
  for (Py_ssize_t i = 0; tuple && i < v->seq.count; i++) {
    PyObject *item = order_item(t, v->seq.items[i]);
    if (item)
      PyTuple_SET_ITEM(tuple, i, item);
    else
      Py_CLEAR(tuple);
  }
  return tuple;
}

/* A frozen set is an item by what is in it. */
static PyObject *order_frozen(tracer *t, const value *v) {
  if (v->seq.set->table) return Py_NewRef(v->seq.set->table);
  PyObject *items = order_tuple(t, v), *frozen = items ? PyFrozenSet_New(items) : NULL;
  Py_XDECREF(items);
  return frozen;
}

static PyObject *order_item(tracer *t, value *v) {
  value *content = scalar_key(t, v);
  if (content) v = content;
  if (!trace_goes_deeper(t)) return NULL;
  if (value_is_set(v)) return order_frozen(t, v);
  if (value_is_tuple(v))
    return value_type_of(t, v) == (PyObject *)&PyTuple_Type ? order_tuple(t, v) : NULL;
  if (!value_is_const(v)) return NULL;
  bool plain = object_is_plain(v->object) && !v->any.i && !object_has_nan(v->object);
  return plain || order_is_of_address(v) ? Py_NewRef(v->object) : NULL;
}

/* ---- what is done to a set ------------------------------------------------------------------- */

/* Takes over the reference; NULL, perhaps with an exception: the order is not known. */
static void order_is(tracer *t, value *set, PyObject *table) {
  set->seq.set->table = table ? trace_keep(t, table) : NULL;
  set->seq.set->mixed = true;
  error_drop();
}

void order_add(tracer *t, value *set, value *item) {
  PyObject *table = set->seq.set->table, *real = table ? order_item(t, item) : NULL;
  if (table && (!real || PySet_Add(table, real))) set->seq.set->table = NULL;
  Py_XDECREF(real);
  error_drop();
}

void order_discard(tracer *t, value *set, value *item) {
  PyObject *table = set->seq.set->table, *real = table ? order_item(t, item) : NULL;
  if (table && (!real || PySet_Discard(table, real) < 0)) set->seq.set->table = NULL;
  Py_XDECREF(real);
  set->seq.set->mixed = true;
  error_drop();
}

/* With these keys, and with its items if `whole`. */
static PyObject *order_dict(tracer *t, value *dict, bool whole) {
  bool plain = value_type_of(t, dict) == (PyObject *)&PyDict_Type;
  value *keys = plain ? dict_list(t, dict, 0) : NULL, *all = whole ? dict_list(t, dict, 1) : keys;
  PyObject *real = keys && all ? PyDict_New() : NULL;
  for (Py_ssize_t i = 0; real && i < keys->seq.count; i++) {
    PyObject *key = order_item(t, keys->seq.items[i]), *item = order_item(t, all->seq.items[i]);
    if (!key || !item || PyDict_SetItem(real, key, item)) Py_CLEAR(real);
    Py_XDECREF(key);
    Py_XDECREF(item);
  }
  return real;
}

PyObject *order_view(tracer *t, value *dict, bool items) {
  PyObject *real = order_dict(t, dict, items);
  PyObject *view = real ? PyObject_CallMethod(real, items ? "items" : "keys", NULL) : NULL;
  Py_XDECREF(real);
  error_drop();
  return view;
}

PyObject *order_operand(tracer *t, value *v) {
  PyObject *real = NULL;
  if (value_is_set(v))
    real = Py_XNewRef(order_table(t, v));
  else if (value_is_const(v) && PyFrozenSet_CheckExact(v->object) && !v->any.i)
    real = Py_NewRef(v->object);
  else if (value_is_dict(v))
    real = order_dict(t, v, false);
  else if (value_is_sequence(v))
    real = order_tuple(t, v);
  error_drop();
  return real;
}

void order_made(tracer *t, value *set, value *of) {
  PyObject *real = order_operand(t, of), *table = NULL;
  if (real) table = set_is_frozen(set) ? PyFrozenSet_New(real) : PySet_New(real);
  Py_XDECREF(real);
  order_is(t, set, table);
  set->seq.set->mixed = !value_is_sequence(of);
}

void order_twin(tracer *t, value *set, PyObject *like) {
  bool known = like && !object_has_nan(like);
  order_is(t, set, known ? set_twin(like, set_is_frozen(set)) : NULL);
}

void order_copied(tracer *t, value *set) {
  PyObject *table = set->seq.set->table, *copy = table ? PySet_New(table) : NULL;
  order_twin(t, set, copy);
  Py_XDECREF(copy);
}

void order_live(tracer *t, value *set, const source *s, PyObject *object) {
  order_is(t, set, NULL);
  set->object = trace_keep(t, Py_NewRef(object));
  set->seq.set->origin = s;
}

void order_binary(tracer *t, value *result, int op, PyObject *l, PyObject *r) {
  PyObject *table = !l || !r        ? NULL
                    : op == SET_OR  ? PyNumber_Or(l, r)
                    : op == SET_AND ? PyNumber_And(l, r)
                    : op == SET_SUB ? PyNumber_Subtract(l, r)
                                    : PyNumber_Xor(l, r);
  order_is(t, result, table);
}

void order_call(tracer *t, value *result, PyObject *table, const char *method, value *const *args,
                Py_ssize_t count) {
  PyObject *name = table ? PyUnicode_FromString(method) : NULL;
  PyObject **all = name ? calloc((size_t)count + 1, sizeof *all) : NULL, *made = NULL;
  Py_ssize_t have = 1;
  if (all) all[0] = table;
  while (all && have <= count && (all[have] = order_operand(t, args[have - 1])))
    have++;
  if (all && have == count + 1) made = PyObject_VectorcallMethod(name, all, (size_t)have, NULL);
  while (all && --have > 0)
    Py_DECREF(all[have]);
  free(all);
  Py_XDECREF(name);
  if (made == Py_None) Py_SETREF(made, Py_NewRef(table)); /* changed in place */
  order_is(t, result, made);
}

/* ---- what is asked of it --------------------------------------------------------------------- */

/* Nothing is done to a live set while capturing. */
PyObject *order_table(tracer *t, value *v) {
  const source *origin = v->seq.set->origin;
  if (v->seq.set->table || !origin || v->seq.set->asked || object_has_nan(v->object))
    return v->seq.set->table;
  v->seq.set->asked = true;
  PyObject *like = set_twin(v->object, true);
  if (like) guard_simple(t, GUARD_SET_TABLE, origin, like, 0);
  order_twin(t, v, like);
  Py_XDECREF(like);
  if (!shadow_set_order(t, v)) v->seq.set->table = NULL;
  return v->seq.set->table;
}

/* Which item of the values each item of the table is. */
static PyObject *order_places(tracer *t, const value *v) {
  PyObject *places = PyDict_New();
  for (Py_ssize_t i = 0; places && i < v->seq.count; i++) {
    PyObject *item = order_item(t, v->seq.items[i]), *at = item ? PyLong_FromSsize_t(i) : NULL;
    if (!at || PyDict_SetItem(places, item, at)) Py_CLEAR(places);
    Py_XDECREF(item);
    Py_XDECREF(at);
  }
  return places;
}

static bool order_fill(const value *v, PyObject *places, value **items) {
  PyObject *key, *at;
  Py_hash_t hash;
  Py_ssize_t count = 0;
  for (Py_ssize_t pos = 0; _PySet_NextEntry(v->seq.set->table, &pos, &key, &hash);) {
    if (!(at = PyDict_GetItemWithError(places, key)) || count == v->seq.count) return false;
    items[count++] = v->seq.items[PyLong_AsSsize_t(at)];
  }
  return count == v->seq.count;
}

/* A number that only the run knows is asked for. */
static void order_know(tracer *t, const value *v) {
  for (Py_ssize_t i = 0; i < v->seq.count && !trace_pending(t); i++)
    Py_XDECREF(value_plain(t, v->seq.items[i]));
}

value *order_items(tracer *t, value *v) {
  if (v->seq.count <= 1) return value_list(t, v->seq.items, v->seq.count);
  if (!order_table(t, v)) return order_know(t, v), NULL;
  value **items = trace_alloc(t, sizeof *items * (size_t)v->seq.count);
  PyObject *places = items && trace_charge(t, v->seq.count) ? order_places(t, v) : NULL;
  bool good = places && order_fill(v, places, items);
  Py_XDECREF(places);
  error_drop();
  return good ? value_list(t, items, v->seq.count) : NULL;
}

/* Does the order of the items not depend on the order in which they were added? That holds for
 * numbers and texts. */
static bool order_is_idle(const value *v) {
  const PyTypeObject *texts = NULL;
  for (Py_ssize_t i = 0; i < v->seq.count; i++) {
    const value *item = v->seq.items[i];
    if (!value_is_number(item) && !(value_is_const(item) && object_is_scalar(item->object)))
      return false;
    PyObject *o = value_is_number(item) ? Py_False : item->object;
    bool text = PyUnicode_CheckExact(o) || PyBytes_CheckExact(o);
    if (!text && (object_is_nan(o) || !(PyLong_Check(o) || PyFloat_CheckExact(o)))) return false;
    const PyTypeObject *type = text ? Py_TYPE(o) : &PyLong_Type;
    if (texts && texts != type) return false;
    texts = type;
  }
  return true;
}

value *order_any(tracer *t, value *v) {
  if (order_is_idle(v)) return value_list(t, v->seq.items, v->seq.count);
  value *items = order_items(t, v);
  if (items || trace_pending(t)) return items;
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the order of a set");
}

PyObject *order_real(tracer *t, const value *v) {
  PyObject *table = v->seq.set->table;
  PyObject *real = table ? set_twin(table, set_is_frozen(v)) : order_frozen(t, v);
  if (real && !table && !set_is_frozen(v)) Py_SETREF(real, PySet_New(real));
  error_drop();
  return real;
}

Py_ssize_t order_pop(tracer *t, value *v) {
  PyObject *table = v->seq.set->table;
  if (!table && v->seq.count == 1) return 0;
  if (!table) return order_know(t, v), -1;
  PyObject *places = order_places(t, v), *key = places ? PySet_Pop(table) : NULL;
  PyObject *at = key ? PyDict_GetItemWithError(places, key) : NULL;
  Py_ssize_t place = at ? PyLong_AsSsize_t(at) : -1;
  if (key && !at) v->seq.set->table = NULL;
  v->seq.set->mixed = true;
  Py_XDECREF(key);
  Py_XDECREF(places);
  error_drop();
  return place;
}

void order_walk(roll_walk *w, const value *v) {
  PyObject *table = v->seq.set->table;
  roll_token(w, (uint64_t)v->seq.set->frozen << 2 | (uint64_t)v->seq.set->mixed << 1 | !table);
  for (Py_ssize_t i = 0; table && i < set_slots(table); i++)
    roll_token(w, set_slot_token(table, i));
}
