/* Of tuples, lists, dictionaries, sets and iterators: what the files of this folder share. */
#ifndef LOOM_FRONTEND_VALUES_CONTAINERS_INTERNAL_H
#define LOOM_FRONTEND_VALUES_CONTAINERS_INTERNAL_H

#include "frontend/values/containers.h"

/* ---- seq.c: tuples and lists ---- */

/* Removes all items; false after a break. */
bool list_empty(tracer *t, value *list);
bool args_check(tracer *t, const char *name, Py_ssize_t count, Py_ssize_t least, Py_ssize_t most,
                PyObject *kwnames);
PyObject *list_known(tracer *t, value *v, bool plain); /* the slot `known` */
value *seq_concat(tracer *t, const value_type *type, value *l, value *r);

/* ---- namedtuple.c: named tuples and other subclasses of tuple ---- */

value *tuple_field(tracer *t, value *v, PyObject *name); /* NULL with nothing pending: missing */
recipe *tuple_rebuild_class(tracer *t, value *v, recipe *items);
bool tuple_has_operators(const value *v); /* of its class; NULL: no */
/* `made`, which is what an operator makes of `l` and of `r` (NULL: no tuple), with the class that
 * it gives its result. */
typedef enum tuple_operator { TUPLE_CONCAT, TUPLE_REPEAT, TUPLE_SLICE } tuple_operator;
value *tuple_of_operator(tracer *t, value *made, tuple_operator op, const value *l, const value *r);

/* ---- key.c: keys of dictionaries and sets ---- */

/* Functions for the slot `key` of value types: key_is_refused() is for values without a hash, and
 * raises; key_object_check() is for instances of Python classes. */
bool key_is_refused(tracer *t, value *key);
bool key_object_check(tracer *t, value *key);
/* Is it an Enum class whose members hash as Enum says? */
bool key_is_enum_class(tracer *t, PyTypeObject *type);
bool object_is_enum_member(tracer *t, PyObject *object);
/* The hash of a key that passed key_check(); -1 after a raise or break. */
Py_hash_t key_hash(tracer *t, PyObject *key);
/* The object with which a live dictionary is asked for a key that was checked: a new reference. */
PyObject *key_known(tracer *t, value *key);

/* ---- dict.c: dictionaries ---- */

/* How often a key was added to an OrderedDict, removed or moved since the first call of this
 * function. NULL: it is a plain dictionary. */
const uint32_t *dict_moves(tracer *t, value *dict);
/* Is it an OrderedDict, or what an instance of a class over it holds? */
bool dict_is_ordered(const tracer *t, const value *dict);
int dict_has(tracer *t, value *dict, value *key); /* 1: it has the key, 0: it has not, -1: failed */
/* dict_whole() with the gaps in its table. */
value *dict_again(tracer *t, value *v);
value *dict_copied(tracer *t, value *v);         /* by copy() */
Py_ssize_t dict_size(tracer *t, value *v);       /* -1: failed */
value *dict_list(tracer *t, value *v, int what); /* 0 keys, 1 values, 2 items: as they are now */
/* Over those items, forwards or back. It raises when the keys change meanwhile. */
value *dict_iterator(tracer *t, value *dict, int what, bool back);

/* ---- dict_view.c: keys(), values() and items() ---- */

value *dict_view(tracer *t, value *dict, int what); /* `what`: as in dict_list() */

/* ---- dict_gaps.c: the gaps in the tables of dictionaries that are made inside ---- */

/* gaps_merging(): the pairs of `other` (of dict_whole()) will be added to `dict`. gaps_merged():
 * they have been. `places`: for each pair the index of its key in `dict`, which is needed if
 * gaps_is_merging(); `before`: the number of items before. */
bool gaps_merging(tracer *t, value *dict, value *other);
bool gaps_is_merging(const tracer *t, const value *dict);
bool gaps_merged(tracer *t, value *dict, value *other, const Py_ssize_t *places, Py_ssize_t before);
/* The dictionary has the content that `live` had before the call. */
bool gaps_live(tracer *t, value *dict, value *live);
/* gaps_rebuild(): its recipe. gaps_arguments(): a tuple with which gaps_fill() fills an empty
 * dictionary so that it has the same table. NULL with nothing pending: putting its pairs one by one
 * makes the same table. */
recipe *gaps_rebuild(tracer *t, value *dict);
value *gaps_arguments(tracer *t, value *dict);
/* A recipe for the call type(...), whose last argument is such a dictionary. */
recipe *gaps_rebuild_filled(tracer *t, PyObject *type, value *const *args, Py_ssize_t count);
int gaps_fill(PyObject *into, PyObject *arguments);
/* Each of these records an operation on a dictionary; false: failed. gaps_put(): a pair has been
 * added at the end. gaps_remove(): the pair at items `i` will be removed (`last`: by popitem()).
 * gaps_clear(): all pairs have been removed. gaps_copy(): it is a copy(). */
bool gaps_put(tracer *t, value *dict);
bool gaps_remove(tracer *t, value *dict, Py_ssize_t i, bool last);
void gaps_clear(tracer *t, value *dict);
uint32_t gaps_count(const tracer *t, const value *dict); /* how many operations are recorded */
bool gaps_copy(tracer *t, value *copy, const value *of);
bool gaps_same(tracer *t, value *like, const value *of); /* both have the same table */

/* ---- iter.c: iterators ---- */

/* Marks a fresh iterator as what iter() or reversed() of a sequence gives: its items may be rows of
 * arrays. */
value *iter_exactly(value *iterator);
/* The iterator, moved to the position before item `at` (after it when it goes backwards). NULL with
 * nothing pending: it iterates over no sequence. */
value *iter_standing(value *iterator, Py_ssize_t at);
value *iter_indexed(tracer *t, value *v, Py_ssize_t count);
value *iter_self(tracer *t, value *v); /* the slot `iter` of iterators */
value *iterator_get_attr(tracer *t, value *v, PyObject *name);
value *iterator_next_method(tracer *t, value *v, value *const *args, Py_ssize_t count,
                            PyObject *kwnames); /* __next__ of any iterator */
value *iterator_reversed(tracer *t, value *v);  /* the slot `reversed` of iterators: raises */
/* Over the items of a dictionary (`what`: as in dict_list) or set. The iterator raises when the
 * keys of `owner` have changed. */
value *iter_watching(tracer *t, value *items, value *owner, int what, bool back);

/* ---- iter_loop.c: iterators in loops that are captured once ---- */

/* Adds what is iterated over to the state of a loop, but not the position. */
void iter_walk_bases(roll_walk *w, value *v);

/* ---- set.c: sets ---- */

bool value_is_any_set(const value *v); /* is it a set value, or a constant set? */
value *set_now(tracer *t, value *v);   /* a copy of the set in its present state */

/* ---- set_order.c: in which order Python iterates a set ---- */

/* Each of these performs an operation of the set on its table. */
void order_add(tracer *t, value *set, value *item);
void order_discard(tracer *t, value *set, value *item);
/* Where a new set comes from. order_made(): from the iterable `of`. order_twin(): it has the order
 * of the real set `like`. order_binary(): from an operator. order_call(): from a method of a set
 * whose table is `table`; that may be the table of `set` itself. */
void order_made(tracer *t, value *set, value *of);
void order_twin(tracer *t, value *set, PyObject *like);
/* The frozen set was copied again, as a class over frozenset copies its argument. Its table becomes
 * that of the copy. */
void order_copied(tracer *t, value *set);
/* The set has the items and the order of the live set that `s` reads. */
void order_live(tracer *t, value *set, const source *s, PyObject *object);
void order_binary(tracer *t, value *set, int op, PyObject *l, PyObject *r);
void order_call(tracer *t, value *set, PyObject *table, const char *method, value *const *args,
                Py_ssize_t count);
/* New references, or NULL without an exception. order_operand(): an operand of a set's method or
 * operator, with the items of the value in their order. order_view(): the keys or items of a dict.
 */
PyObject *order_operand(tracer *t, value *v);
PyObject *order_view(tracer *t, value *dict, bool items);
/* The table, borrowed. NULL: the order is not known. */
PyObject *order_table(tracer *t, value *set);
/* A list of the items in Python's order. NULL with nothing pending: the order is not known. */
value *order_items(tracer *t, value *set);
/* When order_items() is known: a real set of its own with the same items and order. A new
 * reference, or NULL. */
PyObject *order_real(tracer *t, const value *set);
Py_ssize_t order_pop(tracer *t, value *set); /* pops an item of its table: its place, or -1 */
void order_walk(roll_walk *w, const value *set);

/* ---- container.c: instances of Python classes over dict and list ---- */

/* Is it the content of an instance that was made inside? Then it cannot be a result by itself:
 * rebuilt alone it would be another object. */
bool container_holds(tracer *t, value *content);
/* Gives a live instance its content. */
bool container_wrap(tracer *t, value *v);
/* Is the instance's method of this name the builtin type's own? */
bool container_keeps(tracer *t, value *v, const char *name);
bool container_fill(tracer *t, value *v);
recipe *container_rebuild(tracer *t, value *v);

/* ---- derived.c: instances of Python classes over set, deque and the like ---- */

/* The content of an instance of a class over `base`: of a live one, and an empty one. */
value *derived_of_live(tracer *t, PyObject *object, const source *s, PyTypeObject *base);
value *derived_new(tracer *t, PyTypeObject *base);
/* As container_call(). not_implemented: self is no such instance, or capture does not follow the
 * method. */
value *derived_call(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                    PyObject *kwnames);
/* Described at scalar_attr() */
value *derived_attr(tracer *t, value *v, PyObject *name, PyObject *descr);
int derived_fill(PyObject *made, PyTypeObject *base, PyObject *content);
value *derived_make_frozen(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                           PyObject *kwnames);

#endif
