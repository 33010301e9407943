/* What a call does with a capture: checks guards, evaluates formulas and sizes, builds results,
 * makes effects. */
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
  const int64_t *symbols; /* the symbols' values in this call */
  PyObject **arrays; /* for each output: its array, NULL for a temporary block, or the target array
                        of an effect that the plan writes into directly */
  void **data;       /* for each output */
  PyObject **shared; /* for each shared recipe: the object once it exists */
} loom_run;

/* ---- overwrites.c: outputs that overwrite an input ---- */

/* Marks outputs that an effect copies into an input as ones that the plan may write straight over
 * that input. */
void capture_mark_overwrites(capture *c);
/* The array input that `s` reads; -1: none. */
int64_t capture_array_input(const capture *c, const source *s);

/* ---- sizes_now.c: symbolic sizes, evaluated on a call ---- */

/* Does a size of the type depend on one of these symbols (a bit each)? */
bool size_type_is_late(const loom_graph *graph, const loom_type *type, uint64_t late);
bool size_type_is_symbolic(const loom_type *type);
/* A type, and strides (or NULL), with these values for the symbols. False: a size overflows. */
bool size_resolve(const loom_graph *graph, const loom_type *type, const int64_t *strides,
                  const int64_t *symbols, loom_type *type_out, int64_t *strides_out);
/* A bit for each symbol in an expression. */
uint64_t size_symbols(const loom_graph *graph, uint32_t index);

/* ---- guard_program.c: guards as a flat program ---- */

typedef struct guard_program guard_program;

/* Flattens the guards of a capture into a program, and orders them. The capture must outlive the
 * program. NULL with MemoryError. */
guard_program *guard_program_new(const capture *c);
void guard_program_free(guard_program *p);
int guard_program_traverse(guard_program *p, visitproc visit, void *arg);
/* From now on the program borrows the dictionaries that the capture borrows: it drops its
 * references to them. */
void guard_program_let_go(guard_program *p, const capture *c);

/* ---- guard.c: checking guards ---- */

/* Do all guards hold? Runs no Python code, sets no exception. The values of the capture's symbols
 * go to `symbols`, which has room for LOOM_MAX_SYMBOLS. */
bool guard_program_check(guard_program *p, PyObject *const *args, int64_t *symbols);
/* For each guard of the capture: what it costs a call for which all guards hold, in ns. malloc'ed;
 * NULL: out of memory. What several guards read costs the first of them. Guards on names share the
 * check of their dictionaries' versions. */
double *guard_program_cost(guard_program *p, const capture *c, PyObject *const *args);
/* The first guard that fails, in the order of capture; or NULL. */
const guard *guard_first_failure(const capture *c, PyObject *const *args);
/* The first guard that fails from guard number *from on; *from is moved behind it. NULL: none
 * fails. */
const guard *guard_next_failure(const capture *c, PyObject *const *args, int64_t *symbols,
                                uint32_t *from);

/* ---- guard_words.c: guards in words ---- */

/* A guard in words, as "a: float32[16]": a new string. */
PyObject *guard_describe(const capture *c, const guard *g);
/* The object's repr(); for an int of very many digits, how large it is. A new string. */
PyObject *guard_words(PyObject *object);

/* ---- formula_now.c: formulas over sizes, evaluated on a call ---- */

/* Applies an operator to two live numbers. NULL, perhaps without an exception: there is no result.
 */
PyObject *const_operate(int op, PyObject *l, PyObject *r, bool inplace);
/* Would the result need far too much memory or time? */
bool const_too_large(int op, PyObject *l, PyObject *r);
/* The value of a formula on a call with these symbols: a new reference. NULL without an exception:
 * it has no value. formula_int_now(): the same as an int64; false: it has no value, or none that
 * fits. */
PyObject *formula_now(const capture *c, int64_t slot, const int64_t *symbols);
bool formula_int_now(const capture *c, int64_t slot, const int64_t *symbols, int64_t *out);

/* ---- recipe.c: building the Python result of a run ---- */

PyObject *recipe_build(loom_run *run, const recipe *r); /* new reference */
/* The OUTPUT recipe of output `number` anywhere below `r`, or NULL. */
const recipe *recipe_find_output(const recipe *r, int64_t number);

/* ---- effects.c: changes that a run makes to existing objects ---- */

/* Builds the result, then makes the changes to objects that existed before the call: by then,
 * nothing more is read from them. *changed: something may have been changed. NULL with an
 * exception. */
PyObject *effects_commit(loom_run *run, bool *changed);

#endif
