/* What the files of library/ share: the functions that rows of builtins.def name. */
#ifndef LOOM_FRONTEND_LIBRARY_INTERNAL_H
#define LOOM_FRONTEND_LIBRARY_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/values.h"

/* ---- builtins_types.c ---- */

/* For builtins with an argument that has to be an int: an int of an int or a bool. NULL after a
 * break: the interpreter has to raise for other arguments. */
value *value_whole(tracer *t, value *v);
/* The value of a keyword, or NULL. */
value *builtin_keyword(const builtin_args *a, const char *name);
/* Raises TypeError unless the counts fit and there are no keywords but those of the NULL-terminated
 * list. */
bool builtin_check(tracer *t, const builtin_args *a, Py_ssize_t least, Py_ssize_t most,
                   const char *const *keywords);

/* type.__instancecheck__(cls, v); not_implemented: it is not followed. */
value *trace_type_check(tracer *t, PyObject *cls, value *v);

/* ---- builtins.c ---- */

/* The functions of the rows of builtins.def. A function returns t->constants.not_implemented for a
 * call that it does not handle: then an adapter may know the call, else capture breaks. */
#define LOOM_BUILTIN(MODULE, NAME, FUNCTION)                                                       \
  value *builtin_##FUNCTION(tracer *t, const builtin_args *a);
#define LOOM_OPERATOR(NAME, FUNCTION, OP)                                                          \
  value *builtin_##FUNCTION(tracer *t, const builtin_args *a);
#define LOOM_MODEL(MODULE, NAME)
#define LOOM_PURE(MODULE, NAME)
#define LOOM_PURE_MODULE(MODULE)
#include "frontend/library/builtins.def"
#undef LOOM_BUILTIN
#undef LOOM_OPERATOR
#undef LOOM_MODEL
#undef LOOM_PURE
#undef LOOM_PURE_MODULE

/* ---- builtins_iter.c ---- */

/* A call of a functools.partial with more arguments. */
value *partial_call(tracer *t, value *function, value *args, value *keywords, value *const *more,
                    Py_ssize_t count, PyObject *kwnames);
/* A call of a builtin method bound to a type: object.__new__(cls), tuple.__new__(cls, ...) and the
 * like. */
value *builtin_bound_call(tracer *t, PyObject *o, const builtin_args *a);

#endif
