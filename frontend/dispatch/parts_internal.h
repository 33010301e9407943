/* What a callable is made of. */
#ifndef LOOM_FRONTEND_DISPATCH_PARTS_INTERNAL_H
#define LOOM_FRONTEND_DISPATCH_PARTS_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/learnt.h"
#include "frontend/run/run.h"

/* A signature that was not captured: not tried again on every call. */
typedef struct negative {
  Py_hash_t signature;
  uint32_t calls, attempts;
} negative;

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

/* The parts of a callable. Each has an init and a fini in the file that is named here; one that
 * starts as zero has no init, and one that owns nothing no fini. */

/* How the function is to be compiled: options.c. */
typedef struct callable_options {
  backend kind;
  dynamic dynamic;
  PyObject *user; /* BACKEND_USER: the backend (owned); else NULL */
  bool fullgraph, fastmath;
  bool derives; /* it takes derivatives: plain Python can do no more than raise its exceptions */
  char cpu[16];
} callable_options;

/* What a call does: stance.c. */
typedef struct callable_duty {
  callable_role role;
  PyObject *target; /* ROLE_RUN: what is called (owned); else NULL */
  PyObject *reason; /* why it is disabled, a str (owned); or NULL */
} callable_duty;

/* Its place in the list of all live ones: callable.c. */
typedef struct callable_links {
  struct callable *next, *previous; /* borrowed */
} callable_links;

/* What it stands for, if not for the function that the user has compiled: resume.c. */
typedef struct callable_place {
  resume_point *point;    /* of a part of a function: where it starts (owned); else NULL */
  struct callable *owner; /* of a part: what it is a part of (borrowed) */
  bool shared;            /* for all functions with this code: `function` only names them */
  bool quiet; /* made for a function that a compiled one calls: says nothing of its own */
} callable_place;

/* Calls so far: callable.c. */
typedef struct callable_counts {
  uint64_t hits, misses;
} callable_counts;

/* Its parts, and what its calls call: resume.c. */
typedef struct resume_table {
  struct callable **points; /* owned */
  uint32_t count, capacity;
  PyObject *callees;   /* dict: code -> the callable for functions with it that the hook is given,
                          shared with those (hook.c; owned); or NULL */
  PyObject *generator; /* of a generator function: the one that is called in its place, whose code
                          asks for parts (generator.c; owned); or NULL */
} resume_table;

/* Is a compilation likely to pay? weigh.c. */
typedef struct weighing {
  bool arrays;       /* some version had array operations: nothing is weighed from then on */
  bool unfit;        /* the run that is about to begin is plain for want of a version, */
  bool put_off;      /* which may be made some time */
  uint32_t calls;    /* that were put off */
  int64_t patience;  /* instructions that the next capture may take; -1: any number */
  uint64_t plain_ns; /* what those calls have taken */
  uint64_t spent_ns; /* what captures have */
} weighing;

/* What has been learnt of the numbers among the arguments: miss.c. */
typedef struct callable_numbers {
  size_table sizes;  /* which sizes and ints change (owned) */
  slot_set symbolic; /* slots whose number is captured as an input */
  slot_set by_value; /* where that was tried and the value was needed */
  slot_set apart;    /* where the values needed were too many: what needs them breaks */
  PyObject *last;    /* tuple of the numbers of the last capture, to see which change (owned); or
                        NULL */
} callable_numbers;

/* Which calls run as plain Python, and calls that do so whatever the arguments are: trial.c. */
typedef struct callable_turns {
  uint32_t let_be, let_be_all; /* such calls still to come, and all of them */
  entry *tried;           /* the plain function is about to run in its place (owned), or NULL; */
  trial_cost tried_since; /* when its run in vain began, or 0: it has not run */
  bool clocked;           /* calls read the clock before they look for a version: */
  uint64_t found_since;   /* the last one */
  uint32_t left_row;      /* calls in a row that the version that fits left to Python */
  uint64_t left_at;       /* the number of the last of those */
  uint64_t look_at;       /* the number of hits at which trial_look() is called */
} callable_turns;

/* How versions were made, which were not, and which are gone: miss.c. */
typedef struct callable_making {
  long process;         /* process and */
  unsigned long thread; /* thread that is compiling a new version; 0: none */
  bool burying;         /* callable_bury() will be called soon */
  bool warned;          /* that there are too many */
  bool skipped;         /* the function has called skip_frame() */
  uint32_t captures, failures;
  uint32_t wasted; /* versions that died before they had been worth while */
  uint32_t splits; /* versions, the last of `entries`, that end before what varies without end */
  int64_t spent;   /* versions that made room (build_make_room) */
  negative negatives[CALLABLE_NEGATIVES];
  uint32_t negative_count;
} callable_making;

/* ---- options.c: how the function is to be compiled ---- */

/* As Python gives them: `backend` may be NULL. False with an exception. */
bool callable_options_init(callable_options *o, PyObject *backend, PyObject *dynamic,
                           const char *cpu, bool fullgraph, bool fastmath);
/* Copies the options of another callable for its callees, without fullgraph, which is of that
 * function alone. */
void callable_options_copy(callable_options *o, const callable_options *like);
void callable_options_fini(callable_options *o);
int callable_options_traverse(const callable_options *o, visitproc visit, void *arg);
/* May one callable stand in for a function that both call? */
bool callable_options_agree(const callable_options *a, const callable_options *b);

/* ---- stance.c: may this call be compiled? ---- */

/* False with an exception: there is no such role. */
bool callable_duty_init(callable_duty *d, const char *role, PyObject *target, PyObject *reason);
void callable_duty_fini(callable_duty *d);
int callable_duty_traverse(const callable_duty *d, visitproc visit, void *arg);

/* ---- resume.c: going on behind a break ---- */

/* A part of `owner`'s function that starts at `point`, which it takes over. */
void callable_place_init(callable_place *p, callable *owner, resume_point *point);
void callable_place_fini(callable_place *p);
int callable_place_traverse(const callable_place *p, visitproc visit, void *arg);
/* That of a callee: it shares the callees of `owner`, whose calls call it. */
void resume_table_init(resume_table *t, const resume_table *owner);
void resume_table_fini(resume_table *t); /* as it began, and then drops what it had */
int resume_table_traverse(const resume_table *t, visitproc visit, void *arg);

/* ---- miss.c: a call that no version fits ---- */

void callable_numbers_init(callable_numbers *n,
                           dynamic sizes); /* of one that is all zero, or fini */
int callable_numbers_traverse(const callable_numbers *n, visitproc visit, void *arg);

/* ---- trial.c: timing compiled runs against plain runs ---- */

void callable_turns_fini(callable_turns *t); /* as it began, and then drops what it had */

#endif
