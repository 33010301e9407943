/* Is a function slower compiled than as plain Python?
 *
 * A part between two breaks costs a microsecond or two beyond its kernels, and a host call another
 * one. Some products of matrices are faster in the library. That cannot be predicted. But a call
 * has the same result either way, so some calls of each version run plain, in turn with compiled
 * ones, and both are timed. No call runs twice. Where the plain runs were faster, the version is
 * left to Python. It is compared again after some hundred calls, ever more rarely, and when its
 * calls take much longer than they did. A version that stays is compared again too: the sooner the
 * less clear the case was, or when a run takes longer than those of the comparison.
 *
 * What counts is the wall time of the whole call, the guards of all versions that are tried
 * included. CPU time replaces it where it is less, since other processes then interrupted the run.
 * (Short runs are seldom interrupted, and asking for CPU time takes as long as such a run and
 * disturbs the caches.) The least times of each kind are compared, and the sums of the few
 * shortest. Where both kinds are about equal, the CPU time of all threads decides, since their work
 * is not free.
 *
 * Calls that raise are compared with each other in the same way: many functions that raise do so at
 * every call. A compiled run that ends in the plain function counts as both runs together. The
 * interpreter rewrites code that it has run a few times, so the first plain runs do not count.
 *
 * A plain run may take much longer than a compiled one. So the first plain run waits until the
 * compiled runs have taken as long as it is likely to take at most, unless that is short anyway. A
 * comparison thus costs no more than the time that was spent before it. There is no comparison
 * where the plain function would need much more memory.
 *
 * In the plain runs of a comparison callees are not compiled. Once a version with breaks is left to
 * Python, a second comparison shows whether calls are clearly faster with compiled callees, if any
 * callee can be compiled. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/dispatch/callable.h"
#include "frontend/dispatch/callable_internal.h"
#include "frontend/dispatch/resume_internal.h"
#include "frontend/dispatch/trial_internal.h"
#include "frontend/run/run.h"
#include "loom_ops_control.h"
#include "loom_ops_elements.h"
#include "loom_ops_reductions.h"

#include <time.h>

/* ---- clocks ---- */

static trial_cost trial_pretended[2]; /* for tests: a plain run's, a compiled one's; or zeros */

static uint64_t trial_process_ns(void) {
  struct timespec t = {0};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Time that reading the wall clock takes. */
static uint64_t trial_look_ns(void) {
  static uint64_t least;
  for (int i = 0; i < 16 && !least; i++) {
    uint64_t start = loom_clock_ns(), ns = loom_clock_ns() - start;
    if (!i || ns < least) least = ns;
  }
  return least;
}

static trial_cost trial_now(const entry *e) {
  uint64_t busy = e->trial.brief ? 0 : trial_process_ns();
  return (trial_cost){loom_clock_ns(), busy};
}

trial_cost trial_clock(callable *c, const entry *e) {
  trial_cost now = trial_now(e);
  if (c->turns.clocked) now.wall = c->turns.found_since;
  c->turns.clocked = true;
  return now;
}

/* The cost of a run since `start`, compiled or plain. */
static trial_cost trial_since(trial_cost start, bool compiled) {
  uint64_t wall = loom_clock_ns(), look = trial_look_ns();
  if (trial_pretended[compiled].wall) return trial_pretended[compiled];
  wall -= start.wall;
  wall -= wall > look ? look : 0;
  uint64_t busy = start.busy ? trial_process_ns() - start.busy : wall;
  return (trial_cost){busy < wall ? busy : wall, busy};
}

uint64_t trial_pretended_ns(void) { return trial_pretended[0].wall; }

PyObject *loom_py_pretend_times(PyObject *module, PyObject *args) {
  unsigned long long ns[4] = {0};
  if (!PyArg_ParseTuple(args, "|KKKK", &ns[0], &ns[1], &ns[2], &ns[3])) return NULL;
  trial_pretended[1] = (trial_cost){ns[0], ns[1]};
  trial_pretended[0] = (trial_cost){ns[2], ns[3]};
  Py_RETURN_NONE;
}

/* ---- what a plain run may take ---- */

typedef struct trial_contents {
  bool loops, library;
  uint64_t most; /* bytes of the largest array */
} trial_contents;

static uint64_t trial_bytes(const loom_graph *graph, const loom_type *type, const int64_t *hints) {
  loom_type now;
  if (!size_resolve(graph, type, NULL, hints, &now, NULL)) return 0;
  int64_t elements = loom_type_elements(&now);
  return elements < 0 ? UINT64_MAX : (uint64_t)elements * loom_dtype_size(now.dtype);
}

static void trial_look_into(const loom_graph *graph, trial_contents *found) {
  for (uint32_t n = 0; n < graph->node_count; n++) {
    const loom_node *node = &graph->nodes[n];
    loom_opcode op = node->op;
    found->loops |= op == LOOM_OP_FOR || op == LOOM_OP_WHILE;
    found->library |= op == LOOM_OP_HOST_CALL || op == LOOM_OP_DOT_GENERAL || op == LOOM_OP_SORT;
    for (int r = 0; node->regions && r < loom_op_table[op].regions; r++)
      trial_look_into(node->regions[r], found);
  }
}

void trial_init(entry *e, const int64_t *hints) {
  const loom_graph *graph = &e->captured->graph;
  trial_contents found = {.loops = false};
  uint64_t outside = TRIAL_BULK / 2;
  trial_look_into(graph, &found);
  for (uint32_t i = 0; i < graph->value_count; i++) {
    uint64_t bytes = trial_bytes(graph, &graph->values[i].type, hints);
    if (bytes > found.most) found.most = bytes;
    if (graph->values[i].node < 0 && bytes > outside) outside = bytes;
  }
  for (uint32_t i = 0; i < graph->output_count; i++) {
    uint64_t bytes = trial_bytes(graph, loom_graph_type(graph, graph->outputs[i].value), hints);
    if (bytes > outside) outside = bytes;
  }
  e->trial.bulky = found.most / 2 > outside;
  /* Times the compiled run, from what such functions have taken. */
  if (e->stopped)
    e->trial.likely = 10;
  else if (found.library)
    e->trial.likely = found.loops ? 10 : 4;
  else
    e->trial.likely = found.loops ? 100 : 30;
  e->watched = e->stopped || e->kind == BACKEND_LOOM;
  if (!e->captured->derived) return;
  e->trial.state = TRIAL_OVER; /* the plain run's backward would have to be compared as well */
  e->trial.due = UINT64_MAX;
}

/* May a call run plain now? To capture a function takes longer than to run its Python code once:
 * that much time has been spent already. */
static bool trial_may(const entry *e, uint64_t ns) {
  const trial *t = &e->trial;
  double most = (double)t->likely * (double)ns;
  if (t->bulky || e->made.capture_ms * 1e6 + most > TRIAL_AT_ALL_NS) return false;
  return t->pairs || most <= TRIAL_AT_ONCE_NS || most <= (double)t->spent;
}

/* ---- a comparison ---- */

bool trial_is_plain(callable *c, entry *e) {
  bool plain = e->trial.state != TRIAL_OPEN && e->trial.state != TRIAL_OVER;
  entry *old = c->turns.tried;
  if (plain) e->refs++;
  c->turns.tried = plain ? e : NULL;
  c->turns.tried_since = (trial_cost){0, 0};
  entry_unref(old); /* what goes with it may run code */
  return plain;
}

bool trial_watches(const entry *e) {
  return loom_config.leave_slower && e->trial.state == TRIAL_OPEN;
}

static void trial_add(trial_sample *s, trial_cost cost) {
  int at = s->count < TRIAL_LOW ? (int)s->count : TRIAL_LOW;
  while (at && s->low[at - 1] > cost.wall) {
    if (at < TRIAL_LOW) s->low[at] = s->low[at - 1];
    at--;
  }
  if (at < TRIAL_LOW) s->low[at] = cost.wall;
  s->count++;
  if (cost.wall > s->most) s->most = cost.wall;
  if (!s->least.wall || cost.wall < s->least.wall) s->least.wall = cost.wall;
  if (!s->least.busy || cost.busy < s->least.busy) s->least.busy = cost.busy;
}

/* A compiled run. The next one is plain when it may be. */
static void trial_note(entry *e, trial_cost cost, bool raised) {
  trial *t = &e->trial;
  t->spent += cost.wall;
  if (t->warm < TRIAL_WARM_UP) {
    t->brief = cost.wall < TRIAL_BRIEF_NS;
    t->warm++;
    return;
  }
  if (!trial_may(e, cost.wall)) {
    /* To read the clock would cost short calls too much meanwhile: see trial_look. */
    t->waits_ns = cost.wall;
    t->waits_from = e->counts.hits;
    e->watched = e->stopped || cost.wall > TRIAL_SHORT_NS;
    if (e->home) e->home->turns.clocked = e->watched;
    return;
  }
  t->last = cost;
  t->raised = raised;
  t->state = TRIAL_PLAIN_NEXT;
}

void trial_compiled(callable *c, entry *e, trial_cost start, bool raised, bool in_vain) {
  if (!trial_watches(e)) return;
  if (!in_vain) {
    trial_note(e, trial_since(start, true), raised);
    if (c->entries && c->entries->count == 1) callable_let_be(c, false, false);
  } else if (!PyErr_Occurred()) {
    entry *old = c->turns.tried;
    e->refs++;
    c->turns.tried = e;
    c->turns.tried_since = start;
    entry_unref(old);
  }
}

void trial_tell(callable *c, int reason, const PyFunctionObject *of, uint64_t compiled_ns,
                uint64_t plain_ns) {
  PyObject *type, *raised, *traceback;
  PyCodeObject *code = (PyCodeObject *)of->func_code;
  break_info why = {.reason = reason, .step = -1};
  PyErr_Fetch(&type, &raised, &traceback);
  const char *name = of == c->function ? NULL : PyUnicode_AsUTF8(code->co_name);
  snprintf(why.detail, sizeof why.detail, "%s%s%.3g ms against %.3g ms", name ? name : "",
           name ? ": " : "", (double)compiled_ns * 1e-6, (double)plain_ns * 1e-6);
  why.location.file = PyUnicode_AsUTF8(code->co_filename);
  why.location.line = code->co_firstlineno;
  callable_record_break(c, &why);
  error_drop();
  PyErr_Restore(type, raised, traceback);
}

static double trial_sum(const trial_sample *s) {
  double sum = 0;
  for (uint32_t i = 0; i < s->count && i < TRIAL_LOW; i++)
    sum += (double)s->low[i];
  return sum;
}

/* Does the compiled version take a share more: in wall time, or in about that and in CPU time? */
static bool trial_loses(const trial *t, double share) {
  const trial_sample *c = &t->compiled, *p = &t->plain;
  double wall = (double)p->least.wall;
  /* What is around a plain run is in its time, as much as a step of the clock: short ones that look
   * even are not. */
  double noise = t->brief ? 0 : TRIAL_NOISE_NS;
  bool long_one = c->least.wall > TRIAL_THREADS_NS;
  bool busy = long_one && (double)c->least.busy > 1.5 * (double)p->least.busy;
  if (busy && (double)c->least.wall > 0.95 * wall) return true;
  return (double)c->least.wall > share * wall + noise && trial_sum(c) > share * trial_sum(p);
}

static bool trial_wins(const trial *t, double share) {
  return (double)t->plain.least.wall > share * (double)t->compiled.least.wall &&
         trial_sum(&t->plain) > share * trial_sum(&t->compiled);
}

/* Runs to come until it is compared again. */
static uint64_t trial_waits(const entry *e) {
  return e->trial.due > e->counts.hits ? e->trial.due - e->counts.hits : 0;
}

static void trial_look_at(callable *c, uint64_t calls) {
  if (c->counts.hits + calls < c->turns.look_at) c->turns.look_at = c->counts.hits + calls;
}

/* The compiled version stays. */
static void trial_keep(callable *c, entry *e) {
  trial *t = &e->trial;
  uint64_t runs = trial_wins(t, 1.5)              ? TRIAL_AGAIN_CLEAR
                  : trial_wins(t, TRIAL_WON_SOON) ? TRIAL_AGAIN_CLOSE
                                                  : TRIAL_AGAIN_DOUBT;
  t->state = TRIAL_OVER;
  t->due = e->counts.hits + (runs << t->again);
  t->again += t->again < TRIAL_AGAIN_MOST;
  trial_look_at(c, trial_waits(e));
  e->watched = e->stopped;
  c->turns.clocked = false;
}

static void trial_leave(callable *c, entry *e) {
  trial *t = &e->trial;
  t->state = e->stopped ? TRIAL_LEFT : TRIAL_ALONE;
  t->pairs = t->lost = t->lone = t->warm = t->calls = t->grown = 0;
  t->again += t->again < TRIAL_AGAIN_MOST;
  e->watched = true;
  c->turns.clocked = false;
  if (!t->told)
    trial_tell(c, BREAK_SLOWER, c->function, t->compiled.least.wall, t->plain.least.wall);
  t->told = true;
}

static void trial_open(trial *t) {
  *t = (trial){.again = t->again,
               .likely = t->likely,
               .bulky = t->bulky,
               .told = t->told,
               .brief = t->brief,
               .warm_plain = t->warm_plain,
               .depth = t->depth};
}

/* Left to Python without a comparison. */
static void trial_settle(entry *e, int state) {
  trial *t = &e->trial;
  trial_open(t);
  t->state = state;
  t->again += t->again < TRIAL_AGAIN_MOST;
  t->plain.most = UINT64_MAX;
  e->watched = true;
  if (e->home) e->home->turns.clocked = false;
}

bool trial_give_up(entry *e) {
  if (!loom_config.leave_slower || e->kind != BACKEND_LOOM || (e->home && e->home->place.owner))
    return false;
  trial_settle(e, TRIAL_ALONE);
  return true;
}

void trial_idle(entry *e) {
  if (e->trial.state == TRIAL_OPEN || e->trial.state == TRIAL_OVER) trial_settle(e, TRIAL_LEFT);
}

/* Does a plain run only warm up the interpreter? They do so one after the other. */
static bool trial_warms_up(trial *t, trial_cost cost) {
  if (t->pairs || cost.wall >= TRIAL_LONG_NS || t->warm_plain >= TRIAL_WARM_UP_PLAIN) return false;
  if (++t->warm_plain == TRIAL_WARM_UP_PLAIN) t->state = TRIAL_OPEN;
  return true;
}

/* A plain run in the comparison with compiled ones. */
static void trial_against_compiled(callable *c, entry *e, trial_cost cost, bool raised) {
  trial *t = &e->trial;
  if (t->brief && cost.wall >= TRIAL_LONG_NS) {
    t->brief = false; /* it is long, or has met another process: the next pair tells */
    t->state = TRIAL_OPEN;
    return;
  }
  if (trial_warms_up(t, cost)) return;
  if (raised != t->raised) {
    if (++t->odd % TRIAL_ODD == 0) t->state = TRIAL_OPEN;
    return;
  }
  t->state = TRIAL_OPEN;
  trial_add(&t->compiled, t->last);
  trial_add(&t->plain, cost);
  t->pairs++;
  bool few = t->pairs < TRIAL_CLEAR_PAIRS && cost.wall < TRIAL_LONG_NS;
  if (!few && trial_wins(t, t->pairs < TRIAL_CLEAR_PAIRS ? 1.5 : TRIAL_WON_SOON))
    trial_keep(c, e);
  else if (t->pairs >= TRIAL_CLEAR_PAIRS && trial_loses(t, 1.5))
    trial_leave(c, e);
  else if (t->pairs >= (t->brief ? TRIAL_PAIRS_BRIEF : TRIAL_PAIRS))
    trial_loses(t, 1 + TRIAL_LOSS / 100.0) ? trial_leave(c, e) : trial_keep(c, e);
}

/* ---- when all has been decided ---- */

/* A run without compiled callees in the comparison with those that have them. */
static void trial_against_callees(trial *t, uint64_t ns) {
  if (t->callees_ns > ns / 4 * 3)
    t->state = ++t->lost < TRIAL_CALLEES_LOST ? TRIAL_LEFT : TRIAL_ALONE;
  else
    t->state = ++t->pairs < TRIAL_CALLEES_PAIRS ? TRIAL_LEFT : TRIAL_CALLEES;
}

static void trial_plain(callable *c, entry *e, trial_cost cost, bool raised) {
  trial *t = &e->trial;
  if (t->state == TRIAL_PLAIN_NEXT) {
    trial_against_compiled(c, e, cost, raised);
    return;
  }
  if (t->state == TRIAL_OPEN || t->state == TRIAL_OVER) return;
  if (t->state == TRIAL_LEFT && t->lone >= TRIAL_NO_CALLEES) {
    t->state = TRIAL_ALONE;
  } else if (t->state == TRIAL_LEFT && t->warm++ >= TRIAL_CALLEES_RUNS) {
    t->callees_ns = cost.busy;
    t->state = TRIAL_ALONE_NEXT;
  } else if (t->state == TRIAL_ALONE_NEXT) {
    trial_against_callees(t, cost.busy);
  }
  t->grown = cost.wall / TRIAL_GROWN > t->plain.most ? t->grown + 1 : 0;
  if (t->grown == TRIAL_GROWN_RUNS) trial_open(t);
}

static bool trial_is_settled(const trial *t) {
  return t->state == TRIAL_CALLEES || t->state == TRIAL_ALONE;
}

/* Calls of a function that is left to Python: another comparison is due after some. What it costs
 * is a small share of them. */
static void trial_count(callable *c, entry *e) {
  trial *t = &e->trial;
  if (!trial_is_settled(t)) {
    callable_let_be(c, false, false);
    return;
  }
  uint64_t times = t->compiled.least.wall / (t->plain.least.wall + 1) + 1;
  t->calls += callable_let_be(c, t->state == TRIAL_ALONE, !e->operations && !e->stopped);
  if (t->calls >= times * TRIAL_AGAIN << t->again) {
    trial_open(t);
    callable_look_at(c);
  }
}

void trial_look(callable *c, entry *e) {
  trial *t = &e->trial;
  c->turns.look_at = c->counts.hits + TRIAL_LOOK;
  if (t->bulky) return;
  if (t->state == TRIAL_OPEN && !e->watched) {
    t->spent += t->waits_ns * (e->counts.hits - t->waits_from);
    e->watched = true;
  }
  if (t->state != TRIAL_OVER) return;
  if (trial_waits(e))
    trial_look_at(c, trial_waits(e));
  else
    trial_open(t);
  e->watched = true; /* perhaps for one run: see trial_call */
}

/* ---- runs ---- */

PyObject *trial_call(callable *c, entry *e, PyObject *const *slots, const int64_t *symbols,
                     bool *plain) {
  trial *t = &e->trial;
  if (c->options.fullgraph || !loom_config.leave_slower) {
    e->watched = c->turns.clocked = false;
    return entry_run(e, slots, symbols, plain);
  }
  if (trial_is_plain(c, e)) {
    *plain = true;
    return NULL;
  }
  e->refs++;
  uint64_t builds = callable_builds;
  trial_cost start = trial_clock(c, e);
  PyObject *result = entry_run(e, slots, symbols, plain);
  bool counts = builds == callable_builds;
  if (result && counts && t->state == TRIAL_OVER) {
    e->watched = c->turns.clocked =
        trial_since(start, true).wall > TRIAL_CHANGED * t->compiled.most;
    if (e->watched) trial_open(t);
  } else if (counts) {
    trial_compiled(c, e, start, !result, *plain);
  }
  entry_unref(e);
  return result;
}

void callable_turns_fini(callable_turns *t) {
  entry *tried = t->tried;
  *t = (callable_turns){.tried = NULL};
  entry_unref(tried);
}

/* To read the clock takes about as long as a short function: seldom, where little depends on it. */
static bool trial_times(const callable *c, trial *t) {
  return !trial_is_settled(t) || callable_is_let_be(c) || ++t->untimed % TRIAL_SELDOM == 0;
}

void trial_run_begin(trial_run *run, callable *c) {
  run->tried = c->turns.tried;
  run->start = c->turns.tried_since;
  run->in_vain = run->start.wall != 0;
  run->timed = false;
  c->turns.tried = NULL;
  c->turns.tried_since = (trial_cost){0, 0};
  run->builds = callable_builds;
  run->callees = hook_callees;
  weigh_run_begin(&run->weigh, c);
  trial *t = run->tried ? &run->tried->trial : NULL;
  run->alone = t && !run->in_vain && t->state != TRIAL_LEFT && t->state != TRIAL_CALLEES;
  if (!t || t->depth++ || !trial_times(c, t)) return;
  run->timed = true;
  if (!run->in_vain) run->start = trial_now(run->tried);
}

void trial_run_end(trial_run *run, callable *c, bool raised) {
  entry *e = run->tried;
  weigh_run_end(&run->weigh, c);
  if (!e) return;
  trial *t = &e->trial;
  t->depth -= t->depth > 0;
  bool counts = run->timed && run->builds == callable_builds;
  if (run->in_vain) {
    if (counts) trial_compiled(c, e, run->start, raised, false);
  } else {
    if (t->state == TRIAL_LEFT) t->lone = run->callees == hook_callees ? t->lone + 1 : 0;
    if (counts) trial_plain(c, e, trial_since(run->start, false), raised);
    if (!t->depth) trial_count(c, e);
  }
  entry_unref(e);
}
