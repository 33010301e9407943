/* How a function is to be compiled: what the user has passed to frameloom.compile(), and what goes
 * on to the functions that it calls. */
#include "frontend/base/base.h"
#include "frontend/dispatch/callable_internal.h"
#include "frontend/run/run.h"

#include <string.h>

static bool options_backend(callable_options *o, PyObject *given) {
  const char *name = PyUnicode_Check(given) ? PyUnicode_AsUTF8(given) : NULL;
  if (!name && PyCallable_Check(given)) {
    o->kind = BACKEND_USER;
    o->user = Py_NewRef(given);
    return true;
  }
  if (name && backend_from_name(name, &o->kind)) return true;
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_ValueError,
                 "unknown backend %R: use 'loom', 'interpret', 'eager' or a callable", given);
  return false;
}

bool callable_options_init(callable_options *o, PyObject *backend, PyObject *dynamic,
                           const char *cpu, bool fullgraph, bool fastmath) {
  o->fullgraph = fullgraph;
  o->fastmath = fastmath;
  if (backend && !options_backend(o, backend)) return false;
  o->dynamic = dynamic == Py_None   ? DYNAMIC_AUTO
               : dynamic == Py_True ? DYNAMIC_ALWAYS
                                    : DYNAMIC_NEVER;
  if (strlen(cpu) >= sizeof o->cpu) {
    PyErr_SetString(PyExc_ValueError, "the name of the cpu is too long");
    return false;
  }
  snprintf(o->cpu, sizeof o->cpu, "%s", cpu);
  return true;
}

void callable_options_copy(callable_options *o, const callable_options *like) {
  *o = *like;
  Py_XINCREF(o->user);
  o->fullgraph = false;
  o->derives = false;
}

void callable_options_fini(callable_options *o) { Py_CLEAR(o->user); }

int callable_options_traverse(const callable_options *o, visitproc visit, void *arg) {
  Py_VISIT(o->user);
  return 0;
}

bool callable_options_agree(const callable_options *a, const callable_options *b) {
  return a->kind == b->kind && a->user == b->user && a->dynamic == b->dynamic &&
         a->fastmath == b->fastmath && !strcmp(a->cpu, b->cpu);
}

PyObject *callable_get_options(PyObject *self, PyObject *unused) {
  const callable_options *o = &((callable *)self)->options;
  PyObject *numbers = o->dynamic == DYNAMIC_AUTO     ? Py_None
                      : o->dynamic == DYNAMIC_ALWAYS ? Py_True
                                                     : Py_False;
  PyObject *user = o->user ? Py_NewRef(o->user) : PyUnicode_FromString(loom_backend_names[o->kind]);
  return Py_BuildValue("{sNsOsOsOss}", "backend", user, "fullgraph",
                       o->fullgraph ? Py_True : Py_False, "dynamic", numbers, "fastmath",
                       o->fastmath ? Py_True : Py_False, "cpu", o->cpu);
}
