/* Iterators of our own: over sequences, and enumerate, zip, map, filter on top of others. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/iter_internal.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/rolled.h"
#include "frontend/values/rolled_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

static value *iter_new(tracer *t, iter_kind kind, value *base, value *const *inner,
                       Py_ssize_t count) {
  value *v = value_new(t, &value_iterator_type);
  iter_data *data = v ? trace_alloc(t, sizeof *data) : NULL;
  if (!data) return NULL;
  value *copy = value_tuple(t, inner, count);
  if (!copy) return NULL;
  *data = (iter_data){.kind = kind, .base = base, .inner = copy->seq.items, .count = count};
  v->any.a = data;
  return v;
}

value *iter_over(tracer *t, value *sequence) {
  return iter_new(t, ITER_SEQUENCE, sequence, NULL, 0);
}

value *iter_exactly(value *iterator) {
  if (iterator) ((iter_data *)iterator->any.a)->exact = true;
  return iterator;
}

value *iter_known(tracer *t, value *const *items, Py_ssize_t count) {
  value *tuple = value_tuple(t, items, count);
  return tuple ? iter_over(t, tuple) : NULL;
}

Py_ssize_t iter_size(tracer *t, value *owner) {
  return value_is_dict(owner) ? dict_size(t, owner) : owner->seq.count;
}

/* A set's in the order in which they were added. */
static value *iter_keys(tracer *t, value *owner) {
  bool dict = value_is_dict(owner);
  return dict ? dict_list(t, owner, 0) : value_list(t, owner->seq.items, owner->seq.count);
}

static value *iter_turned(tracer *t, value *items, bool back) {
  value *turned = items ? value_tuple(t, items->seq.items, items->seq.count) : NULL;
  for (Py_ssize_t i = 0; turned && back && i < items->seq.count; i++)
    turned->seq.items[i] = items->seq.items[items->seq.count - 1 - i];
  return turned;
}

value *iter_watching(tracer *t, value *items, value *owner, int what, bool back) {
  value *base = iter_turned(t, items, back), *v = base ? iter_over(t, base) : NULL;
  iter_data *d = v ? v->any.a : NULL;
  if (!d || !(d->keys = iter_keys(t, owner))) return NULL;
  d->function = owner;
  d->count = iter_size(t, owner);
  d->seen = owner->seq.changes;
  d->moves = value_is_dict(owner) ? dict_moves(t, owner) : NULL;
  d->moved = d->moves ? *d->moves : 0;
  d->what = what;
  d->back = back;
  return trace_pending(t) ? NULL : v;
}

/* The values of the dictionary are others than when they were last looked at. */
static bool iter_read_again(tracer *t, iter_data *d) {
  value *items = d->what ? iter_turned(t, dict_list(t, d->function, d->what), d->back) : d->base;
  if (!items) return false;
  d->base = items;
  d->seen = d->function->seq.changes;
  return true;
}

/* An OrderedDict's iterator knows the key that comes next: behind the last one it looks at nothing
 * more. One that has found fewer or more keys never goes on. */
static bool iter_look_ordered(tracer *t, iter_data *d) {
  if (d->at >= d->base->seq.count) return true;
  if (*d->moves != d->moved) {
    d->done = true;
    trace_raise(t, PyExc_RuntimeError, "OrderedDict mutated during iteration");
    return false;
  }
  if (iter_size(t, d->function) != d->count) {
    d->count = -1;
    trace_raise(t, PyExc_RuntimeError, "OrderedDict changed size during iteration");
    return false;
  }
  return d->seen == d->function->seq.changes || iter_read_again(t, d);
}

/* Looks at a dictionary again while one iterates over it. New values of its keys are what the next
 * items show. When keys were exchanged while their number stayed, the order depends on how CPython
 * stores them. */
static bool iter_look_again(tracer *t, iter_data *d) {
  value *owner = d->function, *keys;
  if (d->moves) return iter_look_ordered(t, d);
  if (iter_size(t, owner) != d->count)
    return trace_raise(t, PyExc_RuntimeError, "%s changed size during iteration",
                       owner->type->name);
  /* Attributes change without their dictionary. */
  if (d->seen == owner->seq.changes && !dict_owner(owner)) return true;
  if (!(keys = iter_keys(t, owner))) return false;
  bool same = (owner->seq.changes ^ d->seen) < VALUE_REMOVED;
  for (Py_ssize_t i = 0; same && i < d->count; i++)
    same = value_identical(t, keys->seq.items[i], d->keys->seq.items[i]);
  if (!same)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a %s whose keys change while it is iterated",
                       owner->type->name);
  return iter_read_again(t, d);
}

value *iter_reversed(tracer *t, value *sequence) {
  value *v = iter_new(t, ITER_REVERSED, sequence, NULL, 0);
  Py_ssize_t prefix;
  int64_t count = sequence->seq.count;
  bool rows = long_direct(t, sequence, &prefix) && long_count(t, sequence, &count);
  if (rows && LOOM_STRIDE_IS_SYM(count)) return size_know(t, count), NULL;
  if (v) ((iter_data *)v->any.a)->at = count;
  return v;
}

value *iter_standing(value *iterator, Py_ssize_t at) {
  iter_data *d = iter_of(iterator);
  bool text = d && d->kind == ITER_INDEX && value_is_const(d->base) &&
              PyUnicode_CheckExact(d->base->object);
  bool known = d && (d->kind == ITER_SEQUENCE || d->kind == ITER_REVERSED) && !d->function &&
               value_is_sequence(d->base);
  if (!known && !text) return NULL;
  d->at = at;
  d->exact = false; /* not from the beginning: its items are no rows */
  return iterator;
}

value *iter_indexed(tracer *t, value *v, Py_ssize_t count) {
  value *iterator = iter_new(t, ITER_INDEX, v, NULL, 0);
  if (iterator) ((iter_data *)iterator->any.a)->count = count;
  return iterator;
}

value *iter_array(tracer *t, value *array, int64_t count) {
  return iter_exactly(iter_indexed(t, array, count));
}

value *iter_enumerate(tracer *t, value *iterator, value *start) {
  value *v = iter_new(t, ITER_ENUMERATE, iterator, NULL, 0);
  if (v) ((iter_data *)v->any.a)->counter = start;
  return v;
}

value *iter_zip(tracer *t, value *const *iterators, Py_ssize_t count, bool strict) {
  value *v = iter_new(t, ITER_ZIP, NULL, iterators, count);
  if (v) ((iter_data *)v->any.a)->strict = strict;
  return v;
}

value *iter_map(tracer *t, value *function, value *const *iterators, Py_ssize_t count) {
  value *v = iter_new(t, ITER_MAP, NULL, iterators, count);
  if (v) ((iter_data *)v->any.a)->function = function;
  return v;
}

value *iter_filter(tracer *t, value *function, value *iterator) {
  value *v = iter_new(t, ITER_FILTER, iterator, NULL, 0);
  if (v) ((iter_data *)v->any.a)->function = function;
  return v;
}

value *iter_call(tracer *t, value *function, value *sentinel) {
  value *v = iter_new(t, ITER_CALL, sentinel, NULL, 0);
  if (v) ((iter_data *)v->any.a)->function = function;
  return v;
}

value *iter_chain(tracer *t, value *iterables) {
  return iter_new(t, ITER_CHAIN, iterables, NULL, 0);
}

/* ---- the next item of each ------------------------------------------------------------------ */

static value *next_sequence(tracer *t, iter_data *d) {
  if (d->function && !d->done && !iter_look_again(t, d)) return NULL;
  value *lent = d->done ? NULL : iter_lent_item(t, d, d->at);
  if (lent) d->at++;
  if (lent || d->done || trace_pending(t) || !list_settle(t, d->base)) return lent;
  if (d->at >= d->base->seq.count) return d->done = true, NULL;
  return d->base->seq.items[d->at++];
}

static value *next_reversed(tracer *t, iter_data *d) {
  value *lent = d->done ? NULL : iter_lent_item(t, d, d->at - 1);
  if (lent) d->at--;
  if (lent || d->done || trace_pending(t) || !list_settle(t, d->base)) return lent;
  if (d->at <= 0 || d->at > d->base->seq.count) return d->done = true, NULL;
  return d->base->seq.items[--d->at];
}

static value *next_enumerate(tracer *t, iter_data *d) {
  if (d->done) return NULL;
  value *item = trace_next(t, d->base), *one = item ? value_int(t, 1) : NULL;
  if (!one) return NULL;
  value *pair[2] = {d->counter, item};
  d->counter = trace_binary(t, 0, d->counter, one, false);
  return d->counter ? value_tuple(t, pair, 2) : NULL;
}

static value *next_zip(tracer *t, iter_data *d) {
  value *items = value_tuple(t, d->inner, d->count);
  if (!items || d->count == 0 || d->done) return NULL;
  for (Py_ssize_t i = 0; i < d->count; i++) {
    if ((items->seq.items[i] = trace_next(t, d->inner[i]))) continue;
    if (trace_pending(t) || !d->strict) return NULL;
    if (i > 0) return trace_raise(t, PyExc_ValueError, "zip() argument %zd is shorter", i + 1);
    for (Py_ssize_t j = 1; j < d->count; j++) {
      if (trace_next(t, d->inner[j]))
        return trace_raise(t, PyExc_ValueError, "zip() argument %zd is longer", j + 1);
      if (trace_pending(t)) return NULL;
    }
    return NULL;
  }
  return items;
}

static value *next_map(tracer *t, iter_data *d) {
  value *args = value_tuple(t, d->inner, d->count);
  if (!args) return NULL;
  for (Py_ssize_t i = 0; i < d->count; i++)
    if (!(args->seq.items[i] = trace_next(t, d->inner[i]))) return NULL;
  return trace_call(t, d->function, args->seq.items, d->count, NULL);
}

static value *next_filter(tracer *t, iter_data *d) {
  for (;;) {
    value *item = trace_next(t, d->base);
    if (!item) return NULL;
    value *kept = value_is_none(d->function) ? item : trace_call1(t, d->function, item);
    int truth = kept ? trace_truth(t, kept) : -1;
    if (truth < 0) return NULL;
    if (truth) return item;
  }
}

static value *next_call(tracer *t, iter_data *d) {
  if (d->done) return NULL;
  value *item = trace_call(t, d->function, NULL, 0, NULL);
  value *equal = item ? trace_compare(t, Py_EQ, item, d->base) : NULL;
  int truth = equal ? trace_truth(t, equal) : -1;
  if (truth > 0) d->done = true;
  return truth == 0 ? item : NULL;
}

static value *next_chain(tracer *t, iter_data *d) {
  for (;;) {
    if (!d->function) {
      value *iterable = trace_next(t, d->base);
      if (!iterable || !(d->function = trace_iter(t, iterable))) return NULL;
    }
    value *item = trace_next(t, d->function);
    if (item || trace_pending(t)) return item;
    d->function = NULL;
  }
}

static value *next_index(tracer *t, iter_data *d) {
  if (LOOM_STRIDE_IS_SYM(d->count) && !d->done) return size_know(t, d->count), NULL;
  if (d->done || (d->count >= 0 && d->at >= d->count)) return NULL;
  value *key = value_int(t, d->at++), *item = key ? trace_get_item(t, d->base, key) : NULL;
  if (item || d->count >= 0 || t->state != TRACE_RAISING) return item;
  /* The old protocol: an IndexError ends it. */
  if (!exception_matches(t, t->raised, PyExc_IndexError)) return NULL;
  t->state = TRACE_GOING;
  t->raised = NULL;
  d->done = true;
  return NULL;
}

static value *iterator_next(tracer *t, value *v) {
  iter_data *d = v->any.a;
  switch (d->kind) {
  case ITER_SEQUENCE: return next_sequence(t, d);
  case ITER_REVERSED: return next_reversed(t, d);
  case ITER_ENUMERATE: return next_enumerate(t, d);
  case ITER_ZIP: return next_zip(t, d);
  case ITER_MAP: return next_map(t, d);
  case ITER_FILTER: return next_filter(t, d);
  case ITER_CALL: return next_call(t, d);
  case ITER_CHAIN: return next_chain(t, d);
  case ITER_INDEX: return next_index(t, d);
  }
  return NULL;
}

value *iter_self(tracer *t, value *v) { return v; }

value *iterator_reversed(tracer *t, value *v) {
  return trace_raise(t, PyExc_TypeError, "'%s' object is not reversible", v->type->name);
}

static PyObject *iterator_python_type(tracer *t, value *v) {
  iter_data *d = v->any.a;
  switch (d->kind) {
  case ITER_ENUMERATE: return (PyObject *)&PyEnum_Type;
  case ITER_ZIP: return (PyObject *)&PyZip_Type;
  case ITER_MAP: return (PyObject *)&PyMap_Type;
  case ITER_FILTER: return (PyObject *)&PyFilter_Type;
  case ITER_SEQUENCE:
    if (d->function || !d->exact) /* of a string, say, there are items only */
      return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the type of an iterator");
    return (PyObject *)(value_is_any_list(d->base) ? &PyListIter_Type : &PyTupleIter_Type);
  case ITER_INDEX:
    if (d->exact) return (PyObject *)&PySeqIter_Type;
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the type of an iterator");
  default: return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the type of an iterator");
  }
}

value *iterator_next_method(tracer *t, value *v, value *const *args, Py_ssize_t count,
                            PyObject *kwnames) {
  if (!args_check(t, "__next__", count, 0, 0, kwnames)) return NULL;
  value *item = trace_next(t, v);
  return item || trace_pending(t) ? item : trace_raise(t, PyExc_StopIteration, "exhausted");
}

static const builtin_method iterator_methods[] = {{"__next__", iterator_next_method}, {NULL, NULL}};

value *iterator_get_attr(tracer *t, value *v, PyObject *name) {
  return builtin_method_find(t, iterator_methods, v, name);
}

/* ---- made again behind a break -------------------------------------------------------------- */

/* enumerate() and zip() call iter() on the iterator that they are given. */
static bool iter_asks_nobody(tracer *t, value *const *inner, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++)
    if (value_is_instance(inner[i]))
      return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an iterator over one of a class"), false;
  return true;
}

static recipe *iterator_rebuild(tracer *t, value *v) {
  iter_data *d = v->any.a;
  value *args[2] = {d->base, d->counter};
  bool many = d->kind == ITER_ZIP;
  if ((many || d->kind == ITER_ENUMERATE) &&
      !iter_asks_nobody(t, many ? d->inner : args, many ? d->count : 1))
    return NULL;
  if ((d->kind == ITER_SEQUENCE || d->kind == ITER_REVERSED) && d->exact && !d->function) {
    bool reverse = d->kind == ITER_REVERSED;
    return iter_recipe(t, d->base, d->done ? -1 : d->at - reverse, reverse);
  }
  if (d->kind == ITER_INDEX && d->exact)
    return iter_recipe(t, d->base, d->done ? -1 : d->at, false);
  if (d->kind == ITER_ENUMERATE)
    return trace_rebuild_call(t, Py_NewRef((PyObject *)&PyEnum_Type), args, 2);
  if (d->kind == ITER_ZIP && !d->strict)
    return trace_rebuild_call(t, Py_NewRef((PyObject *)&PyZip_Type), d->inner, d->count);
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an iterator is returned");
}

static void iterator_walk(roll_walk *w, value *v) {
  iter_data *d = v->any.a;
  bool moved = d->moves && *d->moves != d->moved;
  roll_token(w, (uint64_t)d->kind << 8 | (uint64_t)moved << 3 | (uint64_t)d->exact << 2 |
                    (uint64_t)d->strict << 1 | (uint64_t)d->done);
  roll_token(w, (uint64_t)d->at);
  roll_token(w, (uint64_t)d->count);
  roll_value(w, &d->base);
  roll_value(w, &d->function);
  roll_value(w, &d->counter);
  bool inner = d->kind == ITER_ZIP || d->kind == ITER_MAP; /* else `count` means something else */
  for (Py_ssize_t i = 0; inner && i < d->count; i++)
    roll_value(w, &d->inner[i]);
}

const value_type value_iterator_type = {.name = "iterator",
                                        .kinds = VALUE_IS_PAIRS,
                                        .walk = iterator_walk,
                                        .rebuild = iterator_rebuild,
                                        .iter = iter_self,
                                        .next = iterator_next,
                                        .get_attr = iterator_get_attr,
                                        .python_type = iterator_python_type,
                                        .loop = &iterator_loop,
                                        .reversed = iterator_reversed};
