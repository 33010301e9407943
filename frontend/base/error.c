/* Exceptions that are dropped, and those that must not be.
 *
 * Capture asks Python questions to which an exception is the answer "no": is there such an
 * attribute, can the library do this with samples of that type. Where such a question runs Python
 * code (the library's), a signal handler may run as well, and what it raises arrives in the place
 * of the answer. Dropping it would lose the user's interrupt; passing it on from each of these
 * places would need a way out of every function. So it is put off: the interpreter is asked to
 * raise it at its next chance, which is where it would have been raised had the signal come a
 * little later. */
#include "frontend/base/base.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Is it of a class that the user has written? Capture runs no code that knows one. */
static bool error_is_users(PyTypeObject *type) {
  if (python_type_is_builtin(type)) return false;
  PyObject *module = PyDict_GetItemString(python_type_dict(type), "__module__");
  const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
  if (!name) return PyErr_Clear(), false;
  static const char *const libraries[] = {"numpy", "torch", "sympy", "frameloom"};
  size_t length = strcspn(name, ".");
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
    if (strlen(libraries[i]) == length && !strncmp(name, libraries[i], length)) return false;
  PyObject *names = PySys_GetObject("stdlib_module_names");
  PyObject *first = PyUnicode_FromStringAndSize(name, (Py_ssize_t)length);
  int standard = names && first ? PySequence_Contains(names, first) : -1;
  Py_XDECREF(first);
  if (standard < 0) PyErr_Clear();
  return standard == 0;
}

bool error_is_foreign(void) {
  if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_TimeoutError))
    return true;
  PyObject *type, *raised, *traceback;
  PyErr_Fetch(&type, &raised, &traceback);
  bool users = PyType_Check(type) && error_is_users((PyTypeObject *)type);
  PyErr_Restore(type, raised, traceback);
  return users;
}

uint32_t loom_errors_put_off;

static int error_raise(void *raised) {
  PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
  Py_DECREF((PyObject *)raised);
  return -1;
}

/* Signal handlers run in the main thread, and so do pending calls. To another one an exception
 * comes by PyThreadState_SetAsyncExc(), which knows nothing of it but its class. */
static void error_put_off(PyObject *raised) {
  PyException_SetTraceback(raised, Py_None);
  if (syscall(SYS_gettid) == getpid() && Py_AddPendingCall(error_raise, raised) == 0) return;
  PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), (PyObject *)Py_TYPE(raised));
  Py_DECREF(raised);
}

static void error_keep(void) {
  PyObject *type, *raised, *traceback;
  loom_errors_put_off++;
  PyErr_Fetch(&type, &raised, &traceback);
  PyErr_NormalizeException(&type, &raised, &traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  if (raised) error_put_off(raised);
}

void error_drop_pending(void) {
  if (error_is_foreign())
    error_keep();
  else
    PyErr_Clear();
}

void error_drop_users(void) {
  if (!PyErr_Occurred()) return;
  if (PyErr_ExceptionMatches(PyExc_Exception))
    PyErr_Clear();
  else
    error_keep();
}

/* Signal handlers run during long plans as they do between bytecodes: on the main thread. Another
 * one must not wait for the GIL: at the interpreter's end it would never come back, while workers
 * are busy with its launch. */
int loom_poll_signals(void *context) {
  if (syscall(SYS_gettid) != getpid()) return 0;
  PyGILState_STATE state = PyGILState_Ensure();
  int stop = PyErr_CheckSignals();
  PyGILState_Release(state);
  return stop;
}

void error_raise_own(const char *name, const char *format, ...) {
  PyObject *errors = PyImport_ImportModule("frameloom._errors");
  PyObject *type = errors ? PyObject_GetAttrString(errors, name) : NULL;
  va_list arguments;
  va_start(arguments, format);
  if (type) PyErr_FormatV(type, format, arguments);
  va_end(arguments);
  Py_XDECREF(type);
  Py_XDECREF(errors);
}
