/* How values are made of constants, live objects and fresh ones; Python's generic protocols over
 * them; how they are rebuilt as results. */
#ifndef LOOM_FRONTEND_VALUES_VALUES_H
#define LOOM_FRONTEND_VALUES_VALUES_H

#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "graph/graph.h"

/* ---- value.c: making values, identity ---- */

value *value_new(tracer *t, const value_type *type);
value *value_const(tracer *t, PyObject *object); /* no source: made here or immortal */
/* The live object of a value, guarded by identity; NULL: there is none. */
PyObject *value_identity(tracer *t, value *v);
bool trace_constants_init(trace_constants *c, tracer *t); /* false with an exception */
/* A live object: guarded when used. */
value *value_wrap(tracer *t, PyObject *object, const source *s);
/* An object that a pure call has just made: tuples, lists, dicts and sets of builtin objects become
 * local values. Takes over the reference. */
value *value_made(tracer *t, PyObject *object);
/* The live object when the value is wholly known (constants, tuples and lists of them): a new
 * reference, NULL without an exception when some part is not known. Adds the guards that knowing it
 * needs. */
PyObject *value_known(tracer *t, value *v);
/* value_known(), but only when the object is made of nothing but exact builtin types (numbers, str,
 * bytes, None, Ellipsis, slices, ranges, tuples, lists, dicts, sets): pure C functions called with
 * it run no user code. */
PyObject *value_plain(tracer *t, value *v);
/* By __index__ of exact types; false: not known. */
bool value_known_int(tracer *t, value *v, int64_t *out);
PyObject *value_type_of(tracer *t, value *v); /* borrowed */
/* Is it a number that the graph computes, or a tuple or list with one? */
bool value_has_data(const value *v);
/* Is the number that `s` reads an input of the graph, instead of a constant with a guard on its
 * value? */
bool trace_symbolic(const tracer *t, const source *s);
bool value_is_none(const value *v);
bool object_is_nan(PyObject *object);       /* is it an exact float or complex with a NaN? */
bool object_is_immutable(PyObject *object); /* does an adapter say that it never changes? */
value *value_bool(tracer *t, bool truth);
value *value_int(tracer *t, int64_t number);
value *value_str(tracer *t, const char *text);
bool value_same(tracer *t, value *l, value *r, bool *same); /* `is`; false after a break */
PyObject *value_str_object(value *v); /* borrowed exact str of a constant, or NULL */
/* A value that names something: a borrowed exact str. NULL after a break, where it is a text that
 * is not known or not exactly a str, or after a TypeError with this message. */
PyObject *value_name(tracer *t, value *v, const char *what, const char *message);

/* The value itself, where `v` is lazy: it is looked at now. NULL: that failed. */
static inline value *value_looked_at(tracer *t, value *v) {
  return value_is_lazy(v) ? value_wrap(t, v->object, v->source) : v;
}

/* ---- trace_proto.c: Python's generic protocols ---- */

value *trace_unary(tracer *t, int op, value *v);
value *trace_binary(tracer *t, int op, value *l, value *r, bool inplace);
value *trace_compare(tracer *t, int op, value *l, value *r);
int trace_truth(tracer *t, value *v);
value *trace_get_item(tracer *t, value *v, value *key);
value *trace_get_attr(tracer *t, value *v, PyObject *name);
value *trace_call(tracer *t, value *callee, value *const *args, Py_ssize_t count,
                  PyObject *kwnames);
value *trace_iter(tracer *t, value *v);
value *trace_next(tracer *t, value *v);
/* Unpacks any iterable of known length into a tuple value. */
value *trace_to_tuple(tracer *t, value *v);
/* trace_to_tuple() as list() and tuple() do it: they ask an object for its length when they have
 * its iterator. */
value *trace_listed(tracer *t, value *v);
/* trace_to_tuple() as PySequence_Fast() does it: it asks other iterables than lists and tuples for
 * an iterator, and that iterator for its own. */
value *trace_fast(tracer *t, value *v);
/* Does iterating over `v` run code for each item (a generator, a map)? The items of other values
 * exist already. */
bool value_items_come(const value *v);
/* For builtins that do something with each item before they take the next one: an iterator over
 * `v`. */
value *trace_each(tracer *t, value *v);
value *trace_not_implemented(tracer *t); /* a marker value for binary and compare slots */
value *trace_call1(tracer *t, value *callee, value *arg);
/* f(*args, **kwargs) */
value *trace_call_list(tracer *t, value *callee, value *args, value *kwargs);
int trace_contains(tracer *t, value *v, value *item);
value *trace_length(tracer *t, value *v);
bool trace_set_item(tracer *t, value *v, value *key, value *item);
bool trace_set_attr(tracer *t, value *v, PyObject *name, value *item);

/* ---- assume.c: decisions on data that are checked by the run ---- */

/* Assumes that `condition`, a bool of the graph, is `truth`. The run checks it: when it is not, the
 * plain function runs. */
bool trace_assume(tracer *t, loom_value condition, bool truth);
/* The truth of `v` as a bool of the graph. LOOM_NO_VALUE: it is known, or the graph cannot compute
 * it. */
loom_value trace_condition(tracer *t, value *v);
/* A bool of the graph as a Python bool. */
value *trace_condition_value(tracer *t, loom_value condition);
/* A value that is `yes` where the condition holds and `no` where it does not: two numbers of one
 * type. NULL with nothing pending: they are something else. */
value *trace_choose(tracer *t, loom_value condition, value *yes, value *no);
/* A conditional jump with one way that surely raises: capture assumes the other way. The truth to
 * go on with (1 or 0), or -1: it is no such jump. */
int jump_assumed(tracer *t, const frame *f, const loom_instr *in, bool when, value *v);

/* ---- rebuild.c: recipes of values ---- */

recipe *trace_rebuild(tracer *t, value *v); /* RECIPE_SHARED when the value was asked for before */
/* A recipe whose object is made once, however often it is asked for. */
recipe *trace_share(tracer *t, recipe *r);
/* The object itself, whose reference it takes; NULL, with something pending, where that is NULL. */
recipe *trace_rebuild_const(tracer *t, PyObject *object);

/* ---- rules.c: functions that the user has marked ---- */

/* For the module's table: marks a function as a custom operator, as allowed in the graph, or as not
 * allowed. */
PyObject *loom_py_set_rule(PyObject *module, PyObject *args);
extern Py_ssize_t loom_rule_count;

/* ---- finalizers.c: code that runs when an object is let go ---- */

/* The frame gives up its reference to `v`. False after a break: that would run a finalizer, or
 * somebody would see the object die. */
bool trace_lets_go(tracer *t, const frame *f, const value *v);
/* A live cell, attribute or variable gets `item` (NULL: it is deleted) in place of `before`. False
 * after a break, as above. */
bool trace_gives_up(tracer *t, PyObject *before, const value *item);

/* ---- instance.c: making instances of Python classes ---- */

value *object_allocate(tracer *t, PyObject *cls);
/* Is it a class of a class statement, over object and other such classes? */
bool loom_class_is_python(PyTypeObject *type);
value *object_make(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                   PyObject *kwnames);

/* ---- copy.c: copy.copy() and copy.deepcopy() ---- */

value *copy_shallow(tracer *t, value *v);
/* `memo`: what a __deepcopy__ was given, to hand on; or NULL. */
value *copy_deeply(tracer *t, value *v, value *memo);

/* ---- model.c: C types that capture follows in Python ---- */

typedef struct builtin_args {
  PyObject *callee;
  value *const *args;
  Py_ssize_t count;
  PyObject *kwnames; /* their values follow the `count` arguments */
  const char *name;
  int op; /* of an operator */
} builtin_args;

/* The C type that a model class stands for; `cls` itself, when it is no model. */
PyObject *model_real(PyObject *cls);
/* A call of a function or type that has a model. */
value *builtin_model(tracer *t, const builtin_args *a);

/* ---- context.c: context variables ---- */

/* A call of the method `name` of contextvars.ContextVar; not_implemented: capture does not follow
 * this call. */
value *context_call(tracer *t, const char *name, value *const *args, Py_ssize_t count);
/* Does a variable hold something else than before the call? */
bool context_is_set(const tracer *t);

/* ---- text.c: str() and repr() ---- */

value *trace_repr(tracer *t, value *v);
value *trace_str(tracer *t, value *v);
/* The result of a special method, which has to be of exactly this type: of subclasses CPython
 * warns, and it refuses other types. not_implemented: `v` is no instance, or has no such method. */
value *special_or_pass(tracer *t, value *v, const char *name, PyTypeObject *type);

/* ---- real.c: calling a pure C function at capture ---- */

value *call_real(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                 PyObject *kwnames);

#endif
