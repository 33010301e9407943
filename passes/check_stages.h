/* Shared by the parts of loom-check-stages, in the order in which they work: check_stages.c is the
 * pass; the passes to be checked are read one by one (stages_passes.c); functions are called with
 * elements of a seed at each stage (stages_call.c); a pass that changes a result is run on parts of
 * the function, to find the operation (stages_op.c).
 *
 * A stage is the whole module after a pass: a copy, so that each stage is there to the end. */
#ifndef LOOM_CHECK_STAGES_H
#define LOOM_CHECK_STAGES_H

#include "dialects/ir.h"
#include "graph/arrays.h"
#include "passes/interpret.h"

/* ---- stages_passes.c ---- */

typedef struct stages_pass {
  char *pipeline; /* "builtin.module(func.func(cse))" */
  char *name;     /* "cse" */
} stages_pass;

typedef struct stages_passes {
  stages_pass *list;
  int count;
} stages_passes;

/* Reads the text of a pipeline for modules into one pipeline a pass; false after a diagnostic at
 * `loc`. `stages_passes_fini` is called in any case. */
bool stages_passes_read(MlirLocation loc, const char *text, stages_passes *out);
void stages_passes_fini(stages_passes *passes);
/* Runs one pass on a module of its own. */
bool stages_passes_run(const stages_pass *pass, MlirOperation module);

/* ---- stages_call.c ---- */

/* One call of one function, as the module was given. */
typedef struct stages_case {
  interpret_call call; /* with its arguments, the values of its symbols and its results */
  loom_fill fill;
  int trial;
  double bound; /* within which results agree (loom_array_agree) */
} stages_case;

typedef struct stages_cases {
  stages_case **list;
  int count, refused; /* refused: calls that the function cannot be made with */
} stages_cases;

typedef enum stages_verdict { STAGES_SAME, STAGES_DIFFERS, STAGES_FAILS } stages_verdict;

/* From now on each call has to end in `seconds`, and all of them in `limit`. */
void stages_time(int seconds, int limit);
/* Is the limit for all over? Calls fail from then on. */
bool stages_is_late(void);

/* Calls each function of the module `trials` times; false after a diagnostic, or when it is late.
 */
bool stages_cases_make(MlirOperation module, uint64_t seed, int64_t trials, int64_t size,
                       stages_cases *out);
void stages_cases_fini(stages_cases *cases);
/* Makes the call in another module, and compares the results with those of `want`. `text`: what
 * differs, or why it fails. */
stages_verdict stages_case_compare(const stages_case *c, MlirOperation module,
                                   const interpret_call *want, char *text, size_t size);
/* Makes the call in another module; `out` is closed by the caller, in any case. */
bool stages_case_call(const stages_case *c, MlirOperation module, interpret_call *out);
/* The function or plan of the case in another module, or null. */
MlirOperation stages_case_root(const stages_case *c, MlirOperation module);

/* ---- stages_op.c ---- */

/* Reports the first operation of the function that passes `first` to `last` change the value of:
 * `module` is the stage before them, where the function is a graph of tensor ops. */
void stages_find_op(const stages_case *c, MlirOperation module, const stages_passes *passes,
                    int first, int last);
/* Is the function of the case a graph of tensor ops in this stage, in no groups yet? */
bool stages_is_graph(const stages_case *c, MlirOperation module);

#endif
