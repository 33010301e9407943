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
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <string.h>

enum { ERROR_KEPT, ERROR_IGNORED, ERROR_REPORTED };

static const struct {
  const char *name;
  uint32_t flag;
} error_kinds[NP_ERROR_KINDS] = {{"divide", LOOM_FP_DIVIDE},
                                 {"over", LOOM_FP_OVERFLOW},
                                 {"under", LOOM_FP_UNDERFLOW},
                                 {"invalid", LOOM_FP_INVALID}};

/* A name of the module that keeps the error state, looked up once: borrowed. */
static PyObject *error_lookup(const char *name, PyObject **own) {
  if (*own) return *own;
  PyObject *umath = PyImport_ImportModule("numpy._core.umath");
  *own = umath ? PyObject_GetAttrString(umath, name) : NULL;
  Py_XDECREF(umath);
  return *own;
}

static PyObject *error_variable(void) {
  static PyObject *own;
  return error_lookup("_extobj_contextvar", &own);
}

static PyObject *error_maker(void) {
  static PyObject *own;
  return error_lookup("_make_extobj", &own);
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

/* The object that _make_extobj makes: any.i is the state, any.a a tuple of its arguments. */
static PyObject *error_object_make(PyObject *module, PyObject *args) {
  PyObject *names = PyTuple_GET_ITEM(args, 0), *kwargs = PyDict_New(), *none = PyTuple_New(0);
  PyObject *make = error_maker(), *made = NULL;
  bool good = kwargs && none && make;
  for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(names); i++)
    good = PyDict_SetItem(kwargs, PyTuple_GET_ITEM(names, i), PyTuple_GET_ITEM(args, i + 1)) == 0;
  if (good) made = PyObject_Call(make, none, kwargs);
  Py_XDECREF(kwargs);
  Py_XDECREF(none);
  return made;
}

/* A token of a change that has been taken back: all that is left of one behind the `with`. */
static PyObject *error_token_make(PyObject *module, PyObject *args) {
  PyObject *variable = error_variable(), *now = NULL, *token = NULL;
  if (variable && PyContextVar_Get(variable, Py_None, &now) == 0)
    token = PyContextVar_Set(variable, now);
  if (token && PyContextVar_Reset(variable, token) < 0) Py_CLEAR(token);
  Py_XDECREF(now);
  return token;
}

/* method(first, *rest): `first` is taken over and may be NULL. */
static recipe *error_recipe(tracer *t, PyMethodDef *method, PyObject *first, const value *rest) {
  Py_ssize_t count = rest ? rest->seq.count : 0;
  recipe *r = trace_recipe(t, RECIPE_CALL), *make = r ? trace_recipe(t, RECIPE_CONST) : NULL,
         *names = make && first ? trace_recipe(t, RECIPE_CONST) : NULL;
  if (!make || (first && !names)) return Py_XDECREF(first), NULL;
  make->object = PyCFunction_New(method, NULL);
  if (names) names->object = first;
  r->items = calloc((size_t)count + 2, sizeof *r->items);
  if (!r->items || !make->object) {
    PyErr_NoMemory();
    return trace_raise_live(t), NULL;
  }
  r->items[r->count++] = make;
  if (names) r->items[r->count++] = names;
  for (Py_ssize_t i = 0; i < count; i++)
    if (!(r->items[r->count++] = trace_rebuild(t, rest->seq.items[i]))) return NULL;
  return r;
}

/* Makes the object anew behind a break. The error state is then what it was when the object was
 * made, since a part ends only where the state is that of its begin. */
static recipe *error_object_rebuild(tracer *t, value *v) {
  static PyMethodDef method = {"make_extobj", error_object_make, METH_VARARGS, NULL};
  return error_recipe(t, &method, Py_NewRef((PyObject *)v->any.b), v->any.a);
}

static recipe *error_token_rebuild(tracer *t, value *v) {
  static PyMethodDef method = {"used_token", error_token_make, METH_NOARGS, NULL};
  return error_recipe(t, &method, NULL, NULL);
}

static PyObject *error_object_type(tracer *t, value *v) { return (PyObject *)&PyCapsule_Type; }

static PyObject *error_token_type(tracer *t, value *v) { return (PyObject *)&PyContextToken_Type; }

static const value_type error_object_value = {
    .name = "an error state", .python_type = error_object_type, .rebuild = error_object_rebuild};
static const value_type error_token_value = {.name = "a token of the error state",
                                             .python_type = error_token_type,
                                             .rebuild = error_token_rebuild};

static value *error_value(tracer *t, const value_type *type, int64_t state) {
  value *v = value_new(t, type);
  if (v) v->any.i = (Py_ssize_t)state;
  return v;
}

/* What np.errstate makes of its arguments. */
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
  value *v = trace_pending(t) ? NULL : error_value(t, &error_object_value, state);
  if (!v) return NULL;
  v->any.a = value_tuple(t, c->args, total);
  v->any.b = trace_keep(t, total ? Py_NewRef(c->kwnames) : PyTuple_New(0));
  return v->any.a && v->any.b ? v : NULL;
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
  *mine = own && live == own;
  if (!own) error_drop();
  if (!*mine || !errors) return NULL;
  bool set = strcmp(name, "set") == 0;
  if (args[1]->type != (set ? &error_object_value : &error_token_value) ||
      (!set && strcmp(name, "reset") != 0))
    return trace_break(t, BREAK_NUMPY_FUNCTION, "the error state: %s", name);
  value *token = set ? error_value(t, &error_token_value, errors->state) : value_const(t, Py_None);
  errors->depth += set ? 1 : -1;
  error_apply(t, errors, args[1]->any.i);
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
  PyObject *make = error_maker(), *kwargs = PyDict_New(), *none = PyTuple_New(0);
  bool good = make && kwargs && none;
  for (int k = 0; k < NP_ERROR_KINDS && good; k++) {
    PyObject *how = PyUnicode_InternFromString(kinds >> k & 1 ? "raise" : "ignore");
    good = how && PyDict_SetItemString(kwargs, error_kinds[k].name, how) == 0;
    Py_XDECREF(how);
  }
  PyObject *object = good ? PyObject_Call(make, none, kwargs) : NULL;
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
