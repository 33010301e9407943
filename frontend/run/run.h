/* One compiled version of a function, and how it runs. */
#ifndef LOOM_FRONTEND_RUN_RUN_H
#define LOOM_FRONTEND_RUN_RUN_H

#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/compile/compile.h"
#include "graph/graph.h"
#include "runtime/runtime.h"

typedef struct callable callable; /* what dispatches calls to versions (dispatch/callable.h) */
typedef enum backend {
  BACKEND_LOOM,
  BACKEND_INTERPRET,
  BACKEND_EAGER,
  BACKEND_USER /* a callable of the user's: backend.c */
} backend;

#define ENTRY_SIMPLE_INPUTS 16
/* In place of a slot: the input is no argument, its source is read. */
#define ENTRY_READ UINT32_MAX
/* What a run took, in ns. wall: wall time, or CPU time if that is less. busy: CPU time of all
 * threads of this process. */
typedef struct trial_cost {
  uint64_t wall, busy;
} trial_cost;

#define TRIAL_LOW 4
/* The runs of one kind in a comparison: the wall times of the shortest runs, in order, and of the
 * longest; the least wall and CPU time. */
typedef struct trial_sample {
  uint32_t count;
  uint64_t low[TRIAL_LOW], most;
  trial_cost least;
} trial_sample;

/* See trial.c. */
typedef struct trial {
  /* From TRIAL_LEFT on, except in TRIAL_OVER, all runs are plain. Callees are compiled in
   * TRIAL_LEFT and TRIAL_CALLEES, and plain in the other states. */
  enum {
    TRIAL_OPEN,
    TRIAL_PLAIN_NEXT,
    TRIAL_LEFT,
    TRIAL_ALONE_NEXT,
    TRIAL_CALLEES,
    TRIAL_ALONE,
    TRIAL_OVER
  } state;
  bool bulky, told; /* bulky: a plain run would need much memory; told: the result of the trial is
                       on record */
  bool brief;       /* runs are so short that asking for CPU time would disturb them */
  bool raised;      /* how the last compiled run ended */
  uint32_t likely;  /* the likely length of a plain run, in compiled runs: as a rule, at most so
                       many */
  uint32_t warm, warm_plain, pairs, lost, odd, lone, grown, untimed, depth, again;
  uint64_t spent, calls, callees_ns, waits_ns, waits_from;
  uint64_t due;    /* TRIAL_OVER: the number of its runs at which it is compared again */
  trial_cost last; /* of the last compiled run */
  trial_sample compiled, plain;
} trial;

/* The parts of an entry. The file that is named at a part has its init and its fini. A part that
 * starts as zero has no init, and a part that owns nothing has no fini. */

/* What a version guards, and how long it is good for: lifetime.c. */
typedef struct entry_life {
  PyObject *code;     /* of the function when it was captured (owned) */
  PyObject *fits;     /* the same, borrowed; NULL: something that it guards has died */
  PyObject **watches; /* weak references to what it guards (owned) */
  PyObject *watcher;  /* the object by which their callback finds the version (owned), or NULL */
  PyObject **pins;    /* those of the guarded objects that a run reads after it has released the GIL
                         (borrowed) */
  uint32_t watch_count, pin_count;
  PyObject *drawn_from; /* what its runs draw numbers from (owned), or NULL */
} entry_life;

/* The short way of a run: run.c. */
typedef struct entry_simple {
  bool is;                             /* only arrays in, one new array out, no effects */
  bool reads;                          /* some inputs are no arguments */
  uint32_t slots[ENTRY_SIMPLE_INPUTS]; /* the argument of each input, or ENTRY_READ */
} entry_simple;

/* Does a run give up the GIL? run.c. */
typedef struct entry_gil {
  bool release;      /* there is enough work to release it, at least with this call's sizes */
  bool symbolic;     /* whether there is enough work has to be found out on each call: */
  loom_type largest; /* by the size of an array of this type */
  bool reads_again;  /* results and effects read objects that other threads may replace during the
                        run */
} entry_gil;

/* For each output of the graph: entry.c. */
typedef struct entry_outputs {
  const recipe **recipes; /* its OUTPUT recipe, or NULL: a temporary block (owned) */
  size_t *sizes;          /* its bytes (owned) */
} entry_outputs;

/* Outputs that are written straight into arguments: direct.c. */
typedef struct entry_direct {
  const effect **targets;    /* for each output (owned): what may write it itself, or NULL */
  struct direct_span *spans; /* for each output (owned); NULL: for none */
  const effect *reporter;    /* the effect whose one operation is all that can raise, and whose
                                exceptions can be reported after the write */
  bool again_behind; /* the plain function may run behind a run that has written into its target */
} entry_direct;

/* BACKEND_USER, else NULL: backend.c. */
typedef struct entry_user {
  PyObject *backend, *runner; /* the backend, and what it made of the graph (both owned) */
  bool device; /* it works on a device: inputs stand for what is there, and so do results */
  bool fills;  /* it writes its results into the memory that it is given for them */
} entry_user;

/* How a version was made: made.c. */
typedef struct entry_made {
  bool part;         /* of a function, not the whole of it */
  bool fastmath;     /* compiled with the option fastmath */
  char cpu[16];      /* the CPU that it is compiled for */
  PyObject *name;    /* of its graph, for people (owned) */
  double capture_ms; /* what capture took */
  double *guard_ns;  /* for each guard what it costs (owned), or NULL: it was not measured */
  loom_compile_report report;
} entry_made;

/* What a new version is to be: all of it borrowed. */
typedef struct entry_order {
  backend kind;
  PyObject *code, *name;
  PyObject *user; /* BACKEND_USER: the backend; else NULL */
  const char *cpu;
  bool fastmath, part;
  double capture_ms;
  const loom_compile_report *report;
} entry_order;

/* Runs of a version so far: run.c. */
typedef struct entry_counts {
  uint64_t hits;      /* all of them */
  uint64_t again;     /* those that ran again to report floating-point exceptions */
  uint32_t given_up;  /* the last runs in a row that ended in the plain function */
  uint32_t passed_by; /* calls since then for which the version was not tried */
} entry_counts;

/* Whether the parts behind a stopped version compute anything: dispatch/resume.c. */
typedef struct entry_rest {
  uint32_t idle; /* runs in which they computed nothing */
  bool useful;   /* in some run they did */
} entry_rest;

/* Immutable once it is published, but for counters; shared by reference (under the GIL). */
typedef struct entry {
  uint32_t refs;
  backend kind;
  bool stopped;          /* ends in front of an instruction: see resume.c */
  bool watched;          /* stopped, or its runs are timed or plain: see trial.c */
  uint32_t operations;   /* nodes of its graph */
  struct callable *home; /* in whose list it is (borrowed), or NULL */
  capture *captured;
  guard_program *guards;
  const loom_adapter *adapter;
  loom_plan *plan;
  struct witness *witness; /* its witness (witness.c), or NULL */
  entry_life life;
  entry_simple simple;
  entry_gil gil;
  entry_outputs outputs;
  entry_direct direct;
  entry_user user;
  entry_made made;
  entry_counts counts;
  entry_rest rest;
  trial trial; /* is it faster than the plain function? */
} entry;

/* The functions of dispatch/ that this floor calls: set by loom_callable_init(). */
struct hook_scope;
typedef struct dispatch_hooks {
  bool (*pause)(struct hook_scope *scope); /* hook_pause() */
  void (*go_on)(const struct hook_scope *scope);
  bool (*give_up)(entry *e);           /* trial_give_up() */
  void (*died)(struct callable *home); /* called when an object dies that a version of `home` guards
                                        */
  PyObject *(*globals)(
      const struct callable *home); /* of the function that is being called; borrowed */
} dispatch_hooks;

/* A list of entries as calls see it: never changed once published, newest first. */
typedef struct entry_list {
  uint32_t refs, count;
  entry *items[];
} entry_list;

/* While a window is open in a thread, functions that are called there are compiled with the options
 * of `owner`, except the function with the code `code`. */
typedef struct hook_scope {
  callable *owner; /* NULL: a pause */
  const PyObject *code;
  struct hook_scope *outer;
  call_place call; /* what runs is this CALL of `code` */
} hook_scope;

/* ---- entry.c: one version: how it is made and dropped ---- */

bool backend_from_name(const char *name, backend *out);
/* Takes over `captured` and `plan` also when it fails (NULL with MemoryError, or with `err` set and
 * no exception). */
entry *entry_new(capture *captured, loom_plan *plan, const entry_order *order, loom_error *err);
/* The values of the symbols in the call that was captured; room for LOOM_MAX_SYMBOLS. */
void entry_hints(const loom_graph *graph, int64_t *out);
/* The version will be kept: packs its graph into less memory. */
void entry_settle(entry *e);
void entry_free(entry *e); /* called by entry_unref() alone */
int entry_traverse(entry *e, visitproc visit, void *arg);
extern const dispatch_hooks *loom_dispatch;
void entries_unref(entry_list *list);

/* ---- run.c: a run, and the short way of one ---- */

/* Runs a version whose guards hold and gave `symbols`. NULL with an exception; or NULL with
 * *fallback set and no exception: the plain function has to run (nothing has been changed yet).
 * *changed (false before the call): the exception was raised after something had been changed. */
PyObject *entry_run_part(entry *e, PyObject *const *args, const int64_t *symbols, bool *fallback,
                         bool *changed);

/* ---- made.c: how a version was made ---- */

/* Finds out what each of its guards costs. */
void entry_measure_guards(entry *e, PyObject *const *slots);

/* ---- flags.c: the flags of graphs that run on a device ---- */

PyObject *loom_py_graph_flags(PyObject *module, PyObject *args);
PyObject *loom_py_graph_witness(PyObject *module, PyObject *args);

/* ---- witness.c: which operations have raised a floating-point flag ---- */

bool witness_is_hushed(const entry *e); /* does the hush run in place of the version's own plan, as
                                           a rule? */

/* ---- lifetime.c: what a version does not keep alive ---- */

/* Keeps the objects that the version refers to weakly alive until entry_release(), for code that
 * reads its guards and may run Python code meanwhile. False: one of them has died. */
bool entry_hold(const entry *e);
void entry_release(const entry *e);

/* ---- inline ---- */

static inline void entry_unref(entry *e) {
  if (e && !--e->refs) entry_free(e);
}

static inline PyObject *entry_run(entry *e, PyObject *const *args, const int64_t *symbols,
                                  bool *fallback) {
  bool changed = false;
  return entry_run_part(e, args, symbols, fallback, &changed);
}

#endif
