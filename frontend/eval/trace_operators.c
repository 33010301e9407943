/* Instructions of operators, items and attributes. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/eval/eval.h"
#include "frontend/eval/internal.h"
#include "frontend/values/live.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_logic.h"

step step_UNARY(tracer *t, frame *f, const loom_instr *in) {
  NEED(1);
  value *v = frame_pop(f);
  if (in->arg != UNOP_NOT) return frame_result(f, trace_unary(t, in->arg, v));
  loom_value condition = trace_condition(t, v);
  if (condition != LOOM_NO_VALUE) {
    loom_value not = trace_node(t, LOOM_OP_NOT, &condition, 1, NULL, 0, NULL);
    return frame_result(f, trace_condition_value(t, not));
  }
  int truth = trace_truth(t, v);
  return truth < 0 ? STEP_FAIL : frame_result(f, value_bool(t, !truth));
}

step step_TO_BOOL(tracer *t, frame *f, const loom_instr *in) {
  NEED(1);
  value *v = frame_pop(f);
  loom_value condition = trace_condition(t, v);
  if (condition != LOOM_NO_VALUE) return frame_result(f, trace_condition_value(t, condition));
  int truth = trace_truth(t, v);
  return truth < 0 ? STEP_FAIL : frame_result(f, value_bool(t, truth));
}

step step_BINARY(tracer *t, frame *f, const loom_instr *in) {
  NEED(2);
  value *r = frame_pop(f), *l = frame_pop(f);
  bool inplace = in->arg >= 13; /* NB_INPLACE_ADD */
  return frame_result(f, trace_binary(t, inplace ? in->arg - 13 : in->arg, l, r, inplace));
}

step step_COMPARE(tracer *t, frame *f, const loom_instr *in) {
  NEED(2);
  value *r = frame_pop(f), *l = frame_pop(f), *tested = loom_loops->test(t, f, in->arg, l, r);
  if (tested || trace_pending(t)) return frame_result(f, tested);
  return frame_result(f, trace_compare(t, in->arg, l, r));
}

step step_IS(tracer *t, frame *f, const loom_instr *in) {
  NEED(2);
  value *r = frame_pop(f), *l = frame_pop(f);
  bool same;
  if (!value_same(t, l, r, &same)) return STEP_FAIL;
  return frame_result(f, value_bool(t, same != (in->arg != 0)));
}

step step_CONTAINS(tracer *t, frame *f, const loom_instr *in) {
  NEED(2);
  value *container = frame_pop(f), *item = frame_pop(f);
  int found = trace_contains(t, container, item);
  return found < 0 ? STEP_FAIL : frame_result(f, value_bool(t, found != in->arg));
}

step step_SUBSCR(tracer *t, frame *f, const loom_instr *in) {
  NEED(2);
  value *key = frame_pop(f), *v = frame_pop(f);
  return frame_result(f, trace_get_item(t, v, key));
}

step step_STORE_SUBSCR(tracer *t, frame *f, const loom_instr *in) {
  NEED(3);
  value *key = frame_pop(f), *v = frame_pop(f), *item = frame_pop(f);
  return trace_set_item(t, v, key, item) ? STEP_NEXT : STEP_FAIL;
}

step step_DELETE_SUBSCR(tracer *t, frame *f, const loom_instr *in) {
  NEED(2);
  value *key = frame_pop(f), *v = frame_pop(f);
  return trace_set_item(t, v, key, NULL) ? STEP_NEXT : STEP_FAIL;
}

/* ---- attributes ----------------------------------------------------------------------------- */

step step_LOAD_ATTR(tracer *t, frame *f, const loom_instr *in) {
  NEED(1);
  PyObject *name = step_item(f->code->object->co_names, in->arg);
  if (!name) return step_bad(t, "a name is out of range");
  value *v = frame_pop(f);
  if (value_is_lazy(v)) return frame_result(f, shadow_method(t, v));
  value *lazy = value_is_instance(v) ? object_lazy_attr(t, v, name) : NULL;
  if (lazy || trace_pending(t)) return frame_result(f, lazy);
  return frame_result(f, trace_get_attr(t, v, name));
}

step step_LOAD_SUPER_ATTR(tracer *t, frame *f, const loom_instr *in) {
  NEED(3);
  PyObject *name = step_item(f->code->object->co_names, in->arg);
  if (!name) return step_bad(t, "a name is out of range");
  value *self = frame_pop(f), *cls = frame_pop(f), *made = frame_pop(f), *args[2] = {cls, self};
  if (!value_is_const(made) || made->object != (PyObject *)&PySuper_Type) {
    trace_break(t, BREAK_UNSUPPORTED_TYPE, "a super() that is not Python's own");
    return STEP_FAIL;
  }
  made = trace_call(t, made, args, 2, NULL);
  return made ? frame_result(f, trace_get_attr(t, made, name)) : STEP_FAIL;
}

step step_STORE_ATTR(tracer *t, frame *f, const loom_instr *in) {
  NEED(2);
  PyObject *name = step_item(f->code->object->co_names, in->arg);
  if (!name) return step_bad(t, "a name is out of range");
  value *v = frame_pop(f), *item = frame_pop(f);
  return trace_set_attr(t, v, name, item) ? STEP_NEXT : STEP_FAIL;
}

step step_DELETE_ATTR(tracer *t, frame *f, const loom_instr *in) {
  NEED(1);
  PyObject *name = step_item(f->code->object->co_names, in->arg);
  if (!name) return step_bad(t, "a name is out of range");
  return trace_set_attr(t, frame_pop(f), name, NULL) ? STEP_NEXT : STEP_FAIL;
}
