/* What differs between the versions of CPython that the extension is built for: 3.11, 3.12 and
 * 3.13.
 *
 * Everything else is written for all three. The differences are in this file, in
 * bytecode/opcodes.def, which translates each version's instructions, and in bytecode/opcodes.h.
 * Only the files of bytecode/ that read or write code objects know opcodes.
 */
#ifndef LOOM_FRONTEND_PYTHON_H
#define LOOM_FRONTEND_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#if PY_MAJOR_VERSION != 3 || PY_MINOR_VERSION < 11 || PY_MINOR_VERSION > 13
#error "the extension is written for CPython 3.11, 3.12 and 3.13"
#endif
#define LOOM_PYTHON (100 * PY_MAJOR_VERSION + PY_MINOR_VERSION) /* 311, 312, 313 */

/* ---- dictionaries ------------------------------------------------------------------------------
 */

/* Changes with every change of an exact dict's items. It is deprecated from 3.12 on, and kept by
 * all three versions. */
static inline uint64_t python_dict_version(PyObject *dict) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return ((PyDictObject *)dict)->ma_version_tag;
#pragma GCC diagnostic pop
}

/* ---- objects -----------------------------------------------------------------------------------
 */

/* Is the generator suspended after it has begun? States below 0 can be resumed; the lowest is that
 * of a generator that has not begun. */
static inline bool python_generator_waits(PyObject *generator) {
  int state = ((PyGenObject *)generator)->gi_frame_state;
  return state < 0 && state > (LOOM_PYTHON >= 313 ? -3 : -2);
}

/* Does the weak reference refer to `object`? With NULL: is it dead? */
static inline int python_weakref_is(PyObject *reference, PyObject *object) {
#if LOOM_PYTHON >= 313
  PyObject *alive = NULL;
  int known = PyWeakref_GetRef(reference, &alive) >= 0;
  Py_XDECREF(alive);
  return known && alive == object;
#else
  return PyWeakref_GET_OBJECT(reference) == (object ? object : Py_None);
#endif
}

/* The object of a weak reference: a new reference, or NULL when it is dead. */
static inline PyObject *python_weakref_get(PyObject *reference) {
#if LOOM_PYTHON >= 313
  PyObject *alive = NULL;
  return PyWeakref_GetRef(reference, &alive) > 0 ? alive : NULL;
#else
  PyObject *alive = PyWeakref_GET_OBJECT(reference);
  return alive == Py_None ? NULL : Py_NewRef(alive);
#endif
}

/* The dictionary of a type, borrowed. From 3.12 on tp_dict of builtin types is NULL. */
static inline PyObject *python_type_dict(PyTypeObject *type) {
#if LOOM_PYTHON >= 312
  PyObject *dict = PyType_GetDict(type);
  Py_XDECREF(dict);
  return dict;
#else
  return type->tp_dict;
#endif
}

/* Is the type written in C and immutable? From 3.12 on such types may be heap types. */
static inline bool python_type_is_builtin(PyTypeObject *type) {
  return !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ||
         PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE);
}

/* Removes a class from `base.__subclasses__()`, as happens when it dies: changes of the base no
 * longer reach it. Builtin bases go on listing it. False with an exception: it was not listed. */
static inline bool python_type_unlist(PyTypeObject *base, PyObject *cls) {
  PyObject *listed = PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE) ? base->tp_subclasses : NULL;
  if (!listed || !PyDict_CheckExact(listed)) return true;
  PyObject *key = PyLong_FromVoidPtr(cls);
  bool good = key && PyDict_DelItem(listed, key) == 0;
  Py_XDECREF(key);
  return good;
}

/* Digits of an int, negative when it is. */
static inline Py_ssize_t python_long_size(PyObject *number) {
#if LOOM_PYTHON >= 312
  uintptr_t tag = ((PyLongObject *)number)->long_value.lv_tag;
  return (1 - (Py_ssize_t)(tag & 3)) * (Py_ssize_t)(tag >> 3);
#else
  return Py_SIZE(number);
#endif
}

#if LOOM_PYTHON >= 313
/* Exported still, but in no public header. */
int _PySet_NextEntry(PyObject *set, Py_ssize_t *pos, PyObject **key, Py_hash_t *hash);
#endif

/* Does a StopIteration that is thrown into a generator which has not begun become a RuntimeError?
 */
#define PYTHON_CONVERTS_FIRST_STOP (LOOM_PYTHON < 312)

/* Do functions have `__type_params__`? */
#define PYTHON_HAS_TYPE_PARAMETERS (LOOM_PYTHON >= 312)

/* Does sum() of floats add up the rounding errors as well? */
#define PYTHON_SUM_COMPENSATES (LOOM_PYTHON >= 312)

#if LOOM_PYTHON <= 311
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_GetExtra _PyCode_GetExtra
#define PyUnstable_Code_SetExtra _PyCode_SetExtra
#endif

/* Has a third of the C recursion limit been used up? From 3.12 on it is counted apart from Python's
 * own, up to a low number that nobody can raise. */
static inline bool python_recursion_is_low(void) {
#if LOOM_PYTHON >= 313
  return _PyThreadState_UncheckedGet()->c_recursion_remaining < Py_C_RECURSION_LIMIT * 2 / 3;
#elif LOOM_PYTHON >= 312
  return _PyThreadState_UncheckedGet()->c_recursion_remaining < C_RECURSION_LIMIT * 2 / 3;
#else
  return false;
#endif
}

/* Raises the C recursion limit by a few calls, where it is counted apart. The result is to be
 * passed to python_recursion_take_back() afterwards. */
static inline int python_recursion_lend(void) {
#if LOOM_PYTHON >= 312
  enum { SOME = 64 };
  _PyThreadState_UncheckedGet()->c_recursion_remaining += SOME;
  return SOME;
#else
  return 0;
#endif
}

static inline void python_recursion_take_back(int lent) {
#if LOOM_PYTHON >= 312
  _PyThreadState_UncheckedGet()->c_recursion_remaining -= lent;
#endif
}

/* ---- frames ------------------------------------------------------------------------------------
 */

/* The first fields of _PyInterpreterFrame, which no public header describes. */
typedef struct python_frame {
#if LOOM_PYTHON >= 312
  PyObject *code; /* or what else is run */
  struct python_frame *previous;
  PyObject *function, *globals, *builtins, *locals;
#else
  PyFunctionObject *function;
  PyObject *globals, *builtins, *locals;
  PyCodeObject *code;
#endif
  PyFrameObject *object; /* once somebody has asked for it */
#if LOOM_PYTHON >= 312
  void *at;
  int stack;
  uint16_t offset;
  char owner;
#else
  struct python_frame *previous;
  void *at;
  int stack;
  bool entered;
  char owner;
#endif
  PyObject *slots[1]; /* locals, then the stack */
} python_frame;

/* Does the interpreter drop a frame only after it has evaluated it? */
#define PYTHON_FRAME_IS_EVALUATED (LOOM_PYTHON >= 312)

/* How many bytes before its first instruction a new frame stands. */
#define PYTHON_FRAME_STARTS_BEFORE (LOOM_PYTHON >= 313 ? 0 : 2)

/* The frame that runs now in this thread, or NULL. */
static inline const python_frame *python_frame_now(void) {
  const PyThreadState *state = _PyThreadState_UncheckedGet();
#if LOOM_PYTHON >= 313
  return (const python_frame *)state->current_frame;
#else
  return (const python_frame *)state->cframe->current_frame;
#endif
}

/* Makes this frame the current one of the thread. */
static inline void python_frame_set(const python_frame *f) {
  PyThreadState *state = _PyThreadState_UncheckedGet();
#if LOOM_PYTHON >= 313
  state->current_frame = (struct _PyInterpreterFrame *)f;
#else
  state->cframe->current_frame = (struct _PyInterpreterFrame *)f;
#endif
}

/* ---- who looks on ------------------------------------------------------------------------------
 */

/* Does a tool ask for events of all code (sys.monitoring)? The interpreter keeps that with each
 * code object, and has brought it up to date for the running one. */
static inline bool python_is_monitored(void) {
#if LOOM_PYTHON >= 312
  const python_frame *f = python_frame_now();
  const PyCodeObject *code = f && f->code && PyCode_Check(f->code) ? (PyCodeObject *)f->code : NULL;
  const _PyCoMonitoringData *kept = code ? code->_co_monitoring : NULL;
  unsigned tools = 0;
  for (size_t i = 0; kept && i < sizeof kept->active_monitors.tools; i++)
    tools |= kept->active_monitors.tools[i];
  return tools & 0x3f; /* the two others are those of the tracers below, of any thread */
#else
  return false;
#endif
}

/* Does a tool ask for events of this code alone (a breakpoint in it)? */
static inline bool python_code_is_monitored(PyObject *code) {
#if LOOM_PYTHON >= 312
  const _PyCoMonitoringData *kept = ((PyCodeObject *)code)->_co_monitoring;
  unsigned tools = 0;
  for (size_t i = 0; kept && i < sizeof kept->local_monitors.tools; i++)
    tools |= kept->local_monitors.tools[i];
  return tools != 0;
#else
  return false;
#endif
}
#define PYTHON_MONITORS_CODE (LOOM_PYTHON >= 312)

/* Is this thread debugged or profiled? */
static inline bool python_is_traced(void) {
  const PyThreadState *state = _PyThreadState_UncheckedGet();
  return state->c_tracefunc || state->c_profilefunc || python_is_monitored();
}

/* The exception stored in the place that PyErr_SetHandledException() writes: that of the running
 * generator, or of the thread. A new reference, or NULL. PyErr_GetHandledException() also looks at
 * the generator's caller, whose exception must not be written there. */
static inline PyObject *python_handled_here(void) {
  return Py_XNewRef(PyThreadState_Get()->exc_info->exc_value);
}

#endif
