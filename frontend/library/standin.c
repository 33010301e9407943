/* Frames that stand in for the user's.
 *
 * A host call runs in the middle of a plan, where the frames of the captured functions do not
 * exist. A warning that the library gives there would name the line that called the compiled
 * function, and go into the registry of that module. So it is called through functions that have
 * the code's file, name and line, and the very globals, of each frame that was being captured. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/library/library.h"

static PyObject *standin_template(void) {
  static PyObject *code;
  if (code) return code;
  PyObject *globals = PyDict_New(), *function = NULL;
  PyObject *text = Py_CompileString("lambda call, args, kwargs: call(*args, **kwargs)", "frameloom",
                                    Py_eval_input);
  if (globals && text) function = PyEval_EvalCode(text, globals, globals);
  if (function) code = Py_NewRef(PyFunction_GET_CODE(function));
  Py_XDECREF(function);
  Py_XDECREF(text);
  Py_XDECREF(globals);
  return code;
}

static PyObject *standin_of(const frame *f) {
  PyCodeObject *code = f->code->object;
  PyObject *template = standin_template(), *replace = NULL, *none = NULL, *made = NULL;
  PyObject *changes =
      Py_BuildValue("{sOsOsOsi}", "co_filename", code->co_filename, "co_name", code->co_name,
                    "co_qualname", code->co_qualname, "co_firstlineno", (int)frame_line(f));
  if (template && changes) replace = PyObject_GetAttrString(template, "replace");
  if (replace) none = PyTuple_New(0);
  PyObject *changed = none ? PyObject_Call(replace, none, changes) : NULL;
  if (changed) made = PyFunction_New(changed, f->function->globals);
  Py_XDECREF(changed);
  Py_XDECREF(none);
  Py_XDECREF(replace);
  Py_XDECREF(changes);
  return made;
}

PyObject *trace_standins(tracer *t) {
  Py_ssize_t count = 0;
  for (const frame *f = t->frame; f; f = f->back)
    count++;
  PyObject *all = PyTuple_New(count), *one;
  for (const frame *f = t->frame; all && f; f = f->back) {
    if ((one = standin_of(f)))
      PyTuple_SET_ITEM(all, --count, one);
    else
      Py_CLEAR(all);
  }
  return all;
}

PyObject *standin_call(PyObject *standins, PyObject *callable, PyObject *args, PyObject *kwargs) {
  PyObject *none = PyDict_New();
  Py_INCREF(callable);
  Py_INCREF(args);
  Py_INCREF(kwargs);
  for (Py_ssize_t i = PyTuple_GET_SIZE(standins); none && args && i-- > 0;) {
    PyObject *inner = PyTuple_Pack(3, callable, args, kwargs);
    Py_SETREF(callable, Py_NewRef(PyTuple_GET_ITEM(standins, i)));
    Py_SETREF(args, inner);
    Py_SETREF(kwargs, Py_NewRef(none));
  }
  PyObject *result = none && args ? PyObject_Call(callable, args, kwargs) : NULL;
  Py_DECREF(callable);
  Py_XDECREF(args);
  Py_DECREF(kwargs);
  Py_XDECREF(none);
  return result;
}
