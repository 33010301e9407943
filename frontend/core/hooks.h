/* What upper floors of the frontend do for lower ones: tables of functions. */
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
  /* What now ends capture may be the fault of a loop that is being captured once: capture starts
   * again, without. False when there is none. */
  bool (*blames)(tracer *t);
  /* The loops in which capture breaks are left to Python. */
  void (*note_break)(tracer *t, int reason);
  /* The next index of a FOR_ITER over a range. */
  value *(*next)(tracer *t, frame *f, value *iterator);
  void (*leave_frame)(tracer *t, const frame *f); /* it has returned, or raised */
  /* The comparison at the end of a `while`; NULL with nothing pending: evaluate it as any other. */
  value *(*test)(tracer *t, frame *f, int op, value *left, value *right);
  /* A conditional jump on data, with what it tests on top of the stack. False with nothing pending:
   * it cannot be captured. */
  bool (*jump)(tracer *t, frame *f, const loom_instr *in, bool when, step *out);
  /* Behind a `for`, whose FOR_ITER is instruction `head`: data may have ended it before. False:
   * something is pending. */
  bool (*end_behind)(tracer *t, frame *f, int32_t head, step *out);
  /* Does the number depend on how many iterations there were of a loop that data ends? */
  bool (*end_counts)(tracer *t, int64_t number);
  /* The place of the innermost loop that is looked at, when its items may be lent; or 0. */
  uint16_t (*lends)(tracer *t);
  /* Are items lent to it in all its iterations? `ask`: capture starts again with that. */
  bool (*lends_early)(tracer *t, bool ask);
  /* The place of the instruction that is being evaluated, when what it makes may be lent; or 0. */
  uint16_t (*lends_here)(tracer *t);
  /* Something is done with a value that is lent, or that is to what was lent, after which the two
   * are not alike: capture starts again without. False: it is neither. */
  bool (*lent)(tracer *t, const value *v);
  /* The content of a hidden list is read: capture starts again, without rolling that loop over it.
   */
  void (*reads_list)(tracer *t, value *list, Py_ssize_t from_end);
  /* How many of the last items of a hidden list may be read. */
  Py_ssize_t (*list_visible)(tracer *t, const value *list);
  /* Walks what may be read of a list: all of it, unless a loop that is watched appends to it. */
  void (*walk_list)(roll_walk *w, value *v);
} loop_hooks;

extern const loop_hooks *loom_loops;

#endif
