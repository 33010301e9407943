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
/* A live object as a lazy value: it is read and guarded when something needs it. */
value *value_lazy(tracer *t, PyObject *object, const source *s);
value *function_new(tracer *t, function_data *data, value *name);
/* The data of a function value (value_function_type). Adds its guards. */
function_data *function_get(tracer *t, value *v);

/* ---- exception.c: exceptions ---- */

/* Raises an exception of this type, as the user's code would. */
void *trace_raise(tracer *t, PyObject *exception_type, const char *format, ...);
/* Turns Python's pending exception into one that the traced code raises. */
void *trace_raise_live(tracer *t);
value *exception_make(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                      PyObject *kwnames);
bool exception_init(tracer *t, value *v, value *const *args, Py_ssize_t count);
void exception_set_cause(value *v, value *cause);
/* Is it a traceback? Capture knows nothing of a traceback except that it exists. */
bool value_is_traceback(const value *v);
/* The exception's traceback, or None. */
value *exception_traceback(tracer *t, value *v);
/* The exception is raised: it gets a new traceback. */
bool exception_raised(tracer *t, value *v);
/* Sets the exception's traceback. False: `traceback` is neither a traceback value nor None. */
bool exception_give(value *v, value *traceback);
value *value_exception(tracer *t, PyObject *type, value *args);
/* The class of an exception value, made inside or live. */
PyObject *exception_class(value *v);
bool value_is_exception(const value *v);
const char *exception_message(value *v);
bool exception_matches(tracer *t, value *exception, PyObject *type);
/* A source that reads the exception which the thread is handling (source.c). */
const source *handled_source(tracer *t, const char *name);
/* Guards that the caller is handling no exception. False: a failure is pending. */
bool handled_is_nothing(tracer *t);

/* ---- class_attr.c: attributes that are found on a class ---- */

/* class_lookup() of a name in a C string. */
PyObject *class_special(tracer *t, PyTypeObject *type, const char *name);
/* Guards that __mro__, the order of the bases, stays the same tuple. */
void guard_mro(tracer *t, PyTypeObject *type);
/* Is the method of this name object's own, or missing? */
bool type_keeps_default(tracer *t, PyTypeObject *type, const char *name);
/* Has a metaclass the method of `type`, and none of its own in C or Python? */
bool type_keeps_of_type(tracer *t, PyTypeObject *meta, const char *name);
PyObject *name_interned(tracer *t, const char *name); /* borrowed; NULL after a failure */
value *type_attr(tracer *t, PyObject *type, PyObject *name, value *self, PyObject *start_after);

/* ---- object.c: instances of Python classes ---- */

value *value_object_new(tracer *t, PyObject *cls);
PyObject *object_class(value *v);
/* Items of the __dict__ of a live object whose class has nothing under these names, for values of
 * types of their own. NULL with nothing pending: there is none. `item` NULL: it is deleted. */
value *object_beside_get(tracer *t, PyObject *object, const source *s, PyObject *name);
/* Has it nothing in its __dict__? Guarded. */
bool object_beside_none(tracer *t, PyObject *object, const source *s);
bool object_beside_put(tracer *t, PyObject *object, const source *s, PyObject *name, value *item);
/* A container that an attribute of a live object holds, as a lazy value. NULL with nothing pending:
 * the attribute holds something else, or has been read already. */
value *object_lazy_attr(tracer *t, value *v, PyObject *name);
bool object_store(tracer *t, value *v, PyObject *name, value *item);
/* NULL with nothing pending: it is missing. */
value *object_attr(tracer *t, value *v, PyObject *name);

/* ---- object_special.c: what operators, calls and iteration do to instances ---- */

/* The result of an object's __index__(), when its class has one and does not have the method
 * `unless` (or NULL). Else `v` itself. */
value *value_index(tracer *t, value *v, const char *unless);
/* The special method of this name, found on the type and bound to `v`. NULL with nothing pending:
 * there is none. */
value *trace_special(tracer *t, value *v, const char *name);
value *trace_method(tracer *t, value *v, const char *name, value *const *args, Py_ssize_t count);

/* ---- special.c: special methods asked for by name ---- */

/* A method of the C type that a model stands for, called through that type; not_implemented: it is
 * none. */
value *special_of_model(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                        PyObject *kwnames);

/* ---- made.c: functions, methods, generators and instances as results ---- */

recipe *partial_rebuild(tracer *t, value *v);

/* ---- classbody.c: class statements ---- */

value *class_descriptor(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                        PyObject *kwnames);
value *class_build(tracer *t, value *const *args, Py_ssize_t count, PyObject *kwnames);

#endif
