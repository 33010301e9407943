/* Tuples, lists, dictionaries, sets, and iterators. */
#ifndef LOOM_FRONTEND_VALUES_CONTAINERS_H
#define LOOM_FRONTEND_VALUES_CONTAINERS_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"

/* ---- seq.c: tuples and lists ---- */

value *value_tuple(tracer *t, value *const *items, Py_ssize_t count);
value *value_list(tracer *t, value *const *items, Py_ssize_t count);
bool seq_append(tracer *t, value *list, value *item);
/* May the container be changed? To be called before a change; false after a break. */
bool value_mutable(tracer *t, value *v);
bool list_extend(tracer *t, value *list, value *iterable);

/* ---- namedtuple.c: named tuples and other subclasses of tuple ---- */

/* An instance of `type`, a subclass of tuple that keeps tuple's own behaviour; else a break. */
value *value_tuple_of(tracer *t, PyObject *type, value *const *items, Py_ssize_t count);
/* The class of a named tuple and the like; NULL: a plain tuple. */
PyObject *tuple_class(const value *v);
/* A subclass of tuple that keeps tuple's own behaviour. */
bool tuple_class_known(tracer *t, PyTypeObject *type);
void tuple_set_class(value *v, PyObject *type);

static inline bool tuple_is_plain(const value *v) { return value_is_tuple(v) && !tuple_class(v); }

/* ---- key.c: keys of dictionaries and sets ---- */

/* Is this method of the type written in Python? */
bool type_runs_python(tracer *t, PyTypeObject *type, const char *name);
/* Keys are compared as Python compares them, as far as that runs no user code: 1 equal, 0 not, -1
 * failed. */
int key_equal(tracer *t, value *l, value *r);
bool key_check(tracer *t, value *key); /* hashable and safe to compare */

/* ---- dict.c: dictionaries ---- */

/* The present pairs of a dict value. To be read before anything else is evaluated. */
value *dict_whole(tracer *t, value *v);
value *value_dict(tracer *t);
value *dict_get(tracer *t, value *dict, value *key); /* NULL with nothing pending: missing */
bool dict_put(tracer *t, value *dict, value *key, value *item);
bool dict_remove(tracer *t, value *dict, value *key); /* raises KeyError */
bool dict_update(tracer *t, value *dict, value *other, bool merge);
bool dict_unpack(tracer *t, value *dict, value *other); /* as {**other} does */

/* ---- dict_gaps.c: the gaps in the tables of dictionaries that are made inside ---- */

/* These tell where a dictionary comes from; false: failed. gaps_made(): one instruction made it of
 * these keys, `stride` values apart. gaps_keys(): dict.fromkeys() made it of this iterable. */
bool gaps_made(tracer *t, value *dict, value *const *keys, Py_ssize_t stride, Py_ssize_t count);
bool gaps_keys(tracer *t, value *dict, value *of);

/* ---- iter.c: iterators ---- */

/* An iterator over the first axis of an array, as NumPy's iter(array) is. */
value *iter_array(tracer *t, value *array, int64_t count);
/* Over a tuple or list value. Later changes of the list show. */
value *iter_over(tracer *t, value *sequence);
/* Over these items. Later changes of the container that they came from do not show. */
value *iter_known(tracer *t, value *const *items, Py_ssize_t count);
value *iter_enumerate(tracer *t, value *iterator, value *start);
value *iter_zip(tracer *t, value *const *iterators, Py_ssize_t count, bool strict);
value *iter_map(tracer *t, value *function, value *const *iterators, Py_ssize_t count);
value *iter_filter(tracer *t, value *function, value *iterator);
value *iter_call(tracer *t, value *function, value *sentinel);
value *iter_reversed(tracer *t, value *sequence);
/* Over the items of each iterable, one after the other. */
value *iter_chain(tracer *t, value *iterables);

/* ---- iter_loop.c: iterators in loops that are captured once ---- */

/* How many items are left: a number of the graph, or -1: unknown. Adds no guard that the answer
 * does not need. */
int64_t iter_left(tracer *t, value *v);
int64_t iter_items(const value *v); /* for messages: how many items of a list are left, or -1 */
/* The item `ahead` positions further on; `ahead` is a number of the graph. */
value *iter_ahead(tracer *t, value *v, int64_t ahead);
/* Moves it on by `by` items: a number of the graph, which may be symbolic for a range. */
bool iter_step(tracer *t, value *v, int64_t by);
/* Moves the iterator to its end. */
void iter_finish(value *v);
bool iter_jumps(const value *v); /* can it be moved on by a number that only the run knows? */
/* For loops over items of lists, which are lent to the hidden iteration as rows of arrays
 * (gather.c). */
/* Does it iterate over sequences whose items have to be lent (items other than small ints in equal
 * steps)? */
bool iter_lends(tracer *t, value *v);
/* Is one of these sequences an ordinary list or tuple, whose items capture knows one by one? */
bool iter_is_known(tracer *t, value *v);
/* Items are lent in all iterations from now on, not in the hidden one alone. */
void iter_lend_early(tracer *t, value *v);
/* Items are lent to the loop at this place. */
void iter_lend(tracer *t, value *v, uint16_t place);
/* Makes the stacks that iter_ahead() reads. False: the items are not alike. */
bool iter_prepare(tracer *t, value *v);
/* Nothing refers to a lent item any more: the sequences may be changed again. */
void iter_lent_over(tracer *t, value *v);
/* Why its items cannot be rows, or NULL. */
const char *iter_refuses(const value *v);

/* ---- generator.c: generators ---- */

value *value_generator(tracer *t, frame *f);
/* Sends a value into a generator. NULL with nothing pending: it has returned t->returned. */
value *generator_send(tracer *t, value *v, value *sent);
/* What CPython does with a generator that nobody refers to any more. False: that runs code of its
 * own (a `finally`, a `with`), or with a raise or break. */
bool generator_drop(tracer *t, frame *f);

/* ---- range.c: ranges ---- */

value *value_range_to(tracer *t, int64_t start, int64_t stop, int64_t step);

/* ---- set.c: sets ---- */

value *value_set(tracer *t, bool frozen);
bool set_add(tracer *t, value *set, value *item);
bool set_extend(tracer *t, value *set, value *iterable); /* of one made inside */
bool set_is_frozen(const value *v);
value *set_from(tracer *t, value *iterable, bool frozen);

enum { SET_AND = 1, SET_OR = 7, SET_SUB = 10, SET_XOR = 12 }; /* operators of Python's code */

/* ---- set_order.c: in which order Python iterates a set ---- */

struct set_facts {
  bool frozen;
  bool mixed;           /* there were other operations on it than adding items one by one */
  PyObject *table;      /* a real set with the same operations; NULL: the order is not known */
  bool asked;           /* the order has been asked for */
  const source *origin; /* of `object`, where that is a live set with this content; or NULL */
};

/* A list of the items for functions like max(): in any order where the order cannot matter, else in
 * Python's order. NULL after a break. */
value *order_any(tracer *t, value *set);

/* ---- container.c: instances of Python classes over dict and list ---- */

/* dict or list, when the type is a Python class over one of them; else NULL. */
PyTypeObject *container_base(PyTypeObject *type);
/* The dict or list value that an instance holds, or NULL. */
value *object_content(value *v);
/* A call of a method of dict or list through the type, self first. */
value *container_call(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                      PyObject *kwnames);

#endif
