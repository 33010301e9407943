/* What the files builtins*.c share. */
#ifndef LOOM_BUILTINS_H
#define LOOM_BUILTINS_H

#include "frontend/value/value.h"

/* A row's function returns t->not_implemented when the call is not for it: an adapter may know it,
 * else it breaks. */
#define LOOM_BUILTIN(MODULE, NAME, FUNCTION)                                                       \
  value *builtin_##FUNCTION(tracer *t, const builtin_args *a);
#define LOOM_OPERATOR(NAME, FUNCTION, OP)                                                          \
  value *builtin_##FUNCTION(tracer *t, const builtin_args *a);
#define LOOM_MODEL(MODULE, NAME)
#define LOOM_PURE(MODULE, NAME)
#define LOOM_PURE_MODULE(MODULE)
#include "frontend/builtins.def"
#undef LOOM_BUILTIN
#undef LOOM_OPERATOR
#undef LOOM_MODEL
#undef LOOM_PURE
#undef LOOM_PURE_MODULE

value *partial_call(tracer *t, value *function, value *args, value *keywords, value *const *more,
                    Py_ssize_t count, PyObject *kwnames);
value *builtin_bound_call(tracer *t, PyObject *o, const builtin_args *a);

#endif
