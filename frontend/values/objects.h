/* Functions, instances, classes, exceptions, and methods of builtin values. */
#ifndef LOOM_FRONTEND_VALUES_OBJECTS_H
#define LOOM_FRONTEND_VALUES_OBJECTS_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"

/* Methods of builtin values, found by name. */
typedef struct builtin_method {
  const char *name;
  value *(*call)(tracer *t, value *self, value *const *args, Py_ssize_t count, PyObject *kwnames);
} builtin_method;

typedef struct partial_data {
  value *function, *args, *keywords;
  PyObject *type;
} partial_data;

/* ---- function.c: functions, bound methods, cells, super() ---- */

value *value_method(tracer *t, value *function, value *self);
value *value_lazy(tracer *t, PyObject *object, const source *s); /* not looked at yet */
/* Functions and objects. */
value *function_new(tracer *t, function_data *data, value *name);
function_data *function_get(tracer *t, value *v); /* of a value_function_type, with its guards */
value *builtin_method_of(tracer *t, const builtin_method *row, value *self);
value *builtin_method_find(tracer *t, const builtin_method *table, value *self, PyObject *name);

/* ---- exception.c: exceptions ---- */

/* The three ways in which a step can end besides well: */
void *trace_raise(tracer *t, PyObject *exception_type, const char *format,
                  ...);            /* as the user's code would raise */
void *trace_raise_live(tracer *t); /* turns the pending Python exception into a traced one */
value *exception_make(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                      PyObject *kwnames);
bool exception_init(tracer *t, value *v, value *const *args, Py_ssize_t count);
void exception_set_cause(value *v, value *cause);
/* What is known of a traceback is that there is one. */
bool value_is_traceback(const value *v);
value *exception_traceback(tracer *t, value *v); /* None, or the one of when it was last raised */
bool exception_raised(tracer *t, value *v);      /* it now has another one */
bool exception_give(value *v,
                    value *traceback); /* false: this is no traceback that is known, nor None */
value *value_exception(tracer *t, PyObject *type, value *args);
/* Of one made inside, or a live one: */
PyObject *exception_class(value *v);
bool value_is_exception(const value *v);
value *exception_stop_value(tracer *t, value *stop); /* of a StopIteration */
void *trace_raise_key(tracer *t, value *key);        /* KeyError(key) */
const char *exception_message(value *v);
bool exception_matches(tracer *t, value *exception, PyObject *type);
const source *handled_source(tracer *t, const char *name); /* what reads it: see read_handled() */
/* Guards that it is nothing; false: something is pending. */
bool handled_is_nothing(tracer *t);

/* ---- object.c: instances of Python classes ---- */

/* What an object's own __index__() gives, where it has one and does not have the method `unless`
 * (or NULL); else `v` itself. */
value *value_index(tracer *t, value *v, const char *unless);
/* What a class has by a name along its bases, or NULL (borrowed): guarded to stay that, where
 * classes can be changed. */
PyObject *class_lookup(tracer *t, PyTypeObject *type, PyObject *name);
PyObject *class_special(tracer *t, PyTypeObject *type, const char *name);
void guard_mro(tracer *t, PyTypeObject *type); /* its bases are what they are */
bool type_keeps_default(tracer *t, PyTypeObject *type, const char *name);
value *value_object_new(tracer *t, PyObject *cls);
PyObject *object_class(value *v);
bool object_is_virtual(value *v);
bool object_is_namespace(PyObject *object); /* an exact types.SimpleNamespace */
/* A container that an attribute of a live object holds, not looked at yet; NULL with nothing
 * pending: it is none, or has been. */
value *object_lazy_attr(tracer *t, value *v, PyObject *name);
bool type_store(tracer *t, value *v, PyObject *name, value *item);
bool object_store(tracer *t, value *v, PyObject *name, value *item);
int object_give(PyObject *made, PyObject *name, PyObject *item);
recipe *object_rebuild_attributes(tracer *t, value *v);
/* The __dict__ of an object made here, as part of that; NULL with nothing pending: it is none. */
recipe *object_rebuild_dict(tracer *t, value *dict);
PyObject *name_interned(tracer *t, const char *name);    /* borrowed; NULL after a failure */
value *object_attr(tracer *t, value *v, PyObject *name); /* NULL with nothing pending: missing */
/* Of a live one's __dict__, whatever the class says of the name; NULL: deleted. */
value *object_own_attr(tracer *t, value *v, PyObject *name);
/* It has to stay a data descriptor, or none (`descr` may be NULL). */
void guard_data_descriptor(tracer *t, PyObject *descr);
bool object_own_put(tracer *t, value *v, PyObject *name, value *item);
value *type_attr(tracer *t, PyObject *type, PyObject *name, value *self, PyObject *start_after);
value *trace_special(tracer *t, value *v,
                     const char *name); /* bound, from the type; NULL without pending: none */
value *trace_method(tracer *t, value *v, const char *name, value *const *args, Py_ssize_t count);
const char *object_operator_name(int op); /* "add", ... (object.c) */

/* ---- special.c: special methods asked for by name ---- */

/* special.c: the row of a special method that is asked for by name, or NULL; and a method of the
 * type that a model stands for, called through the type (or not_implemented). */
const builtin_method *special_find(const value *self, const char *name);
value *special_of_model(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                        PyObject *kwnames);

/* ---- cached.c: functools.lru_cache ---- */

value *cached_call(tracer *t, value *wrapper, value *const *args, Py_ssize_t count,
                   PyObject *kwnames);

/* ---- made.c: functions, methods and generators as results ---- */

recipe *function_rebuild_made(tracer *t, value *v);
recipe *method_rebuild_made(tracer *t, value *v);
recipe *cell_rebuild_made(tracer *t, value *v);
recipe *partial_rebuild(tracer *t, value *v);
recipe *generator_rebuild(tracer *t, value *v);

/* ---- classbody.c: class statements ---- */

value *class_descriptor(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                        PyObject *kwnames);
value *class_build(tracer *t, value *const *args, Py_ssize_t count, PyObject *kwnames);

#endif
