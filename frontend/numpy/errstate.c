/* np.errstate inside a captured function.
 *
 * Entering one sets NumPy's context variable to an object that _make_extobj made, leaving it resets
 * the variable: capture follows both and keeps, for each kind of floating-point exception, whether
 * it is ignored, reported in some way, or left as the caller has it. What is ignored here never
 * makes the library run again, whatever the caller's state; what is reported here always does: the
 * report (a warning, an exception, a call, text) is then the library's own.
 *
 * A host call runs in a state in which whatever would be reported raises instead, so that it fails
 * and the plain function reports it from the user's own line. */
#include "frontend/numpy/capture.h"

#include <string.h>

enum { ERROR_KEPT, ERROR_IGNORED, ERROR_REPORTED };

static const struct {
  const char *name;
  uint32_t flag;
} error_kinds[NP_ERROR_KINDS] = {{"divide", LOOM_FP_DIVIDE},
                                 {"over", LOOM_FP_OVERFLOW},
                                 {"under", LOOM_FP_UNDERFLOW},
                                 {"invalid", LOOM_FP_INVALID}};

static PyObject *error_variable(void) {
  static PyObject *own;
  if (own) return own;
  PyObject *umath = PyImport_ImportModule("numpy._core.umath");
  own = umath ? PyObject_GetAttrString(umath, "_extobj_contextvar") : NULL;
  Py_XDECREF(umath);
  return own;
}

/* ---- at capture ---- */

/* A state as one number: two bits for each kind. */
static int error_get(int64_t state, int kind) { return (int)(state >> 2 * kind & 3); }

static int64_t error_put(int64_t state, int kind, int how) {
  return (state & ~((int64_t)3 << 2 * kind)) | (int64_t)how << 2 * kind;
}

static int error_how(const char *text) {
  static const char *const reports[] = {"warn", "raise", "call", "print", "log"};
  if (text && strcmp(text, "ignore") == 0) return ERROR_IGNORED;
  for (size_t i = 0; text && i < sizeof reports / sizeof *reports; i++)
    if (strcmp(text, reports[i]) == 0) return ERROR_REPORTED;
  return -1;
}

/* What np.errstate makes of its arguments: here the number of the new state. */
value *np_error_object(tracer *t, const np_call *c) {
  np_errors *errors = np_error_tracked(t);
  Py_ssize_t total = c->kwnames ? PyTuple_GET_SIZE(c->kwnames) : 0;
  int all = ERROR_KEPT, own[NP_ERROR_KINDS] = {0};
  if (!errors) return NULL;
  if (c->count) return np_unsupported(t, c, "with positional arguments");
  for (Py_ssize_t i = 0; i < total; i++) {
    const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(c->kwnames, i));
    if (strcmp(name, "call") == 0) continue; /* it is called by the library alone */
    if (np_is_none(t, c->args[i])) continue;
    int how = error_how(np_str_arg(t, c->args[i]));
    if (how < 0) return trace_pending(t) ? NULL : np_unsupported(t, c, "of this state");
    if (strcmp(name, "all") == 0) all = how;
    for (int k = 0; k < NP_ERROR_KINDS; k++)
      if (strcmp(name, error_kinds[k].name) == 0) own[k] = how;
  }
  int64_t state = errors->state;
  for (int k = 0; k < NP_ERROR_KINDS; k++)
    if (own[k] || all) state = error_put(state, k, own[k] ? own[k] : all);
  return trace_pending(t) ? NULL : np_int(t, state);
}

static void error_apply(tracer *t, np_errors *errors, int64_t state) {
  uint32_t ignored = 0, reported = 0;
  errors->state = state;
  for (int k = 0; k < NP_ERROR_KINDS; k++) {
    if (error_get(state, k) == ERROR_IGNORED) ignored |= error_kinds[k].flag;
    if (error_get(state, k) == ERROR_REPORTED) reported |= error_kinds[k].flag;
  }
  trace_fp_state(t, ignored, reported);
}

/* variable.set(object) and variable.reset(token): a token is the number of the state before. */
value *np_error_context(tracer *t, const char *name, value *const *args, bool *mine) {
  np_errors *errors = np_error_tracked(t);
  PyObject *own = error_variable(), *live = args[0]->object;
  int64_t state;
  *mine = own && live == own;
  if (!own) error_drop();
  if (!*mine || !errors) return NULL;
  bool set = strcmp(name, "set") == 0;
  if ((!set && strcmp(name, "reset") != 0) || !np_int_arg(t, args[1], &state))
    return trace_pending(t) ? NULL
                            : trace_break(t, BREAK_NUMPY_FUNCTION, "the error state: %s", name);
  value *token = set ? np_int(t, errors->state) : value_const(t, Py_None);
  errors->depth += set ? 1 : -1;
  error_apply(t, errors, state);
  return token;
}

bool np_error_finish(tracer *t) {
  const np_errors *errors = np_error_tracked(t);
  if (!errors) return false;
  if (errors->depth) trace_break(t, BREAK_SIDE_EFFECT, "np.seterr: the error state stays changed");
  return errors->depth == 0;
}

PyObject *np_error_state(tracer *t) {
  const np_errors *errors = np_error_tracked(t);
  return PyLong_FromLongLong(errors ? errors->state : 0);
}

/* ---- when a host call runs ---- */

/* _make_extobj(divide=..., ...), kept for each set of kinds that raise: new reference. */
static PyObject *error_raising(uint32_t kinds) {
  static PyObject *made[1 << NP_ERROR_KINDS];
  if (made[kinds]) return Py_NewRef(made[kinds]);
  PyObject *umath = PyImport_ImportModule("numpy._core.umath");
  PyObject *make = umath ? PyObject_GetAttrString(umath, "_make_extobj") : NULL;
  PyObject *kwargs = PyDict_New(), *none = PyTuple_New(0);
  bool good = make && kwargs && none;
  for (int k = 0; k < NP_ERROR_KINDS && good; k++) {
    PyObject *how = PyUnicode_InternFromString(kinds >> k & 1 ? "raise" : "ignore");
    good = how && PyDict_SetItemString(kwargs, error_kinds[k].name, how) == 0;
    Py_XDECREF(how);
  }
  PyObject *object = good ? PyObject_Call(make, none, kwargs) : NULL;
  Py_XDECREF(umath);
  Py_XDECREF(make);
  Py_XDECREF(kwargs);
  Py_XDECREF(none);
  if (object && !made[kinds]) made[kinds] = Py_NewRef(object);
  return object;
}

PyObject *np_error_enter(PyObject *state) {
  int64_t own = PyLong_AsLongLong(state);
  uint32_t kinds = 0;
  for (int k = 0; k < NP_ERROR_KINDS; k++) {
    int how = error_get(own, k), matters = how == ERROR_REPORTED;
    if (how == ERROR_KEPT) matters = numpy_flags_matter(error_kinds[k].flag);
    if (matters < 0) return NULL;
    kinds |= (uint32_t)matters << k;
  }
  PyObject *object = error_raising(kinds);
  PyObject *token = object ? PyContextVar_Set(error_variable(), object) : NULL;
  Py_XDECREF(object);
  return token;
}

bool np_error_leave(PyObject *token) {
  PyObject *type, *raised, *traceback;
  PyErr_Fetch(&type, &raised, &traceback);
  bool good = PyContextVar_Reset(error_variable(), token) == 0;
  Py_DECREF(token);
  if (type || good) PyErr_Restore(type, raised, traceback);
  return good;
}
