/* Decodes a code object and encodes it again, for tests of both. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/bytecode/internal.h"

static PyObject *recode_instructions(const loom_code *code) {
  PyObject *list = PyList_New(0);
  for (int32_t i = 0; list && i < code->count; i++) {
    const loom_instr *in = &code->instrs[i];
    PyObject *row = Py_BuildValue("(siiiii)", loom_bytecode_name(in->op), in->unit, in->arg,
                                  in->target, in->line, in->column);
    if (!row || PyList_Append(list, row)) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

/* (code) -> ([(name, unit, arg, target, line, column)], [(begin, end, target, depth, lasti)], code
 * that takes over a frame at the beginning, or None). */
PyObject *loom_debug_recode(PyObject *self, PyObject *object) {
  loom_arena arena = {0};
  loom_error err = {0};
  step_code whole;
  frame_shape start = {.unit = 0};
  if (!PyCode_Check(object)) return PyErr_Format(PyExc_TypeError, "a code object is expected");
  loom_code *code = loom_decode((PyCodeObject *)object, &arena, &err);
  PyObject *rows = code ? recode_instructions(code) : NULL, *handlers = rows ? PyList_New(0) : NULL;
  if (!code) PyErr_SetString(PyExc_ValueError, err.message);
  for (int32_t i = 0; handlers && i < code->handler_count; i++) {
    const loom_handler *h = &code->handlers[i];
    PyObject *row = Py_BuildValue("(iiiii)", h->begin, h->end, h->target, h->depth, h->lasti);
    if (!row || PyList_Append(handlers, row)) Py_CLEAR(handlers);
    Py_XDECREF(row);
  }
  loom_arena_fini(&arena);
  if (handlers && !encode_step((PyCodeObject *)object, &start, true, &whole) && PyErr_Occurred())
    Py_CLEAR(handlers);
  if (!handlers) return Py_XDECREF(rows), NULL;
  return Py_BuildValue("(NNN)", rows, handlers, whole.code ? whole.code : Py_NewRef(Py_None));
}
