/* Of making values, Python's protocols, results: what the files of this folder share. */
#ifndef LOOM_FRONTEND_VALUES_VALUES_INTERNAL_H
#define LOOM_FRONTEND_VALUES_VALUES_INTERNAL_H

#include "frontend/values/values.h"

/* ---- value.c: making values, identity ---- */

/* The source of a value, or one for its constant object. */
const source *value_source(tracer *t, value *v);
/* A live set as a set value, guarded. */
value *set_of_live(tracer *t, PyObject *object, const source *s, bool frozen);
/* The items of a live tuple or list (or of an instance of a class over them), guarded. */
value *seq_of_live(tracer *t, PyObject *object, const source *s);
/* The slot `known` of values that are their live object. */
PyObject *value_known_object(tracer *t, value *v, bool plain);
/* Are two values one object, as containers ask before they compare by ==? */
bool value_identical(tracer *t, value *l, value *r);

/* ---- const.c: constants ---- */

/* Is it known to the last bit, so that the library's own code may look at it? */
bool const_readable(value *v);

/* ---- const_attr.c: attributes of constants ---- */

/* Slots. */
value *const_get_attr(tracer *t, value *v, PyObject *name);
bool const_set_attr(tracer *t, value *v, PyObject *name, value *item);

/* ---- trace_proto.c: Python's generic protocols ---- */

/* Asks an object for its length, as list() does, and ignores the answer. */
bool trace_ask_count(tracer *t, value *v);
/* The slot set_attr of values without attributes of their own: raises. */
bool attributes_refused(tracer *t, value *v, PyObject *name, value *item);
/* trace_contains() by iteration, which stops at the item. */
int trace_search(tracer *t, value *v, value *item);
bool trace_is_no_index(tracer *t, value *key);

/* ---- rebuild.c: recipes of values ---- */

/* A call of `function`, whose reference it takes, with these values. */
recipe *trace_rebuild_call(tracer *t, PyObject *function, value *const *args, Py_ssize_t count);
/* Rebuilds the items of a container (v->seq) into the recipe `r`, which it gives back. */
recipe *trace_rebuild_items(tracer *t, recipe *r, value *v);

/* ---- rules.c: functions that the user has marked ---- */

/* The call of a marked object: NULL with nothing pending when it is not marked. */
value *rules_call(tracer *t, value *callee, value *const *args, Py_ssize_t count,
                  PyObject *kwnames);

/* ---- finalizers.c: code that runs when an object is let go ---- */

/* trace_gives_up() for an item of a live dictionary, and for `count` items of a list value (live,
 * of a live deque, or made inside). */
bool trace_gives_up_item(tracer *t, PyObject *before, const value *item);
bool trace_gives_up_items(tracer *t, const value *list, Py_ssize_t from, Py_ssize_t count);

/* ---- copy.c: copy.copy() and copy.deepcopy() ---- */

/* Functions for the slot `copy` of value types. */

value *copy_const(tracer *t, value *v, struct copy_memo *memo);
/* Of immutable objects: the value itself. */
value *copy_same(tracer *t, value *v, struct copy_memo *memo);
value *copy_tuple(tracer *t, value *v, struct copy_memo *memo);
value *copy_list(tracer *t, value *v, struct copy_memo *memo);
value *copy_dict(tracer *t, value *v, struct copy_memo *memo);
value *copy_set(tracer *t, value *v, struct copy_memo *memo);
value *copy_object(tracer *t, value *v, struct copy_memo *memo);

/* ---- model.c: C types that capture follows in Python ---- */

/* An object of the model of `base` that stands for a live object. */
value *model_of_live(tracer *t, PyObject *object, const source *s, PyTypeObject *base);
/* An attribute of a model object, by name. */
value *model_part(tracer *t, value *v, const char *name);
/* Is it an attribute of the model alone, which objects of the C type do not have? */
bool model_is_private(tracer *t, PyObject *cls, PyObject *name);
/* For the code of a model: a private attribute of the content that an instance of a class over the
 * C type holds. NULL: it is no such attribute. */
value *model_of_instance(tracer *t, value *v, PyObject *name);
/* The name under which a model has a special method that is called by name: `_named__x__` where it
 * has one, since an operator checks its operand first. NULL after a failure. */
PyObject *model_named(tracer *t, PyObject *cls, PyObject *name);
recipe *model_rebuild(tracer *t, value *v);
bool object_is_modelled(PyObject *object); /* is it a live object of a type that has a model? */
bool model_is_of(PyTypeObject *type);      /* does the type have a model? */
value *model_wrap(tracer *t, PyObject *object, const source *s);
/* The setting that a live object keeps beside its items: "maxlen" of a deque, "default_factory" of
 * a defaultdict. */
const char *model_setting(const PyObject *object);
/* The list of items of the model object for a live deque. */
value *model_items(tracer *t, value *v);

/* ---- model_attr.c: attributes of an OrderedDict ---- */

/* Is it a name that only the attributes of an OrderedDict may have, for code outside of models? */
bool model_has_attribute(tracer *t, value *v, PyObject *name);
value *model_get_attribute(tracer *t, value *v, PyObject *name);
/* `item` NULL: it is deleted. */
bool model_set_attribute(tracer *t, value *v, PyObject *name, value *item);
/* A dict of the attributes, for copies. NULL with nothing pending: there are none. */
value *model_attributes(tracer *t, value *v);
bool model_give_attributes(tracer *t, value *v, value *attributes); /* to one made inside */
recipe *model_rebuild_attributes(tracer *t, value *v, recipe *made);

/* ---- text.c: str() and repr() ---- */

value *const_text(tracer *t, value *v, bool repr); /* slots */
value *object_text(tracer *t, value *v, bool repr);

#endif
