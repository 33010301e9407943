/* The parts of a tracer, and what one attempt to capture a call keeps for the next attempt. */
#ifndef LOOM_FRONTEND_CORE_PARTS_H
#define LOOM_FRONTEND_CORE_PARTS_H

#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/learnt.h"
#include "frontend/core/value.h"
#include "graph/graph.h"

/* What attempts have found out about one loop or branch (roll_ban.c), by the place of its FOR_ITER
 * or jump: kept from one attempt to the next. */
#define ROLL_BANS 24

typedef struct roll_ban_row {
  PyCodeObject *code;
  int32_t pc;
  int delay;  /* so many iterations are compared before one is hidden; or ROLL_NEVER, ROLL_LEAVE */
  int period; /* so many iterations become one of the graph's loop */
  int tail;   /* so many iterations are peeled at the end */
  const char *why; /* why it is left to Python or unrolled, or NULL */
  bool apart;      /* the items that it iterates over are looked at one by one */
  bool lends;      /* its items are lent from the first iteration on */
  bool reads;      /* it reads lists that it appends to: their items are part of the state */
  int visible;     /* it reads only so many of the last items of such lists */
  uint64_t writes; /* of a branch: the caller's blocks that it writes, see loom_adapter.written */
  struct roll_learnt *learnt; /* of a loop that data may end: what an iteration changes (owned), or
                                 NULL */
} roll_ban_row;

#define ROLL_LENT 32
#define ROLL_APART 16
typedef struct roll_bans {
  roll_ban_row rows[ROLL_BANS];
  int count, restarts;
  int64_t walked; /* number of tokens of states that were compared, in all attempts */
  bool all;
  PyObject *apart[ROLL_APART]; /* live lists whose items are looked at one by one (borrowed) */
  int apart_count;
} roll_bans;

/* Added to the place of an instruction in a row. ROLL_BRANCH: the row is that of a branch;
 * ROLL_ENDS: of a loop that data may end, whose head is there. */
#define ROLL_BRANCH (1 << 24)

#define ROLL_HERE (1 << 25) /* the row is that of an instruction that lends items */
#define ROLL_ENDS (2 << 24)
typedef struct frame frame;
typedef struct roll roll;
typedef struct branch branch;

/* What one attempt to capture a call has found out for the next attempt, which starts from the
 * beginning: capture.c. */
typedef struct trace_kept {
  number_mode *numbers;           /* of each argument (owned) */
  int64_t late[LOOM_MAX_SYMBOLS]; /* for each size of trace_late, in the order of capture: the
                                     number that it has turned out to equal */
  bool never_choose;              /* see trace_choose() */
  bool never_aside;               /* no code is followed for later (values/aside.c) */
  roll_bans bans;                 /* (owned) */
} trace_kept;

/* Values in trace_kept.late besides numbers: nothing is known; the size equals another of these
 * sizes. */
#define LATE_FREE (-1)
#define LATE_SAME(size) (-2 - (int64_t)(size))

/* The parts of a tracer. The file that is named at a part initialises it, unless it starts as zero,
 * and frees what is marked as owned. Everything else belongs to the capture or the user, or lies in
 * `memory`. */

/* Objects and memory that live as long as the tracer: trace_state.c. */
typedef struct trace_memory {
  PyObject *keep;   /* list of the objects that values point at: they live as long as the tracer
                       (owned) */
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
  bool stopped;             /* capture has ended there */
  value *leaving;           /* the exception that the frame handled there */
  int32_t handlers;         /* exception handlers that the frame is inside of */
  const frame_shape *start; /* where the frame starts; NULL: at the beginning */
} trace_outer;

/* How far capture may go: trace_state.c. */
typedef struct trace_spent {
  uint64_t steps;
  const char *stack; /* the C stack where capture began */
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
      contents; /* content of an instance, made here, of a class over dict or list -> the instance
                 */
  pointer_map made;      /* object that was made for the capture alone (classbody.c) -> its value */
  pointer_map stand_ins; /* value -> such an object */
  pointer_map gaps;      /* dict made here -> the operations on its table (dict_gaps.c) */
  struct cached_entry *cached; /* cached calls of new objects (cached.c) */
} trace_known;

/* Floating-point flags: those that are ignored now, and those of nodes that were made while they
 * were not ignored (trace_state.c). */
typedef struct trace_flags {
  uint32_t ignored, seen;
  uint32_t asked; /* those that the code itself asks to ignore; where derivatives are taken, all
                     flags are ignored */
  bool derives;   /* the outermost frame takes derivatives: all flags are ignored to its end */
  const char *operation; /* name of the library's operation that the code asks for and that makes
                            nodes now; or NULL */
} trace_flags;

/* Sizes that host calls report (size_late): size.c. */
typedef struct trace_late {
  uint64_t symbols;                   /* bit for each symbol that a host call introduces */
  loom_value nodes[LOOM_MAX_SYMBOLS]; /* their values as data: results of those calls */
  int64_t sizes[LOOM_MAX_SYMBOLS];    /* the sizes so far */
  uint32_t count;
} trace_late;

/* Objects that existed before the call, and their changes. Files of values/ have a list each:
 * shadow.c has `shadows`, and so on. */
typedef struct trace_live {
  Py_ssize_t items;        /* items of lists and tuples that were looked at */
  uint64_t changes;        /* how often one was changed */
  uint32_t values;         /* so many values were made so far */
  struct live_span *spans; /* the pieces of code whose changes are watched, the innermost first */
  uint8_t aside;           /* so many pieces of code are being followed that run later (aside.c) */
  uint32_t asides;         /* so many have begun so far */
  pointer_map aside_names; /* the names of global variables that they have read */
  pointer_map aside_known; /* the places that they have read, as in `aside_read` */
  const source **aside_read;
  uint32_t aside_count, aside_room;
  value **aside_made; /* what the function has made that can be changed and that they have read */
  uint32_t aside_made_count, aside_made_room;
  struct shadows *shadows;
  struct live_dict *dicts;
  pointer_map dicts_of; /* dictionary -> the last one made for it that no object's attributes own */
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
  uint32_t derived;                     /* more than 0: what is evaluated will be differentiated */
  int32_t checkpoint, checkpoint_count; /* the checkpointed call that runs now, or 0; all so far */
  struct trace_example *examples;       /* elements of batches, the last one first (examples.c) */
  uint64_t looped;                      /* bit for each symbol that is the index of a loop */
  int64_t counts[LOOM_MAX_SYMBOLS];     /* iterations of those loops, as numbers */
  int64_t blamed;    /* the symbol of the loop that is the cause of the present failure, or -1 */
  int blamed_period; /* the failure would not occur with a period of so many iterations; or 0 */
  int blamed_peel, blamed_tail; /* nor with so many more iterations peeled at the begin or end; or 0
                                 */
  const char *blamed_why;
  roll *rolls;              /* loops that are watched, the last one begun first */
  branch *branches;         /* branches both of whose ways are being evaluated, the innermost first
                             */
  pointer_map flows, lives; /* code -> its control flow, its live locals (loop_flow.c) */
  pointer_map noted;        /* place -> record of a loop (roll_note.c) */
  struct lent_place {
    PyCodeObject *code;
    int32_t pc;
  } lent[ROLL_LENT]; /* places of loops to which items are lent (gather.c) */
  int lent_count;
} trace_loops;

/* A pointer for each adapter, to its own state: trace_state.c. */
typedef struct trace_adapters {
  const loom_adapter *owners[LOOM_MAX_ADAPTERS];
  void *states[LOOM_MAX_ADAPTERS];
} trace_adapters;

/* ---- trace_state.c: how a step fails, what is appended to the capture ---- */

bool trace_memory_init(trace_memory *m); /* false with MemoryError */
void trace_memory_fini(trace_memory *m);
void trace_spent_init(trace_spent *s, const char *stack);

#endif
