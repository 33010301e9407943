/* Derivatives inside of a capture: what the files that compute them share. */
#ifndef LOOM_FRONTEND_NUMPY_GRADIENT_INTERNAL_H
#define LOOM_FRONTEND_NUMPY_GRADIENT_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "graph/emit.h"
#include "graph/gradient.h"

/* ---- gradient.c: derivatives ---- */

/* The number behind a float, NumPy's float or array; LOOM_NO_VALUE: raised or broken. */
loom_value np_gradient_node(tracer *t, value *v, const char *what);
/* A value of the graph that nothing else is; LOOM_NO_VALUE of LOOM_NO_VALUE. */
loom_value np_gradient_own(tracer *t, loom_value v);
/* A value of the graph as the kind of `like`: a float, NumPy's scalar, an array. */
value *np_gradient_value(tracer *t, const value *like, loom_value node);
/* What `rule` gave for the value `of`, converted to its type; LOOM_NO_VALUE: zero, or it failed. */
loom_value np_gradient_given(tracer *t, loom_emitter *b, const char *rule, loom_value of,
                             value *given);

/* ---- gradient_known.c: functions whose derivative the user knows ---- */

/* All calls of such functions, in the order of their nodes. */
const loom_gradient_known *np_known_rules(tracer *t, uint32_t *count);
bool np_known_rule(const loom_gradient_step *s, const loom_gradient_known *known,
                   loom_value *found);

#endif
