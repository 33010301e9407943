/* Passes in C: what pass.h and the end of ir.h declare. */
#include "dialects/pass.h"
#include "dialects/ir.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASS_LIMIT 64 /* passes of a process */

/* ---- the passes that there are ---- */

typedef struct pass_known {
  loom_pass_spec spec;
  MlirTypeID id; /* each pass has one that lives as long as the process */
  bool ran;
  int64_t counts[LOOM_PASS_COUNTERS];
} pass_known;

static pthread_mutex_t pass_lock = PTHREAD_MUTEX_INITIALIZER;
static pass_known *pass_list[PASS_LIMIT];
static int pass_count;

/* The pass with this function, noted when it is first made; NULL: out of memory or room. */
static pass_known *pass_find(const loom_pass_spec *spec) {
  static MlirTypeIDAllocator allocator;
  pthread_mutex_lock(&pass_lock);
  if (!allocator.ptr) allocator = mlirTypeIDAllocatorCreate();
  pass_known *known = NULL;
  for (int i = 0; i < pass_count && !known; i++)
    if (pass_list[i]->spec.run == spec->run) known = pass_list[i];
  if (!known && pass_count < PASS_LIMIT && (known = calloc(1, sizeof *known))) {
    known->spec = *spec;
    known->id = mlirTypeIDAllocatorAllocateTypeID(allocator);
    pass_list[pass_count++] = known;
  }
  pthread_mutex_unlock(&pass_lock);
  return known;
}

MlirPass loom_pass_of(const loom_pass_spec *spec) {
  pass_known *known = pass_find(spec);
  return known ? loom_pass_make(&known->spec, known->id) : (MlirPass){NULL};
}

MlirPass loom_pass_create(const char *name, const char *flag, const char *summary, const char *root,
                          loom_pass_fn run) {
  return loom_pass_create_with(name, flag, summary, root, run, 0, NULL);
}

MlirPass loom_pass_create_with(const char *name, const char *flag, const char *summary,
                               const char *root, loom_pass_fn run, intptr_t dialect_count,
                               MlirDialectHandle *dialects) {
  loom_pass_spec spec = {.name = name, .flag = flag, .summary = summary, .root = root, .run = run};
  for (; spec.dialect_count < dialect_count && spec.dialect_count < LOOM_PASS_DIALECTS;
       spec.dialect_count++)
    spec.dialects[spec.dialect_count] = dialects[spec.dialect_count];
  return loom_pass_of(&spec);
}

/* ---- a run ---- */

static _Thread_local const loom_running *pass_running;

/* Are the options' values within their bounds? */
static bool pass_check_values(MlirOperation root, const loom_running *running) {
  const loom_pass_option *options = running->spec->options;
  for (int i = 0; i < LOOM_PASS_OPTIONS && options[i].name; i++)
    if (running->values[i] < options[i].least || running->values[i] > options[i].most)
      return loom_emit_error(mlirOperationGetLocation(root),
                             "%s: %s is %" PRId64 ", not in %" PRId64 " to %" PRId64,
                             running->spec->flag, options[i].name, running->values[i],
                             options[i].least, options[i].most);
  return true;
}

/* Until one fails; a function may be erased meanwhile. */
static bool pass_each_function(MlirOperation module, bool (*run)(MlirOperation function)) {
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0));
  MlirOperation op = mlirBlockGetFirstOperation(body);
  while (op.ptr) {
    MlirOperation next = mlirOperationGetNextInBlock(op);
    if (loom_is_named(op, "func.func") && !run(op)) return false;
    op = next;
  }
  return true;
}

bool loom_pass_run(MlirOperation root, const loom_running *running) {
  const loom_running *outer = pass_running;
  if (!pass_check_values(root, running)) return false;
  pass_running = running;
  bool good = loom_sizes_enter(root);
  loom_num_take_failure();
  loom_count(-1, 0);
  bool (*run)(MlirOperation) = running->spec->run;
  good = good && (running->spec->each_function ? pass_each_function(root, run) : run(root));
  if (loom_num_take_failure() && good)
    good = loom_emit_error(mlirOperationGetLocation(root), "a size cannot be computed");
  loom_sizes_leave(root);
  pass_running = outer;
  return good;
}

int64_t loom_pass_value(int index, int64_t otherwise) {
  return pass_running ? pass_running->values[index] : otherwise;
}

const char *loom_pass_text_value(void) { return pass_running ? pass_running->text : ""; }

/* Number -1: the pass has run. */
void loom_count(int index, int64_t amount) {
  if (!pass_running) return;
  pthread_mutex_lock(&pass_lock);
  for (int i = 0; i < pass_count; i++) {
    if (&pass_list[i]->spec != pass_running->spec) continue;
    pass_list[i]->ran = true;
    if (index >= 0) pass_list[i]->counts[index] += amount;
  }
  pthread_mutex_unlock(&pass_lock);
}

void loom_print_counters(void) {
  pthread_mutex_lock(&pass_lock);
  for (int i = 0; i < pass_count; i++) {
    const pass_known *known = pass_list[i];
    if (!known->ran || !known->spec.counters[0].name) continue;
    fprintf(stderr, "%s\n", known->spec.flag);
    for (int c = 0; c < LOOM_PASS_COUNTERS && known->spec.counters[c].name; c++)
      fprintf(stderr, "  (S) %8" PRId64 " %-12s - %s\n", known->counts[c],
              known->spec.counters[c].name, known->spec.counters[c].summary);
  }
  pthread_mutex_unlock(&pass_lock);
}

/* ---- remarks ---- */

static _Thread_local struct {
  loom_remark_fn tell;
  void *user;
} pass_listener;

void loom_remarks_listen(loom_remark_fn tell, void *user) {
  pass_listener.tell = tell;
  pass_listener.user = user;
}

bool loom_remarks_wanted(void) {
  return pass_running && (pass_running->explains || pass_running->engine || pass_listener.tell);
}

void loom_remark(loom_remark_kind kind, MlirLocation loc, const char *name, const char *format,
                 ...) {
  char text[512];
  va_list args;
  if (!loom_remarks_wanted()) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (pass_listener.tell)
    pass_listener.tell(loc, pass_running->spec->flag, text, pass_listener.user);
  loom_emit_remark(kind, loc, pass_running->spec->flag, name, text, pass_running);
}
