/* Which calls may be compiled: functions that are disabled or frozen in this thread, and the stance
 * of the process. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/dispatch/callable.h"
#include "frontend/dispatch/callable_internal.h"
#include "frontend/report/report.h"

/* Calls of functions made by frameloom.run() in this thread: nothing below one is made. */
static _Thread_local int frozen_depth __attribute__((tls_model("initial-exec")));

typedef enum stance {
  STANCE_DEFAULT,
  STANCE_FORCE_EAGER,
  STANCE_EAGER_ON_RECOMPILE,
  STANCE_FAIL_ON_RECOMPILE,
  STANCE_COUNT
} stance;
static stance stance_now;
static const char *const stance_names[] = {"default", "force_eager", "eager_on_recompile",
                                           "fail_on_recompile"};

void loom_stance_refresh(void) {
  loom_all_eager = loom_config.disable || stance_now == STANCE_FORCE_EAGER;
}

PyObject *loom_py_set_stance(PyObject *module, PyObject *name) {
  for (int i = 0; PyUnicode_Check(name) && i < STANCE_COUNT; i++) {
    if (PyUnicode_CompareWithASCIIString(name, stance_names[i])) continue;
    stance_now = (stance)i;
    loom_stance_refresh();
    Py_RETURN_NONE;
  }
  PyErr_Format(PyExc_ValueError,
               "unknown stance %R: use 'default', 'force_eager', 'eager_on_recompile' or "
               "'fail_on_recompile'",
               name);
  return NULL;
}

PyObject *loom_py_get_stance(PyObject *module, PyObject *unused) {
  return PyUnicode_FromString(stance_names[stance_now]);
}

/* ---- what a call does ---- */

static const char *const role_names[] = {"compile", "disable", "skip", "run"};

static bool duty_role_from_name(callable_role *role, const char *name) {
  for (int i = 0; i < 4; i++)
    if (!strcmp(name, role_names[i])) return *role = (callable_role)i, true;
  PyErr_Format(PyExc_ValueError, "unknown role '%.40s'", name);
  return false;
}

bool callable_duty_init(callable_duty *d, const char *role, PyObject *target, PyObject *reason) {
  d->target = Py_XNewRef(target);
  d->reason = Py_XNewRef(reason);
  return duty_role_from_name(&d->role, role);
}

void callable_duty_fini(callable_duty *d) {
  Py_CLEAR(d->target);
  Py_CLEAR(d->reason);
}

int callable_duty_traverse(const callable_duty *d, visitproc visit, void *arg) {
  Py_VISIT(d->target);
  return 0;
}

/* ---- calls that are not compiled ------------------------------------------------------------- */

static PyObject *stance_disable(PyObject *self, PyObject *const *args, size_t flags,
                                PyObject *kwnames) {
  disabled_depth++;
  PyObject *result = callable_call_plain((callable *)self, args, flags, kwnames);
  disabled_depth--;
  return result;
}

static PyObject *stance_skip(PyObject *self, PyObject *const *args, size_t flags,
                             PyObject *kwnames) {
  return callable_call_uncompiled((callable *)self, args, flags, kwnames);
}

static PyObject *stance_run(PyObject *self, PyObject *const *args, size_t flags,
                            PyObject *kwnames) {
  PyObject *target = Py_NewRef(((callable *)self)->duty.target);
  frozen_depth++;
  PyObject *result = PyObject_Vectorcall(target, args, flags, kwnames);
  frozen_depth--;
  Py_DECREF(target);
  return result;
}

vectorcallfunc stance_vectorcall(callable_role role) {
  return role == ROLE_DISABLE ? stance_disable : role == ROLE_SKIP ? stance_skip : stance_run;
}

/* ---- calls that would be --------------------------------------------------------------------- */

static void stance_refuse(const callable *c, PyObject *const *slots, const char *by) {
  PyObject *row = callable_why(c, slots);
  PyObject *why =
      row ? recompile_sentence(row) : PyUnicode_FromString("it has not been compiled before");
  const PyCodeObject *code = (PyCodeObject *)c->function->func_code;
  if (why)
    error_raise_own("RecompileError", "%U would have to be compiled (%s:%d), which %s forbids: %U",
                    c->function->func_qualname, PyUnicode_AsUTF8(code->co_filename),
                    code->co_firstlineno, by, why);
  Py_XDECREF(row);
  Py_XDECREF(why);
}

bool stance_allows(const callable *c, PyObject *const *slots) {
  if (frozen_depth || stance_now == STANCE_EAGER_ON_RECOMPILE) return false;
  if (stance_now == STANCE_FAIL_ON_RECOMPILE) {
    stance_refuse(c, slots, "the stance fail_on_recompile");
    return false;
  }
  if (!loom_config.error_on_recompile || !c->entries) return true;
  stance_refuse(c, slots, "frameloom.config.error_on_recompile");
  return false;
}
