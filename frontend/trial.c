/* Is a function with breaks slower compiled than as plain Python?
 *
 * A part costs a microsecond or two beyond its kernels, an instruction that runs for real another
 * one. A loop that breaks in each iteration and computes next to nothing between the breaks is
 * slower that way than it was. Nothing tells so beforehand; but any call may run either way and
 * gives the same, so some of the first calls of such a function are run in turn compiled and plain,
 * and timed. When the plain run was clearly the faster one each time, the function is left to
 * Python (its callees are compiled still), until its calls take much longer than they did.
 *
 * Only calls of many short parts are looked at: the plain run of one of these is seldom much longer
 * than the call itself, and one plain run that was not faster ends the trial. */
#include "frontend/callable.h"

#define TRIAL_WARM_UP 2         /* calls before: they compile */
#define TRIAL_PAIRS 5           /* of a compiled and a plain run */
#define TRIAL_COLD 4            /* times the compiled run: what the first plain one may take */
#define TRIAL_ATTEMPTS 24       /* compiled runs that did not qualify, until there is no trial */
#define TRIAL_ROUNDS 8          /* breaks of a call that qualifies: at least; */
#define TRIAL_ROUND_NS 50000    /* a part and an instruction: at most; */
#define TRIAL_CALL_NS 100000000 /* all: at most */
#define TRIAL_GROWN 4           /* times the longest plain run of the trial: the sizes are others */
#define TRIAL_GROWN_RUNS 3

bool trial_is_plain(callable *c, entry *e) {
  trial *t = &e->trial;
  if (c->tried) entry_unref(c->tried);
  c->tried = NULL;
  if (t->state != TRIAL_LEFT && t->state != TRIAL_PLAIN_NEXT) return false;
  e->refs++;
  c->tried = e;
  return true;
}

void trial_compiled(entry *e, uint64_t ns, uint32_t rounds) {
  trial *t = &e->trial;
  if (!loom_config.leave_slower || t->state != TRIAL_OPEN || rounds < TRIAL_ROUNDS ||
      t->warm++ < TRIAL_WARM_UP)
    return;
  if (ns > TRIAL_CALL_NS || ns / rounds > TRIAL_ROUND_NS) {
    if (++t->attempts == TRIAL_ATTEMPTS) t->state = TRIAL_OVER;
    return;
  }
  t->compiled_ns = ns;
  t->state = TRIAL_PLAIN_NEXT;
}

/* On record as a break is: explain() and the log tell of it. */
static void trial_leave(callable *c, const trial *t) {
  PyObject *type, *raised, *traceback;
  PyCodeObject *code = (PyCodeObject *)c->function->func_code;
  break_info why = {.reason = BREAK_SLOWER, .step = -1};
  PyErr_Fetch(&type, &raised, &traceback);
  snprintf(why.detail, sizeof why.detail, "%.3g ms against %.3g ms", (double)t->compiled_ns * 1e-6,
           (double)t->plain_ns * 1e-6);
  why.location.file = PyUnicode_AsUTF8(code->co_filename);
  why.location.line = code->co_firstlineno;
  callable_record_break(c, &why);
  error_drop();
  PyErr_Restore(type, raised, traceback);
}

static void trial_plain(callable *c, trial *t, uint64_t ns) {
  if (t->state == TRIAL_LEFT) {
    t->grown = ns / TRIAL_GROWN > t->plain_ns ? t->grown + 1 : 0;
    if (t->grown == TRIAL_GROWN_RUNS) *t = (trial){.state = TRIAL_OPEN};
    return;
  }
  if (t->state != TRIAL_PLAIN_NEXT) return;
  /* The first plain run warms the interpreter up. */
  uint64_t worst = t->pairs ? t->compiled_ns / 3 * 2 : TRIAL_COLD * t->compiled_ns;
  if (t->pairs && ns > t->plain_ns) t->plain_ns = ns;
  if (ns > worst) {
    t->state = TRIAL_OVER;
  } else if (++t->pairs < TRIAL_PAIRS) {
    t->state = TRIAL_OPEN;
  } else {
    t->state = TRIAL_LEFT;
    trial_leave(c, t);
  }
}

void trial_run_begin(trial_run *run, callable *c) {
  run->tried = c->tried;
  c->tried = NULL;
  if (run->tried) run->start = loom_clock_ns();
}

void trial_run_end(trial_run *run, callable *c, bool done) {
  if (!run->tried) return;
  if (done) trial_plain(c, &run->tried->trial, loom_clock_ns() - run->start);
  entry_unref(run->tried);
}
