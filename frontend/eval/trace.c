/* The evaluator's loop, and the instructions that only move values between stack, locals and names.
 *
 * A frame lives in the tracer's arena, so that a generator's can stay suspended; a call of a Python
 * function runs its frame by recursion, to a limited depth.
 */
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

typedef step (*step_fn)(tracer *t, frame *f, const loom_instr *in);

static const step_fn step_table[BC_COUNT] = {
#define LOOM_BYTECODE(NAME, REACH) step_##NAME,
#include "frontend/bytecode/bytecode.def"
#undef LOOM_BYTECODE
};

/* The innermost row of the exception table that covers the failed instruction; unwinds the stack to
 * it. */
static bool frame_unwind(tracer *t, frame *f) {
  int32_t at = f->pc - 1;
  for (int32_t i = 0; i < f->code->handler_count; i++) {
    const loom_handler *h = &f->code->handlers[i];
    if (at < h->begin || at >= h->end) continue;
    if (h->depth > f->sp) return false;
    /* Raised again in the frame that has caught it, it keeps its traceback. */
    const loom_instr *in = &f->code->instrs[at];
    bool again = in->op == BC_RERAISE || (in->op == BC_RAISE && in->arg == 0);
    if (!again && !exception_raised(t, t->raised)) return false;
    f->sp = h->depth;
    if (h->lasti) frame_push(f, value_int(t, f->code->instrs[at].unit));
    frame_push(f, t->raised);
    f->pc = h->target;
    return true;
  }
  return false;
}

/* How many items an instruction may look at. Those that only move them, or drop them, leave what
 * has not been looked at as it is. */
#define REACH_ANY (arg < 16 ? arg + 5 : 5)
static int32_t step_reach(const loom_instr *in) {
  int32_t arg = in->arg;
  switch (in->op) {
#define LOOM_BYTECODE(NAME, REACH)                                                                 \
  case BC_##NAME: return REACH;
#include "frontend/bytecode/bytecode.def"
#undef LOOM_BYTECODE
  default: return REACH_ANY;
  }
}
#undef REACH_ANY

/* The call of a method that only adds to a container, behind a break among its arguments: the stack
 * holds the type's own method and the container. */
static bool frame_realise_method(tracer *t, frame *f, const loom_instr *in) {
  if (in->op != BC_CALL || f != t->outer.frame || f->sp < in->arg + 2) return true;
  value **at = &f->stack[f->sp - in->arg - 2], *self = at[1];
  PyMethodDescrObject *method = (PyMethodDescrObject *)at[0]->object;
  if (!value_is_lazy(at[0]) || !value_is_lazy(self) || !Py_IS_TYPE(method, &PyMethodDescr_Type) ||
      PyDescr_TYPE(method) != Py_TYPE(self->object) || !shadow_takes(self, PyDescr_NAME(method)))
    return true;
  if (!value_wrap(t, at[0]->object, at[0]->source) || !(at[1] = shadow_method(t, self)))
    return false;
  at[0] = t->constants.null;
  return true;
}

/* What existed before is not looked at, and not guarded, before an instruction has to: the
 * outermost frame's stack holds it as it is, that of others containers. What only adds to one does
 * not look at it either: a list that grows would have another length each time. */
static bool frame_realise(tracer *t, frame *f, const loom_instr *in) {
  int32_t reach = step_reach(in);
  const value *top = f->sp ? f->stack[f->sp - 1] : NULL;
  if (in->op == BC_LOAD_ATTR && top && value_is_lazy(top) &&
      shadow_takes(top, PyTuple_GET_ITEM(f->code->object->co_names, in->arg)))
    return true;
  if (!frame_realise_method(t, f, in)) return false;
  for (int32_t i = f->sp - 1; i >= 0 && i >= f->sp - reach; i--) {
    value **at = &f->stack[i];
    if (!(*at = value_looked_at(t, *at))) return false;
  }
  return true;
}

/* Does an instruction of CPython's begin here? One may be two of ours, and a call begins with the
 * names of its keywords. What sets a frame up is none. */
static bool frame_begins(const frame *f, const loom_instr *in) {
  if (in->op == BC_MAKE_CELL || in->op == BC_COPY_FREE) return false;
  if (in->op == BC_CALL && f->kwnames) return false;
  return in == f->code->instrs || in[-1].unit != in->unit;
}

/* False when capture ends in front of the instruction. */
static bool frame_goes_on(tracer *t, const frame *f, const loom_instr *in) {
  if (!frame_begins(f, in)) return true;
  t->outer.stopped = t->outer.step == t->outer.stop;
  if (t->outer.stopped)
    t->outer.leaving = t->handled;
  else
    t->outer.step++;
  return !t->outer.stopped;
}

static step frame_step(tracer *t, frame *f) {
  if (f->pc < 0 || f->pc >= f->code->count) {
    trace_break(t, BREAK_OPCODE, "execution runs past the end of the bytecode");
    return STEP_FAIL;
  }
  const loom_instr *in = &f->code->instrs[f->pc];
  if (f == t->outer.frame && !frame_goes_on(t, f, in)) return STEP_FAIL;
  f->pc++;
  if (!frame_realise(t, f, in)) return STEP_FAIL;
  if (!trace_charge(t, 0)) return STEP_FAIL;
  if (f->sp + 4 > f->code->stack + 2) {
    trace_break(t, BREAK_OPCODE, "the bytecode overflows its stack");
    return STEP_FAIL;
  }
  return step_table[in->op](t, f, in);
}

/* `end`: it is left in front of this instruction, with a NULL, and *yielded; -1: of none. */
static value *frame_loop(tracer *t, frame *f, int32_t end, bool *yielded) {
  for (;;) {
    value *thrown = f->thrown;
    f->thrown = NULL;
    if (f->pc == end) return *yielded = true, NULL;
    if (thrown) trace_raise_value(t, thrown);
    step s = thrown ? STEP_FAIL : frame_step(t, f);
    if (t->outer.stopped) return NULL;
    /* A step that reports success has nothing pending; this catches one that forgot a failure below
     * it. */
    if (s == STEP_NEXT && t->state == TRACE_GOING) continue;
    if (t->state == TRACE_GOING && s != STEP_FAIL) {
      *yielded = s == STEP_YIELD;
      return frame_pop(f);
    }
    if (t->state != TRACE_RAISING) {
      if (t->state == TRACE_GOING) trace_break(t, BREAK_OPCODE, "an instruction failed silently");
      return NULL;
    }
    t->state = TRACE_GOING;
    if (!frame_unwind(t, f)) {
      t->state = TRACE_RAISING;
      return NULL;
    }
    t->raised = NULL;
  }
}

value *frame_until(tracer *t, frame *f, int32_t end, bool *met) {
  bool yielded = false;
  if (!trace_goes_deeper(t)) return *met = false, NULL;
  value *result = frame_loop(t, f, end, &yielded);
  *met = yielded && !result;
  if (result && yielded) return trace_break(t, BREAK_GENERATOR, "a branch that yields");
  return result;
}

value *frame_run(tracer *t, frame *f, bool *yielded) {
  frame *back = t->frame;
  value *handled = t->handled;
  if (t->spent.depth >= 200) return trace_break(t, BREAK_RECURSION, "more than 200 calls deep");
  t->spent.depth++;
  f->back = back;
  f->running = true;
  t->frame = f;
  if (f->generator && f->handled) t->handled = f->handled;
  value *result = frame_loop(t, f, -1, yielded);
  if (f->generator) f->handled = *yielded && t->handled != handled ? t->handled : NULL;
  t->handled = handled;
  f->running = false;
  if (!*yielded && t->loops.rolls && !trace_pending(t)) loom_loops->leave_frame(t, f);
  /* A break keeps the frame for its location, which has been taken already. */
  t->frame = back;
  t->spent.depth--;
  return result;
}

/* ---- stack ---------------------------------------------------------------------------------- */

step step_bad(tracer *t, const char *what) {
  trace_break(t, BREAK_OPCODE, "%s", what);
  return STEP_FAIL;
}

step step_POP(tracer *t, frame *f, const loom_instr *in) {
  NEED(1);
  if (!trace_lets_go(t, f, f->stack[f->sp - 1])) return STEP_FAIL;
  f->sp--;
  return STEP_NEXT;
}

step step_PUSH_NULL(tracer *t, frame *f, const loom_instr *in) {
  frame_push(f, t->constants.null);
  return STEP_NEXT;
}

step step_NULL_UNDER(tracer *t, frame *f, const loom_instr *in) {
  NEED(1);
  value *top = frame_pop(f);
  frame_push(f, t->constants.null);
  frame_push(f, top);
  return STEP_NEXT;
}

step step_SWAP(tracer *t, frame *f, const loom_instr *in) {
  if (in->arg < 1 || in->arg > f->sp) return step_bad(t, "SWAP reaches below the stack");
  value *top = f->stack[f->sp - 1];
  f->stack[f->sp - 1] = f->stack[f->sp - in->arg];
  f->stack[f->sp - in->arg] = top;
  return STEP_NEXT;
}

step step_COPY(tracer *t, frame *f, const loom_instr *in) {
  if (in->arg < 1 || in->arg > f->sp) return step_bad(t, "COPY reaches below the stack");
  frame_push(f, f->stack[f->sp - in->arg]);
  return STEP_NEXT;
}

/* ---- constants and locals ------------------------------------------------------------------- */

PyObject *step_item(PyObject *tuple, int32_t index) {
  return index >= 0 && index < PyTuple_GET_SIZE(tuple) ? PyTuple_GET_ITEM(tuple, index) : NULL;
}

step step_LOAD_CONST(tracer *t, frame *f, const loom_instr *in) {
  PyObject *object = step_item(f->code->object->co_consts, in->arg);
  if (!object) return step_bad(t, "a constant's index is out of range");
  return frame_result(f, value_const(t, object));
}

static value *local_realise(tracer *t, const frame *f, value **slot) {
  bool lazy = *slot && value_is_lazy(*slot);
  if (lazy && f != t->outer.frame && !object_grows((*slot)->object))
    *slot = value_wrap(t, (*slot)->object, (*slot)->source);
  return *slot;
}

static step local_unbound(tracer *t, frame *f, int32_t index) {
  PyObject *name = step_item(f->code->object->co_localsplusnames, index);
  trace_raise(t, PyExc_UnboundLocalError, "local variable '%s' is not assigned",
              name ? PyUnicode_AsUTF8(name) : "?");
  return STEP_FAIL;
}

#define LOCAL(INDEX)                                                                               \
  if ((INDEX) < 0 || (INDEX) >= f->code->locals) return step_bad(t, "a local is out of range")

step step_LOAD_FAST(tracer *t, frame *f, const loom_instr *in) {
  LOCAL(in->arg);
  if (!f->locals[in->arg]) return local_unbound(t, f, in->arg);
  return frame_result(f, local_realise(t, f, &f->locals[in->arg]));
}

/* The locals of a comprehension may be those of the function around it, which stand on the stack
 * meanwhile: NULL when they are unbound. */
step step_LOAD_FAST_AND_CLEAR(tracer *t, frame *f, const loom_instr *in) {
  LOCAL(in->arg);
  frame_push(f, f->locals[in->arg] ? f->locals[in->arg] : t->constants.null);
  f->locals[in->arg] = NULL;
  return STEP_NEXT;
}

step step_STORE_FAST(tracer *t, frame *f, const loom_instr *in) {
  LOCAL(in->arg);
  NEED(1);
  if (!trace_lets_go(t, f, f->locals[in->arg])) return STEP_FAIL;
  value *v = frame_pop(f);
  f->locals[in->arg] = v == t->constants.null ? NULL : v;
  return STEP_NEXT;
}

step step_DELETE_FAST(tracer *t, frame *f, const loom_instr *in) {
  LOCAL(in->arg);
  if (!f->locals[in->arg]) return local_unbound(t, f, in->arg);
  if (!trace_lets_go(t, f, f->locals[in->arg])) return STEP_FAIL;
  f->locals[in->arg] = NULL;
  return STEP_NEXT;
}

/* ---- cells ---------------------------------------------------------------------------------- */

step step_MAKE_CELL(tracer *t, frame *f, const loom_instr *in) {
  LOCAL(in->arg);
  value *cell = value_new(t, &value_cell_type);
  if (!cell) return STEP_FAIL;
  cell->cell.content = f->locals[in->arg];
  f->locals[in->arg] = cell;
  return STEP_NEXT;
}

step step_COPY_FREE(tracer *t, frame *f, const loom_instr *in) {
  value *closure = f->function->closure;
  int32_t first = f->code->locals - in->arg;
  if (!closure || closure->seq.count != in->arg || first < 0)
    return step_bad(t, "a closure does not fit its code");
  memcpy(f->locals + first, closure->seq.items, (size_t)in->arg * sizeof(value *));
  return STEP_NEXT;
}

static value *local_cell(tracer *t, frame *f, int32_t index) {
  value *cell = index >= 0 && index < f->code->locals ? f->locals[index] : NULL;
  if (cell && value_is_cell(cell)) return cell;
  return trace_break(t, BREAK_OPCODE, "a cell is out of range");
}

/* A function's own variable, or one of a function around it. */
static step cell_unbound(tracer *t, frame *f, int32_t index) {
  const PyCodeObject *code = f->code->object;
  if (index < code->co_nlocalsplus - code->co_nfreevars) return local_unbound(t, f, index);
  trace_raise(t, PyExc_NameError, "a free variable is not assigned");
  return STEP_FAIL;
}

step step_LOAD_CLOSURE(tracer *t, frame *f, const loom_instr *in) {
  return frame_result(f, local_cell(t, f, in->arg));
}

step step_LOAD_DEREF(tracer *t, frame *f, const loom_instr *in) {
  value *cell = local_cell(t, f, in->arg);
  if (!cell) return STEP_FAIL;
  if (!cell->cell.content) return cell_unbound(t, f, in->arg);
  value *content = local_realise(t, f, &cell->cell.content);
  if (content && value_is_lazy(content)) guard_simple(t, GUARD_PRESENT, content->source, NULL, 0);
  aside_see(t, cell);
  return frame_result(f, content);
}

static step cell_store(tracer *t, frame *f, const loom_instr *in, value *content) {
  value *cell = local_cell(t, f, in->arg);
  if (!cell) return STEP_FAIL;
  if (!content && !cell->cell.content) return cell_unbound(t, f, in->arg);
  const value *before = cell->cell.content;
  if (before && before->source && !trace_gives_up(t, before->object, content)) return STEP_FAIL;
  if (!content && value_is_lazy(before)) /* nobody has asked what it is */
    guard_simple(t, GUARD_PRESENT, before->source, NULL, 0);
  if (!shadow_open(t, cell)) return STEP_FAIL;
  cell->cell.content = content;
  return STEP_NEXT;
}

step step_STORE_DEREF(tracer *t, frame *f, const loom_instr *in) {
  NEED(1);
  return cell_store(t, f, in, frame_pop(f));
}

step step_DELETE_DEREF(tracer *t, frame *f, const loom_instr *in) {
  return cell_store(t, f, in, NULL);
}

/* ---- globals -------------------------------------------------------------------------------- */

static PyObject *globals_builtins(PyObject *globals) {
  PyObject *builtins = PyDict_GetItemString(globals, "__builtins__");
  if (!builtins) builtins = PyEval_GetBuiltins();
  if (builtins && PyModule_CheckExact(builtins)) builtins = PyModule_GetDict(builtins);
  return builtins && PyDict_CheckExact(builtins) ? builtins : NULL;
}

/* A function keeps the builtins that its globals named when it was made. */
static PyObject *frame_builtins(const frame *f) {
  const PyFunctionObject *live = (const PyFunctionObject *)f->function->live;
  PyObject *own = live ? live->func_builtins : NULL;
  return own && PyDict_CheckExact(own) ? own : globals_builtins(f->function->globals);
}

static const source *variable_source(tracer *t, PyObject *variables, PyObject *name) {
  const source *all = trace_source(t, SOURCE_CONST, NULL, variables, NULL, 0);
  return all ? trace_source(t, SOURCE_ITEM, all, NULL, name, 0) : NULL;
}

/* Where a global is read. Its globals have come to name other builtins than the function has: then
 * that they do not have the name themselves is a guard of its own. */
static const source *global_source(tracer *t, const frame *f, PyObject *name, bool own,
                                   PyObject *builtins) {
  PyObject *globals = f->function->globals;
  if (own || builtins == globals_builtins(globals))
    return trace_source(t, SOURCE_GLOBAL, NULL, globals, name, 0);
  const source *first = variable_source(t, globals, name);
  if (!first) return NULL;
  guard_simple(t, GUARD_MISSING, first, NULL, 0);
  return variable_source(t, builtins, name);
}

/* What has been assigned to a builtin of that name, where the globals do not stand before it: they
 * are to have the name, or not, as they do now. */
static const overlay_slot *builtin_assigned(tracer *t, const frame *f, PyObject *name, bool own) {
  PyObject *globals = f->function->globals, *builtins = t->live.overlays ? frame_builtins(f) : NULL;
  const overlay_slot *changed =
      builtins ? overlay_find(overlay_of(t, builtins, false), name) : NULL;
  if (!changed) return NULL;
  guard_simple(t, own ? GUARD_PRESENT : GUARD_MISSING, variable_source(t, globals, name), NULL, 0);
  return own ? NULL : changed;
}

step step_LOAD_GLOBAL(tracer *t, frame *f, const loom_instr *in) {
  PyObject *name = step_item(f->code->object->co_names, in->arg), *globals = f->function->globals;
  if (!name || !PyDict_CheckExact(globals)) return step_bad(t, "globals are not a dict");
  PyObject *object = PyDict_GetItemWithError(globals, name);
  bool own = object != NULL;
  PyObject *builtins = own ? NULL : frame_builtins(f);
  if (!object && builtins) object = PyDict_GetItemWithError(builtins, name);
  error_drop();
  const source *s = global_source(t, f, name, own, builtins);
  if (!s) return STEP_FAIL;
  aside_see_variable(t, name);
  const overlay_slot *changed = overlay_find(overlay_of(t, globals, false), name);
  if (!changed) changed = builtin_assigned(t, f, name, own);
  if (changed && changed->item) return frame_result(f, changed->item);
  if (live_is_read(t, globals, true))
    return trace_break(t, BREAK_SIDE_EFFECT, "a global whose dictionary was changed"), STEP_FAIL;
  if (changed) return trace_break(t, BREAK_SIDE_EFFECT, "a global that was deleted"), STEP_FAIL;
  if (!object) {
    guard_simple(t, GUARD_MISSING, s, NULL, 0);
    trace_raise(t, PyExc_NameError, "name '%s' is not defined", PyUnicode_AsUTF8(name));
    return STEP_FAIL;
  }
  if (!object_grows(object)) return frame_result(f, value_wrap(t, object, s));
  guard_simple(t, GUARD_PRESENT, s, NULL, 0); /* also where nothing reads its content */
  return frame_result(f, value_lazy(t, object, s));
}

step step_STORE_GLOBAL(tracer *t, frame *f, const loom_instr *in) {
  NEED(1);
  PyObject *name = step_item(f->code->object->co_names, in->arg), *globals = f->function->globals;
  value *item = frame_pop(f);
  if (!name || !PyDict_CheckExact(globals)) return step_bad(t, "globals are not a dict");
  return overlay_put_variable(t, globals, name, item) ? STEP_NEXT : STEP_FAIL;
}

step step_DELETE_GLOBAL(tracer *t, frame *f, const loom_instr *in) {
  PyObject *name = step_item(f->code->object->co_names, in->arg);
  trace_break(t, BREAK_SIDE_EFFECT, "deletion of the global '%s'",
              name ? PyUnicode_AsUTF8(name) : "?");
  return STEP_FAIL;
}

/* ---- jumps ---------------------------------------------------------------------------------- */

step step_JUMP(tracer *t, frame *f, const loom_instr *in) {
  f->pc = in->target;
  return STEP_NEXT;
}

static step jump_truth(tracer *t, frame *f, const loom_instr *in, bool when, bool keep) {
  NEED(1);
  int truth = keep ? -1 : jump_assumed(t, f, in, when, f->stack[f->sp - 1]);
  step both = STEP_NEXT;
  if (truth < 0 && !keep && (loom_config.capture_data_dependent || t->loops.derived) &&
      (loom_loops->jump(t, f, in, when, &both) || trace_pending(t)))
    return trace_pending(t) ? STEP_FAIL : both;
  if (truth < 0) truth = trace_truth(t, f->stack[f->sp - 1]);
  if (truth < 0) return STEP_FAIL;
  bool jump = (truth != 0) == when;
  if (!(jump && keep)) f->sp--;
  if (jump) f->pc = in->target;
  return STEP_NEXT;
}

step step_POP_JUMP_IF_FALSE(tracer *t, frame *f, const loom_instr *in) {
  return jump_truth(t, f, in, false, false);
}

step step_POP_JUMP_IF_TRUE(tracer *t, frame *f, const loom_instr *in) {
  return jump_truth(t, f, in, true, false);
}

step step_JUMP_IF_FALSE_OR_POP(tracer *t, frame *f, const loom_instr *in) {
  return jump_truth(t, f, in, false, true);
}

step step_JUMP_IF_TRUE_OR_POP(tracer *t, frame *f, const loom_instr *in) {
  return jump_truth(t, f, in, true, true);
}

static step jump_none(tracer *t, frame *f, const loom_instr *in, bool when) {
  NEED(1);
  if (value_is_none(frame_pop(f)) == when) f->pc = in->target;
  return STEP_NEXT;
}

step step_POP_JUMP_IF_NONE(tracer *t, frame *f, const loom_instr *in) {
  return jump_none(t, f, in, true);
}

step step_POP_JUMP_IF_NOT_NONE(tracer *t, frame *f, const loom_instr *in) {
  return jump_none(t, f, in, false);
}

/* ---- iteration ------------------------------------------------------------------------------ */

step step_GET_ITER(tracer *t, frame *f, const loom_instr *in) {
  NEED(1);
  return frame_result(f, trace_iter(t, frame_pop(f)));
}

step step_FOR_ITER(tracer *t, frame *f, const loom_instr *in) {
  NEED(1);
  value *iterator = f->stack[f->sp - 1];
  value *item = loom_loops->next(t, f, iterator);
  if (item) return frame_result(f, item);
  if (trace_pending(t)) return STEP_FAIL;
  step out = STEP_NEXT;
  f->sp--;
  f->pc = in->target;
  return loom_loops->end_behind(t, f, (int32_t)(in - f->code->instrs), &out) ? out : STEP_FAIL;
}

step step_UNSUPPORTED(tracer *t, frame *f, const loom_instr *in) {
  trace_break(t, BREAK_OPCODE, "CPython instruction %d", in->arg);
  return STEP_FAIL;
}
