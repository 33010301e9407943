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
/* Sequences (values/seq.c). */
bool seq_append(tracer *t, value *list, value *item);
bool value_mutable(tracer *t, value *v); /* before it is changed; false after a break */
PyObject *list_known(tracer *t, value *v, bool plain); /* a slot */
value *seq_concat(tracer *t, const value_type *type, value *l, value *r);
bool list_extend(tracer *t, value *list, value *iterable);
bool list_empty(tracer *t, value *list); /* of all items; false after a break */
bool args_check(tracer *t, const char *name, Py_ssize_t count, Py_ssize_t least, Py_ssize_t most,
                PyObject *kwnames);

/* ---- namedtuple.c: named tuples and other subclasses of tuple ---- */

/* An instance of `type`, a subclass of tuple that keeps tuple's own behaviour; else a break. */
value *value_tuple_of(tracer *t, PyObject *type, value *const *items, Py_ssize_t count);
/* Instances of named tuples and their like (values/namedtuple.c): tuple values that know their
 * class. */
PyObject *tuple_class(const value *v); /* NULL: a plain tuple */
bool tuple_class_known(
    tracer *t, PyTypeObject *type); /* a subclass of tuple that keeps tuple's own behaviour */
void tuple_set_class(value *v, PyObject *type);
value *tuple_field(tracer *t, value *v, PyObject *name); /* NULL with nothing pending: missing */
recipe *tuple_rebuild_class(tracer *t, value *v, recipe *items);

static inline bool tuple_is_plain(const value *v) { return value_is_tuple(v) && !tuple_class(v); }

/* ---- dict.c: dictionaries ---- */

value *dict_whole(tracer *t,
                  value *v); /* the pairs of a dict value as they are now, to be read at once */
bool type_runs_python(tracer *t, PyTypeObject *type,
                      const char *name); /* the method is written in Python */
/* Dictionaries and sets. Keys are compared as Python would, without running user code: 1 found, 0
 * not, -1 failed. */
int key_equal(tracer *t, value *l, value *r);
bool key_check(tracer *t, value *key); /* hashable and safe to compare */
/* For the slot `key`: of what has no hash, which raises; of a live object that is a key as it is;
 * of an instance. */
bool key_is_refused(tracer *t, value *key);
bool key_by_identity(tracer *t, value *key);
bool key_object_check(tracer *t, value *key);
value *value_dict(tracer *t);
bool key_is_enum_class(tracer *t, PyTypeObject *type); /* whose members' hash is Enum's own */
bool object_is_enum_member(tracer *t, PyObject *object);
Py_hash_t key_hash(tracer *t, PyObject *key); /* of one that may be hashed; -1: raise or break */
value *dict_get(tracer *t, value *dict, value *key); /* NULL with nothing pending: missing */
bool dict_put(tracer *t, value *dict, value *key, value *item);
bool dict_remove(tracer *t, value *dict, value *key); /* raises KeyError */
bool dict_update(tracer *t, value *dict, value *other, bool merge);
Py_ssize_t dict_size(tracer *t, value *v);       /* -1: failed */
value *dict_list(tracer *t, value *v, int what); /* 0 keys, 1 values, 2 items: as they are now */
bool dict_unpack(tracer *t, value *dict, value *other); /* {**other} (dict.c) */

/* ---- iter.c: iterators ---- */

/* An iterator over a sequence, made again where it stands (-1: at its end). */
value *iter_array(tracer *t, value *array, int64_t count); /* as NumPy's iter(array) gives it */
bool generator_unwinds(const frame *f); /* dropping it now would run code of its own */
/* Iterators (values/iter.c). */
value *iter_over(tracer *t, value *sequence); /* tuple or list value, live */
value *iter_exactly(value *iterator);         /* iter() or reversed() of the sequence itself */
value *iter_known(tracer *t, value *const *items, Py_ssize_t count); /* a snapshot */
value *iter_enumerate(tracer *t, value *iterator, value *start);
value *iter_zip(tracer *t, value *const *iterators, Py_ssize_t count, bool strict);
value *iter_map(tracer *t, value *function, value *const *iterators, Py_ssize_t count);
value *iter_filter(tracer *t, value *function, value *iterator);
value *iter_call(tracer *t, value *function, value *sentinel);
/* Over what is in a dictionary (`what`: see dict_list) or set, which has to keep its keys
 * meanwhile. */
value *iter_watching(tracer *t, value *items, value *owner, int what, bool back);
value *iter_reversed(tracer *t, value *sequence);
/* The same one, standing in front of item `at` (behind it where it goes backwards); NULL with
 * nothing pending: it goes over something else. */
value *iter_standing(value *iterator, Py_ssize_t at);
value *iter_indexed(tracer *t, value *v, Py_ssize_t count);
value *iter_self(tracer *t, value *v); /* slots of iterators */
value *iterator_get_attr(tracer *t, value *v, PyObject *name);
/* For loops that are captured once: how many items are left, a number, or -1: that cannot be told;
 * the item `ahead` further on, a number too; one item on; to the end; and what is iterated over,
 * but not where it stands. Nothing is guarded but what telling needs. */
int64_t iter_left(tracer *t, value *v);
int64_t iter_items(const value *v); /* for people: how many are left of a list, or -1 */
value *iter_ahead(tracer *t, value *v, int64_t ahead);
bool iter_step(tracer *t, value *v, int64_t by); /* `by`: a number; of a range any */
void iter_finish(value *v);
bool iter_jumps(const value *v); /* any number of items on, also one that only the run knows */
void iter_walk_bases(roll_walk *w, value *v);
/* Loops over items of lists (gather.c). */
bool iter_lends(tracer *t, value *v); /* are there such, for which it matters that they are lent? */
bool iter_is_known(tracer *t, value *v);             /* and some that are known one by one, too? */
void iter_lend_early(tracer *t, value *v);           /* these are lent in all iterations */
void iter_lend(tracer *t, value *v, uint16_t place); /* items may be lent */
bool iter_prepare(tracer *t, value *v);              /* for iter_ahead; false: they differ */
void iter_lent_over(tracer *t, value *v);            /* nobody has an item that was lent */
/* Why its items cannot be rows, or NULL. */
const char *iter_refuses(const value *v);
value *iter_chain(tracer *t, value *iterables); /* an iterator of iterables */
value *value_generator(tracer *t, frame *f);
value *generator_send(tracer *t, value *v,
                      value *sent); /* NULL with nothing pending: t->returned is its value */

/* ---- range.c: ranges ---- */

value *value_range_to(tracer *t, int64_t start, int64_t stop, int64_t step);

/* ---- set.c: sets ---- */

value *value_set(tracer *t, bool frozen);
bool set_add(tracer *t, value *set, value *item);
bool set_is_frozen(const value *v);
bool value_is_any_set(const value *v);   /* or a constant one */
void set_disorder(value *v);             /* the order of its items is not known from here on */
PyObject *set_real(tracer *t, value *v); /* NULL without an exception: its order is not certain */
value *set_from(tracer *t, value *iterable, bool frozen);

/* ---- container.c: instances of Python classes over dict and list ---- */

PyTypeObject *
container_base(PyTypeObject *type); /* dict or list, which it is a Python class over */
value *object_content(value *v);    /* the dict or list value, or NULL */
bool container_fill(tracer *t, value *v);
/* Is it what an instance made here holds? Rebuilt by itself it would be another object: a break. */
bool container_holds(tracer *t, value *content);
bool container_wrap(tracer *t, value *v); /* of a live one */
bool container_keeps(tracer *t, value *v,
                     const char *name); /* the method is the builtin type's own */
value *container_call(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                      PyObject *kwnames); /* self first */
recipe *container_rebuild(tracer *t, value *v);

/* ---- derived.c: instances of Python classes over set, deque and the like ---- */

/* What an instance holds: of a live one; nothing yet. */
value *derived_of_live(tracer *t, PyObject *object, const source *s, PyTypeObject *base);
value *derived_new(tracer *t, PyTypeObject *base);
/* As container_call(); not_implemented: it is no instance of these, or the method is not followed.
 */
value *derived_call(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                    PyObject *kwnames);
value *derived_attr(tracer *t, value *v, PyObject *name, PyObject *descr); /* as scalar_attr() */
int derived_fill(PyObject *made, PyTypeObject *base, PyObject *content);
value *derived_make_frozen(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                           PyObject *kwnames);

#endif
