/* Decisions that depend on array data and that need not be taken at capture.
 *
 * `if (x < 0).any(): raise ...` and `assert np.isfinite(x).all()` only look whether all is well.
 * One way of the jump surely raises, or only warns. So capture goes the other way, and the graph
 * checks the condition. When the condition does not hold, the plan reports that before anything was
 * written, and the plain function runs and raises its exception, or warns. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/adapter.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/numbers.h"
#include "frontend/values/values.h"
#include "loom_ops_elements.h"
#include "loom_ops_logic.h"
#include "loom_ops_shapes.h"

loom_value trace_condition(tracer *t, value *v) {
  if (trace_pending(t)) return LOOM_NO_VALUE;
  if (number_is_size(v)) return LOOM_NO_VALUE;
  if (value_is_number(v)) {
    bool truth = loom_graph_type(trace_graph(t), v->number.node)->dtype == LOOM_BOOL;
    return truth ? v->number.node : LOOM_NO_VALUE;
  }
  for (const loom_adapter *const *a = loom_adapters(); *a; a++) {
    loom_value condition = (*a)->condition ? (*a)->condition(t, v) : LOOM_NO_VALUE;
    if (condition != LOOM_NO_VALUE || trace_pending(t)) return condition;
  }
  return LOOM_NO_VALUE;
}

value *trace_condition_value(tracer *t, loom_value condition) {
  value *v = condition == LOOM_NO_VALUE ? NULL : value_new(t, &value_number_type);
  if (v) v->number.node = condition;
  return v;
}

/* Do the running functions use `is`? A comparison with a constant does not count: a chosen value is
 * no constant. */
static bool choose_observed(const tracer *t) {
  for (const frame *f = t->frame; f; f = f->back)
    for (int32_t i = 1; i < f->code->count; i++)
      if (f->code->instrs[i].op == BC_IS && f->code->instrs[i - 1].op != BC_LOAD_CONST) return true;
  return false;
}

/* A Python float, known or not. */
static bool choose_is_float(tracer *t, value *v) {
  if (value_is_number(v))
    return !number_is_size(v) && value_type_of(t, v) == (PyObject *)&PyFloat_Type;
  return value_is_const(v) && PyFloat_CheckExact(v->object);
}

/* One of two values, selected by data. It is a new object, so no value is selected in code that
 * uses `is`, nor once capture has met an `is` of a selected value. */
value *trace_choose(tracer *t, loom_value condition, value *yes, value *no) {
  value *v = NULL;
  if (t->kept->never_choose || choose_observed(t)) return NULL;
  if (choose_is_float(t, yes) && choose_is_float(t, no)) {
    loom_value in[3] = {condition};
    for (int i = 0; i < 2; i++) {
      value *number = number_to_float(t, i ? no : yes);
      if (!number) return NULL;
      in[1 + i] = number->number.node;
    }
    loom_value node = trace_node(t, LOOM_OP_SELECT, in, 3, NULL, 0, NULL);
    if (node == LOOM_NO_VALUE || !(v = value_new(t, &value_number_type))) return NULL;
    v->number.node = node;
  }
  for (const loom_adapter *const *a = loom_adapters(); *a && !v && !trace_pending(t); a++)
    if ((*a)->choose) v = (*a)->choose(t, condition, yes, no);
  if (v) v->chosen = true;
  return v;
}

static loom_value assume_number(tracer *t, int64_t number) {
  loom_type type = {.dtype = LOOM_I64};
  loom_attr attr = {.kind = LOOM_ATTR_SCALAR, .bits = (uint64_t)number};
  return trace_node(t, LOOM_OP_CONSTANT, NULL, 0, &attr, 1, &type);
}

/* An element past the end of an array of one is asked for when the condition is not as assumed: the
 * kernel reports an index out of bounds. */
bool trace_assume(tracer *t, loom_value condition, bool truth) {
  loom_type one = {.dtype = LOOM_I64, .rank = 1, .dims = {1}};
  loom_attr zero = {.kind = LOOM_ATTR_I64, .i = 0}, attrs[2] = {zero, {.kind = LOOM_ATTR_STR}};
  attrs[1].str = "raise";
  loom_value good = assume_number(t, 0), bad = assume_number(t, 1);
  loom_value array = trace_node(t, LOOM_OP_IOTA, NULL, 0, &zero, 1, &one);
  if (array == LOOM_NO_VALUE) return false;
  loom_value in[3] = {condition, truth ? good : bad, truth ? bad : good};
  loom_value index = trace_node(t, LOOM_OP_SELECT, in, 3, NULL, 0, NULL);
  if (index == LOOM_NO_VALUE) return false;
  trace_graph(t)->assumes = true;
  return trace_node(t, LOOM_OP_GATHER, (loom_value[]){array, index}, 2, attrs, 2, NULL) !=
         LOOM_NO_VALUE;
}

#define ASSUME_STEPS 64

/* Does the code from here on raise whatever the values are, on a straight line? */
static bool assume_raises(const loom_code *code, int32_t at) {
  for (int32_t n = 0; n < ASSUME_STEPS && at >= 0 && at < code->count; n++) {
    const loom_instr *in = &code->instrs[at++];
    switch (in->op) {
    case BC_RAISE: return true;
    case BC_JUMP: at = in->target; break;
    case BC_POP_JUMP_IF_FALSE:
    case BC_POP_JUMP_IF_TRUE:
    case BC_POP_JUMP_IF_NONE:
    case BC_POP_JUMP_IF_NOT_NONE:
    case BC_JUMP_IF_FALSE_OR_POP:
    case BC_JUMP_IF_TRUE_OR_POP:
    case BC_FOR_ITER:
    case BC_RETURN:
    case BC_YIELD:
    case BC_SEND:
    case BC_RERAISE:
    case BC_BEFORE_WITH:
    case BC_UNSUPPORTED: return false;
    default: break;
    }
  }
  return false;
}

static bool assume_is_name(const loom_code *code, const loom_instr *in, const char *name) {
  PyObject *has = PyTuple_GET_ITEM(code->object->co_names, in->arg);
  return PyUnicode_Check(has) && !PyUnicode_CompareWithASCIIString(has, name);
}

/* Does the code in [at, end) ask for warnings.warn, before it decides anything? */
static bool assume_warns(const loom_code *code, int32_t at, int32_t end) {
  bool module = false;
  for (; at >= 0 && at < end && at < code->count; at++) {
    const loom_instr *in = &code->instrs[at];
    if (in->target >= 0) return false;
    if (in->op == BC_LOAD_GLOBAL) module = assume_is_name(code, in, "warnings");
    if (in->op == BC_LOAD_ATTR && module && assume_is_name(code, in, "warn")) return true;
  }
  return false;
}

int jump_assumed(tracer *t, const frame *f, const loom_instr *in, bool when, value *v) {
  bool jumped = assume_raises(f->code, in->target), falls = assume_raises(f->code, f->pc);
  if (jumped == falls) {
    jumped = false;
    falls = assume_warns(f->code, f->pc, in->target);
    if (!falls) return -1;
  }
  loom_value condition = trace_condition(t, v);
  if (condition == LOOM_NO_VALUE) return -1;
  bool truth = jumped ? !when : when;
  return trace_assume(t, condition, truth) ? truth : -1;
}
