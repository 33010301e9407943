/* The tracer: the state of one capture while it is made, and how a step ends. */
#ifndef LOOM_FRONTEND_CORE_TRACER_H
#define LOOM_FRONTEND_CORE_TRACER_H

#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/learnt.h"
#include "frontend/core/value.h"
#include "graph/graph.h"

typedef struct function_data { /* of a value_function_type: `any.a`; any.b is the function's own
                                  name or NULL */
  PyCodeObject *code;
  PyObject *globals;
  value *defaults;    /* tuple value or NULL */
  value *kwdefaults;  /* dict value or NULL */
  value *closure;     /* tuple value of cells or NULL */
  bool annotated;     /* made with annotations: */
  value *annotations; /* tuple or dict value */
  value *attrs;       /* of one made inside: dict value of its __dict__, or NULL */
  PyObject *live;     /* the function itself, when it existed before (borrowed); or NULL */
  value *
      own; /* of one made inside: dict value of __name__ and the like that were assigned, or NULL */
} function_data;

typedef struct frame {
  struct frame *back;
  const loom_code *code;
  function_data *function;
  value **locals; /* NULL: unbound */
  value **stack;
  value *names;   /* of the body of a class: a dict value */
  value *kwnames; /* for the next CALL: a tuple constant */
  value *thrown;  /* generators: to be raised where the frame goes on */
  value *handled; /* generators: the handled exception while suspended */
  int32_t sp, pc;
  struct frame *next_generator;
  bool generator, running, finished, library;
} frame;

typedef enum step { STEP_NEXT, STEP_FAIL, STEP_RETURN, STEP_YIELD } step;
typedef enum trace_status {
  TRACE_GOING,
  TRACE_RAISING, /* `raised` travels to a handler */
  TRACE_BROKEN,  /* capture->broke says why */
  TRACE_RESTART, /* a symbolic argument has to be known: start again with `numbers` changed */
  TRACE_ERROR    /* a Python exception of our own: MemoryError, KeyboardInterrupt */
} trace_status;

/* Loops that are not captured once (roll.c), by the place of their FOR_ITER: kept from one attempt
 * to the next. */
#define ROLL_BANS 24

typedef struct roll_ban_row {
  PyCodeObject *code;
  int32_t pc;
  int delay;  /* so many iterations are looked at before one is taken for all; or as in roll.c */
  int period; /* so many of them are one */
  int tail;   /* so many are left for the end, each by itself */
  const char *why; /* it is left to Python or unrolled, or NULL */
  bool apart;      /* the items that it goes through are looked at one by one */
  bool lends;      /* these are lent from the first iteration on */
  bool reads;      /* lists that it appends to, so that they are looked at as all others */
  int visible;     /* it reads only so many of their last items */
  uint64_t writes; /* of a branch: blocks of the caller that it writes, see loom_adapter.written */
  struct roll_learnt *learnt; /* of a loop that data may end: what it is known to change; or NULL */
} roll_ban_row;

#define ROLL_LENT 32
#define ROLL_APART 16
typedef struct roll_bans {
  roll_ban_row rows[ROLL_BANS];
  int count, restarts;
  int64_t walked; /* tokens of states that were compared, in all attempts */
  bool all;
  PyObject *apart[ROLL_APART]; /* live lists whose items are looked at one by one (borrowed) */
  int apart_count;
} roll_bans;

/* Added to the place of an instruction: its row is that of a branch, or of a loop with its head
 * there that data may end. */
#define ROLL_BRANCH (1 << 24)

#define ROLL_HERE (1 << 25) /* the same: of what an instruction lends */
#define ROLL_ENDS (2 << 24)
typedef struct roll roll;
typedef struct branch branch;
/* The call that is captured. */
typedef struct trace_call_state {
  PyObject *const *args;
  Py_ssize_t count;
  number_mode *numbers; /* of each argument */
  size_table *sizes;    /* what is known of sizes; or NULL */
} trace_call_state;

/* The outermost frame: where it starts, and where capture ends in it. */
typedef struct trace_outer {
  frame *frame;
  int64_t step;             /* instructions of it that were begun */
  int64_t stop;             /* capture ends in front of this one; -1: at the function's end */
  bool stopped;             /* it has: */
  value *leaving;           /* what was being handled there */
  int32_t handlers;         /* of exceptions that the frame is inside of */
  const frame_shape *start; /* where the frame starts; NULL: at the beginning */
} trace_outer;

/* What capture has met so far, by address. */
typedef struct trace_known {
  pointer_map wrapped;   /* live object -> its value */
  pointer_map by_source; /* source -> value */
  pointer_map codes;     /* code object -> decoded */
  pointer_map rebuilt;   /* value -> its recipe */
  pointer_map guarded;   /* a guard's hash -> 1 + its number */
  pointer_map
      contents; /* content of an instance made here of a class over dict or list -> the instance */
  pointer_map made;      /* object made for the capture alone (classbody.c) -> value */
  pointer_map stand_ins; /* value -> such an object */
} trace_known;

/* Floating-point flags: those ignored now, those of the nodes made while they were not. */
typedef struct trace_flags {
  uint32_t ignored, seen;
  const char *operation; /* the library's, that the code itself asks for and nodes are made of now;
                            or NULL */
} trace_flags;

/* Sizes that host calls tell (size_late). */
typedef struct trace_late {
  uint64_t symbols;                   /* bit for each symbol that a host call introduces */
  loom_value nodes[LOOM_MAX_SYMBOLS]; /* their values as data, of those calls */
  int64_t *known; /* for each such size, in the order of capture: what it has turned out to equal;
                     kept over restarts */
  int64_t sizes[LOOM_MAX_SYMBOLS]; /* the sizes themselves, so far */
  uint32_t count;
} trace_late;

/* Objects that existed before the call, and what is done to them: each file of values/ has its
 * list. */
typedef struct trace_live {
  Py_ssize_t items; /* of lists and tuples that were looked at */
  struct shadows *shadows;
  struct live_dict *dicts;
  struct overlay *overlays;
  struct live_iter *iters;
  struct copy_memo *copies;
  struct number_series *series;
  struct gathered_list *gathered;
} trace_live;

/* Loops that are captured once, and branches on data. */
typedef struct trace_loops {
  uint64_t looped;                  /* bit for each symbol that is the index of a loop */
  int64_t counts[LOOM_MAX_SYMBOLS]; /* iterations of those loops, as numbers */
  int64_t blamed;    /* the symbol of the loop that is at fault for what is being reported, or -1 */
  int blamed_period; /* it would not be, were so many iterations one; or 0 */
  int blamed_peel, blamed_tail; /* or were so many more at its begin or end left out; or 0 */
  const char *blamed_why;
  bool *never_choose;       /* see trace_choose: kept over restarts */
  roll_bans *bans;          /* kept over restarts */
  roll *rolls;              /* loops that are watched, the last one begun first */
  branch *branches;         /* that are being evaluated both ways, the innermost first */
  pointer_map flows, lives; /* code -> its control flow, its live locals (loop_flow.c) */
  pointer_map noted;        /* place -> record of a loop (roll_note.c) */
  struct lent_place {
    PyCodeObject *code;
    int32_t pc;
  } lent[ROLL_LENT]; /* loops that are lent items (gather.c) */
  int lent_count;
} trace_loops;

struct tracer {
  capture *capture;
  capture_tables *tables;
  PyObject *keep; /* list: objects that values point at; gone with the tracer, so that no argument
                     is kept alive */
  loom_arena arena;
  trace_status state;
  value *raised, *handled; /* `handled` NULL: what the caller handles, if anything */
  value
      *returned; /* by the frame that has just finished (also a generator's StopIteration value) */
  frame *frame, *generators;
  int depth;         /* of inlined calls */
  const char *stack; /* of C, where capture began */
  uint64_t steps;
  bool computes; /* it has found an array operation */
  trace_call_state call;
  trace_outer outer;
  trace_known known;
  trace_flags flags;
  trace_late late;
  trace_live live;
  trace_loops loops;
  uint64_t formula_symbols[LOOM_MAX_SYMBOLS]; /* what a symbol is computed of by a formula */
  const loom_adapter *state_owners[LOOM_MAX_ADAPTERS];
  void *states[LOOM_MAX_ADAPTERS];
  value *none, *true_value, *false_value, *null, *not_implemented;
};

/* trace_late.known: nothing is known, or it is another of these sizes, else the number itself. */
#define LATE_FREE (-1)
#define LATE_SAME(size) (-2 - (int64_t)(size))

/* ---- trace_state.c: how a step fails, what is appended to the capture ---- */

/* What is being raised is raised by the operation itself, behind a break: its type, its text, or
 * what it has done by then is not followed. */
void *trace_raise_plainly(tracer *t, const char *format, ...);
void *trace_break(tracer *t, int reason, const char *format, ...); /* reasons: breaks.def */
loom_graph *trace_graph(tracer *t);
loom_location trace_location(tracer *t); /* of the user's instruction now being evaluated */
/* Appends a node with the current location; NULL attrs when the op has none. LOOM_NO_VALUE after
 * trace_break(). */
loom_value trace_node(tracer *t, loom_opcode op, const loom_value *operands, uint32_t count,
                      const loom_attr *attrs, uint32_t attr_count, const loom_type *type);
void trace_guard(tracer *t, guard g); /* takes over g's object and payload */
const source *trace_source(tracer *t, source_kind kind, const source *base, PyObject *object,
                           PyObject *key, Py_ssize_t index); /* hash-consed */
/* For what recurses along the user's objects: false, with a break, when capture has used up its
 * share of the C stack (lists that hold themselves, or many levels of them). */
bool trace_goes_deeper(tracer *t);
bool trace_pending(const tracer *t); /* an exception is being raised, or capture has broken off */
void *trace_alloc(tracer *t, size_t bytes); /* zeroed, lives as long as the capture is being made */
/* An array of such memory with room for one more; NULL: out of memory. */
void *trace_more(tracer *t, void *array, uint32_t count, uint32_t *capacity, size_t size);
PyObject *trace_keep(tracer *t, PyObject *object); /* takes the reference, returns it borrowed */
/* For adapters. A new graph input read from `s` on each call (or the constant `constant`, whose
 * reference it takes). */
loom_value trace_input(tracer *t, loom_input_kind kind, const loom_type *type,
                       const int64_t *strides, const source *s, PyObject *constant);
/* A new graph output; its number. */
int64_t trace_output(tracer *t, loom_value v, const int64_t *strides);
void **trace_state(tracer *t,
                   const loom_adapter *adapter); /* a pointer of the adapter's own, NULL at first */
recipe *trace_recipe(
    tracer *t,
    recipe_kind kind); /* zeroed, owned by the capture; its payload and items are malloc'ed */
void trace_effect(tracer *t, effect e);
void trace_change(tracer *t, change c); /* takes over its key */
/* From here on the function ignores these floating-point flags, and reports those. */
void trace_fp_state(tracer *t, uint32_t ignored, uint32_t reported);
/* Nodes made from here on are those of an operation that the code itself asks for: by this name
 * (which lasts) the library warns of it. NULL: of anything else. */
void trace_operation(tracer *t, const char *name);
int64_t trace_host(tracer *t, PyObject *row); /* takes the reference; the slot of a host call */
int32_t frame_line(const frame *f);           /* of the instruction now being evaluated */
/* The same in the tracer's arena; false with an error pending. */
bool trace_map_set(tracer *t, pointer_map *map, const void *key, void *item);
bool trace_charge(
    tracer *t,
    Py_ssize_t items); /* a search through that many counts as steps, too: false after a break */
void *trace_fail(tracer *t); /* a Python exception of our own is set: capture ends with it */
bool trace_grow(tracer *t, void *array, uint32_t count, uint32_t *capacity, size_t size);
void trace_restart(tracer *t, Py_ssize_t arg); /* guard this argument by value instead */
void guard_simple(tracer *t, guard_kind kind, const source *s, PyObject *object, int64_t number);
void *trace_raise_value(tracer *t, value *exception);
bool class_is_made(const tracer *t, PyObject *object); /* a class (or part of one) made inside */

/* ---- constants.c: what only constants determine ---- */

/* The value, or a constant in its place when the node just made for it has only constant operands.
 * A break when the library would report a floating-point exception for it at every call
 * (constants.c). */
loom_value constants_fold(tracer *t, loom_value v);

extern value
    value_poison; /* what an empty stack gives: only bytecode that makes no sense pops it */

/* ---- inline ---- */

static inline void frame_push(frame *f, value *v) { f->stack[f->sp++] = v; }

static inline value *frame_pop(frame *f) { return f->sp > 0 ? f->stack[--f->sp] : &value_poison; }

static inline value *frame_peek(frame *f, int32_t depth) {
  return depth >= 1 && f->sp >= depth ? f->stack[f->sp - depth] : &value_poison;
}

static inline step frame_result(frame *f, value *v) {
  if (!v) return STEP_FAIL;
  f->stack[f->sp++] = v;
  return STEP_NEXT;
}

#endif
