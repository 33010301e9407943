/* Tables of functions by which lower floors of the frontend call upper ones. */
#ifndef LOOM_FRONTEND_CORE_HOOKS_H
#define LOOM_FRONTEND_CORE_HOOKS_H

#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"

/* The evaluator: set by eval_init(). */
typedef struct eval_hooks {
  /* A frame for a call of the function, its locals not bound yet; NULL after a break. */
  frame *(*frame_new)(tracer *t, function_data *function);
  /* Runs a frame until it returns, yields or fails: NULL after trace_raise() or trace_break(). */
  value *(*run)(tracer *t, frame *f, bool *yielded);
  /* Binds the arguments and runs the function. */
  value *(*call)(tracer *t, function_data *function, value *const *args, Py_ssize_t count,
                 PyObject *kwnames);
} eval_hooks;

extern const eval_hooks *loom_eval;

/* The functions of Python's own library: set by builtins_init(). */
typedef struct library_hooks {
  bool (*has_row)(PyObject *object);
  /* *mine false when the table has no row for it. */
  value *(*call)(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                 PyObject *kwnames, bool *mine);
} library_hooks;

extern const library_hooks *loom_library;

/* Loops that are captured once, and branches on data: set by loops_init(). */
typedef struct loop_hooks {
  /* Capture is about to end. If it does so in the hidden iteration of a loop that is being captured
   * once, capture starts again without rolling that loop: true. */
  bool (*blames)(tracer *t);
  /* Capture has broken for this reason: records the loops around that place as left to Python. */
  void (*note_break)(tracer *t, int reason);
  /* The next index of a FOR_ITER over a range. */
  value *(*next)(tracer *t, frame *f, value *iterator);
  void (*leave_frame)(tracer *t, const frame *f); /* the frame has returned, or raised */
  /* A comparison that may be the test of a `while`. NULL with nothing pending: it is evaluated as
   * any other. */
  value *(*test)(tracer *t, frame *f, int op, value *left, value *right);
  /* A conditional jump on data, with the tested value on top of the stack. False with nothing
   * pending: it cannot be captured. */
  bool (*jump)(tracer *t, frame *f, const loom_instr *in, bool when, step *out);
  /* Execution has come behind a `for` whose FOR_ITER is instruction `head`. Where data may have
   * ended the loop before, sets `out` to where the frame goes on. False: a failure is pending. */
  bool (*end_behind)(tracer *t, frame *f, int32_t head, step *out);
  /* Does the number depend on the iteration count of a loop that data ends? */
  bool (*end_counts)(tracer *t, int64_t number);
  /* A number for the innermost loop that is being watched, when items may be lent to it
   * (values/gather.c); or 0. */
  uint16_t (*lends)(tracer *t);
  /* Are items lent to that loop in all iterations, not in the hidden one alone? `ask`: if not,
   * capture starts again with that. */
  bool (*lends_early)(tracer *t, bool ask);
  /* A number for the instruction that is being evaluated, when its result may be lent; or 0. */
  uint16_t (*lends_here)(tracer *t);
  /* Something happens after which a lent value and the real object differ: either of them is
   * changed, kept or compared by `is`. Capture starts again without lending there. False: `v` is
   * neither lent nor the owner of lent items. */
  bool (*lent)(tracer *t, const value *v);
  /* A hidden list is read, `from_end` items from its end. Capture starts again: with these items
   * visible, or without rolling that loop. */
  void (*reads_list)(tracer *t, value *list, Py_ssize_t from_end);
  /* How many of the last items of a list, which may be hidden, may be read. */
  Py_ssize_t (*list_visible)(tracer *t, const value *list);
  /* Adds to the state of a loop what may be read of a list: all of it, unless a loop that is being
   * watched appends to it. */
  void (*walk_list)(roll_walk *w, value *v);
} loop_hooks;

extern const loop_hooks *loom_loops;

#endif
