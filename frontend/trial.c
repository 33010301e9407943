/* Is a function with breaks slower compiled than as plain Python?
 *
 * A part costs a microsecond or two beyond its kernels, an instruction that runs for real another
 * one. A loop that breaks in each iteration and computes next to nothing between the breaks is
 * slower that way than it was. Nothing tells so beforehand; but any call may run either way and
 * gives the same, so some of the first calls of such a function are run in turn compiled and plain,
 * and timed. When the plain run was clearly the faster one each time, the function is left to
 * Python, until its calls take much longer than they did. So are its callees, unless a second
 * comparison shows that calls are clearly faster where those are compiled. Timed is what the thread
 * spends on a CPU: on a busy machine others take more from some runs than from others.
 *
 * Only calls of many short parts, and short calls, are looked at: the plain run of one of these is
 * seldom much longer than the call itself, and one that was ends the trial. */
#include "frontend/callable.h"

#define TRIAL_WARM_UP 2         /* calls before: they compile */
#define TRIAL_PAIRS 5           /* of a compiled and a plain run */
#define TRIAL_LOST 3            /* pairs in which the plain one was not faster: the end */
#define TRIAL_COLD 4            /* times the compiled run: what a plain one may take at all */
#define TRIAL_ATTEMPTS 24       /* compiled runs that did not qualify, until there is no trial */
#define TRIAL_ROUNDS 8          /* breaks of a call that qualifies: at least, */
#define TRIAL_SHORT_NS 200000   /* or it takes this at most; */
#define TRIAL_ROUND_NS 50000    /* a part and an instruction: at most; */
#define TRIAL_CALL_NS 100000000 /* all: at most */
#define TRIAL_GROWN 4           /* times the longest plain run of the trial: the sizes are others */
#define TRIAL_GROWN_RUNS 3
#define TRIAL_SELDOM 8       /* plain runs of which one is timed when all has been decided */
#define TRIAL_CALLEES_RUNS 3 /* until those are compiled */

bool trial_is_plain(callable *c, entry *e) {
  trial *t = &e->trial;
  if (c->tried) entry_unref(c->tried);
  c->tried = NULL;
  if (t->state == TRIAL_OPEN || t->state == TRIAL_OVER) return false;
  e->refs++;
  c->tried = e;
  return true;
}

bool trial_watches(const entry *e) {
  return loom_config.leave_slower && e->trial.state == TRIAL_OPEN;
}

void trial_compiled(entry *e, uint64_t ns, uint32_t rounds) {
  trial *t = &e->trial;
  if (!trial_watches(e) || (rounds < TRIAL_ROUNDS && ns > TRIAL_SHORT_NS) ||
      t->warm++ < TRIAL_WARM_UP)
    return;
  if (ns > TRIAL_CALL_NS || ns / rounds > TRIAL_ROUND_NS) {
    if (++t->attempts >= TRIAL_ATTEMPTS) t->state = TRIAL_OVER;
    return;
  }
  t->compiled_ns = ns;
  t->state = TRIAL_PLAIN_NEXT;
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

/* A plain run in the comparison with compiled ones. */
static void trial_against_compiled(callable *c, trial *t, uint64_t ns) {
  /* The first plain run warms the interpreter up; another process may come in between later. */
  bool lost = t->pairs && ns > t->compiled_ns / 5 * 4;
  if (t->pairs && !lost && ns > t->plain_ns) t->plain_ns = ns;
  t->lost += lost;
  t->pairs += !lost;
  if (ns > TRIAL_COLD * t->compiled_ns || t->lost == TRIAL_LOST) {
    t->state = TRIAL_OVER;
  } else if (t->pairs < TRIAL_PAIRS) {
    t->state = TRIAL_OPEN;
  } else {
    t->state = TRIAL_LEFT;
    t->pairs = t->lost = t->warm = 0;
    trial_tell(c, BREAK_SLOWER, c->function, t->compiled_ns, t->plain_ns);
  }
}

/* A run without compiled callees in the comparison with those that have them. */
static void trial_against_callees(trial *t, uint64_t ns) {
  if (t->compiled_ns > ns / 4 * 3)
    t->state = ++t->lost < TRIAL_LOST ? TRIAL_LEFT : TRIAL_ALONE;
  else
    t->state = ++t->pairs < TRIAL_PAIRS ? TRIAL_LEFT : TRIAL_CALLEES;
}

static void trial_plain(callable *c, trial *t, uint64_t ns) {
  if (t->state == TRIAL_PLAIN_NEXT) {
    trial_against_compiled(c, t, ns);
    return;
  }
  if (t->state == TRIAL_LEFT && t->warm++ >= TRIAL_CALLEES_RUNS) {
    t->compiled_ns = ns;
    t->state = TRIAL_ALONE_NEXT;
  } else if (t->state == TRIAL_ALONE_NEXT) {
    trial_against_callees(t, ns);
  }
  t->grown = ns / TRIAL_GROWN > t->plain_ns ? t->grown + 1 : 0;
  if (t->grown == TRIAL_GROWN_RUNS) *t = (trial){.state = TRIAL_OPEN};
}

/* To read the clock takes about as long as a short function: seldom, where little depends on it. */
static bool trial_times(trial *t) {
  bool settled = t->state == TRIAL_CALLEES || t->state == TRIAL_ALONE;
  return !settled || ++t->untimed % TRIAL_SELDOM == 0;
}

void trial_run_begin(trial_run *run, callable *c) {
  run->tried = c->tried;
  run->start = 0;
  c->tried = NULL;
  run->builds = callable_builds;
  run->alone = run->tried && run->tried->trial.state != TRIAL_LEFT &&
               run->tried->trial.state != TRIAL_CALLEES;
  if (run->tried && trial_times(&run->tried->trial)) run->start = loom_busy_ns();
}

void trial_run_end(trial_run *run, callable *c, bool done) {
  if (!run->tried) return;
  if (done && run->start && run->builds == callable_builds)
    trial_plain(c, &run->tried->trial, loom_busy_ns() - run->start);
  entry_unref(run->tried);
}
