/* What all floors of the frontend use: dropping exceptions, settings and logs, clocks, maps, the
 * reasons of breaks. */
#ifndef LOOM_FRONTEND_BASE_BASE_H
#define LOOM_FRONTEND_BASE_BASE_H

#include "frontend/base/python.h"
#include "graph/graph.h"
#include "runtime/runtime.h"

#define LOOM_MAX_SYMBOLS 48 /* of one capture */

#define LOOM_BREAK(CODE, NAME, TEXT, HINT) BREAK_##NAME = CODE,
enum break_reason {
  BREAK_NONE = 0,
#include "frontend/base/breaks.def"
};
#undef LOOM_BREAK

enum {
  LOOM_LOG_BREAKS = 1,
  LOOM_LOG_GUARDS = 2,
  LOOM_LOG_GRAPH = 4,
  LOOM_LOG_RECOMPILES = 8,
  LOOM_LOG_CACHE = 16,
  LOOM_LOG_TIME = 32,
  LOOM_LOG_KERNELS = 64,
  LOOM_LOG_BYTECODE = 128,
  LOOM_LOG_DYNAMIC = 256,
  LOOM_LOG_HOST_CALLS = 512,
  LOOM_LOG_GRAPH_CODE = 1024,
  LOOM_LOG_SIDE_EFFECTS = 2048,
  LOOM_LOG_SCHEDULE = 4096
};

/* ---- error.c: dropping exceptions without losing an interrupt ---- */

/* Did a signal handler, or another thread, raise the pending exception? True for exceptions that
 * the code of libraries cannot raise: those that are no Exception, and those of classes of the
 * user. Such an exception is not the answer to a question that capture has asked. */
bool error_is_foreign(void);
/* Drops the pending exception. A foreign one is put off: it is raised again later, as if the signal
 * had come then. */
void error_drop_pending(void);
/* How many exceptions have been put off. If it has grown while a question was asked, the answer is
 * not reliable. */
extern uint32_t loom_errors_put_off;
/* Drops an exception that code of the user has raised, if it is an Exception. Others
 * (KeyboardInterrupt, SystemExit) stay pending. */
void error_drop_users(void);
/* Raises an exception of frameloom's own (_errors.py), by its name; PyUnicode_FromFormat's formats.
 */
void error_raise_own(const char *name, const char *format, ...);
/* The poll of a running plan, called without the GIL: lets signal handlers run. */
int loom_poll_signals(void *context);

/* In place of PyErr_Clear(), which would lose an interrupt. */
static inline void error_drop(void) {
  if (PyErr_Occurred()) error_drop_pending();
}

/* ---- checked.c: errors of kernels that check bounds ---- */

bool checked_wanted(void); /* does the setting ask for kernels that check bounds? */
/* Sets frameloom.BoundsError. */
void checked_raise(const char *text);

/* ---- log.c: settings and logs ---- */

typedef struct loom_settings {
  const char *logs, *trace, *backend, *cpu, *check, *device, *device_costs; /* never NULL; owned */
  int64_t disable, recompile_limit, error_on_recompile, cache, fastmath, optimize, cudagraphs, tf32,
      unroll_limit, leave_slower, put_off, compile_budget, suppress_errors, capture_data_dependent,
      threads;
} loom_settings;

extern loom_settings loom_config;
/* Called when a numeric setting has been changed; or NULL. */
extern void (*loom_config_changed)(void);
bool loom_config_init(void); /* reads the environment */
/* Gives Python warnings for the notices of the runtime. False with an exception: a warnings filter
 * made one of them an error. */
bool loom_warn_notices(void);
PyObject *loom_py_notices(PyObject *module, PyObject *unused);
extern uint32_t loom_log_mask;
/* Writes "[frameloom breaks] ..." to sys.stderr when the category is on; PyUnicode_FromFormat's
 * formats. */
void loom_log(uint32_t category, const char *format, ...);
/* For the module's table: names, types, defaults and docs of all settings; reading and writing one.
 */
PyObject *loom_py_settings(PyObject *module, PyObject *unused);
PyObject *loom_py_get_setting(PyObject *module, PyObject *name);
PyObject *loom_py_set_setting(PyObject *module, PyObject *args);

/* ---- breaks.c: the reasons why capture ends, rows of breaks.def ---- */

/* Rows of breaks.def: (code, name, text, hint). */
PyObject *loom_py_reasons(PyObject *module, PyObject *unused);
/* Code, text, hint of a reason in breaks.def. */
const char *loom_break_text(int reason, const char **name_out, const char **hint_out);

/* ---- clock.c: clocks that only go forward ---- */

/* Wall time of a monotonic clock; loom_busy_ns(): CPU time of this thread;
 * loom_process_ns(): of all threads. */
uint64_t loom_clock_ns(void);
uint64_t loom_busy_ns(void);
uint64_t loom_process_ns(void);
double loom_clock_ms(void);

/* ---- pointer_map.c: hash maps from address to address ---- */

typedef struct pointer_map { /* open addressing, in the tracer's arena; never shrinks */
  const void **keys;
  void **values;
  size_t count, capacity;
} pointer_map;

void *pointer_map_get(const pointer_map *map, const void *key);
/* False: out of memory. */
bool pointer_map_set(pointer_map *map, loom_arena *arena, const void *key, void *item);

/* ---- tuple.c ---- */

PyObject *tuple_of_numbers(const int64_t *numbers, int count); /* a new tuple of ints */

/* ---- names.c: names that several floors need ---- */

extern const char *const
    loom_backend_names[]; /* in the order of `backend`, ended by NULL; a user's has no name */
/* For each of Python's rich comparisons, in the order Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE: the
 * special method, the sign, and the comparison that has the same result for swapped operands. */
extern const char *const compare_methods[6];
extern const char *const compare_signs[6];
extern const int compare_swapped[6];

#endif
