/* Which operations have raised a floating-point flag?
 *
 * A run tells which flags were raised, but not by which operations. Python may have shown the
 * warnings of some operations already, and would still show those of others. Then the function
 * would run a second time at every call, mostly in vain. So a version that has done so a few times
 * gets another plan, the witness. From the same inputs it computes whether any of those other
 * operations may have raised a flag (witness_graph.c). When its answer is no, the results of the
 * run are used.
 *
 * The answer may be yes although none has raised a flag: then the plain function runs, as without a
 * witness. Operations that the witness cannot test are left out of it, and their flags always
 * matter.
 *
 * The witness takes about as long as the run. When its answer has been no a few times, the version
 * gets a third plan, the hush. The hush has the same results, but operations whose warnings nobody
 * would see raise no flags in it (hush.c). It runs in place of the first plan for as long as that
 * is so.
 */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/captured.h"
#include "frontend/compile/compile.h"
#include "frontend/run/internal.h"
#include "frontend/run/run.h"

#include <stdlib.h>
#include <string.h>

typedef struct witness {
  loom_plan *plan; /* one output: may any of these have raised a flag? NULL: it has not been made */
  uint32_t asked, made;
  witness_cover cover;
  loom_plan *hushed; /* the results, with fewer flags; NULL: it has not been made */
  uint32_t rows[WITNESS_ROWS], kinds; /* of each warning, of all: the flags that it raises not */
  uint32_t noisy, runs, calm; /* answers that it was nothing; runs; those in a row without flags */
  bool tried, off;            /* to make it; it is not run */
} witness;

void witness_free(witness *w) {
  if (w && w->plan) loom_plan_unref(w->plan);
  if (w && w->hushed) loom_plan_unref(w->hushed);
  free(w);
}

/* ---- the plan ---- */

static bool witness_fits(const loom_plan *plan, const loom_graph *graph) {
  const loom_plan_header *header = loom_plan_header_of(plan);
  bool good = header->output_count == graph->output_count &&
              header->input_count == graph->input_count &&
              header->symbol_count <= graph->symbol_count;
  for (uint32_t i = 0; i < graph->input_count && good; i++) {
    uint32_t kind = loom_plan_kind_of_input(plan, i);
    good = (kind != LOOM_PLAN_CONST || graph->inputs[i].kind == LOOM_INPUT_CONST) &&
           (kind != LOOM_PLAN_SCALAR || graph->inputs[i].kind == LOOM_INPUT_SCALAR);
  }
  return good;
}

/* `quiet`: nobody asks which flags its runs raise. */
static loom_plan *witness_compile(const entry *e, const loom_graph *graph, bool quiet) {
  loom_compile_options options = {.cpu = e->made.cpu,
                                  .fastmath = e->made.fastmath,
                                  .quick = !loom_config.optimize,
                                  .check = checked_wanted(),
                                  .quiet = quiet};
  loom_compile_report report;
  loom_plan *plan = NULL;
  loom_error err = {0};
  bool cache = loom_config.cache, good;
  Py_BEGIN_ALLOW_THREADS good = loom_compile_plan(graph, &options, "which operations raise flags",
                                                  cache, &plan, &report, &err);
  Py_END_ALLOW_THREADS if (good && witness_fits(plan, graph)) return plan;
  if (good) loom_plan_unref(plan);
  return NULL;
}

static void witness_bind(const entry *e, loom_plan *plan) {
  for (uint32_t i = 0; i < e->captured->input_count; i++)
    if (e->captured->graph.inputs[i].kind == LOOM_INPUT_CONST)
      loom_plan_set_const(plan, i, e->adapter->data(e->captured->inputs[i].constant));
}

/* Makes one for what would be shown now. */
static void witness_make(entry *e, uint32_t flags, const uint32_t *shown) {
  witness_cover cover;
  loom_graph graph;
  loom_plan *plan = NULL;
  if (witness_graph(e->captured, flags, shown, &cover, &graph))
    plan = witness_compile(e, &graph, true);
  loom_graph_fini(&graph);
  witness *w = e->witness;
  if (!plan) return;
  witness_bind(e, plan);
  if (w->plan) loom_plan_unref(w->plan);
  w->plan = plan;
  w->cover = cover;
}

/* Counts calls that ran a second time although perhaps no warning is shown: all flags that were
 * raised may stem from warnings that have been shown already. */
static void witness_consider(entry *e, uint32_t flags, const uint32_t *shown) {
  const capture *c = e->captured;
  uint32_t seen = 0;
  if (e->kind != BACKEND_LOOM || c->late || !e->home) return;
  for (uint32_t i = 0; i < c->warning_count; i++)
    seen |= c->warnings[i].flags & ~shown[i];
  if (flags & ~seen) return;
  if (!e->witness) e->witness = calloc(1, sizeof *e->witness);
  witness *w = e->witness;
  if (!w || w->made == WITNESS_MOST || ++w->asked < (uint32_t)WITNESS_ASKED << 2 * w->made) return;
  w->asked = 0;
  w->made++;
  witness_make(e, flags, shown);
}

/* The witness's answer for this run; true when the witness fails. */
static bool witness_ask(entry *e, const loom_call *run) {
  uint8_t answer = 1;
  void *output = &answer;
  loom_plan *plan = e->witness->plan;
  loom_violation violation;
  loom_call call = *run;
  call.outputs = &output;
  call.violation = &violation;
  call.allocate = NULL;
  call.poll = NULL;
  loom_plan_ref(plan);
  uint32_t status;
  Py_BEGIN_ALLOW_THREADS status = loom_plan_run(plan, &call);
  Py_END_ALLOW_THREADS loom_plan_unref(plan);
  return (status & ~15u) || answer;
}

/* ---- runs that raise less ---- */

/* Does it need as much memory for its results as the version's plan? */
static bool witness_hushed_agrees(const entry *e, const loom_plan *hushed, const int64_t *symbols) {
  for (uint32_t i = 0; i < e->captured->graph.output_count; i++) {
    size_t own, other;
    if (!loom_plan_output_size(e->plan, i, symbols, &own) ||
        !loom_plan_output_size(hushed, i, symbols, &other) || other > own)
      return false;
  }
  return true;
}

/* Of what raises `flags` nothing was `shown`, again. Results that are written into arguments are
 * left alone: how that may be done is for each plan to say. */
static void witness_is_noisy(entry *e, uint32_t flags, const uint32_t *shown) {
  const capture *c = e->captured;
  witness *w = e->witness;
  w->calm = 0;
  if (++w->noisy < WITNESS_NOISY) return;
  w->noisy = 0;
  w->off = false;
  if (w->tried || c->effect_count || c->late || !e->home || e->made.fastmath) return;
  loom_graph graph;
  w->tried = true;
  w->kinds = flags & ~c->fp_reported;
  for (uint32_t i = 0; i < c->warning_count; i++)
    w->rows[i] = c->warnings[i].flags & w->kinds & ~shown[i];
  if (hush_capture(c, w->rows, &graph)) w->hushed = witness_compile(e, &graph, false);
  loom_graph_fini(&graph);
  if (w->hushed) witness_bind(e, w->hushed);
}

/* Would nobody see warnings of the flags that the hush does not raise? */
static bool witness_is_untold(const entry *e, const witness *w) {
  uint32_t shown[WITNESS_ROWS], reported;
  const capture *c = e->captured;
  PyObject *globals = e->home ? loom_dispatch->globals(e->home) : NULL;
  if (!globals || !e->adapter->warnings_shown(c, globals, w->kinds, w->rows, &reported, shown))
    return false;
  for (uint32_t i = 0; i < c->warning_count; i++)
    if (shown[i] & w->rows[i]) return false;
  return true;
}

loom_plan *witness_plan(const entry *e, const int64_t *symbols) {
  witness *w = e->witness;
  if (!w || !w->hushed || w->off || ++w->runs % WITNESS_LOOK == 0) return e->plan;
  return witness_hushed_agrees(e, w->hushed, symbols) && witness_is_untold(e, w) ? w->hushed
                                                                                 : e->plan;
}

bool witness_is_hushed(const entry *e) {
  return e->witness && e->witness->hushed && !e->witness->off;
}

void witness_ran(const entry *e, const loom_plan *plan, uint32_t status) {
  witness *w = e->witness;
  if (!w || plan != e->plan || status & e->captured->fp_ops & 15u) return;
  w->noisy = 0;
  if (++w->calm == WITNESS_CALM) w->off = true;
}

int witness_flags_matter(entry *e, uint32_t flags, const loom_call *call) {
  const capture *c = e->captured;
  uint32_t shown[WITNESS_ROWS], reported, open, asks = 0;
  if (flags & c->fp_reported) return 1;
  int matters = e->adapter->flags_matter(flags);
  if (matters <= 0 || !e->home || c->warning_count > WITNESS_ROWS) return matters;
  PyObject *globals = loom_dispatch->globals(e->home);
  if (!e->adapter->warnings_shown(c, globals, flags, NULL, &reported, shown)) return 1;
  witness *w = e->witness && e->witness->plan && call ? e->witness : NULL;
  open = reported & c->fp_untold & ~(w ? w->cover.untold : 0);
  asks = w ? reported & c->fp_untold & w->cover.untold : 0;
  for (uint32_t i = 0; i < c->warning_count; i++) {
    open |= shown[i] & ~(w ? w->cover.rows[i] : 0);
    asks |= w ? shown[i] & w->cover.rows[i] : 0;
  }
  if (!open && (!asks || !witness_ask(e, call))) {
    if (asks) witness_is_noisy(e, reported, shown);
    return 0;
  }
  if (call) witness_consider(e, reported, shown);
  return 1;
}
