/* Is a compilation likely to pay?
 *
 * To capture an instruction takes some ten times as long as to run it, or more. Where capture finds
 * no array operation, compiling gains nothing. A program may have hundreds of small functions of
 * that kind which are called a few times each, with other values every time. So a function without
 * arrays in its arguments or in an earlier version is captured when its plain runs have taken as
 * long as the capture is likely to take. It is captured again when its plain runs have taken twice
 * as long as all captures before. Captures that find no array operation end when they have taken as
 * long as the runs. So captures and plain runs take about the same time in all, however many
 * versions there are and however long the code is.
 *
 * A function that the user has asked to compile is captured at its first call whatever its
 * arguments are, and so is each of its parts. The length of these captures is limited.
 *
 * With arrays all is compiled at once, until the parts of a function and the functions that they
 * call have taken the time that `config.compile_budget` gives. A loop with a break inside may find
 * another size in each iteration, and each needs a version of each part. From then on another
 * version of one of these is compiled when the plain runs in place of it have taken as long as a
 * version has on average. So is the first version of another one, where many have been made: parts
 * of parts may multiply, and a program may call many functions. What the function itself is called
 * with is the user's choice, within `config.recompile_limit`.
 *
 * The time of the plain runs is that of calls that no version fits: see weigh_run_begin(). Where
 * such a run contains others, each moment counts for the innermost one alone. So what is compiled
 * beyond the budget takes no longer than the plain runs have, however deep the calls are. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/captured.h"
#include "frontend/dispatch/callable_internal.h"
#include "frontend/dispatch/resume_internal.h"
#include "frontend/dispatch/trial_internal.h"
#include "frontend/run/run.h"

static uint64_t weigh_built_ns; /* what compilations have taken, all together */
static uint64_t weigh_timed_ns; /* what timed plain runs have taken, each moment counted once */

/* ---- are there arrays? ---------------------------------------------------------------------- */

static bool weigh_is_array(PyObject *object) {
  uint64_t bits;
  for (const loom_adapter *const *a = loom_adapters(); *a; a++)
    if (((*a)->fingerprint && (*a)->fingerprint(object)) ||
        ((*a)->scalar_bits && (*a)->scalar_bits(object, LOOM_DTYPE_COUNT, &bits)))
      return true;
  return false;
}

static bool weigh_has_arrays(PyObject *object, int depth);

static bool weigh_any_has(PyObject *const *items, Py_ssize_t count, int depth) {
  for (Py_ssize_t i = 0; i < count; i++)
    if (weigh_has_arrays(items[i], depth)) return true;
  return false;
}

static Py_ssize_t weigh_some(Py_ssize_t count) { return count < WEIGH_ITEMS ? count : WEIGH_ITEMS; }

static bool weigh_dict_has(PyObject *dict, int depth) {
  Py_ssize_t position = 0, i = 0;
  PyObject *key, *item;
  while (i++ < WEIGH_ITEMS && PyDict_Next(dict, &position, &key, &item))
    if (weigh_has_arrays(item, depth)) return true;
  return false;
}

/* The object itself, or one that it holds; nothing of the user's runs. */
static bool weigh_has_arrays(PyObject *object, int depth) {
  if (!object) return false;
  if (PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyUnicode_CheckExact(object) ||
      object == Py_None || PyBool_Check(object) || PyFunction_Check(object) || PyType_Check(object))
    return false;
  if (PyTuple_Check(object))
    return depth && weigh_any_has(((PyTupleObject *)object)->ob_item,
                                  weigh_some(PyTuple_GET_SIZE(object)), depth - 1);
  if (PyList_Check(object))
    return depth && weigh_any_has(((PyListObject *)object)->ob_item,
                                  weigh_some(PyList_GET_SIZE(object)), depth - 1);
  if (PyDict_Check(object)) return depth && weigh_dict_has(object, depth - 1);
  if (weigh_is_array(object)) return true;
  PyObject **attributes = depth == WEIGH_DEPTH ? _PyObject_GetDictPtr(object) : NULL;
  return attributes && *attributes && weigh_dict_has(*attributes, depth - 1);
}

/* ---- may it be compiled now? ---- */

static bool weigh_is_own(const callable *c) { return !c->place.shared; }

/* Has the user asked to compile the function? It is no part of one, and none that one calls. */
static bool weigh_is_asked(const callable *c) { return !c->place.owner && !c->place.shared; }

/* What functions have taken that were called by compiled code which is no more. */
static weighing weigh_strays;

/* What counts against the budget of a function that the user has asked to compile: its parts, the
 * functions that they call, and the parts of these. Each may be small, and there may be many. */
static weighing *weigh_all(callable *c) {
  callable *whole = callable_whole(c);
  if (whole->place.shared) whole = hook_asked();
  return whole ? &whole->weighing : &weigh_strays;
}

/* Is this a part of a function, or one that it calls, and have all versions of these used up the
 * budget? Then versions have to be paid for: of a few parts all but the first ones, of many parts
 * these, too. */
static bool weigh_is_dear(callable *c) {
  bool first = !c->builds.wasted && !(c->entries && c->entries->count);
  const weighing *all = weigh_all(c);
  int64_t budget = loom_config.compile_budget;
  if (weigh_is_asked(c) || budget < 0 || all->busy_ns / 1000000 < (uint64_t)budget) return false;
  return !first || all->all_builds >= WEIGH_MANY_BUILDS;
}

/* ns that plain runs are to take before anything is captured. */
static uint64_t weigh_price(callable *c) {
  const weighing *w = &c->weighing, *all = weigh_all(c);
  if (w->dear)
    return w->builds ? w->spent_ns / w->builds
                     : all->busy_ns / (all->all_builds ? all->all_builds : 1);
  if (!w->spent_ns) return weigh_is_own(c) ? 0 : WEIGH_FIRST_NS;
  return WEIGH_AGAIN * w->spent_ns;
}

static bool weigh_is_exempt(const callable *c) {
  if (!loom_config.put_off || c->options.fullgraph || c->options.kind != BACKEND_LOOM) return true;
  return loom_config.error_on_recompile != 0;
}

static bool weigh_sees_arrays(const callable *c, PyObject *const *slots) {
  return c->weighing.arrays || weigh_any_has(slots, c->slots, WEIGH_DEPTH);
}

/* Instructions that a capture may take. */
static int64_t weigh_patience(const callable *c) {
  const weighing *w = &c->weighing;
  if (!w->spent_ns && weigh_is_own(c)) return c->place.point ? WEIGH_PART_STEPS : WEIGH_ASKED_STEPS;
  uint64_t left = w->plain_ns > w->spent_ns ? w->plain_ns - w->spent_ns : 0;
  return (int64_t)((left > WEIGH_LEAST_NS ? left : WEIGH_LEAST_NS) / WEIGH_STEP_NS);
}

bool weigh_allows(callable *c, PyObject *const *slots) {
  weighing *w = &c->weighing;
  w->patience = -1;
  w->put_off = false;
  if (weigh_is_exempt(c)) return true;
  bool arrays = weigh_sees_arrays(c, slots);
  w->dear = arrays && weigh_is_dear(c);
  if (arrays && !w->dear) return true;
  if (!arrays) w->patience = weigh_patience(c);
  if (w->plain_ns >= weigh_price(c)) return true;
  /* What runs between two yields is not timed. */
  if (((PyCodeObject *)c->code)->co_flags & CO_GENERATOR) w->plain_ns += WEIGH_YIELD_NS;
  if (!w->calls++)
    loom_log(LOOM_LOG_BREAKS, "%U: FL%04d: put off: %s", c->function->func_qualname, BREAK_PUT_OFF,
             arrays ? "earlier versions have taken long" : "its calls have no arrays in sight");
  w->put_off = true;
  return false;
}

void weigh_build_begin(weigh_build *b, const callable *c) {
  b->start = loom_clock_ns();
  b->busy = loom_process_ns();
  b->outer = loom_capture_patience;
  loom_capture_patience = c->weighing.patience;
}

bool weigh_build_end(weigh_build *b, callable *c, const entry *made) {
  weighing *w = &c->weighing;
  uint64_t ns = loom_clock_ns() - b->start;
  bool ran_out = loom_capture_patience == 0;
  loom_capture_patience = b->outer;
  weigh_built_ns += ns;
  w->spent_ns += ns;
  w->builds++;
  /* Kernels are compiled in threads of their own. Those of the user may run as well, and other
   * processes: the less of both times is what compiling takes at most. */
  uint64_t busy = loom_process_ns() - b->busy;
  if (!weigh_is_asked(c)) {
    weighing *all = weigh_all(c);
    all->busy_ns += busy < ns ? busy : ns;
    all->all_builds++;
  }
  if (w->dear) w->plain_ns = 0;
  w->arrays |= made && made->operations;
  if (ran_out) w->calls++;
  w->put_off = w->unfit = ran_out;
  return !ran_out;
}

/* ---- plain runs in its place ---- */

void weigh_run_begin(weigh_run *run, callable *c) {
  run->unfit = c->weighing.unfit;
  run->put_off = c->weighing.put_off;
  c->weighing.put_off = c->weighing.unfit = false;
  if (!run->unfit) return;
  run->built = weigh_built_ns;
  run->timed = weigh_timed_ns;
  run->start = loom_clock_ns();
}

/* To find out that no version fits takes longer than a short function. After some such calls in a
 * row most are made without. How many calls this one stands for. */
static uint32_t weigh_let_be(callable *c, uint64_t ns) {
  if (c->place.shared || c->place.owner || c->options.fullgraph || !loom_config.leave_slower)
    return 1;
  return callable_let_be(c, ns < WEIGH_SHORT_NS, !c->weighing.arrays);
}

void weigh_run_end(const weigh_run *run, callable *c) {
  if (!run->unfit) return;
  uint64_t pretended = trial_pretended_ns(),
           ns = pretended ? pretended : loom_clock_ns() - run->start;
  uint64_t other = weigh_built_ns - run->built + weigh_timed_ns - run->timed;
  ns = ns > other ? ns - other : 0;
  weigh_timed_ns += ns;
  /* One run may have waited for other processes: it counts no more than all before it. */
  uint64_t most = c->weighing.plain_ns > WEIGH_LEAST_NS ? c->weighing.plain_ns : WEIGH_LEAST_NS;
  if (ns > most) ns = most;
  uint32_t stands_for = weigh_let_be(c, ns);
  if (!run->put_off) return;
  c->weighing.plain_ns += ns * stands_for;
  c->weighing.calls += stands_for - 1;
}

/* ---- for people ---- */

PyObject *weigh_report(callable *c) {
  const weighing *w = &c->weighing;
  if (!w->calls || (w->arrays && !w->dear)) return Py_NewRef(Py_None);
  PyObject *name = callable_title(c);
  const PyCodeObject *code = (PyCodeObject *)c->code;
  if (!name) return NULL;
  return Py_BuildValue("(NOiIddd)", name, code->co_filename, code->co_firstlineno, w->calls,
                       (double)w->plain_ns * 1e-6, (double)w->spent_ns * 1e-6,
                       (double)weigh_price(c) * 1e-6);
}
