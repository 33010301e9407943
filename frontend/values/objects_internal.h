/* Of functions, instances, classes and exceptions: what the files of this folder share. */
#ifndef LOOM_FRONTEND_VALUES_OBJECTS_INTERNAL_H
#define LOOM_FRONTEND_VALUES_OBJECTS_INTERNAL_H

#include "frontend/values/objects.h"

/* ---- function.c: functions, bound methods, cells, super() ---- */

value *builtin_method_find(tracer *t, const builtin_method *table, value *self, PyObject *name);

/* ---- exception.c: exceptions ---- */

value *exception_stop_value(tracer *t, value *stop); /* of a StopIteration */
void *trace_raise_key(tracer *t, value *key);        /* KeyError(key) */

/* ---- class_attr.c: attributes that are found on a class ---- */

/* Looks a name up in a class and its bases: borrowed, or NULL. Adds a guard on the answer unless
 * the class cannot be changed. */
PyObject *class_lookup(tracer *t, PyTypeObject *type, PyObject *name);
/* The item of this name in the first base that has one, from the one behind `after` on (NULL: from
 * the first one): borrowed, with that base; NULL: there is none. */
PyObject *class_find(PyObject *type, PyObject *name, PyObject *after, PyObject **where_out);
value *class_wrap_constant(tracer *t, PyObject *object);
/* Are instances of this class properties, which behave as Python's own do? */
bool class_is_property(PyTypeObject *kind);
/* Guards that a class of descriptors keeps these methods, or goes on to have none of them. */
void guard_descriptor(tracer *t, PyTypeObject *kind, const char *const *names);
/* Guards that `descr` (may be NULL) stays a data descriptor, or stays none. */
void guard_data_descriptor(tracer *t, PyObject *descr);

/* ---- object.c: instances of Python classes ---- */

/* What is in a slot of an instance (__slots__); `descr`: the slot's descriptor. NULL with nothing
 * pending: nothing. */
value *object_slot(tracer *t, value *v, PyObject *name, PyObject *descr);
/* Does the object have a dict value of attributes: was it made inside? */
bool object_is_virtual(value *v);
value *object_attributes(const value *v); /* that dict, or NULL */
/* The slots of value_object_type. */
value *object_get_attr(tracer *t, value *v, PyObject *name);
bool object_set_attr(tracer *t, value *v, PyObject *name, value *item);
/* An item of a live object's __dict__, whatever the class has under that name. NULL with nothing
 * pending: there is none. */
value *object_own_attr(tracer *t, value *v, PyObject *name);
bool type_store(tracer *t, value *v, PyObject *name, value *item);
bool type_is_namespace(const PyTypeObject *type); /* types.SimpleNamespace itself */
bool object_is_data_descriptor(PyObject *item);
value *object_dict(tracer *t, value *v); /* its __dict__, where it has one */
bool object_own_put(tracer *t, value *v, PyObject *name, value *item);

/* ---- object_special.c: what operators, calls and iteration do to instances ---- */

/* "add" for the operator +, and so on. */
const char *object_operator_name(int op);

/* ---- special.c: special methods asked for by name ---- */

/* The row of a special method that is asked for by name, or NULL. */
const builtin_method *special_find(const value *self, const char *name);

/* ---- made.c: functions, methods, generators and instances as results ---- */

/* Sets an attribute of an object that a run has just made, in its __dict__ or slot: runs no
 * property of the class. */
int object_give(PyObject *made, PyObject *name, PyObject *item);
recipe *object_rebuild_attributes(tracer *t, value *v);
/* A recipe for the __dict__ of an object made inside: it is read from that object. NULL with
 * nothing pending: it is no such dictionary. */
recipe *object_rebuild_dict(tracer *t, value *dict);
recipe *object_rebuild(tracer *t, value *v); /* an instance, live or made inside */
recipe *function_rebuild_made(tracer *t, value *v);
recipe *method_rebuild_made(tracer *t, value *v);
recipe *cell_rebuild_made(tracer *t, value *v);
recipe *generator_rebuild(tracer *t, value *v);

/* ---- cached.c: functools.lru_cache ---- */

value *cached_call(tracer *t, value *wrapper, value *const *args, Py_ssize_t count,
                   PyObject *kwnames);

#endif
