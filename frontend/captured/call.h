/* A capture on a call: guards, formulas and sizes, results and effects. */
#ifndef LOOM_FRONTEND_CAPTURED_CALL_H
#define LOOM_FRONTEND_CAPTURED_CALL_H

#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "graph/graph.h"

#define FORMULA_OPERANDS 3

/* Operators of a formula's row besides those of Python's binary ones (NB_ADD ...). */
enum { FORMULA_NEG = 32, FORMULA_ABS, FORMULA_SQRT, FORMULA_FLOAT, FORMULA_LOG, FORMULA_COMPARE };

typedef struct loom_run {
  const capture *captured;
  const loom_adapter *adapter;
  PyObject *const *args;
  const int64_t *symbols; /* of this call */
  PyObject **arrays; /* for each output: its array, or NULL for a temporary block; of an effect: its
                        target, when the plan writes straight into it */
  void **data;       /* for each output */
  PyObject **shared; /* for each shared recipe: the object once it exists */
} loom_run;

/* ---- overwrites.c: outputs that overwrite an input ---- */

/* Notes for each output that an effect writes over an input that the plan may do so at once
 * (overwrites.c). */
void capture_mark_overwrites(capture *c);
int64_t capture_array_input(const capture *c,
                            const source *s); /* the array input that `s` reads; -1: none */

/* ---- sizes_now.c: symbolic sizes, evaluated on a call ---- */

/* Does a size of the type depend on one of these symbols? */
bool size_type_is_late(const loom_graph *graph, const loom_type *type, uint64_t late);
bool size_type_is_symbolic(const loom_type *type);
/* A type, and strides (or NULL), as they are when the symbols have these values; false when a size
 * overflows. */
bool size_resolve(const loom_graph *graph, const loom_type *type, const int64_t *strides,
                  const int64_t *symbols, loom_type *type_out, int64_t *strides_out);
/* A bit for each symbol in an expression. */
uint64_t size_symbols(const loom_graph *graph, uint32_t index);

/* ---- guard.c: guards as a flat program ---- */

typedef struct guard_program guard_program;

/* Orders and flattens the guards of a capture, which must outlive the program. NULL with
 * MemoryError. */
guard_program *guard_program_new(const capture *c);
void guard_program_free(guard_program *p);
int guard_program_traverse(guard_program *p, visitproc visit, void *arg);
/* Gives up the dictionaries that the capture borrows now. */
void guard_program_let_go(guard_program *p, const capture *c);
/* Do all guards hold? Runs no Python code, sets no exception. The values of the capture's symbols
 * go to `symbols`, which has room for LOOM_MAX_SYMBOLS. */
bool guard_program_check(guard_program *p, PyObject *const *args, int64_t *symbols);
/* What each guard of the capture costs a call that all hold for, in ns: malloc'ed, NULL when out of
 * memory. Guards by name share the look at the versions of their dictionaries. */
double *guard_program_cost(guard_program *p, const capture *c, PyObject *const *args);
const guard *guard_first_failure(const capture *c, PyObject *const *args);
PyObject *guard_number_words(const capture *c, int64_t number); /* "a.shape[0]*2"; a new string */
/* The first one from number *from on, which is moved behind it. */
const guard *guard_next_failure(const capture *c, PyObject *const *args, int64_t *symbols,
                                uint32_t *from);
PyObject *guard_describe(const capture *c, const guard *g); /* a new string: "a: float32[16]" */
PyObject *guard_words(
    PyObject *object); /* its repr(), of an int of very many digits how large it is; a new string */

/* ---- formula_now.c: formulas over sizes, evaluated on a call ---- */

/* The first guard that fails (one pass in the order of capture), or NULL. */
PyObject *formula_words(const capture *c,
                        int64_t slot); /* "int((a.shape[0] * 0.5))"; a new string */
/* An operator on two live numbers; NULL, perhaps without an exception, when there is no result. */
PyObject *const_operate(int op, PyObject *l, PyObject *r, bool inplace);
bool const_too_large(int op, PyObject *l,
                     PyObject *r); /* the result would take the machine's memory or minutes */
/* What a formula gives on a call whose symbols are these: new reference; NULL, without an
 * exception, when it gives nothing. */
PyObject *formula_now(const capture *c, int64_t slot, const int64_t *symbols);
bool formula_int_now(const capture *c, int64_t slot, const int64_t *symbols, int64_t *out);

/* ---- recipe.c: building the Python result of a run ---- */

PyObject *recipe_build(loom_run *run, const recipe *r); /* new reference */
/* The OUTPUT recipe of output `number` anywhere below `r`, or NULL. */
const recipe *recipe_find_output(const recipe *r, int64_t number);

/* ---- effects.c: changes that a run makes to existing objects ---- */

/* Builds the result, then does what the run does to objects that existed before: all that is read
 * of them has been by then. *changed: something may have been. NULL with an exception. */
PyObject *effects_commit(loom_run *run, bool *changed);

#endif
