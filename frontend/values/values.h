/* Values are made of constants, live objects and fresh ones; Python's generic protocols over them;
 * how they are made again as results. */
#ifndef LOOM_FRONTEND_VALUES_VALUES_H
#define LOOM_FRONTEND_VALUES_VALUES_H

#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "graph/graph.h"

#define TRACE_MAX_ITEMS 1000000 /* of one sequence */

/* ---- value.c: making values, identity ---- */

value *value_new(tracer *t, const value_type *type);
value *value_const(tracer *t, PyObject *object); /* no source: made here or immortal */
value *value_wrap(tracer *t, PyObject *object,
                  const source *s); /* a live object: guarded when used */
/* An object that a pure call has just made: tuples, lists, dicts and sets of builtin objects become
 * local values. Takes over the reference. */
value *value_made(tracer *t, PyObject *object);
/* The live object when the value is wholly known (constants, tuples and lists of them): a new
 * reference, NULL without an exception when some part is not known. Adds the guards that knowing it
 * needs. */
PyObject *value_known(tracer *t, value *v);
/* The same, but only when it is made of nothing but exact builtin types (numbers, str, bytes, None,
 * Ellipsis, slices, ranges, tuples, lists, dicts, sets): calling pure C functions with it runs no
 * user code. */
PyObject *value_plain(tracer *t, value *v);
bool value_known_int(tracer *t, value *v,
                     int64_t *out);           /* by __index__ of exact types; false: not known */
PyObject *value_type_of(tracer *t, value *v); /* borrowed */
bool value_has_data(const value *v); /* a number that is data, or a tuple or list with one */
/* Is the number that `s` reads to be captured as an input of the graph, not by its value? */
bool trace_symbolic(const tracer *t, const source *s);
/* The items of a live tuple or list (or of an instance of a class over them), guarded. */
value *seq_of_live(tracer *t, PyObject *object, const source *s);
bool value_is_none(const value *v);
bool object_is_nan(PyObject *object);       /* an exact float or complex that is none */
bool object_is_immutable(PyObject *object); /* says an adapter */
value *value_bool(tracer *t, bool truth);
value *value_int(tracer *t, int64_t number);
value *value_str(tracer *t, const char *text);
const source *value_source(tracer *t,
                           value *v); /* its source, or one that names its constant object */
PyObject *value_identity(tracer *t,
                         value *v); /* the live object, guarded by identity; NULL: it has none */
/* The slot `known` of objects that stand for themselves. */
PyObject *value_known_object(tracer *t, value *v, bool plain);
bool value_same(tracer *t, value *l, value *r, bool *same); /* `is`; false after a break */
/* The same object as far as containers are concerned, which look at identity before they compare.
 */
bool value_identical(tracer *t, value *l, value *r);
PyObject *value_str_object(value *v); /* borrowed exact str of a constant, or NULL */
/* A live set's items (value.c); an object of the model of `base` that stands for a live one, and
 * what such an object has by the name (model.c). */
value *set_of_live(tracer *t, PyObject *object, const source *s, bool frozen);

/* Looks at it now, where nothing has: the value, or NULL. */
static inline value *value_looked_at(tracer *t, value *v) {
  return value_is_lazy(v) ? value_wrap(t, v->object, v->source) : v;
}

/* ---- trace_proto.c: Python's generic protocols ---- */

/* Generic protocols with Python's own dispatch order. */
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
/* The same as list() and tuple() do it, which ask an object how many there are when they have its
 * iterator. */
value *trace_listed(tracer *t, value *v);
bool trace_ask_count(tracer *t, value *v); /* the question alone */
/* The same for what makes a list of other iterables first (PySequence_Fast): those are asked for an
 * iterator, and that one for its own. */
value *trace_fast(tracer *t, value *v);
/* Are the items made one by one while they are taken, maybe by code that shows it? Those of other
 * values are there already. */
bool value_items_come(const value *v);
/* For builtins that do something with each item before they take the next: an iterator, over the
 * items that are there or over those that come. */
value *trace_each(tracer *t, value *v);
value *trace_not_implemented(tracer *t); /* a marker value for binary and compare slots */
value *trace_call1(tracer *t, value *callee, value *arg);
value *trace_call_list(tracer *t, value *callee, value *args,
                       value *kwargs); /* f(*args, **kwargs) */
int trace_contains(tracer *t, value *v, value *item);
/* The same by its iterator, which goes no further than to the item. */
int trace_search(tracer *t, value *v, value *item);
value *trace_length(tracer *t, value *v);
bool trace_set_item(tracer *t, value *v, value *key, value *item);
bool trace_is_no_index(tracer *t, value *key);
bool trace_set_attr(tracer *t, value *v, PyObject *name, value *item);
/* The slot set_attr of what has no attributes of its own: raises. */
bool attributes_refused(tracer *t, value *v, PyObject *name, value *item);

/* ---- assume.c: decisions on data that are checked by the run ---- */

/* From here on `condition`, a bool, is taken to be `truth`: when it is not, the plain function runs
 * (assume.c). */
bool trace_assume(tracer *t, loom_value condition, bool truth);
/* assume.c: what is decided when the plan runs. */
loom_value trace_condition(tracer *t,
                           value *v); /* the truth of v as a bool of the graph; LOOM_NO_VALUE:
                                         known, or nothing that can be computed there */
value *trace_condition_value(tracer *t, loom_value condition); /* as a Python bool */
/* `yes` where the condition holds, else `no`, when both are numbers of one type; NULL with nothing
 * pending when they are not. */
value *trace_choose(tracer *t, loom_value condition, value *yes, value *no);
/* A conditional jump one way of which surely raises is taken the other way: 1 or 0 is the truth to
 * go on with, -1 that there is none. */
int jump_assumed(tracer *t, const frame *f, const loom_instr *in, bool when, value *v);

/* ---- rebuild.c: recipes of values ---- */

recipe *trace_rebuild(tracer *t, value *v); /* RECIPE_SHARED when the value was asked for before */
/* Rebuilds the items of a container (v->seq) into the recipe `r`, which it gives back. */
recipe *trace_rebuild_items(tracer *t, recipe *r, value *v);
/* A call of `function`, whose reference it takes, with these values. */
recipe *trace_rebuild_call(tracer *t, PyObject *function, value *const *args, Py_ssize_t count);

/* ---- rules.c: functions that the user has marked ---- */

/* rules.c: functions that the user has marked: custom operators, those allowed and not allowed in
 * the graph. */
PyObject *loom_py_set_rule(PyObject *module, PyObject *args);
/* The call of a marked object: NULL with nothing pending when it is not marked. */
value *rules_call(tracer *t, value *callee, value *const *args, Py_ssize_t count,
                  PyObject *kwnames);
extern Py_ssize_t loom_rule_count;

/* ---- finalizers.c: code that runs when an object is let go ---- */

/* finalizers.c: an object that the frame's name or stack gives up. False after a break: somebody
 * may see it die. */
bool trace_lets_go(tracer *t, const frame *f, const value *v);
/* A live cell, attribute or variable comes to hold `item` (NULL: nothing) in place of `before`. */
bool trace_gives_up(tracer *t, PyObject *before, const value *item);
/* So does an item of a live dictionary; `count` items of a list are given up, which is a live one,
 * the items of a live deque, or neither. */
bool trace_gives_up_item(tracer *t, PyObject *before, const value *item);
bool trace_gives_up_items(tracer *t, const value *list, Py_ssize_t from, Py_ssize_t count);

/* ---- instance.c: making instances of Python classes ---- */

/* values/instance.c: */
value *object_allocate(tracer *t, PyObject *cls);
bool loom_class_is_python(PyTypeObject *type); /* defined by a class statement over object */
value *object_make(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                   PyObject *kwnames);

/* ---- copy.c: copy.copy() and copy.deepcopy() ---- */

value *copy_shallow(tracer *t, value *v);
/* `memo`: what a __deepcopy__ was given, to hand on; or NULL. */
value *copy_deeply(tracer *t, value *v, value *memo);
/* Slots: */
value *copy_same(tracer *t, value *v, struct copy_memo *memo); /* the object itself */
value *copy_const(tracer *t, value *v, struct copy_memo *memo);
value *copy_tuple(tracer *t, value *v, struct copy_memo *memo);
value *copy_list(tracer *t, value *v, struct copy_memo *memo);
value *copy_dict(tracer *t, value *v, struct copy_memo *memo);
value *copy_set(tracer *t, value *v, struct copy_memo *memo);
value *copy_object(tracer *t, value *v, struct copy_memo *memo);

/* ---- model.c: C types that capture follows in Python ---- */

typedef struct builtin_args {
  PyObject *callee;
  value *const *args;
  Py_ssize_t count;
  PyObject *kwnames; /* their values follow the `count` arguments */
  const char *name;
  int op; /* of an operator */
} builtin_args;

value *model_of_live(tracer *t, PyObject *object, const source *s, PyTypeObject *base);
value *model_part(tracer *t, value *v, const char *name);
PyObject *model_real(PyObject *cls); /* the type that a model class stands for, or `cls` itself */
/* An attribute of the model itself, which an object of the original does not have. */
bool model_is_private(tracer *t, PyObject *cls, PyObject *name);
/* What a model's own code sees in an instance of a class over its type, as C code looks into one;
 * else NULL. */
value *model_of_instance(tracer *t, value *v, PyObject *name);
/* The name of a special method of a model's class, or of what stands for it where it is asked for
 * by name: it does without what an operator does first. NULL after a failure. */
PyObject *model_named(tracer *t, PyObject *cls, PyObject *name);
recipe *model_rebuild(tracer *t, value *v);
bool object_is_modelled(PyObject *object); /* a live one that has a model */
bool model_is_of(PyTypeObject *type);      /* it has one */
value *model_wrap(tracer *t, PyObject *object, const source *s);
/* What a deque (maxlen) or defaultdict (default_factory) keeps beside its items. */
const char *model_setting(const PyObject *object);
value *model_items(tracer *t, value *v);                /* the list value of one for a live deque */
value *builtin_model(tracer *t, const builtin_args *a); /* model.c */

/* ---- text.c: str() and repr() ---- */

value *trace_repr(tracer *t, value *v);
value *trace_str(tracer *t, value *v);
value *const_text(tracer *t, value *v, bool repr); /* slots */
value *object_text(tracer *t, value *v, bool repr);
/* What a special method of an object gives, which has to be of exactly this type: of subclasses
 * CPython warns, all else it refuses. not_implemented: `v` is no such object, or has no such
 * method. */
value *special_or_pass(tracer *t, value *v, const char *name, PyTypeObject *type);

/* ---- real.c: calling a pure C function at capture ---- */

value *call_real(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                 PyObject *kwnames);

#endif
