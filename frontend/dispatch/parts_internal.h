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
  ROLE_DISABLE, /* runs the plain function; nothing that it calls is compiled */
  ROLE_SKIP,    /* runs the plain function; its callees behave as usual */
  ROLE_RUN      /* runs `target`; its callees run compiled versions, and none is made */
} callable_role;

typedef enum dynamic { DYNAMIC_AUTO, DYNAMIC_ALWAYS, DYNAMIC_NEVER } dynamic;
/* A place in a function where capture ended, and what runs from there on (resume.c). */
typedef struct resume_point resume_point;

/* The parts of a callable. The file that is named at a part has its init and its fini. A part that
 * starts as zero has no init, and a part that owns nothing has no fini. */

/* How the function is to be compiled: options.c. */
typedef struct callable_options {
  backend kind;
  dynamic dynamic;
  PyObject *user; /* BACKEND_USER: the backend (owned); else NULL */
  bool fullgraph, fastmath;
  bool derives; /* it takes derivatives: the plain function cannot, and only serves to raise its
                   exceptions */
  char cpu[16];
} callable_options;

/* What a call of the callable does: stance.c. */
typedef struct callable_duty {
  callable_role role;
  PyObject *target; /* ROLE_RUN: what is called (owned); else NULL */
  PyObject *reason; /* why it is disabled, a str (owned); or NULL */
} callable_duty;

/* Its place in the list of all live ones: callable.c. */
typedef struct callable_links {
  struct callable *next, *previous; /* borrowed */
} callable_links;

/* The code that it stands for, if that is not the function which the user has compiled: resume.c.
 */
typedef struct callable_place {
  resume_point *point;    /* of a part of a function: where it starts (owned); else NULL */
  struct callable *owner; /* of a part: what it is a part of (borrowed) */
  bool shared;            /* for all functions with this code: `function` only names them */
  bool quiet; /* made for a callee of a compiled function: gives no warnings of its own */
} callable_place;

/* Calls so far: callable.c. */
typedef struct callable_counts {
  uint64_t hits, misses;
} callable_counts;

/* Its parts and its callees: resume.c. */
typedef struct resume_table {
  struct callable **points; /* owned */
  uint32_t count, capacity;
  PyObject *callees;   /* dict: code -> the callable for functions with this code that are called by
                          what runs for real. Callees share it (hook.c; owned); or NULL */
  PyObject *generator; /* of a generator function: the twin that is called in its place, whose code
                          asks for parts (generator.c; owned); or NULL */
} resume_table;

/* Is a compilation likely to pay? weigh.c. */
typedef struct weighing {
  bool arrays;         /* some version had array operations */
  bool dear;           /* its versions have taken so long that others are put off */
  bool unfit;          /* the next run is plain because no version fits */
  bool put_off;        /* and a version may be made later */
  uint32_t calls;      /* calls for which compiling was put off */
  int64_t patience;    /* instructions that the next capture may take; -1: any number */
  uint64_t plain_ns;   /* time of these calls */
  uint64_t spent_ns;   /* time of captures and compilations */
  uint64_t busy_ns;    /* of a function that the user has asked to compile: the same as CPU time of
                          all threads, for its parts and the functions that they call */
  uint32_t builds;     /* captures and compilations */
  uint32_t all_builds; /* the same of its parts and the functions that they call */
} weighing;

/* What has been learnt of the numbers among the arguments: miss.c. */
typedef struct callable_numbers {
  size_table sizes;  /* which sizes and ints change (owned) */
  slot_set symbolic; /* argument slots whose number is captured as an input */
  slot_set by_value; /* slots for which that was tried and the value was needed */
  slot_set apart;    /* slots for which too many values were needed: code that needs the value
                        breaks */
  PyObject *last;    /* tuple of the numbers of the last capture, to see which change (owned); or
                        NULL */
} callable_numbers;

/* Which calls run as plain Python, some of them without a look at the arguments: trial.c. */
typedef struct callable_turns {
  uint32_t let_be, let_be_all; /* calls still to come that run plainly whatever the arguments are;
                                  and how many there were to be in all */
  entry *tried;           /* the version in whose place the plain function is about to run (owned),
                             or NULL */
  trial_cost tried_since; /* when the version's run began that ended in vain; 0: it has not run */
  bool clocked;           /* calls read the clock before they look for a version */
  uint64_t found_since;   /* when the last of these calls did */
  uint32_t left_row;      /* calls in a row that the version that fits left to Python */
  uint64_t left_at;       /* the number of the last of these calls */
  uint64_t look_at;       /* the number of hits at which trial_look() is called */
} callable_turns;

/* How versions were made, which calls could not be captured, and which versions are gone: miss.c.
 */
typedef struct callable_making {
  long process;         /* the process */
  unsigned long thread; /* and thread that is compiling a new version; 0: none */
  bool burying;         /* callable_bury() will be called soon */
  bool warned;          /* the user has been warned that there are too many versions */
  bool skipped;         /* the function has called skip_frame() */
  uint32_t captures, failures;
  uint32_t wasted; /* versions that died before they had run BURY_HITS times */
  uint32_t splits; /* how many versions, the last ones of `entries`, end in front of code that reads
                      a value which always varies */
  int64_t spent;   /* how many versions were dropped to make room (build_make_room) */
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
/* For the callable of a callee: it shares the callees of `owner`, which called it. */
void resume_table_init(resume_table *t, const resume_table *owner);
void resume_table_fini(resume_table *t); /* resets it, then drops its references */
int resume_table_traverse(const resume_table *t, visitproc visit, void *arg);

/* ---- miss.c: a call that no version fits ---- */

void callable_numbers_init(callable_numbers *n,
                           dynamic sizes); /* of one that is all zero, or fini */
int callable_numbers_traverse(const callable_numbers *n, visitproc visit, void *arg);

/* ---- trial.c: timing compiled runs against plain runs ---- */

void callable_turns_fini(callable_turns *t); /* resets it, then drops its references */

#endif
