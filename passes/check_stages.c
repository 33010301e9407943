/* loom-check-stages: runs a module's functions before and after each pass of a pipeline, and says
 * which pass changes a result, and the first operation whose value it changes.
 *
 * Before and after: the module is left as it is. The passes are the option "passes", by default all
 * of --loom-cpu. Functions are called with elements of a seed in turns of four kinds: short
 * fractions, any numbers, special values and extremes; an argument with `loom.values` has these.
 * Calls that the module as it is given refuses (an index out of bounds, a loop without end) are
 * left out.
 *
 *   requires: functions of one block, or plans.  keeps: everything.  breaks: nothing.
 *
 * Every stage is compared with the first one. Floats may differ as sums in another order do, unless
 * "exact" asks for all bits. When a pass differs, it runs again, with what lies between the last
 * graph of tensor ops and it, on parts of this graph (stages_op.c).
 *
 * It ends: there are as many stages as passes, loops of the interpreters are bounded, a call that
 * does not end in "seconds" is left, and when all have taken "limit" seconds, no more are made.
 */
#include <inttypes.h>
#include <mlir-c/Dialect/Arith.h>
#include <mlir-c/Dialect/ControlFlow.h>
#include <mlir-c/Dialect/Func.h>
#include <mlir-c/Dialect/LLVM.h>
#include <mlir-c/Dialect/SCF.h>
#include <mlir-c/Dialect/UB.h>
#include <mlir-c/Dialect/Vector.h>
#include <stdlib.h>

#include "dialects/pass.h"
#include "passes/check_stages.h"

enum { STAGES_SEED, STAGES_TRIALS, STAGES_SIZE, STAGES_EXACT, STAGES_SECONDS, STAGES_LIMIT };
enum { STAGES_COUNT_PASSES, STAGES_COUNT_CALLS, STAGES_COUNT_REFUSED };

typedef struct stages_job {
  stages_passes passes;
  stages_cases cases;
  MlirOperation *stages; /* stage 0, then that behind each pass */
  int count;
} stages_job;

static const char *stages_fill_name(loom_fill fill) {
  static const char *const names[] = {"plain", "random", "special", "extreme"};
  return names[fill];
}

/* The last stage up to this one where the function of the case is still a graph. */
static int stages_last_graph(const stages_job *j, const stages_case *c, int stage) {
  while (stage >= 0 && !stages_is_graph(c, j->stages[stage]))
    stage--;
  return stage;
}

static bool stages_report(stages_job *j, const stages_case *c, int pass, const char *text,
                          stages_verdict verdict) {
  MlirStringRef name = loom_get_str(c->call.root, "sym_name");
  MlirLocation loc = mlirOperationGetLocation(c->call.root);
  const char *flag = j->passes.list[pass].name;
  if (verdict == STAGES_FAILS)
    return loom_emit_error(loc, "after %s (pass %d of %d) @%.*s cannot be run: %s", flag, pass + 1,
                           j->passes.count, (int)name.length, name.data, text);
  loom_emit_error(
      loc, "%s (pass %d of %d) changes @%.*s: %s (%s elements, trial %d of seed %" PRId64 ")", flag,
      pass + 1, j->passes.count, (int)name.length, name.data, text, stages_fill_name(c->fill),
      c->trial, loom_pass_value(STAGES_SEED, 0));
  int graph = stages_last_graph(j, c, pass);
  if (graph >= 0) stages_find_op(c, j->stages[graph], &j->passes, graph, pass);
  return false;
}

/* `pass`: the one that was run last, or -1. */
static bool stages_report_late(stages_job *j, int pass) {
  MlirLocation loc = mlirOperationGetLocation(j->stages[0]);
  int64_t limit = loom_pass_value(STAGES_LIMIT, 600);
  if (pass < 0)
    return loom_emit_error(loc,
                           "the limit of %" PRId64 " seconds is over before the first of %d "
                           "passes: %d calls were made of the module as it is given",
                           limit, j->passes.count, j->cases.count);
  return loom_emit_error(loc,
                         "the limit of %" PRId64 " seconds is over behind %s (pass %d of %d): "
                         "%d passes leave the results of %d calls as they are",
                         limit, j->passes.list[pass].name, pass + 1, j->passes.count, pass,
                         j->cases.count);
}

/* Compares the calls behind a pass with those of stage 0. */
static bool stages_compare(stages_job *j, int pass) {
  char text[400];
  for (int i = 0; i < j->cases.count; i++) {
    stages_case *c = j->cases.list[i];
    stages_verdict verdict =
        stages_case_compare(c, j->stages[pass + 1], &c->call, text, sizeof text);
    if (verdict == STAGES_FAILS && stages_is_late()) return stages_report_late(j, pass);
    loom_count(STAGES_COUNT_CALLS, 1);
    if (verdict != STAGES_SAME) return stages_report(j, c, pass, text, verdict);
  }
  return true;
}

static bool stages_step(stages_job *j, int pass) {
  j->stages[pass + 1] = mlirOperationClone(j->stages[pass]);
  j->count++;
  if (!stages_passes_run(&j->passes.list[pass], j->stages[pass + 1]))
    return loom_emit_error(mlirOperationGetLocation(j->stages[0]), "%s (pass %d of %d) fails",
                           j->passes.list[pass].name, pass + 1, j->passes.count);
  loom_count(STAGES_COUNT_PASSES, 1);
  return stages_compare(j, pass);
}

static bool stages_begin(stages_job *j, MlirOperation module) {
  const char *passes = loom_pass_text_value();
  MlirLocation loc = mlirOperationGetLocation(module);
  if (!stages_passes_read(loc, *passes ? passes : "loom-cpu", &j->passes)) return false;
  j->stages = calloc((size_t)j->passes.count + 1, sizeof *j->stages);
  if (!j->stages) return loom_emit_error(loc, "out of memory");
  j->stages[j->count++] = mlirOperationClone(module);
  bool good = stages_cases_make(j->stages[0], (uint64_t)loom_pass_value(STAGES_SEED, 0),
                                loom_pass_value(STAGES_TRIALS, 8), loom_pass_value(STAGES_SIZE, 0),
                                &j->cases);
  loom_count(STAGES_COUNT_REFUSED, j->cases.refused);
  if (!good && stages_is_late()) stages_report_late(j, -1);
  for (int i = 0; i < j->cases.count && loom_pass_value(STAGES_EXACT, 0); i++)
    j->cases.list[i]->bound = 0;
  return good;
}

/* The pass' own table of sizes is not open while others run: theirs are in the same place. */
static bool stages_run(MlirOperation module) {
  stages_job j = {.count = 0};
  loom_sizes_leave(module);
  stages_time((int)loom_pass_value(STAGES_SECONDS, 30), (int)loom_pass_value(STAGES_LIMIT, 600));
  bool good = stages_begin(&j, module);
  for (int pass = 0; good && pass < j.passes.count; pass++)
    good = stages_step(&j, pass);
  if (good)
    loom_remark(LOOM_REMARK_ANALYSIS, mlirOperationGetLocation(module), "same",
                "%d passes leave the results of %d calls as they are (%d calls were refused)",
                j.passes.count, j.cases.count, j.cases.refused);
  stages_cases_fini(&j.cases);
  for (int i = 0; i < j.count; i++)
    mlirOperationDestroy(j.stages[i]);
  free(j.stages);
  stages_passes_fini(&j.passes);
  return loom_sizes_enter(module) && good;
}

MlirPass loom_make_check_stages_pass(void) {
  const loom_pass_spec spec = {
      .name = "LoomCheckStages",
      .flag = "loom-check-stages",
      .summary = "Run a module before and after each pass, and compare",
      .root = "builtin.module",
      .run = stages_run,
      .dialect_count = 7,
      .dialects = {mlirGetDialectHandle__arith__(), mlirGetDialectHandle__cf__(),
                   mlirGetDialectHandle__func__(), mlirGetDialectHandle__llvm__(),
                   mlirGetDialectHandle__scf__(), mlirGetDialectHandle__ub__(),
                   mlirGetDialectHandle__vector__()},
      .options = {[STAGES_SEED] = {"seed", "of the arguments' elements", 0, 0, INT64_MAX},
                  [STAGES_TRIALS] = {"trials", "calls of each function", 8, 1, 1000},
                  [STAGES_SIZE] = {"size", "of symbols, counted up; 0: chosen", 0, 0, 4096},
                  [STAGES_EXACT] = {"exact", "1: compare all bits of floats", 0, 0, 1},
                  [STAGES_SECONDS] = {"seconds", "in which a call has to end", 30, 1, 3600},
                  [STAGES_LIMIT] = {"limit", "of seconds for all calls", 600, 1, 1000000}},
      .text = {"passes", "The pipeline to be checked (default: loom-cpu)"},
      .counters = {[STAGES_COUNT_PASSES] = {"passes", "passes that were run"},
                   [STAGES_COUNT_CALLS] = {"calls", "calls compared"},
                   [STAGES_COUNT_REFUSED] = {"refused", "calls that the module refuses"}}};
  return loom_pass_of(&spec);
}
