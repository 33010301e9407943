/* The instructions of class bodies, whose names are items of a dictionary value. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/eval/internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/values.h"

static value *body_name(tracer *t, frame *f, int32_t index) {
  PyObject *names = f->code->object->co_names;
  if (!f->names || index >= PyTuple_GET_SIZE(names))
    return trace_break(t, BREAK_OPCODE, "a name outside a class body");
  return value_const(t, PyTuple_GET_ITEM(names, index));
}

step step_LOAD_NAME(tracer *t, frame *f, const loom_instr *in) {
  value *name = body_name(t, f, in->arg), *item = name ? dict_get(t, f->names, name) : NULL;
  if (item) return frame_result(f, item);
  return trace_pending(t) ? STEP_FAIL : step_LOAD_GLOBAL(t, f, in);
}

step step_STORE_NAME(tracer *t, frame *f, const loom_instr *in) {
  value *name = body_name(t, f, in->arg), *item = frame_pop(f);
  return name && dict_put(t, f->names, name, item) ? STEP_NEXT : STEP_FAIL;
}

step step_DELETE_NAME(tracer *t, frame *f, const loom_instr *in) {
  value *name = body_name(t, f, in->arg);
  return name && dict_remove(t, f->names, name) ? STEP_NEXT : STEP_FAIL;
}

step step_SETUP_ANNOTATIONS(tracer *t, frame *f, const loom_instr *in) {
  value *name = f->names ? value_str(t, "__annotations__") : NULL;
  if (!name || trace_pending(t)) return STEP_FAIL;
  if (dict_get(t, f->names, name)) return STEP_NEXT;
  value *empty = value_dict(t);
  return empty && dict_put(t, f->names, name, empty) ? STEP_NEXT : STEP_FAIL;
}

step step_LOAD_CLASSDEREF(tracer *t, frame *f, const loom_instr *in) {
  PyObject *names = f->code->object->co_localsplusnames;
  value *name =
      in->arg < PyTuple_GET_SIZE(names) ? value_const(t, PyTuple_GET_ITEM(names, in->arg)) : NULL;
  value *item = name && f->names ? dict_get(t, f->names, name) : NULL;
  if (item) return frame_result(f, item);
  return trace_pending(t) ? STEP_FAIL : step_LOAD_DEREF(t, f, in);
}

step step_LOAD_LOCALS(tracer *t, frame *f, const loom_instr *in) {
  if (f->names) return frame_result(f, f->names);
  trace_break(t, BREAK_OPCODE, "names outside a class body");
  return STEP_FAIL;
}

/* The dictionary on the stack is looked in first, then what `otherwise` reads. */
static step body_find(tracer *t, frame *f, const loom_instr *in, PyObject *name,
                      step (*otherwise)(tracer *, frame *, const loom_instr *)) {
  value *names = frame_pop(f), *key = value_is_dict(names) ? value_const(t, name) : NULL;
  value *item = key ? dict_get(t, names, key) : NULL;
  if (item) return frame_result(f, item);
  if (!key && !trace_pending(t)) trace_break(t, BREAK_OPCODE, "names that are not a dict");
  return trace_pending(t) ? STEP_FAIL : otherwise(t, f, in);
}

step step_LOAD_FROM_DICT_OR_DEREF(tracer *t, frame *f, const loom_instr *in) {
  PyObject *names = f->code->object->co_localsplusnames;
  return body_find(t, f, in, PyTuple_GET_ITEM(names, in->arg), step_LOAD_DEREF);
}

step step_LOAD_FROM_DICT_OR_GLOBALS(tracer *t, frame *f, const loom_instr *in) {
  PyObject *names = f->code->object->co_names;
  return body_find(t, f, in, PyTuple_GET_ITEM(names, in->arg), step_LOAD_GLOBAL);
}

step step_LOAD_BUILD_CLASS(tracer *t, frame *f, const loom_instr *in) {
  PyObject *builtins = PyEval_GetBuiltins();
  PyObject *build = builtins ? PyDict_GetItemString(builtins, "__build_class__") : NULL;
  if (!build) {
    trace_break(t, BREAK_OPCODE, "no __build_class__");
    return STEP_FAIL;
  }
  return frame_result(f, value_const(t, build));
}
