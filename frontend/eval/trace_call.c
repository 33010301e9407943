/* Calls: binding arguments as CPython does, inlining Python functions, making functions and
 * generators. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/objects.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/eval/eval.h"
#include "frontend/eval/internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/live.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

static value *trace_inline(tracer *t, function_data *function, value *const *args, Py_ssize_t count,
                           PyObject *kwnames);

void eval_init(void) {
  static const eval_hooks hooks = {.frame_new = frame_new, .run = frame_run, .call = trace_inline};
  loom_eval = &hooks;
}

frame *frame_new(tracer *t, function_data *function) {
  loom_code *code = pointer_map_get(&t->known.codes, function->code);
  if (!code) {
    loom_error err = {0};
    code = loom_decode(function->code, &t->memory.arena, &err);
    if (!code) return trace_break(t, BREAK_OPCODE, "%s", err.message);
    if (PyList_Append(t->tables->names, function->code->co_filename) ||
        PyList_Append(t->tables->names, function->code->co_qualname))
      return trace_fail(t);
    if (!trace_map_set(t, &t->known.codes, function->code, code)) return NULL;
  }
  frame *f = trace_alloc(t, sizeof *f);
  if (!f) return NULL;
  f->code = code;
  f->function = function;
  f->locals = trace_alloc(t, (size_t)(code->locals + code->stack + 4) * sizeof(value *));
  if (!f->locals) return NULL;
  f->stack = f->locals + code->locals;
  f->library = loom_code_is_library(function->code, function->globals);
  return f;
}

/* ---- binding -------------------------------------------------------------------------------- */

typedef struct binding {
  function_data *function;
  value **locals;
  int positional, keyword_only; /* counts of named parameters */
  value *extra;                 /* **kwargs, or NULL */
} binding;

static const char *binding_name(const binding *b) {
  return PyUnicode_AsUTF8(b->function->code->co_qualname);
}

static bool bind_keyword(tracer *t, binding *b, PyObject *name, value *item) {
  PyObject *names = b->function->code->co_localsplusnames;
  for (int i = b->function->code->co_posonlyargcount; i < b->positional + b->keyword_only; i++) {
    PyObject *parameter = PyTuple_GET_ITEM(names, i);
    if (parameter != name && PyUnicode_Compare(parameter, name)) continue;
    if (b->locals[i]) {
      trace_raise(t, PyExc_TypeError, "%s() got multiple values for argument '%s'", binding_name(b),
                  PyUnicode_AsUTF8(name));
      return false;
    }
    b->locals[i] = item;
    return true;
  }
  if (!b->extra) {
    trace_raise(t, PyExc_TypeError, "%s() got an unexpected keyword argument '%s'", binding_name(b),
                PyUnicode_AsUTF8(name));
    return false;
  }
  value *key = value_const(t, name);
  return key && dict_put(t, b->extra, key, item);
}

static bool bind_missing(tracer *t, binding *b, int i) {
  PyObject *name = PyTuple_GET_ITEM(b->function->code->co_localsplusnames, i);
  trace_raise(t, PyExc_TypeError, "%s() missing required argument: '%s'", binding_name(b),
              PyUnicode_AsUTF8(name));
  return false;
}

static bool bind_defaults(tracer *t, binding *b) {
  value *defaults = b->function->defaults;
  Py_ssize_t have = defaults ? defaults->seq.count : 0;
  for (int i = 0; i < b->positional; i++) {
    if (b->locals[i]) continue;
    if (i < b->positional - have) return bind_missing(t, b, i);
    b->locals[i] = defaults->seq.items[i - (b->positional - have)];
  }
  for (int i = b->positional; i < b->positional + b->keyword_only; i++) {
    if (b->locals[i]) continue;
    value *name = value_const(t, PyTuple_GET_ITEM(b->function->code->co_localsplusnames, i));
    if (b->function->kwdefaults && name) b->locals[i] = dict_get(t, b->function->kwdefaults, name);
    if (trace_pending(t)) return false;
    if (!b->locals[i]) return bind_missing(t, b, i);
  }
  return true;
}

/* CPython's initialize_locals(). */
static bool bind_arguments(tracer *t, binding *b, value *const *args, Py_ssize_t count,
                           PyObject *kwnames) {
  PyCodeObject *code = b->function->code;
  int slot = b->positional + b->keyword_only;
  Py_ssize_t taken = count < b->positional ? count : b->positional;
  value *rest = NULL;
  if (code->co_flags & CO_VARARGS) rest = value_tuple(t, args + taken, count - taken);
  if (code->co_flags & CO_VARKEYWORDS) b->extra = value_dict(t);
  for (Py_ssize_t i = 0; i < taken; i++)
    b->locals[i] = args[i];
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
    if (!bind_keyword(t, b, PyTuple_GET_ITEM(kwnames, i), args[count + i])) return false;
  if (count > b->positional && !(code->co_flags & CO_VARARGS)) {
    trace_raise(t, PyExc_TypeError, "%s() takes %d positional arguments but %zd were given",
                binding_name(b), b->positional, count);
    return false;
  }
  if (rest) b->locals[slot++] = rest;
  if (b->extra) b->locals[slot] = b->extra;
  return !trace_pending(t) && bind_defaults(t, b);
}

static value *trace_inline(tracer *t, function_data *function, value *const *args, Py_ssize_t count,
                           PyObject *kwnames) {
  if (function->code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE))
    return trace_break(t, BREAK_GENERATOR, "a call of a coroutine");
  if (python_code_is_monitored((PyObject *)function->code))
    return trace_break(t, BREAK_TRACING, "in a called function");
  frame *f = frame_new(t, function);
  if (!f) return NULL;
  binding b = {.function = function,
               .locals = f->locals,
               .positional = function->code->co_argcount,
               .keyword_only = function->code->co_kwonlyargcount};
  if (!bind_arguments(t, &b, args, count, kwnames)) return NULL;
  bool yielded = false;
  return frame_run(t, f, &yielded);
}

/* ---- instructions --------------------------------------------------------------------------- */

static bool call_take_names(tracer *t, frame *f, PyObject *names) {
  bool good = names && PyTuple_CheckExact(names);
  for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(names); i++)
    good = PyUnicode_CheckExact(PyTuple_GET_ITEM(names, i));
  if (!good) return trace_break(t, BREAK_OPCODE, "names of keywords that are no strings") != NULL;
  f->kwnames = value_const(t, names);
  return f->kwnames != NULL;
}

step step_KW_NAMES(tracer *t, frame *f, const loom_instr *in) {
  PyObject *names = PyTuple_GET_ITEM(f->code->object->co_consts, in->arg);
  return call_take_names(t, f, names) ? STEP_NEXT : STEP_FAIL;
}

/* super() without arguments means the __class__ cell and the first argument of the calling frame.
 */
static value *call_super(tracer *t, frame *f) {
  PyCodeObject *code = f->code->object;
  for (int i = code->co_nlocalsplus - code->co_nfreevars; i < code->co_nlocalsplus; i++) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_localsplusnames, i),
                                         "__class__"))
      continue;
    value *cell = f->locals[i], *self = code->co_argcount ? f->locals[0] : NULL;
    if (self && value_is_cell(self)) self = self->cell.content;
    value *type = cell && value_is_cell(cell) ? cell->cell.content : NULL;
    if (type) type = value_looked_at(t, type);
    if (self) self = value_looked_at(t, self);
    if (!type || !self || !value_is_const(type) || !PyType_Check(type->object)) break;
    value *v = value_new(t, &value_super_type);
    if (!v) return NULL;
    v->any.a = type;
    v->any.b = self;
    return v;
  }
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "super() in this place");
}

step step_CALL(tracer *t, frame *f, const loom_instr *in) {
  Py_ssize_t count = in->arg;
  PyObject *kwnames = f->kwnames ? f->kwnames->object : NULL;
  f->kwnames = NULL;
  if (f->sp < count + 2)
    return trace_break(t, BREAK_OPCODE, "a call pops an empty stack"), STEP_FAIL;
  f->sp -= (int32_t)count + 2;
  /* A NULL under or above the callable, or a method and its self, or a function and its first
   * argument. */
  value **at = f->stack + f->sp, *callee = at[at[0] == t->constants.null], **args = at + 2;
  if (at[0] != t->constants.null && at[1] != t->constants.null) {
    args = at + 1;
    count++;
  }
  if (count == 0 && value_is_const(callee) && callee->object == (PyObject *)&PySuper_Type)
    return frame_result(f, call_super(t, f));
  Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  if (named > count) return trace_break(t, BREAK_OPCODE, "more keywords than arguments"), STEP_FAIL;
  /* The arguments are copied: what the callee does to this stack must not change them. */
  value *copy = value_tuple(t, args, count);
  return copy ? frame_result(f, trace_call(t, callee, copy->seq.items, count - named, kwnames))
              : STEP_FAIL;
}

step step_CALL_KW(tracer *t, frame *f, const loom_instr *in) {
  value *v = frame_pop(f);
  PyObject *names = v ? trace_keep(t, value_plain(t, v)) : NULL;
  return call_take_names(t, f, names) ? step_CALL(t, f, in) : STEP_FAIL;
}

step step_CALL_EX(tracer *t, frame *f, const loom_instr *in) {
  value *kwargs = in->arg & 1 ? frame_pop(f) : NULL, *args = frame_pop(f), *callee = frame_pop(f);
  if (callee == t->constants.null)
    callee = frame_pop(f);
  else if (frame_peek(f, 1) == t->constants.null)
    f->sp--;
  if (kwargs && (!value_is_dict(kwargs) || dict_live(kwargs))) {
    value *copy = value_dict(t);
    if (!copy || !dict_update(t, copy, kwargs, true)) return STEP_FAIL;
    kwargs = copy;
  }
  return frame_result(f, trace_call_list(t, callee, args, kwargs));
}

static void function_set(tracer *t, function_data *data, int flag, value *item) {
  if (flag == 8) data->closure = item;
  if (flag == 4) data->annotated = true, data->annotations = item;
  if (flag == 2) data->kwdefaults = item;
  if (flag == 1) data->defaults = trace_to_tuple(t, item);
}

step step_MAKE_FUNCTION(tracer *t, frame *f, const loom_instr *in) {
  value *code = frame_pop(f);
  function_data *data = trace_alloc(t, sizeof *data);
  if (!data || !value_is_const(code) || !PyCode_Check(code->object)) return STEP_FAIL;
  data->code = (PyCodeObject *)code->object;
  data->globals = f->function->globals;
  for (int flag = 8; flag; flag >>= 1)
    if (in->arg & flag) function_set(t, data, flag, frame_pop(f));
  return trace_pending(t) ? STEP_FAIL : frame_result(f, function_new(t, data, NULL));
}

step step_SET_FUNCTION(tracer *t, frame *f, const loom_instr *in) {
  value *v = frame_pop(f), *item = frame_pop(f);
  if (!value_is_function(v) || v->object || !v->any.a) {
    trace_break(t, BREAK_OPCODE, "what is made a function is none");
    return STEP_FAIL;
  }
  function_set(t, v->any.a, in->arg, item);
  return trace_pending(t) ? STEP_FAIL : frame_result(f, v);
}

step step_RETURN(tracer *t, frame *f, const loom_instr *in) { return STEP_RETURN; }

step step_RETURN_GENERATOR(tracer *t, frame *f, const loom_instr *in) {
  value *generator = value_generator(t, f);
  if (!generator) return STEP_FAIL;
  f->generator = true;
  frame_push(f, generator);
  return STEP_RETURN;
}

step step_YIELD(tracer *t, frame *f, const loom_instr *in) {
  if (f->generator) return STEP_YIELD;
  trace_break(t, BREAK_GENERATOR, "a value is yielded");
  return STEP_FAIL;
}

step step_YIELD_FROM_ITER(tracer *t, frame *f, const loom_instr *in) {
  return frame_result(f, trace_iter(t, frame_pop(f)));
}

step step_SEND(tracer *t, frame *f, const loom_instr *in) {
  value *sent = frame_pop(f), *receiver = frame_peek(f, 1), *item;
  if (value_is_generator(receiver)) {
    item = generator_send(t, receiver, sent);
  } else if (value_is_none(sent)) {
    item = trace_next(t, receiver);
    if (!item && !(receiver->type->kinds & VALUE_IS_RETURNING)) t->returned = t->constants.none;
  } else {
    item = trace_break(t, BREAK_GENERATOR, "send() through a yield from");
  }
  if (item) return frame_result(f, item);
  if (trace_pending(t) || f->sp < 1) return STEP_FAIL;
  f->stack[f->sp - 1] = t->returned;
  f->pc = in->target;
  return STEP_NEXT;
}
