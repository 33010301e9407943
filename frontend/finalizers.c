/* What runs when captured code lets go of an object: a generator's `finally`, a `__del__`.
 *
 * A part begins with what the frame holds, and these references live as long as it runs. So an
 * object that a name or the stack gives up in the middle would die at the part's end, behind what
 * the code does after that. Where somebody could see it, capture breaks in front of the
 * instruction, which runs for real. A function's arguments are its caller's as well and do not die.
 */
#include "frontend/python.h"
#include "frontend/value/value.h"

static bool finalizer_is(PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  if (!PyGen_CheckExact(o)) return type->tp_finalize || type->tp_del;
  return python_generator_waits(o);
}

/* Is it held by another name or place of the frame, or not by the frame alone? */
static bool finalizer_stays(const tracer *t, const frame *f, const value *v) {
  int held = 0;
  bool slot = false;
  for (Py_ssize_t i = 0; i < t->arg_count; i++)
    slot |= t->args[i] == v->object;
  for (int32_t i = 0; i < f->code->locals; i++)
    held += f->locals[i] && f->locals[i]->object == v->object;
  for (int32_t i = 0; i < f->sp; i++)
    held += f->stack[i] && f->stack[i]->object == v->object;
  return !slot || held > 1;
}

bool trace_lets_go(tracer *t, const frame *f, const value *v) {
  if (!t->start || f != t->root || !v || !v->object || trace_pending(t) ||
      !finalizer_is(v->object) || finalizer_stays(t, f, v))
    return !trace_pending(t);
  if (PyGen_CheckExact(v->object))
    trace_break(t, BREAK_GENERATOR, "a generator that has begun is given up");
  else
    trace_break(t, BREAK_UNKNOWN_CALL, "the finalizer of a %s", Py_TYPE(v->object)->tp_name);
  return false;
}
