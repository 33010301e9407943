/* Context variables (contextvars.ContextVar): what they hold while capture follows the function.
 *
 * A value that is set has to be reset by the end: the context itself is never changed by a run.
 * What a variable holds before the call is read and guarded when it is first asked for. */
#include "frontend/base/base.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <string.h>

typedef struct context_value {
  struct context_value *next;
  PyObject *variable; /* borrowed */
  value *before;      /* what it held before the call; NULL: nothing */
  value *now;
} context_value;

/* ---- tokens: `any.a` is what the variable held before, `any.b` the variable ---- */

static PyObject *token_python_type(tracer *t, value *v) { return (PyObject *)&PyContextToken_Type; }

static recipe *token_rebuild(tracer *t, value *v) {
  return trace_break(t, BREAK_SIDE_EFFECT, "a context variable stays set");
}

static const value_type token_type = {
    .name = "Token", .python_type = token_python_type, .rebuild = token_rebuild};

/* ---- what a variable holds ---- */

static const source *context_source(tracer *t, value *variable) {
  PyObject *key = trace_keep(t, PyUnicode_InternFromString("get()"));
  const source *s = variable->source;
  if (!s) s = trace_source(t, SOURCE_CONST, NULL, variable->object, NULL, 0);
  return s && key ? trace_source(t, SOURCE_DERIVED, s, NULL, key, 0) : NULL;
}

static context_value *context_of(tracer *t, value *variable) {
  context_value *c = t->live.contexts;
  while (c && c->variable != variable->object)
    c = c->next;
  if (c) return c;
  const source *s = context_source(t, variable);
  PyObject *live = context_read(variable->object);
  if (live && !trace_keep(t, live)) return NULL;
  c = s ? trace_alloc(t, sizeof *c) : NULL;
  if (!c) return NULL;
  if (!live) guard_simple(t, GUARD_MISSING, s, NULL, 0);
  if (live && !(c->before = value_wrap(t, live, s))) return NULL;
  c->variable = variable->object;
  c->now = c->before;
  c->next = t->live.contexts;
  return t->live.contexts = c;
}

static value *context_get(tracer *t, const context_value *c, value *const *args, Py_ssize_t count) {
  if (c->now) return c->now;
  return count == 2 ? args[1] : trace_raise(t, PyExc_LookupError, "%R", c->variable);
}

static value *context_set(tracer *t, context_value *c, value *variable, value *now) {
  value *token = value_new(t, &token_type);
  t->live.changes++;
  if (!token) return NULL;
  token->any.a = c->now;
  token->any.b = variable;
  c->now = now;
  return token;
}

static value *context_reset(tracer *t, context_value *c, value *token) {
  const value *variable = token->type == &token_type ? token->any.b : NULL;
  if (!variable || variable->object != c->variable)
    return trace_raise_plainly(t, "such a call of ContextVar.reset()");
  c->now = token->any.a;
  token->any.b = NULL; /* a token is used once */
  return t->constants.none;
}

/* NumPy's error state is followed as what it means (numpy/errstate.c). */
static bool context_is_numpys(PyObject *variable) {
  PyObject *name = PyObject_GetAttrString(variable, "name");
  const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
  bool theirs = text && !strncmp(text, "numpy.", 6);
  error_drop();
  Py_XDECREF(name);
  return theirs;
}

value *context_call(tracer *t, const char *name, value *const *args, Py_ssize_t count) {
  bool get = !strcmp(name, "get"), set = !strcmp(name, "set"), reset = !strcmp(name, "reset");
  bool known = count && value_is_const(args[0]) && PyContextVar_CheckExact(args[0]->object);
  if (!known || context_is_numpys(args[0]->object) ||
      !(get ? count <= 2 : (set || reset) && count == 2))
    return t->constants.not_implemented;
  context_value *c = context_of(t, args[0]);
  if (!c) return NULL;
  if (get) return context_get(t, c, args, count);
  return set ? context_set(t, c, args[0], args[1]) : context_reset(t, c, args[1]);
}

bool context_is_set(const tracer *t) {
  for (const context_value *c = t->live.contexts; c; c = c->next)
    if (c->now != c->before) return true;
  return false;
}
