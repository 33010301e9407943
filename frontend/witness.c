/* Which operations have raised a floating-point flag?
 *
 * A run tells which flags were raised, not by what. Where Python would no longer show some of the
 * warnings that may be meant, but would show others, the function would run a second time at every
 * call, mostly for nothing. So a version that has done so a few times gets another plan: of the
 * same inputs it computes whether any of those other operations may have raised a flag
 * (witness_graph.c). Where it says no, the results of the run stand.
 *
 * It may say yes where none has: then the plain function runs, as ever. What cannot be told so is
 * left out, and its flags matter.
 */
#include "frontend/witness.h"

#include "frontend/callable.h"

#include <stdlib.h>
#include <string.h>

/* Calls in vain before one is made, less than those after which the version is left to Python
 * (entry.c); four times as many before the next. */
#define WITNESS_ASKED 6
#define WITNESS_MOST 3 /* for one version */

typedef struct witness {
  loom_plan *plan; /* one output: may any of these have raised a flag? NULL: it has not been made */
  uint32_t asked, made;
  witness_cover cover;
} witness;

void witness_free(witness *w) {
  if (w && w->plan) loom_plan_unref(w->plan);
  free(w);
}

/* ---- the plan ---- */

static bool witness_fits(const loom_plan *plan, const loom_graph *graph) {
  const loom_plan_header *header = loom_plan_header_of(plan);
  bool good = header->output_count == 1 && header->input_count == graph->input_count &&
              header->symbol_count <= graph->symbol_count;
  for (uint32_t i = 0; i < graph->input_count && good; i++) {
    uint32_t kind = loom_plan_kind_of_input(plan, i);
    good = (kind != LOOM_PLAN_CONST || graph->inputs[i].kind == LOOM_INPUT_CONST) &&
           (kind != LOOM_PLAN_SCALAR || graph->inputs[i].kind == LOOM_INPUT_SCALAR);
  }
  return good;
}

static loom_plan *witness_compile(const entry *e, const loom_graph *graph) {
  const callable *home = e->home;
  char cpu[sizeof home->cpu];
  memcpy(cpu, home->cpu, sizeof cpu);
  loom_compile_options options = {
      .cpu = cpu, .fastmath = home->fastmath, .check = checked_wanted(), .quiet = true};
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

/* Makes one for what would be shown now. */
static void witness_make(entry *e, uint32_t flags, const uint32_t *shown) {
  witness_cover cover;
  loom_graph graph;
  loom_plan *plan = NULL;
  if (witness_graph(e->captured, flags, shown, &cover, &graph)) plan = witness_compile(e, &graph);
  loom_graph_fini(&graph);
  witness *w = e->witness;
  if (!plan) return;
  for (uint32_t i = 0; i < e->captured->input_count; i++)
    if (e->captured->graph.inputs[i].kind == LOOM_INPUT_CONST)
      loom_plan_set_const(plan, i, e->adapter->data(e->captured->inputs[i].constant));
  if (w->plan) loom_plan_unref(w->plan);
  w->plan = plan;
  w->cover = cover;
}

/* Would this call have run a second time for nothing? That is not known, but all that is raised
 * may be of what is no longer shown. */
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

/* What the plan says of this run; true when it cannot say. */
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

int witness_flags_matter(entry *e, uint32_t flags, const loom_call *call) {
  const capture *c = e->captured;
  uint32_t shown[WITNESS_ROWS], reported, open, asks = 0;
  if (flags & c->fp_reported) return 1;
  int matters = e->adapter->flags_matter(flags);
  if (matters <= 0 || !e->home || c->warning_count > WITNESS_ROWS) return matters;
  PyObject *globals = callable_function(e->home)->func_globals;
  if (!e->adapter->warnings_shown(c, globals, flags, &reported, shown)) return 1;
  witness *w = e->witness && e->witness->plan && call ? e->witness : NULL;
  open = reported & c->fp_untold & ~(w ? w->cover.untold : 0);
  asks = w ? reported & c->fp_untold & w->cover.untold : 0;
  for (uint32_t i = 0; i < c->warning_count; i++) {
    open |= shown[i] & ~(w ? w->cover.rows[i] : 0);
    asks |= w ? shown[i] & w->cover.rows[i] : 0;
  }
  if (!open && (!asks || !witness_ask(e, call))) return 0;
  if (call) witness_consider(e, reported, shown);
  return 1;
}
