/* What a pass may have besides its function: options, counters and remarks, all shown by the tool.
 * (pass.c; the pass as MLIR sees it is in glue.cpp) */
#ifndef LOOM_PASS_H
#define LOOM_PASS_H

#include <mlir-c/IR.h>
#include <mlir-c/Pass.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a pass with options and counters ---- */

/* --loom-fuse="max-ops=64": a number within bounds. Every pass has the option "explain", too, which
 * makes its remarks MLIR's diagnostics. */
typedef struct loom_pass_option {
  const char *name, *summary;
  int64_t otherwise, least, most;
} loom_pass_option;

/* --loom-check-stages="passes=cse": a text. At most one, empty by default. */
typedef struct loom_pass_text {
  const char *name, *summary;
} loom_pass_text;

/* What --mlir-pass-statistics shows. */
typedef struct loom_pass_counter {
  const char *name, *summary;
} loom_pass_counter;

#define LOOM_PASS_OPTIONS 6
#define LOOM_PASS_COUNTERS 6
#define LOOM_PASS_DIALECTS 9

/* What a pass is; the texts and lists live as long as the process. */
typedef struct loom_pass_spec {
  const char *name, *flag, *summary;
  const char *root; /* "": any op */
  /* `run` gets the functions of the root, a module, one after the other. (MLIR would run a pass
   * whose root is a function on many at once; but what a pass does with sizes goes into the table
   * of sizes, which is the module's.) */
  bool each_function;
  bool (*run)(MlirOperation root);
  intptr_t dialect_count;
  MlirDialectHandle dialects[LOOM_PASS_DIALECTS];
  loom_pass_option options[LOOM_PASS_OPTIONS]; /* the first without a name ends the list */
  loom_pass_text text;                         /* without a name: there is none */
  loom_pass_counter counters[LOOM_PASS_COUNTERS];
} loom_pass_spec;

/* A pass, which the manager takes over. */
MlirPass loom_pass_of(const loom_pass_spec *spec);

/* ---- within a pass, on its thread ---- */

/* The value of option number `index` of the spec; its default where no pass runs. */
int64_t loom_pass_value(int index, int64_t otherwise);
/* The text of the spec's text option; "" where no pass runs. */
const char *loom_pass_text_value(void);
/* Adds to counter number `index` of the spec. */
void loom_count(int index, int64_t amount);

typedef enum loom_remark_kind {
  LOOM_REMARK_PASSED, /* something was done */
  LOOM_REMARK_MISSED, /* something was not, and why */
  LOOM_REMARK_ANALYSIS
} loom_remark_kind;

/* Does anybody read remarks? Texts that take work to make are made only then. */
bool loom_remarks_wanted(void);
/* A remark at a place: for MLIR's remark engine (--remarks-filter=loom-fuse), under the flag of the
 * pass and `name`, and with "explain" as a diagnostic. */
void loom_remark(loom_remark_kind kind, MlirLocation loc, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* From now on `tell` gets the remarks of all passes that run on this thread; NULL: nobody gets
 * them. */
typedef void (*loom_remark_fn)(MlirLocation loc, const char *flag, const char *text, void *user);
void loom_remarks_listen(loom_remark_fn tell, void *user);

/* Prints the counters of all passes that have run to stderr. (MLIR's own statistics are left out of
 * its release builds.) */
void loom_print_counters(void);

/* ---- between pass.c and glue.cpp ---- */

typedef struct loom_running { /* a pass on one op */
  const loom_pass_spec *spec;
  const int64_t *values; /* of the options */
  const char *text;      /* of the text option */
  bool explains, engine; /* option "explain"; the context has a remark engine */
} loom_running;

bool loom_pass_run(MlirOperation root, const loom_running *running);
/* The C++ pass (glue.cpp); `id` is the pass's own. */
MlirPass loom_pass_make(const loom_pass_spec *spec, MlirTypeID id);
void loom_emit_remark(loom_remark_kind kind, MlirLocation loc, const char *category,
                      const char *name, const char *text, const loom_running *running);

#ifdef __cplusplus
}
#endif
#endif
