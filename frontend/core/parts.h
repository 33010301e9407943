/* What a tracer is made of, and what one attempt to capture a call keeps for the next one. */
#ifndef LOOM_FRONTEND_CORE_PARTS_H
#define LOOM_FRONTEND_CORE_PARTS_H

#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/learnt.h"
#include "frontend/core/value.h"
#include "graph/graph.h"

/* Loops that are not captured once (roll_ban.c), by the place of their FOR_ITER: kept from one
 * attempt to the next. */
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
  struct roll_learnt *learnt; /* of a loop that data may end: what changes (owned), or NULL */
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
typedef struct frame frame;
typedef struct roll roll;
typedef struct branch branch;

/* What one attempt to capture a call has found out for the next one, which begins anew: capture.c.
 */
typedef struct trace_kept {
  number_mode *numbers;           /* of each argument (owned) */
  int64_t late[LOOM_MAX_SYMBOLS]; /* for each size of trace_late, in the order of capture: what it
                                     has turned out to equal */
  bool never_choose;              /* see trace_choose() */
  roll_bans bans;                 /* (owned) */
} trace_kept;

/* trace_kept.late: nothing is known, or it is another of these sizes, else the number itself. */
#define LATE_FREE (-1)
#define LATE_SAME(size) (-2 - (int64_t)(size))

/* The parts of a tracer. The file that is named here sets a part up, unless it starts as zero, and
 * frees what it says that it owns. All else is the capture's, the user's, or in `memory`. */

/* What lives as long as the tracer: trace_state.c. */
typedef struct trace_memory {
  PyObject *keep;   /* list of objects that values point at, so that no argument is kept alive any
                       longer (owned) */
  loom_arena arena; /* (owned) */
} trace_memory;

/* The call that is captured: capture.c. */
typedef struct trace_call_state {
  PyObject *const *args;
  Py_ssize_t count;
  size_table *sizes; /* what is known of sizes; or NULL */
} trace_call_state;

/* The outermost frame, where it starts, and where capture ends in it: capture.c. */
typedef struct trace_outer {
  frame *frame;
  int64_t step;             /* instructions of it that were begun */
  int64_t stop;             /* capture ends in front of this one; -1: at the function's end */
  bool stopped;             /* it has: */
  value *leaving;           /* what was being handled there */
  int32_t handlers;         /* of exceptions that the frame is inside of */
  const frame_shape *start; /* where the frame starts; NULL: at the beginning */
} trace_outer;

/* How far capture may go: trace_state.c. */
typedef struct trace_spent {
  uint64_t steps;
  const char *stack; /* of C, where capture began */
  int depth;         /* of inlined calls */
  bool computes;     /* it has found an array operation */
} trace_spent;

/* Values that are made once: value.c. */
typedef struct trace_constants {
  value *none, *true_value, *false_value, *null, *not_implemented;
} trace_constants;

/* What capture has met so far, by address: trace_state.c. */
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
  pointer_map gaps;      /* dict made here -> what was done to its table (dict_gaps.c) */
} trace_known;

/* Floating-point flags: those ignored now, those of the nodes made while they were not
 * (trace_state.c). */
typedef struct trace_flags {
  uint32_t ignored, seen;
  uint32_t asked; /* those that the code itself ignores: all are where derivatives are taken */
  bool derives;   /* the outermost frame takes derivatives: they are to its end */
  const char *operation; /* the library's, that the code itself asks for and nodes are made of now;
                            or NULL */
} trace_flags;

/* Sizes that host calls tell (size_late): size.c. */
typedef struct trace_late {
  uint64_t symbols;                   /* bit for each symbol that a host call introduces */
  loom_value nodes[LOOM_MAX_SYMBOLS]; /* their values as data, of those calls */
  int64_t sizes[LOOM_MAX_SYMBOLS];    /* the sizes themselves, so far */
  uint32_t count;
} trace_late;

/* Objects that existed before the call, and what is done to them. Each file of values/ has its
 * list, as shadow.c has `shadows`. */
typedef struct trace_live {
  Py_ssize_t items; /* of lists and tuples that were looked at */
  struct shadows *shadows;
  struct live_dict *dicts;
  struct dict_count *counts;
  struct overlay *overlays;
  struct live_iter *iters;
  struct copy_memo *copies;
  struct number_series *series;
  struct gathered_list *gathered;
  struct context_value *contexts; /* context variables that were looked at */
} trace_live;

/* Loops that are captured once, and branches on data: roll_ban.c. */
typedef struct trace_loops {
  uint32_t derived;                 /* more than 0: what is evaluated will be differentiated */
  uint64_t looped;                  /* bit for each symbol that is the index of a loop */
  int64_t counts[LOOM_MAX_SYMBOLS]; /* iterations of those loops, as numbers */
  int64_t blamed;    /* the symbol of the loop that is at fault for what is being reported, or -1 */
  int blamed_period; /* it would not be, were so many iterations one; or 0 */
  int blamed_peel, blamed_tail; /* or were so many more at its begin or end left out; or 0 */
  const char *blamed_why;
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

/* Pointers of the adapters' own: trace_state.c. */
typedef struct trace_adapters {
  const loom_adapter *owners[LOOM_MAX_ADAPTERS];
  void *states[LOOM_MAX_ADAPTERS];
} trace_adapters;

/* ---- trace_state.c: how a step fails, what is appended to the capture ---- */

bool trace_memory_init(trace_memory *m); /* false with MemoryError */
void trace_memory_fini(trace_memory *m);
void trace_spent_init(trace_spent *s, const char *stack);

#endif
