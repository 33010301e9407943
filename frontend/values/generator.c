/* Generators that the captured code makes: frames that go on where they were left. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/objects.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/values.h"

value *value_generator(tracer *t, frame *f) {
  value *v = value_new(t, &value_generator_type);
  if (!v) return NULL;
  v->any.a = f;
  f->next_generator = t->generators;
  t->generators = f;
  return v;
}

/* Suspended inside a try or with: when it is dropped, CPython raises GeneratorExit there. */
static bool generator_unwinds(const frame *f) {
  for (int32_t i = 0; !f->finished && i < f->code->handler_count; i++)
    if (f->pc > f->code->handlers[i].begin && f->pc <= f->code->handlers[i].end) return true;
  return false;
}

/* What escapes a generator as StopIteration becomes a RuntimeError. */
static value *generator_failed(tracer *t, frame *f) {
  f->finished = true;
  if (t->state == TRACE_RAISING && exception_matches(t, t->raised, PyExc_StopIteration)) {
    value *stop = t->raised;
    t->state = TRACE_GOING;
    trace_raise(t, PyExc_RuntimeError, "generator raised StopIteration");
    if (t->state == TRACE_RAISING) exception_set_cause(t->raised, stop);
  }
  return NULL;
}

/* Runs it to its next yield; NULL with nothing pending when it returns. */
static value *generator_go_on(tracer *t, frame *f) {
  bool yielded = false;
  value *result = loom_eval->run(t, f, &yielded);
  if (!result) return generator_failed(t, f);
  if (yielded) return result;
  f->finished = true;
  t->returned = result;
  return NULL;
}

/* Has it run to its first yield? The frame starts behind RETURN_GENERATOR, with nothing run. */
static bool generator_started(const frame *f) {
  return f->pc > 0 && f->code->instrs[f->pc - 1].op == BC_YIELD;
}

/* Suspended in a `yield from`: what it delegates to gets the exception first. */
static bool generator_delegates(const frame *f) {
  const loom_code *code = f->code;
  if (f->pc < 0 || f->pc >= code->count || code->instrs[f->pc].op != BC_JUMP) return false;
  int32_t target = code->instrs[f->pc].target;
  return target >= 0 && target < code->count && code->instrs[target].op == BC_SEND;
}

/* Goes on with an exception raised at the yield; NULL with nothing pending when it then returns. */
static value *generator_throw(tracer *t, value *v, value *exception) {
  frame *f = v->any.a;
  t->returned = t->constants.none;
  if (f->running) return trace_raise(t, PyExc_ValueError, "generator already executing");
  if (generator_delegates(f)) return trace_break(t, BREAK_GENERATOR, "throw() into a yield from");
  if (f->finished) return trace_raise_value(t, exception);
  if (!generator_started(f)) {
    f->finished = true;
    trace_raise_value(t, exception);
    return PYTHON_CONVERTS_FIRST_STOP ? generator_failed(t, f) : NULL;
  }
  frame_push(f, t->constants.none); /* the place of the value that a yield would give */
  f->thrown = exception;
  return generator_go_on(t, f);
}

value *generator_send(tracer *t, value *v, value *sent) {
  frame *f = v->any.a;
  t->returned = t->constants.none;
  if (f->finished) return NULL;
  if (f->running) return trace_raise(t, PyExc_ValueError, "generator already executing");
  frame_push(f, sent); /* the value of the yield expression; RETURN_GENERATOR's is popped at once */
  return generator_go_on(t, f);
}

static value *generator_next(tracer *t, value *v) {
  return generator_send(t, v, t->constants.none);
}

static value *generator_send_method(tracer *t, value *v, value *const *args, Py_ssize_t count,
                                    PyObject *kwnames) {
  const frame *f = v->any.a;
  if (!args_check(t, "send", count, 1, 1, kwnames)) return NULL;
  if (!f->finished && !f->running && !generator_started(f) && !value_is_none(args[0]))
    return trace_raise(t, PyExc_TypeError, "can't send non-None value to a just-started generator");
  value *item = generator_send(t, v, args[0]);
  return item || trace_pending(t) ? item : trace_raise(t, PyExc_StopIteration, "exhausted");
}

/* generator.throw(exception) or .throw(class). */
static value *generator_throw_method(tracer *t, value *v, value *const *args, Py_ssize_t count,
                                     PyObject *kwnames) {
  if (!args_check(t, "throw", count, 1, 1, kwnames)) return NULL;
  value *exception = args[0];
  if (value_is_const(exception) && PyExceptionClass_Check(exception->object))
    exception = trace_call(t, exception, NULL, 0, NULL);
  if (!exception) return NULL;
  if (!value_is_made_exception(exception))
    return trace_break(t, BREAK_GENERATOR, "throw() of a %s", exception->type->name);
  value *item = generator_throw(t, v, exception);
  return item || trace_pending(t) ? item : trace_raise(t, PyExc_StopIteration, "exhausted");
}

/* Raises GeneratorExit where the generator stands, which has to end with it. */
static value *generator_close(tracer *t, value *v, value *const *args, Py_ssize_t count,
                              PyObject *kwnames) {
  frame *f = v->any.a;
  if (!args_check(t, "close", count, 0, 0, kwnames)) return NULL;
  if (!generator_unwinds(f)) {
    f->finished = true;
    return t->constants.none;
  }
  value *none = value_tuple(t, NULL, 0),
        *leave = none ? value_exception(t, PyExc_GeneratorExit, none) : NULL;
  value *item = leave ? generator_throw(t, v, leave) : NULL;
  if (item) return trace_raise(t, PyExc_RuntimeError, "generator ignored GeneratorExit");
  f->finished = true;
  if (t->state == TRACE_RAISING && (exception_matches(t, t->raised, PyExc_GeneratorExit) ||
                                    exception_matches(t, t->raised, PyExc_StopIteration))) {
    t->state = TRACE_GOING;
    t->raised = NULL;
  }
  return trace_pending(t) ? NULL : t->constants.none;
}

/* ---- what is dropped in the middle ---- */

#define EXIT_STEPS 64 /* instructions of handlers that are looked at */

/* Where an exception at an instruction goes to; -1: out of the frame. */
static int32_t exit_handler(const loom_code *code, int32_t at) {
  for (int32_t i = 0; i < code->handler_count; i++)
    if (at >= code->handlers[i].begin && at < code->handlers[i].end)
      return code->handlers[i].target;
  return -1;
}

/* Does the name stand for an exception of Python's own that GeneratorExit is none of? */
static bool exit_is_other(const frame *f, int32_t name) {
  PyObject *names = f->code->object->co_names, *globals = f->function->globals;
  if (name < 0 || name >= PyTuple_GET_SIZE(names) || !PyDict_CheckExact(globals)) return false;
  PyObject *key = PyTuple_GET_ITEM(names, name), *cls = PyDict_GetItemWithError(globals, key);
  if (!cls && !PyErr_Occurred()) cls = PyDict_GetItemWithError(PyEval_GetBuiltins(), key);
  error_drop();
  return cls && PyExceptionClass_Check(cls) && python_type_is_builtin((PyTypeObject *)cls) &&
         !PyType_IsSubtype((PyTypeObject *)PyExc_GeneratorExit, (PyTypeObject *)cls);
}

/* Does a GeneratorExit leave the frame with no other code run than comparisons with the classes of
 * `except` clauses? */
static bool exit_passes(const frame *f) {
  const loom_code *code = f->code;
  int32_t at = exit_handler(code, f->pc - 1);
  for (int steps = 0; at >= 0 && steps < EXIT_STEPS; steps++) {
    const loom_instr *in = &code->instrs[at];
    switch (in->op) {
    case BC_LOAD_GLOBAL:
      if (!exit_is_other(f, in->arg)) return false;
      break;
    case BC_PUSH_EXC:
    case BC_POP_EXC:
    case BC_COPY:
    case BC_BUILD_TUPLE:
    case BC_EXC_MATCH: break;
    case BC_POP_JUMP_IF_FALSE: at = in->target; continue;
    case BC_RERAISE: at = exit_handler(code, at); continue;
    default: return false;
    }
    at++;
  }
  return at < 0;
}

bool generator_drop(tracer *t, frame *f) {
  if (!generator_unwinds(f)) return true;
  value *v = exit_passes(f) ? value_new(t, &value_generator_type) : NULL;
  if (!v) return false;
  v->any.a = f;
  return generator_close(t, v, NULL, 0, NULL) != NULL;
}

static const builtin_method generator_methods[] = {{"__next__", iterator_next_method},
                                                   {"send", generator_send_method},
                                                   {"close", generator_close},
                                                   {"throw", generator_throw_method},
                                                   {NULL, NULL}};

static value *generator_get_attr(tracer *t, value *v, PyObject *name) {
  return builtin_method_find(t, generator_methods, v, name);
}

/* One of a model stands for an iterator of another type. */
static PyObject *generator_python_type(tracer *t, value *v) {
  const frame *f = v->any.a;
  if (model_owns(f->function->globals))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the type of an iterator of itertools");
  return (PyObject *)&PyGen_Type;
}

const value_type value_generator_type = {.name = "generator",
                                         .kinds = VALUE_IS_RETURNING | VALUE_IS_PAIRS,
                                         .iter = iter_self,
                                         .next = generator_next,
                                         .rebuild = generator_rebuild,
                                         .get_attr = generator_get_attr,
                                         .python_type = generator_python_type,
                                         .reversed = iterator_reversed};
