/* A call that no compiled version fits: captures it, compiles it, and keeps the result, or
 * remembers why not. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/capture/capture.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/learnt.h"
#include "frontend/compile/compile.h"
#include "frontend/dispatch/callable_internal.h"
#include "frontend/dispatch/resume_internal.h"
#include "frontend/dispatch/trial_internal.h"
#include "frontend/report/report.h"
#include "frontend/run/run.h"

#include <unistd.h>

/* ---- signatures that were not captured
 * -----------------------------------------------------------------------------
 *
 * A break is remembered by what the arguments look like, so that the function is not captured again
 * on every call, and is when it is called with other types, sizes or numbers. State that a
 * signature does not show may have changed as well: so the same one is tried a few times more, ever
 * more rarely. */

static Py_hash_t signature_mix(Py_hash_t h, Py_hash_t next) {
  return (Py_hash_t)(((uint64_t)h ^ (uint64_t)next) * 0x9e3779b97f4a7c15u + 0x7f4a7c15u);
}

static Py_hash_t signature_of(PyObject *object, int depth);

static Py_hash_t signature_items(PyObject *const *items, Py_ssize_t count, int depth) {
  Py_hash_t h = count;
  for (Py_ssize_t i = 0; i < count && i < 16; i++)
    h = signature_mix(h, signature_of(items[i], depth - 1));
  return h;
}

static Py_hash_t signature_dict(PyObject *dict, int depth) {
  Py_ssize_t position = 0, i = 0;
  PyObject *key, *item;
  Py_hash_t h = PyDict_GET_SIZE(dict);
  while (PyDict_Next(dict, &position, &key, &item) && i++ < 16)
    h = signature_mix(signature_mix(h, signature_of(key, depth - 1)),
                      signature_of(item, depth - 1));
  return h;
}

static Py_hash_t signature_of(PyObject *object, int depth) {
  PyTypeObject *type = Py_TYPE(object);
  Py_hash_t h = (Py_hash_t)((uintptr_t)type >> 4), own = 0;
  if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type ||
      type == &PyBool_Type || type == &PyBytes_Type || type == &PyComplex_Type)
    own = PyObject_Hash(object);
  else if (PyFunction_Check(object))
    own = (Py_hash_t)((uintptr_t)((PyFunctionObject *)object)->func_code >> 4);
  else if (depth && type == &PyTuple_Type)
    own = signature_items(((PyTupleObject *)object)->ob_item, PyTuple_GET_SIZE(object), depth);
  else if (depth && type == &PyList_Type)
    own = signature_items(((PyListObject *)object)->ob_item, PyList_GET_SIZE(object), depth);
  else if (depth && type == &PyDict_Type)
    own = signature_dict(object, depth);
  for (const loom_adapter *const *a = loom_adapters(); *a && !own; a++)
    own = (*a)->fingerprint ? (*a)->fingerprint(object) : 0;
  return signature_mix(h, own);
}

static negative *negative_find(callable *c, Py_hash_t signature) {
  for (uint32_t i = 0; i < c->builds.negative_count; i++)
    if (c->builds.negatives[i].signature == signature) return &c->builds.negatives[i];
  return NULL;
}

static void negative_add(callable *c, Py_hash_t signature) {
  c->builds.failures++;
  negative *n = negative_find(c, signature);
  if (!n)
    n = &c->builds.negatives[c->builds.negative_count < CALLABLE_NEGATIVES
                                 ? c->builds.negative_count++
                                 : c->builds.failures % CALLABLE_NEGATIVES];
  if (n->signature != signature) *n = (negative){.signature = signature};
  n->attempts++;
}

/* Has this signature been tried often enough for now? */
static bool negative_holds(negative *n, uint32_t calls) {
  n->calls += calls;
  return n->calls < (1u << 3 * n->attempts) || n->attempts > 4;
}

/* ---- numbers that change -------------------------------------------------------------------- */

/* May the object be captured as an input? Python's ints are sizes (see size.c). *library: it is a
 * number of a library, not of Python. */
static bool number_is_plain(PyObject *object, bool *library) {
  uint64_t bits;
  *library = false;
  if (PyFloat_CheckExact(object)) return true;
  for (const loom_adapter *const *a = loom_adapters(); *a; a++)
    if ((*a)->scalar_bits && (*a)->scalar_bits(object, LOOM_DTYPE_COUNT, &bits)) *library = true;
  return *library;
}

/* Two numbers of one exact type. */
static bool number_differs(PyObject *a, PyObject *b, bool library) {
  if (a == b) return false;
  if (!library) return PyObject_RichCompareBool(a, b, Py_NE) == 1;
  for (const loom_adapter *const *l = loom_adapters(); *l; l++) {
    uint64_t left = 0, right = 0;
    if ((*l)->scalar_bits && (*l)->scalar_bits(a, LOOM_DTYPE_COUNT, &left) &&
        (*l)->scalar_bits(b, LOOM_DTYPE_COUNT, &right))
      return left != right;
  }
  return false;
}

/* Are there so many versions by now that a number which is still not the same is known in vain? The
 * parts behind a break are given what was computed before. */
static bool numbers_vary(const callable *c) {
  uint64_t versions = (uint64_t)c->builds.wasted + (c->entries ? c->entries->count : 0);
  bool part = c->place.owner || c->place.shared;
  return !c->options.fullgraph &&
         versions >= (part ? 2 : (uint64_t)loom_config.recompile_limit / 2);
}

void callable_numbers_init(callable_numbers *n, dynamic sizes) {
  n->sizes.always = sizes == DYNAMIC_ALWAYS;
  n->sizes.never = sizes == DYNAMIC_NEVER;
}

static void callable_numbers_fini(callable_numbers *n) {
  size_table_clear(&n->sizes);
  n->symbolic = n->by_value = n->apart = (slot_set){{0}};
  Py_CLEAR(n->last);
}

int callable_numbers_traverse(const callable_numbers *n, visitproc visit, void *arg) {
  Py_VISIT(n->last);
  return 0;
}

static number_mode number_choose(const callable *c, Py_ssize_t slot) {
  if (c->options.dynamic == DYNAMIC_NEVER) return NUMBER_KNOWN;
  if (slot_has(&c->numbers.apart, slot)) return NUMBER_APART;
  if (slot_has(&c->numbers.by_value, slot)) return NUMBER_KNOWN;
  return c->options.dynamic == DYNAMIC_ALWAYS || slot_has(&c->numbers.symbolic, slot)
             ? NUMBER_INPUT
             : NUMBER_KNOWN;
}

/* Which slots' numbers are to be captured as inputs: those that differ from the last capture's.
 * Those with numbers of a library go to *libraries. */
static bool numbers_choose(callable *c, PyObject *const *slots, number_mode *modes,
                           slot_set *libraries) {
  PyObject *now = PyTuple_New(c->slots), *last = c->numbers.last;
  if (!now) return false;
  *libraries = (slot_set){{0}};
  for (Py_ssize_t i = 0; i < c->slots; i++) {
    bool library = false, plain = slots[i] && number_is_plain(slots[i], &library);
    PyTuple_SET_ITEM(now, i, Py_NewRef(plain ? slots[i] : Py_None));
    PyObject *before = last && PyTuple_GET_SIZE(last) == c->slots ? PyTuple_GET_ITEM(last, i) : now;
    if (plain && Py_TYPE(before) == Py_TYPE(slots[i]) &&
        number_differs(before, slots[i], library)) {
      if (slot_has(&c->numbers.symbolic, i) && numbers_vary(c)) slot_add(&c->numbers.apart, i);
      slot_add(&c->numbers.symbolic, i);
    }
    modes[i] = plain ? number_choose(c, i) : NUMBER_KNOWN;
    if (modes[i] == NUMBER_INPUT && library) slot_add(libraries, i);
  }
  Py_XSETREF(c->numbers.last, now);
  return true;
}

/* ---- building ------------------------------------------------------------------------------- */

/* Compiles a capture. False with `err` filled; *out stays NULL for backends without a plan. */
static bool build_plan(const callable *c, const capture *captured, loom_plan **out,
                       loom_compile_report *report, loom_error *err) {
  const char *own = PyUnicode_AsUTF8(c->function->func_name);
  if (!own) error_drop(); /* a name that is no text in UTF-8 */
  char *kept = compile_trace_folder(own), *passing = kept ? NULL : schedule_log_folder();
  char *trace = kept ? kept : passing;
  loom_compile_options options = {.cpu = c->options.cpu,
                                  .trace_dir = trace,
                                  .fastmath = c->options.fastmath,
                                  .quick = !loom_config.optimize,
                                  .check = checked_wanted()};
  bool cache = loom_config.cache && !trace, good;
  PyObject *name = callable_title(c);
  const char *title = name ? PyUnicode_AsUTF8(name) : NULL;
  error_drop();
  Py_BEGIN_ALLOW_THREADS good = loom_compile_plan(
      &captured->graph, &options, title ? title : "a function", cache, out, report, err);
  Py_END_ALLOW_THREADS if (trace && name && !PyErr_Occurred()) {
    schedule_log(trace, name, passing);
    error_drop();
  }
  Py_XDECREF(name);
  free(trace);
  return good;
}

/* Takes over `captured` and `plan`. NULL with `err` filled, or with an exception. */
static entry *build_version(const callable *c, capture *captured, loom_plan *plan, PyObject *code,
                            double capture_ms, const loom_compile_report *report, loom_error *err) {
  int64_t hints[LOOM_MAX_SYMBOLS];
  PyObject *name = callable_title(c);
  entry_order order = {.kind = c->options.kind,
                       .code = code,
                       .name = name,
                       .user = c->options.user,
                       .cpu = c->options.cpu,
                       .fastmath = c->options.fastmath,
                       .part = c->place.owner != NULL,
                       .capture_ms = capture_ms,
                       .report = report};
  if (!name) {
    capture_free(captured);
    if (plan) loom_plan_unref(plan);
    return NULL;
  }
  entry *e = entry_new(captured, plan, &order, err);
  Py_DECREF(name);
  if (!e) return NULL;
  entry_hints(&e->captured->graph, hints);
  trial_init(e, hints);
  return e;
}

/* Takes over `captured`. NULL with `why` filled, or with an exception. */
static entry *build_entry(const callable *c, capture *captured, PyObject *code, double capture_ms,
                          break_info *why) {
  loom_plan *plan = NULL;
  loom_error err = {0};
  loom_compile_report report;
  memset(&report, 0, sizeof report);
  bool empty = !captured->graph.node_count && !captured->graph.output_count;
  bool late = c->options.kind == BACKEND_USER && captured->late;
  if (late)
    loom_fail(&err,
              "sizes that depend on data are known to no backend of the user's and no device");
  capture_name_inputs(captured, &captured->graph);
  if (late || (c->options.kind == BACKEND_LOOM && !empty &&
               !build_plan(c, captured, &plan, &report, &err))) {
    capture_free(captured);
    if (PyErr_Occurred()) return NULL; /* what a signal handler raised meanwhile */
    if (report.info.unchecked) {
      checked_raise(err.message);
      return NULL;
    }
  } else {
    entry *e = build_version(c, captured, plan, code, capture_ms, &report, &err);
    if (e || PyErr_Occurred()) return e;
  }
  why->reason = BREAK_COMPILER;
  snprintf(why->detail, sizeof why->detail, "%.*s", (int)sizeof why->detail - 1, err.message);
  why->location = (loom_location){.file = NULL};
  return NULL;
}

static void build_log_bytecode(const callable *c) {
  if (!(loom_log_mask & LOOM_LOG_BYTECODE)) return;
  PyObject *dis = PyImport_ImportModule("dis"), *bytecode = NULL, *text = NULL;
  if (dis) bytecode = PyObject_CallMethod(dis, "Bytecode", "O", c->code);
  if (bytecode) text = PyObject_CallMethod(bytecode, "dis", NULL);
  if (text) loom_log(LOOM_LOG_BYTECODE, "%U\n%U", c->function->func_qualname, text);
  error_drop();
  Py_XDECREF(dis);
  Py_XDECREF(bytecode);
  Py_XDECREF(text);
}

static void build_report(callable *c, const break_info *why) {
  c->builds.skipped |= why->reason == BREAK_SKIPPED && why->step < 0;
  bool raises =
      c->options.fullgraph || (why->reason == BREAK_COMPILER && !loom_config.suppress_errors);
  if (c->options.derives && why->reason == BREAK_RAISES) raises = false;
  if (callable_record_break(c, why) && raises) report_raise_break(why);
}

/* Captures. After a break it tries again with the library's scalars as constants, since an unknown
 * value may have caused the break. */
static capture *build_capture(callable *c, PyObject *const *slots, number_mode *modes,
                              const slot_set *libraries) {
  const frame_shape *start = resume_start(c);
  capture *captured =
      capture_from(callable_function(c), start, slots, c->slots, modes, &c->numbers.sizes);
  if (!captured || !captured->broke.reason) return captured;
  if (captured->broke.reason == BREAK_PUT_OFF) return captured;
  if (!size_know_numbers(&c->numbers.sizes) && !slot_any(libraries)) return captured;
  slot_add_all(&c->numbers.by_value, libraries);
  for (Py_ssize_t i = 0; i < c->slots; i++)
    if (slot_has(libraries, i)) modes[i] = NUMBER_KNOWN;
  capture_free(captured);
  return capture_from(callable_function(c), start, slots, c->slots, modes, &c->numbers.sizes);
}

/* Captures and compiles `code`, that of the function now: another thread may replace it while the
 * GIL is away. *sized: some size was symbolic. NULL with `why` filled, or with an exception. */
static entry *build_try(callable *c, PyObject *const *slots, number_mode *modes,
                        const slot_set *libraries, PyObject *code, bool *sized, break_info *why) {
  double start = loom_clock_ms();
  capture *captured = build_capture(c, slots, modes, libraries);
  double capture_ms = loom_clock_ms() - start;
  *sized = captured && captured->sized;
  if (!captured) return NULL;
  if (captured->broke.reason == BREAK_PUT_OFF) {
    *sized = false;
    capture_free(captured);
    return NULL;
  }
  if (captured->broke.reason) {
    *why = captured->broke;
    report_loops(&callable_whole(c)->report, captured);
    capture_free(captured);
    return NULL;
  }
  return build_entry(c, captured, code, capture_ms, why);
}

static void build_log_constant(const callable *c, const break_info *why) {
  loom_log(LOOM_LOG_DYNAMIC, "%U: not compiled for all sizes, but for each: %s",
           c->function->func_qualname, why->detail);
}

/* Captures and compiles what comes before the instruction at which capture broke; *sized: some size
 * was symbolic. */
static entry *build_until(callable *c, PyObject *const *slots, const number_mode *modes,
                          PyObject *code, int64_t step, bool *sized, break_info *why) {
  double start = loom_clock_ms();
  capture *captured = capture_until(callable_function(c), resume_start(c), slots, c->slots, modes,
                                    &c->numbers.sizes, step);
  double capture_ms = loom_clock_ms() - start;
  *sized = captured && captured->sized;
  entry *e = captured ? build_entry(c, captured, code, capture_ms, why) : NULL;
  return e;
}

/* build_until(), and again with constant sizes when that fails with symbolic ones. */
static entry *build_part(callable *c, PyObject *const *slots, const number_mode *modes,
                         PyObject *code, int64_t step) {
  break_info why = {.reason = 0}, again = {.reason = 0};
  bool sized;
  entry *e = build_until(c, slots, modes, code, step, &sized, &why);
  if (!e && why.reason && sized) {
    c->numbers.sizes.never = true;
    e = build_until(c, slots, modes, code, step, &sized, &again);
    if (e)
      build_log_constant(c, &why);
    else
      c->numbers.sizes.never = c->options.dynamic == DYNAMIC_NEVER;
    why = again;
  }
  if (why.reason) build_report(callable_whole(c), &why);
  return e;
}

/* What cannot be captured or compiled with symbolic sizes is with constant ones, from here on. */
static entry *build_from(callable *c, PyObject *const *slots, number_mode *modes,
                         const slot_set *libraries, PyObject *code) {
  break_info why = {.reason = 0}, again = {.reason = 0};
  bool sized;
  entry *e = build_try(c, slots, modes, libraries, code, &sized, &why);
  if (e || PyErr_Occurred()) return e;
  if (sized) {
    c->numbers.sizes.never = true;
    e = build_try(c, slots, modes, libraries, code, &sized, &again);
    if (e)
      build_log_constant(c, &why);
    else
      c->numbers.sizes.never = c->options.dynamic == DYNAMIC_NEVER;
    if (e || PyErr_Occurred()) return e;
    why = again;
  }
  if (!why.reason) return NULL;
  build_report(callable_whole(c), &why);
  return PyErr_Occurred() || !resume_is_possible(c, &why)
             ? NULL
             : build_part(c, slots, modes, code, why.step);
}

/* With `step`: only what comes before that instruction of the outermost frame. */
static entry *build_now(callable *c, PyObject *const *slots, int64_t step) {
  number_mode modes[LOOM_MAX_SLOTS];
  slot_set libraries;
  if (!numbers_choose(c, slots, modes, &libraries)) return NULL;
  build_log_bytecode(c);
  c->builds.captures++;
  PyObject *code = Py_NewRef(c->code);
  entry *e = step < 0 ? build_from(c, slots, modes, &libraries, code)
                      : build_part(c, slots, modes, code, step);
  Py_DECREF(code);
  bool held = e && entry_hold(e);
  const guard *failed = held ? guard_first_failure(e->captured, slots) : NULL;
  PyObject *words = failed ? guard_describe(e->captured, failed) : NULL;
  if (held) entry_release(e);
  if (!failed) return e;
  if (words)
    loom_log(LOOM_LOG_GUARDS, "%U: a new guard does not hold: %U", c->function->func_qualname,
             words);
  Py_XDECREF(words);
  error_drop();
  entry_unref(e);
  return NULL;
}

/* Warns once; -1 when the warning is an exception. */
static int build_warn_limit(callable *c) {
  /* What makes parts of a function differ is not what the user passes. */
  if (c->place.owner || c->builds.warned || c->place.quiet) return 0;
  c->builds.warned = true;
  return PyErr_WarnFormat(
      PyExc_RuntimeWarning, 1,
      "frameloom: %U was compiled for %lld kinds of arguments (frameloom.config.recompile_limit); "
      "others run as plain Python. FRAMELOOM_LOGS=recompiles shows what changes",
      c->function->func_qualname, (long long)loom_config.recompile_limit);
}

/* Without disturbing an exception that capture has left; one of its own is dropped. */
static void build_note(callable *c, PyObject *why, const entry *e, double ms) {
  PyObject *type, *raised, *traceback;
  PyErr_Fetch(&type, &raised, &traceback);
  recompile_keep(&callable_whole(c)->report, why, e, ms);
  error_drop();
  PyErr_Restore(type, raised, traceback);
}

/* What runs behind a break cannot be given other arguments by the user: where new versions of it
 * would be made for ever, the instruction that looks at what varies runs for real. Its number; -1:
 * this is no such part. */
static int64_t build_split(const callable *c, PyObject *const *slots) {
  const entry_list *list = c->entries;
  if (!list || list->count < (uint64_t)loom_config.recompile_limit ||
      c->builds.splits >= BUILD_MAX_SPLITS)
    return -1;
  if (c->options.fullgraph || !(c->place.owner || c->place.shared)) return -1;
  const entry *e = list->items[c->builds.splits ? list->count - 1 : 0];
  if (!entry_hold(e)) return -1;
  const guard *failed = guard_first_failure(e->captured, slots);
  entry_release(e);
  return failed ? failed->step : -1;
}

/* How many versions there may be. Plain Python cannot take a derivative: each call gets a version.
 */
static uint64_t build_limit(const callable *c) {
  return c->options.derives ? UINT32_MAX : (uint64_t)loom_config.recompile_limit;
}

/* A version that fills a gap which it guards has done its work: it makes room for one that finds
 * what it left. As often as there may be versions. */
static void build_make_room(callable *c) {
  const entry_list *list = c->entries;
  int64_t limit = loom_config.recompile_limit;
  if (!list || c->builds.wasted + (uint64_t)list->count < (uint64_t)limit ||
      c->builds.spent >= limit)
    return;
  for (uint32_t i = list->count; i-- > 0;) {
    if (!list->items[i]->captured->spent) continue;
    uint32_t wasted = c->builds.wasted; /* it was not */
    list->items[i]->life.fits = NULL;
    c->builds.spent++;
    callable_bury(c);
    c->builds.wasted = wasted;
    return;
  }
}

uint64_t callable_builds;

/* Takes over the reference. It is tried before all others, or (`last`) after them. */
static void callable_publish(callable *c, entry *e, bool last);

entry *callable_build(callable *c, PyObject *const *slots) {
  callable_bury(c);
  if (c->builds.thread && c->builds.process == (long)getpid()) return NULL;
  if (c->builds.skipped && !c->options.fullgraph) return NULL;
  if (python_code_is_monitored(c->code)) return NULL;
  build_make_room(c);
  int64_t split = build_split(c, slots);
  uint64_t versions = (uint64_t)c->builds.wasted + (c->entries ? c->entries->count : 0);
  c->weighing.unfit = true;
  if (split < 0 && versions >= build_limit(c)) return build_warn_limit(c), NULL;
  if (c->builds.failures >= CALLABLE_MAX_FAILURES && !c->options.fullgraph) return NULL;
  Py_hash_t signature = 0;
  for (Py_ssize_t i = 0; i < c->slots; i++)
    if (slots[i]) signature = signature_mix(signature, signature_of(slots[i], 3));
  negative *known = negative_find(c, signature);
  if (known && !c->options.fullgraph && negative_holds(known, 1 + c->turns.let_be_all)) return NULL;
  c->weighing.unfit = false;
  if (!stance_allows(c, slots)) return NULL;
  c->weighing.unfit = !weigh_allows(c, slots);
  if (c->weighing.unfit) return NULL;
  PyObject *why = callable_why(c, slots);
  if (c->options.dynamic != DYNAMIC_NEVER) dynamic_learn(c, slots);
  double start = loom_clock_ms();
  uint32_t put_off = loom_errors_put_off;
  callable_builds++;
  c->builds.thread = PyThread_get_thread_ident();
  c->builds.process = (long)getpid();
  weigh_build weigh;
  weigh_build_begin(&weigh, c);
  hook_scope scope; /* capture calls functions of its own, which are not to be compiled */
  bool paused = hook_pause(&scope);
  entry *e = build_now(c, slots, split);
  if (paused) hook_close(&scope);
  bool tried = weigh_build_end(&weigh, c, e);
  c->builds.thread = 0;
  if (why) build_note(c, why, e, loom_clock_ms() - start);
  Py_XDECREF(why);
  if (put_off != loom_errors_put_off) {
    if (e) entry_unref(e);
    if (!PyErr_Occurred()) Py_MakePendingCalls();
    return NULL;
  }
  if (e) {
    if (explain_measures) entry_measure_guards(e, slots);
    times_add(e->made.name, e->made.capture_ms, &e->made.report);
    entry_log(e);
    entry_settle(e);
    e->refs++;
    c->builds.splits += split >= 0;
    callable_publish(c, e, split >= 0);
    if (loom_warn_notices() && PyErr_CheckSignals() == 0) return e;
    entry_unref(e);
    return NULL;
  }
  if (PyErr_Occurred() || !loom_warn_notices()) return NULL;
  if (tried) negative_add(c, signature);
  return NULL;
}

bool callable_wait(const callable *c) {
  unsigned long here = PyThread_get_thread_ident();
  bool waited = false;
  while (c->options.derives && c->builds.thread && c->builds.thread != here &&
         c->builds.process == (long)getpid()) {
    waited = true;
    Py_BEGIN_ALLOW_THREADS usleep(200);
    Py_END_ALLOW_THREADS
  }
  return waited;
}

/* ---- publishing ----------------------------------------------------------------------------- */

static void callable_publish(callable *c, entry *e, bool last) {
  uint32_t count = c->entries ? c->entries->count : 0;
  entry_list *list = malloc(sizeof *list + ((size_t)count + 1) * sizeof(entry *));
  if (!list) {
    entry_unref(e);
    return;
  }
  list->refs = 1;
  list->count = count + 1;
  list->items[last ? count : 0] = e;
  for (uint32_t i = 0; i < count; i++) {
    entry *known = list->items[i + !last] = c->entries->items[i];
    known->refs++;
  }
  e->home = c;
  entry_list *old = c->entries;
  c->entries = list;
  entries_unref(old);
}

void callable_disown(callable *c) {
  for (uint32_t i = 0; c->entries && i < c->entries->count; i++)
    c->entries->items[i]->home = NULL;
}

/* As it began, but for a compilation that is going on, and a burial that is due. */
static void callable_making_reset(callable_making *m) {
  *m = (callable_making){.process = m->process, .thread = m->thread, .burying = m->burying};
}

void callable_forget(callable *c) {
  entry_list *old = c->entries;
  if (c->place.shared) hook_reset(c);
  callable_disown(c);
  c->entries = NULL;
  callable_look_at(c);
  c->counts = (callable_counts){.hits = 0};
  c->weighing = (weighing){.arrays = false};
  callable_making_reset(&c->builds);
  callable_numbers_fini(&c->numbers);
  callable_numbers_init(&c->numbers, c->options.dynamic);
  report_fini(&c->report);
  /* What is freed here may run code of the user's, which may call the function: by now it is as it
   * was before its first call. */
  callable_turns_fini(&c->turns);
  entries_unref(old);
  resume_table_fini(&c->resumes);
}
