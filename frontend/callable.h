/* The callable that stands in for a function, and its compiled versions.
 *
 * Sections by file: entry.c, bind.c, miss.c, callable.c, explain.c.
 */
#ifndef LOOM_FRONTEND_CALLABLE_H
#define LOOM_FRONTEND_CALLABLE_H

#include "frontend/frontend.h"

/* ---- entry.c: one compiled version ---------------------------------------------------------- */

typedef enum backend {
  BACKEND_LOOM,
  BACKEND_INTERPRET,
  BACKEND_EAGER,
  BACKEND_USER /* a callable of the user's: backend.c */
} backend;
bool backend_from_name(const char *name, backend *out);

#define ENTRY_SIMPLE_INPUTS 16
/* In place of a slot: the input is no argument, its source is read. */
#define ENTRY_READ UINT32_MAX

/* What a run took, in ns: on the wall's clock, but no more than on CPUs; and on CPUs, all threads
 * of this process together. */
typedef struct trial_cost {
  uint64_t wall, busy;
} trial_cost;

#define TRIAL_LOW 4
/* Of the runs of one kind in a comparison: the wall time of the shortest ones, in order, and of the
 * longest; the least of both. */
typedef struct trial_sample {
  uint32_t count;
  uint64_t low[TRIAL_LOW], most;
  trial_cost least;
} trial_sample;

/* See trial.c. */
typedef struct trial {
  /* From TRIAL_LEFT on, but for TRIAL_OVER, all runs are plain: in that state and in TRIAL_CALLEES
   * with compiled callees, in the others without. */
  enum {
    TRIAL_OPEN,
    TRIAL_PLAIN_NEXT,
    TRIAL_LEFT,
    TRIAL_ALONE_NEXT,
    TRIAL_CALLEES,
    TRIAL_ALONE,
    TRIAL_OVER
  } state;
  bool bulky, told; /* would need much memory; on record */
  bool brief;       /* runs are so short that to ask for the time on CPUs would disturb */
  bool raised;      /* how the last compiled run ended */
  uint32_t likely;  /* what a plain run takes, in compiled ones: at most, as a rule */
  uint32_t warm, warm_plain, pairs, lost, odd, lone, grown, untimed, depth, again;
  uint64_t spent, calls, callees_ns, waits_ns, waits_from;
  uint64_t due;    /* TRIAL_OVER: the number of its runs at which it is compared again */
  trial_cost last; /* of the last compiled run */
  trial_sample compiled, plain;
} trial;

/* Immutable once it is published, but for counters; shared by reference (under the GIL). */
typedef struct entry {
  uint32_t refs;
  backend kind;
  bool stopped;          /* ends in front of an instruction: see resume.c */
  bool watched;          /* stopped, or its runs are timed or plain: see trial.c */
  bool simple;           /* only arrays in, one new array out, no effects: entry_run's short way */
  bool reads;            /* simple, and some inputs are no arguments */
  bool reads_again;      /* what is made of a run reads what other threads may replace */
  bool release_gil;      /* enough work for it to be worth while, with this call's sizes at least */
  bool symbolic;         /* that has to be found out on each call, */
  loom_type largest;     /* by the size of this */
  uint32_t operations;   /* nodes of its graph */
  PyObject *code;        /* of the function when it was captured (owned) */
  PyObject *fits;        /* the same, borrowed; NULL: something that it guards has died */
  struct callable *home; /* in whose list it is (borrowed), or NULL */
  PyObject **watches;    /* weak references to what it guards (owned) */
  PyObject *watcher;     /* what tells their callback whose they are (owned), or NULL */
  PyObject **pins;       /* of these, what a run reads when it has had no GIL (borrowed) */
  uint32_t watch_count, pin_count;
  capture *captured;
  guard_program *guards;
  const loom_adapter *adapter;
  loom_plan *plan;
  uint32_t slots[ENTRY_SIMPLE_INPUTS]; /* simple: the argument of each input */
  const recipe **outputs; /* for each output its OUTPUT recipe, or NULL: a temporary block */
  size_t *sizes;          /* for each output its bytes */
  const recipe *
      *targets; /* for each output the array that it may be written straight into, or NULL */
  const effect *reporter; /* its one operation is all that raises, and can be reported afterwards */
  bool again_behind; /* the plain function may run behind a run that has written into its target */
  struct direct_span *spans; /* for each output; NULL: for none */
  struct witness *witness;   /* what tells which operations raised flags (witness.c); or NULL */
  uint32_t idle;             /* stopped: runs in which no part had anything to compute */
  bool useful;               /* stopped: some run had */
  trial trial;               /* is it faster than the plain function? */
  bool part;                 /* of a function, not the whole of it */
  PyObject *name;            /* of its graph, for people (owned) */
  PyObject *user, *runner;   /* BACKEND_USER: the backend, and what it made of the graph, or NULL */
  double capture_ms;
  double *guard_ns; /* for each guard what it costs, or NULL: it was not measured */
  loom_compile_report report;
  uint64_t hits, again; /* calls; those that ran again to report floating-point exceptions */
  uint32_t
      given_up; /* runs in a row whose host calls made the plain function run; and calls since */
  uint32_t passed_by;
} entry;

/* Takes over `captured` and `plan` also when it fails (NULL with MemoryError, or with `err` set and
 * no exception). */
entry *entry_new(capture *captured, loom_plan *plan, backend kind, PyObject *code, loom_error *err);
/* The values of the symbols in the call that was captured; room for LOOM_MAX_SYMBOLS. */
void entry_hints(const loom_graph *graph, int64_t *out);
/* It will be kept: with its graph in less memory. */
void entry_settle(entry *e);
void entry_unref(entry *e);
int entry_traverse(entry *e, visitproc visit, void *arg);
/* Runs a version whose guards hold and gave `symbols`. NULL with an exception, or with *fallback
 * set and none: the plain function has to run (nothing has been changed yet). *changed (false
 * before): what was raised was so when something had been changed. */
PyObject *entry_run_part(entry *e, PyObject *const *args, const int64_t *symbols, bool *fallback,
                         bool *changed);
static inline PyObject *entry_run(entry *e, PyObject *const *args, const int64_t *symbols,
                                  bool *fallback) {
  bool changed = false;
  return entry_run_part(e, args, symbols, fallback, &changed);
}

/* What a version asks of those who dispatch calls to it: set by loom_callable_init(). */
struct hook_scope;
typedef struct dispatch_hooks {
  bool (*pause)(struct hook_scope *scope); /* hook_pause() */
  void (*go_on)(const struct hook_scope *scope);
  bool (*give_up)(entry *e);                        /* trial_give_up() */
  void (*died)(struct callable *home);              /* something that a version of it guards */
  PyObject *(*globals)(const struct callable *home); /* of the function that is being called; borrowed */
} dispatch_hooks;
extern const dispatch_hooks *loom_dispatch;

/* ---- witness.c: which operations have raised a flag? -----------------------------------------
 */

/* Would the library show a warning of a run that raised these flags? `call`: the run, with its
 * inputs as they were; NULL: they no longer are. 1, 0, or -1 on error. */
int witness_flags_matter(entry *e, uint32_t flags, const loom_call *call);
void witness_free(struct witness *w);
/* The plan to run now: the version's own, or one that gives the same and raises fewer flags, all of
 * which nobody would be told of. Runs with the GIL. */
loom_plan *witness_plan(const entry *e, const int64_t *symbols);
void witness_ran(const entry *e, const loom_plan *plan, uint32_t status); /* it has */
bool witness_is_hushed(const entry *e); /* is it not its own, as a rule? */

/* ---- lifetime.c: versions do not keep alive what they guard -----------------------------------
 */

/* From here on the version has weak references where it can. False: it must not be used. */
bool entry_let_go(entry *e);
/* Keeps what the version refers to weakly alive until entry_release(): for who looks at its guards
 * and makes objects meanwhile. False: some of it has died. */
bool entry_hold(const entry *e);
void entry_release(const entry *e);
/* Drops the weak references: what dies from here on is no affair of the version. */
void entry_unwatch(entry *e);

/* ---- backend.c: graphs that a function of the user's runs --------------------------------------
 */

/* Runs the graph on these inputs into these buffers; false with an exception. */
bool backend_run(entry *e, const loom_buffer *inputs, PyObject *const *live,
                 const loom_buffer *outputs);

/* ---- direct.c: writes straight into arguments ------------------------------------------------ */

/* The bytes of an argument that a loop may write, which are kept until a run is known to be good:
 * none when begin is end. */
typedef struct direct_span {
  size_t begin, end;
} direct_span;

/* What was in an argument before a run wrote into it. */
typedef struct direct_kept {
  struct direct_kept *next;
  void *data; /* of the argument, behind the span's begin */
  size_t size;
  _Alignas(16) char bytes[];
} direct_kept;

/* Fills e->targets, e->spans. */
void direct_find(entry *e);
/* May this run write into its targets? Not when a floating-point exception would be reported: the
 * plain function has to find everything as it was. */
bool direct_allowed(const entry *e);
/* Reports the flags of a run that has written into its targets; -1 with an exception set. */
int direct_report(const entry *e, uint32_t flags);
/* The target of output `i` and its data go to `run`; false when it has to have a temporary block
 * (or an exception is set). */
bool direct_open(const entry *e, loom_run *run, uint32_t i);
/* The same for an output of a loop: what it may write over is kept first. */
bool direct_open_loop(const entry *e, loom_run *run, uint32_t i, direct_kept **kept);
/* Forgets what was kept, after it has been put back if asked to. */
void direct_close(direct_kept *kept, bool put_back);

/* A list of entries as calls see it: never changed once published, newest first. */
typedef struct entry_list {
  uint32_t refs, count;
  entry *items[];
} entry_list;
void entries_unref(entry_list *list); /* miss.c */

/* ---- report.c, report_entry.c: what is remembered for people ------------------------------------
 */

typedef struct report {
  PyObject *breaks;     /* list of tuples; or NULL */
  PyObject *loops;      /* the same, of loops in which capture broke */
  PyObject *recompiles; /* the same, see recompile.c */
} report;
void report_clear(report *r);
int report_traverse(const report *r, visitproc visit, void *arg);
/* Remembers and logs a break in the function with this name; (code, name, text, hint, detail, file,
 * function, line, column). False with an exception. */
bool report_break(report *r, PyObject *name, const break_info *info);
void report_raise_break(const break_info *info); /* sets GraphBreak */
/* Loops of a capture that broke, which are left to Python. */
void report_loops(report *r, const capture *captured);
/* (file, line, column, function, fate, iterations or None, why) of its loops; `left`: only of those
 * that are left to Python. A new list. */
PyObject *report_loop_rows(const capture *captured, bool left);
PyObject *report_entry(const entry *e); /* a version as a new dict */

/* ---- recompile.c ---------------------------------------------------------------------------- */

/* Which guard of the version fails: (title, what, guard, old, new, advice, file, line), a new
 * reference. NULL without an exception when there is none. */
PyObject *recompile_why(entry *newest, PyObject *title, PyObject *const *slots);
PyObject *recompile_sentence(PyObject *row); /* "a was float64[3] and is float64[4] (f.py:3)" */
/* Logs and remembers it with what it has cost; `made`: the new version, or NULL. False with an
 * exception. */
bool recompile_keep(report *to, PyObject *row, const entry *made, double ms);

/* ---- entry_log.c, times.c --------------------------------------------------------------------- */

void entry_log(const entry *e);              /* entry_log.c */
/* A new folder for the stages of a compilation whose schedule is to be logged (malloc'ed), or NULL;
 * the log of what is in such a folder, which goes if it is temporary. */
char *schedule_log_folder(void);
void schedule_log(const char *folder, PyObject *name, bool temporary);
/* times.c: phases of all compilations of the process. */
void times_add(PyObject *name, double capture_ms, const loom_compile_report *report);
PyObject *loom_py_compile_times(PyObject *module, PyObject *unused);

/* ---- bury.c: versions of which something has died --------------------------------------------- */

/* Drops them; and the same when the interpreter next has the chance. */
void callable_bury(struct callable *c);
void callable_bury_soon(struct callable *home);

/* ---- the callable --------------------------------------------------------------------------- */

/* A signature that was not captured: not tried again on every call. */
typedef struct negative {
  Py_hash_t signature;
  uint32_t calls, attempts;
} negative;

#define CALLABLE_NEGATIVES 32
#define CALLABLE_MAX_SLOTS LOOM_MAX_SLOTS
#define CALLABLE_MAX_FAILURES                                                                      \
  64 /* captures that broke, after which the plain function is always used */

/* What a callable does when it is called. */
typedef enum callable_role {
  ROLE_COMPILE, /* runs compiled versions of the function, and makes them */
  ROLE_DISABLE, /* the plain function; nothing below it is compiled */
  ROLE_SKIP,    /* the plain function; what it calls is as it always is */
  ROLE_RUN      /* `target`; below it compiled versions run, and none is made */
} callable_role;

typedef enum dynamic { DYNAMIC_AUTO, DYNAMIC_ALWAYS, DYNAMIC_NEVER } dynamic;

/* A place in a function where capture ended, and what runs from there on (resume.c). */
typedef struct resume_point resume_point;

/* Places of one callable. */
typedef struct resume_table {
  struct callable **points; /* owned */
  uint32_t count, capacity;
  PyObject *callees;   /* dict: code -> the callable for functions with it that the hook is given,
                          shared with those (hook.c); or NULL */
  PyObject *generator; /* of a generator function: the one that is called in its place, whose code
                          asks for parts (generator.c); or NULL */
} resume_table;

/* See weigh.c. */
typedef struct weighing {
  bool arrays;       /* some version had array operations: nothing is weighed from then on */
  bool unfit;        /* the run that is about to begin is plain for want of a version, */
  bool put_off;      /* which may be made some time */
  uint32_t calls;    /* that were put off */
  int64_t patience;  /* instructions that the next capture may take; -1: any number */
  uint64_t plain_ns; /* what those calls have taken */
  uint64_t spent_ns; /* what captures have */
} weighing;

typedef struct callable {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyFunctionObject *function;
  PyObject *code;              /* owned: that of `function` for which the counts below hold */
  uint32_t let_be, let_be_all; /* calls that run plain whatever the arguments: still to come; all */
  Py_ssize_t
      simple; /* positional arguments when a call may pass them straight on; -1: always bind */
  Py_ssize_t slots;
  entry_list *entries; /* owned; NULL: none */
  PyObject *weakrefs;
  struct callable *next, *previous; /* of all live ones */
  backend kind;
  PyObject *user; /* BACKEND_USER: the backend (owned); else NULL */
  dynamic dynamic;
  callable_role role;
  PyObject *target; /* ROLE_RUN: what is called (owned); else NULL */
  PyObject *reason; /* why it is disabled, a str; or NULL */
  bool fullgraph, fastmath, warned;
  bool skipped; /* the function has called skip_frame() */
  bool shared;  /* for all functions with this code: `function` only names them */
  bool quiet;   /* made for a function that a compiled one calls: says nothing of its own */
  char cpu[16];
  report report;        /* for people */
  PyObject *last_args;  /* tuple of the numbers of the last capture, to see which change; or NULL */
  slot_set symbolic;    /* slots whose number is captured as an input */
  size_table sizes;     /* which sizes and ints change */
  slot_set by_value;    /* where that was tried and the value was needed */
  slot_set apart;       /* where the values needed were too many: what needs them breaks */
  long building_pid;    /* process and */
  unsigned long building; /* thread that is compiling a new version; 0: none */
  resume_table resumes;
  resume_point *point;    /* of a part of a function: where it starts; else NULL */
  struct callable *owner; /* of a part: what it is a part of (borrowed) */
  entry *tried;           /* the plain function is about to run in its place (owned), or NULL; */
  trial_cost tried_since; /* when its run in vain began, or 0: it has not run */
  bool clocked;           /* calls read the clock before they look for a version: */
  uint64_t found_since;   /* the last one */
  bool burying;           /* callable_bury() will be called soon */
  uint32_t left_row;      /* calls in a row that the version that fits left to Python */
  uint64_t left_at;       /* the number of the last of those */
  uint32_t wasted;        /* versions that died before they had been worth while */
  uint64_t hits, misses, look_at; /* the number of hits at which trial_look() is called */
  uint32_t failures, captures, negative_count;
  uint32_t splits; /* versions, the last of `entries`, that end before what varies without end */
  int64_t spent;   /* versions that made room (build_make_room) */
  weighing weighing;
  negative negatives[CALLABLE_NEGATIVES];
} callable;

/* ---- bind.c: arguments to slots ------------------------------------------------------------- */

typedef struct binding {
  PyObject *slots[CALLABLE_MAX_SLOTS]; /* `count` of them owned */
  Py_ssize_t count;
  PyObject *varargs, *varkw; /* owned or NULL */
} binding;

/* Positional, keyword, default and variadic arguments as Python binds them. False without an
 * exception when they do not fit (the plain function then says why), or with one (MemoryError). */
bool bind_arguments(const callable *c, PyObject *const *args, Py_ssize_t count, PyObject *kwnames,
                    binding *out);
void binding_fini(binding *b);

/* ---- miss.c: a call that no entry fits ------------------------------------------------------ */

/* Captures and compiles; the new entry (new reference) fits these arguments. NULL without an
 * exception: run the plain function; with one: GraphBreak under fullgraph, MemoryError,
 * KeyboardInterrupt. */
entry *callable_build(callable *c, PyObject *const *slots);
extern uint64_t callable_builds; /* how often that has captured something, of any function */
/* Takes over the reference. It is tried before all others, or (`last`) after them. */
void callable_publish(callable *c, entry *e, bool last);
void callable_forget(callable *c); /* all that was compiled or learnt */
/* Its versions ask it for nothing from here on, whatever of what they guard dies. */
void callable_disown(callable *c);

/* ---- weigh.c: is a compilation likely to pay? -------------------------------------------------
 */

/* May a version be made for this call? Else its plain run is timed. */
bool weigh_allows(callable *c, PyObject *const *slots);
/* Around a compilation that is allowed. weigh_build_end(): false where it took longer than it may:
 * it says nothing about the function, and is put off. */
typedef struct weigh_build {
  uint64_t start;
  int64_t outer;
} weigh_build;
void weigh_build_begin(weigh_build *b, const callable *c);
bool weigh_build_end(weigh_build *b, callable *c, const entry *made);
/* Around a run of the plain function that may be one in place of a version. */
typedef struct weigh_run {
  uint64_t start, built;
  bool unfit, put_off;
} weigh_run;
void weigh_run_begin(weigh_run *run, callable *c);
void weigh_run_end(const weigh_run *run, callable *c);
/* (name, file, line, calls put off, ms: their runs, captures so far, runs that are wanted), or
 * None. */
PyObject *weigh_report(const callable *c);

/* ---- callable.c -------------------------------------------------------------------------------
 */

/* A callable for the part of `owner`'s function (with this code) that starts at `point`, which it
 * takes over. */
callable *callable_part(callable *owner, resume_point *point, PyObject *code);
/* One for the functions with this one's code that `owner`'s calls, with the same options. */
callable *callable_shared(const callable *owner, PyObject *function);
/* The function that is being called: with `shared`, the one that this call began with. */
PyFunctionObject *callable_function(const callable *c);
/* Runs a shared one with the arguments that a frame of `function` starts with, which are taken out
 * of it as soon as nothing but the compiled code can go on with them. *useful: an array operation
 * was compiled. NULL with *plain set: the frame has to be evaluated. */
PyObject *callable_call_frame(callable *c, PyFunctionObject *function, PyObject **slots,
                              bool *plain, bool *useful);
/* The user has replaced the function's code: what follows from it is found anew. */
bool callable_refresh(callable *c);
size_t callable_stack_left(void); /* bytes of the thread's C stack */
bool callable_is_off(void);       /* is nothing compiled now in this thread? */
/* The version whose guards hold, or one that is built now: new reference. NULL with *plain set: the
 * plain code has to run, and to raise a pending exception of a signal handler's; else with an
 * exception. */
entry *callable_entry(callable *c, PyObject *const *slots, int64_t *symbols, bool *plain);
bool callable_thread_is_traced(void);
/* The plain function; on behalf of a call that was not compiled. */
PyObject *callable_call_plain(const callable *c, PyObject *const *args, size_t flags,
                              PyObject *kwnames);
PyObject *callable_call_uncompiled(callable *c, PyObject *const *args, size_t flags,
                                   PyObject *kwnames);
/* The version that fits this call is left to Python (`settled`: with all that it calls) or on
 * trial, or there is none. After many such calls in a row, or (`often`) many more than others, most
 * calls do without guards. How many calls this one stands for. */
uint32_t callable_let_be(callable *c, bool settled, bool often);
bool callable_is_let_be(const callable *c);
void callable_look_at(callable *c); /* not so from here on */
bool callable_stack_check(
    const callable *c); /* else RecursionError: the C stack is nearly used up */
/* Plain Python calls need no C stack, calls through a callable do, and from 3.12 on CPython counts
 * them up to a low number: lets them go deeper where the stack has room. What it gives is for
 * python_recursion_take_back(), when the call has returned. */
int callable_go_deeper(void);

/* ---- interrupt.c: exceptions of signal handlers, for the function's own handlers --------------
 */

/* While one is open, the first call of the function raises the exception that was pending, in its
 * protected lines. */
typedef struct interrupt_watch {
  PyObject *code, *type, *raised, *traceback; /* owned */
  PyFrameObject *frame;                       /* of the function: borrowed, it runs */
  int32_t begin, end;                         /* of these lines, in bytes of co_code */
  uint64_t busy_late, late;                   /* when it is raised wherever the function is */
  bool done, calls; /* it has been raised; the lines are those of functions that are called */
  struct interrupt_watch *outer;
} interrupt_watch;
/* Takes the pending exception over, from a call with these arguments. False, with the exception
 * still pending: it has to leave the call as it is. */
bool interrupt_open(interrupt_watch *w, PyFunctionObject *function, PyObject *const *args,
                    Py_ssize_t count);
PyObject *interrupt_close(interrupt_watch *w, PyObject *result); /* what the call gives */
/* The plain function with a pending exception. */
PyObject *interrupt_pass(const callable *c, PyObject *const *args, size_t flags, PyObject *kwnames);

/* ---- callable.c: functions that run as plain Python -------------------------------------------
 */

/* While one is open, calls of `c` in this thread that no version fits are not captured. */
typedef struct plain_frame {
  const callable *who;
  struct plain_frame *outer;
} plain_frame;
void plain_frame_open(plain_frame *frame, const callable *c);
void plain_frame_close(const plain_frame *frame);

/* ---- hook.c: functions that are called by what runs for real ------------------------------------
 */

/* Slots of a frame that hold what a CALL takes: two of the function and of what comes first or of
 * NULL, then the other arguments. None: it is no CALL. */
typedef struct call_place {
  int32_t begin, end;
} call_place;

/* While one is open in a thread, functions that are called there are compiled, with the options of
 * `owner`; not the one with the code `code`. */
typedef struct hook_scope {
  callable *owner; /* NULL: a pause */
  const PyObject *code;
  struct hook_scope *outer;
  call_place call; /* what runs is this CALL of `code` */
} hook_scope;
void hook_open(hook_scope *scope, callable *owner, const PyObject *code);
void hook_close(const hook_scope *scope);
/* Nothing is compiled until hook_close(), as in a host call: what it runs is the library's, or
 * stands in for a function of the user's. False: nothing was anyway, and there is nothing to close.
 */
bool hook_pause(hook_scope *scope);
/* The innermost one that is open in this thread, or NULL. */
extern _Thread_local hook_scope *hook_scope_now __attribute__((tls_model("initial-exec")));
extern uint64_t hook_callees;        /* frames so far that were given to a callable */
void hook_forget(const callable *c); /* it is about to go */
/* Frames of this code are not looked at, since it asks itself for the parts of `code`, which lives
 * as long as it does. */
void hook_bar(PyCodeObject *twin, PyCodeObject *code);
void hook_reset(const callable *c); /* what was learnt of it is void */

/* ---- resume.c: going on behind a break ----------------------------------------------------------
 */

/* Runs a version that ends in front of an instruction, and what comes after it. Like entry_run().
 */
PyObject *resume_run(callable *c, entry *e, PyObject *const *args, const int64_t *symbols,
                     bool *fallback);
/* Where the captures of a part start; NULL: at the function's beginning. */
const frame_shape *resume_start(const callable *c);
/* May the capture that broke for this reason end in front of the instruction? */
bool resume_is_possible(const callable *c, const break_info *why);
void resume_clear(callable *c); /* drops its parts */
void resume_point_free(resume_point *point);
int resume_traverse(callable *c, visitproc visit, void *arg);

/* ---- trial.c: is a function slower compiled than as plain Python? ------------------------------
 */

/* For a new version, with its symbols' values in the call that was captured. */
void trial_init(entry *e, const int64_t *hints);
/* Is the plain function to run in place of this version? Then c->tried is set. */
bool trial_is_plain(callable *c, entry *e);
bool trial_watches(const entry *e); /* are compiled runs timed? */
/* The start of a compiled run: when the version was looked for, if the clock was read then. */
trial_cost trial_clock(callable *c, const entry *e);
/* A compiled run that began then has ended: it has returned or raised something. `in_vain`: the
 * plain function is about to run, and its time counts as well. */
void trial_compiled(callable *c, entry *e, trial_cost start, bool raised, bool in_vain);
/* Runs a version without breaks that is watched. */
PyObject *trial_call(callable *c, entry *e, PyObject *const *slots, const int64_t *symbols,
                     bool *plain);
/* Is the version that a call has found to be watched again? Says when that is to be asked next. */
void trial_look(callable *c, entry *e);
/* Most runs of the version end in the plain function: that runs at once. False: versions are not
 * left to Python, or not this one. */
bool trial_give_up(entry *e);
/* A version with breaks has nothing to compute: the plain function runs. */
void trial_idle(entry *e);
/* A function, `c`'s or one called by it, is left to Python. On record as a break of `c`: explain()
 * and the log tell of it. */
void trial_tell(callable *c, int reason, const PyFunctionObject *of, uint64_t compiled_ns,
                uint64_t plain_ns);
/* Around a run of the plain function that may be one of a trial. `raised`: it has not returned. */
typedef struct trial_run {
  entry *tried;
  trial_cost start;
  uint64_t builds, callees;
  bool timed, alone; /* alone: nothing below is to be compiled */
  bool in_vain;      /* it has begun with a compiled run */
  weigh_run weigh;
} trial_run;
void trial_run_begin(trial_run *run, callable *c);
void trial_run_end(trial_run *run, callable *c, bool raised);
/* pretend_times(compiled wall, CPU, plain wall, CPU): what runs take from now on, in ns, for tests;
 * nothing: what they do take. */
PyObject *loom_py_pretend_times(PyObject *module, PyObject *args);

/* ---- stance.c: may this call be compiled? --------------------------------------------------- */

extern bool loom_all_eager; /* config.disable, or the stance: every function is a plain one */
void loom_stance_refresh(void); /* config.disable may have changed */
vectorcallfunc stance_vectorcall(callable_role role); /* of all roles but ROLE_COMPILE */
/* False, perhaps with an exception: this call, which no version fits, is not to be compiled. */
bool stance_allows(const callable *c, PyObject *const *slots);

/* ---- dynamic.c: what a miss says of sizes ---------------------------------------------------- */

/* Sizes and ints by which this call fails a version that fits otherwise are symbols from here on.
 */
void dynamic_learn(callable *c, PyObject *const *slots);

/* ---- explain.c ------------------------------------------------------------------------------ */

bool callable_record_break(callable *c, const break_info *info); /* as report_break() */
/* Why a call fits no version: recompile_why() of the newest one. NULL without an exception. */
PyObject *callable_why(const callable *c, PyObject *const *slots);
PyObject *callable_report(PyObject *self,
                          PyObject *unused); /* what `frameloom.explain` shows, as a dict */
extern bool explain_measures; /* guards of new versions are measured */
PyObject *loom_py_measure_guards(PyObject *module, PyObject *on);
PyObject *callable_title(const callable *c); /* "step", "step from line 12": a new string */
/* All live callables, for reports over them: a new list. */
PyObject *loom_py_callables(PyObject *module, PyObject *unused);

#endif
