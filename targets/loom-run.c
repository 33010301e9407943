/* loom-run: compiles the functions of a module, or takes those of an object of loom-compile, runs
 * them on arrays of files or of a seed, and prints, saves or times the results. Bad input gets a
 * diagnostic and exit code 1. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "graph/arrays.h"
#include "runtime/simulator.h"
#include "targets/native.h"
#include "targets/tools.h"

enum { RUN_FILES = 64, RUN_LEAST = 3 };

typedef struct run_file { /* --input=0=FILE: an array by number */
  long number;
  const char *path;
} run_file;

typedef struct run_job {
  loom_tool tool;
  loom_target_options options;
  const char *function, *check;
  run_file inputs[RUN_FILES], saves[RUN_FILES];
  int input_count, save_count;
  long seed, size, shown, milliseconds, timeout, order, skew;
  bool counts, requests;
  loom_counters *counters;
} run_job;

/* What runs a call: a plan of the runtime, or a function of an object. */
typedef struct run_code {
  loom_plan *plan;
  const uint8_t *entry, *workspace; /* of an object; workspace: NULL where sizes are constant */
} run_code;

static bool run_fail(const run_job *job, const char *function, const loom_error *err) {
  return loom_tool_error(&job->tool, function, err->message);
}

/* ---- arrays ---- */

/* Symbolic sizes of an argument are those of the file's array. */
static bool run_take_sizes(interpret_call *c, const interpret_array *array,
                           const loom_buffer *from) {
  if (from->type.dtype != array->declared.dtype || from->type.rank != array->declared.rank)
    return loom_fail(&c->err, "it has %d dimensions of %s, where %d of %s are wanted",
                     from->type.rank, loom_dtype_name(from->type.dtype), array->declared.rank,
                     loom_dtype_name(array->declared.dtype));
  for (int d = 0; d < from->type.rank; d++) {
    loom_dim dim = array->declared.dims[d];
    if (!LOOM_DIM_IS_SYM(dim)) continue;
    const loom_expr *expr = &c->table.exprs[LOOM_DIM_EXPR(dim)];
    if (expr->kind == LOOM_EXPR_SYMBOL) c->symbols[expr->value] = from->type.dims[d];
  }
  return true;
}

static bool run_in_range(interpret_call *c) {
  for (uint32_t i = 0; i < c->table.symbol_count; i++)
    if (c->symbols[i] < c->table.symbols[i].min || c->symbols[i] > c->table.symbols[i].max)
      return loom_fail(&c->err, "size s%u is %" PRId64 ", which is out of its range", i,
                       c->symbols[i]);
  return true;
}

static bool run_read_inputs(const run_job *job, interpret_call *c, loom_buffer *files) {
  for (int i = 0; i < job->input_count; i++) {
    const run_file *in = &job->inputs[i];
    loom_buffer *file = &files[in->number];
    if (in->number >= c->input_count) return loom_fail(&c->err, "it has no input %ld", in->number);
    free(file->data);
    if (!loom_npy_read(in->path, file, &c->err)) return false;
    if (!run_take_sizes(c, &c->inputs[in->number], file)) return false;
  }
  return run_in_range(c);
}

static bool run_fill(const run_job *job, interpret_call *c, const loom_buffer *files) {
  uint64_t state = (uint64_t)job->seed * 0x9e3779b97f4a7c15u + 1;
  for (uint32_t i = 0; i < c->input_count; i++) {
    loom_buffer *to = &c->inputs[i].buffer;
    if (i < RUN_FILES && files[i].data) {
      if (!loom_type_equal(&files[i].type, &to->type))
        return loom_fail(&c->err, "input %u has other sizes than its file", i);
      memcpy(to->data, files[i].data,
             (size_t)loom_type_elements(&to->type) * loom_dtype_size(to->type.dtype));
    } else if (c->inputs[i].values.ptr || !job->seed) {
      if (!interpret_fill(c, i)) return false;
    } else {
      loom_array_fill(to, LOOM_FILL_RANDOM, &state);
    }
  }
  return true;
}

/* ---- a run ---- */

static bool run_status(interpret_call *c, int status) {
  if (status & (int)LOOM_STATUS_BOUNDS) return loom_fail(&c->err, "it went beyond an array");
  if (status & (int)LOOM_STATUS_INDEX) return loom_fail(&c->err, "an index is out of bounds");
  return !(status & ~3) || loom_fail(&c->err, "it returned %d", status);
}

/* A function of loom-compile, with a workspace of its own. */
static bool run_object_call(interpret_call *c, const run_code *code, const interpret_laid *laid) {
  int (*plain)(void *const *, void *const *, void *);
  int (*sized)(const int64_t *, void *const *, void *const *, void *);
  int64_t (*workspace)(const int64_t *), bytes = loom_get_i64(c->root, "arena", 0);
  memcpy(&plain, &code->entry, sizeof plain);
  memcpy(&sized, &code->entry, sizeof sized);
  memcpy(&workspace, &code->workspace, sizeof workspace);
  if (code->workspace) bytes = workspace(c->symbols);
  if (bytes < 0 || bytes > INT32_MAX) return loom_fail(&c->err, "its workspace is too large");
  void *memory = aligned_alloc(64, ((size_t)bytes + 127) / 64 * 64);
  if (!memory) return loom_fail(&c->err, "out of memory");
  void **outputs = laid->data + c->input_count;
  int status = code->workspace ? sized(c->symbols, laid->data, outputs, memory)
                               : plain(laid->data, outputs, memory);
  free(memory);
  return run_status(c, status);
}

static bool run_call(interpret_call *c, const run_code *code, const interpret_laid *laid) {
  if (code->entry) return run_object_call(c, code, laid);
  return loom_native_call(c, code->plan, laid->data, laid->data + c->input_count, &c->err);
}

static double run_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Runs again for as long as is asked for, and prints the best time of a run. */
static bool run_time(run_job *job, interpret_call *c, const run_code *code,
                     const interpret_laid *laid, const char *name) {
  double best = 1e300, begin = run_now(), spent = 0;
  int64_t runs = 0;
  bool good = true;
  if (job->counters) loom_counters_start(job->counters);
  for (; good && (runs < RUN_LEAST || spent < (double)job->milliseconds); runs++) {
    double start = run_now();
    good = run_call(c, code, laid);
    double end = run_now();
    best = end - start < best ? end - start : best;
    spent = end - begin;
  }
  if (good) printf("%s: best of %" PRId64 " runs: %.6f ms\n", name, runs, best);
  if (!good || !job->counters) return good;
  printf("%s: a run: ", name);
  loom_counters_print(job->counters, runs);
  printf("\n");
  return true;
}

/* What the kernels of a simulated GPU have asked of memory. */
static void run_print_requests(void) {
  static const char *const what[] = {"loads", "stores"};
  loom_sim_counts c;
  while (loom_sim_take_counts(&c)) {
    printf("%s: %" PRIu64 " blocks, %" PRIu64 " barriers", c.name, c.blocks, c.barriers);
    for (int i = 0; i < 2; i++)
      if (c.requests[i])
        printf("; %s: %" PRIu64 " bytes, %" PRIu64 " requests of %.2f sectors, %.0f %% used",
               what[i], c.bytes[i], c.requests[i], (double)c.sectors[i] / (double)c.requests[i],
               (double)c.bytes[i] / (double)c.sectors[i] / 32 * 100);
    if (c.boxed) printf("; boxes: %" PRIu64 " bytes", c.boxed);
    if (c.shared)
      printf("; shared: %" PRIu64 " requests, %" PRIu64 " conflicts", c.shared, c.conflicts);
    if (c.matrix) printf("; %" PRIu64 " matrix products", c.matrix);
    printf("\n");
  }
}

static void run_print(const run_job *job, const interpret_call *c, const char *name) {
  char text[80];
  for (uint32_t r = 0; r < c->output_count; r++) {
    const loom_buffer *out = &c->outputs[r].buffer;
    loom_dtype dtype = out->type.dtype;
    int64_t count = loom_type_elements(&out->type);
    printf("%s %u: %s[", name, r, loom_dtype_name(dtype));
    for (int d = 0; d < out->type.rank; d++)
      printf("%s%" PRId64, d ? "x" : "", out->type.dims[d]);
    printf("]");
    for (int64_t i = 0; i < count && i < job->shown; i++) {
      loom_cell_print(dtype, loom_cell_load(dtype, loom_array_element(out, i)), text, sizeof text);
      printf(" %s", text);
    }
    printf(count > job->shown ? " ...\n" : "\n");
  }
}

static bool run_save(const run_job *job, interpret_call *c) {
  for (int i = 0; i < job->save_count; i++) {
    if (job->saves[i].number >= c->output_count)
      return loom_fail(&c->err, "it has no result %ld", job->saves[i].number);
    if (!loom_npy_write(job->saves[i].path, &c->outputs[job->saves[i].number].buffer, &c->err))
      return false;
  }
  return true;
}

static bool run_plan(run_job *job, interpret_call *c, const run_code *object, const char *name) {
  interpret_laid laid;
  run_code code = {.plan = object ? NULL : loom_native_load(c, &job->options, &c->err)};
  if (object) code = *object;
  bool good = (object || code.plan) && interpret_lay_out(c, &laid) && run_call(c, &code, &laid);
  if (good) interpret_collect(c, &laid);
  if (good && job->milliseconds >= 0)
    good = run_time(job, c, &code, &laid, name);
  else if (good)
    run_print(job, c, name);
  if (good && job->requests) run_print_requests();
  good = good && run_save(job, c);
  if (code.plan) loom_plan_unref(code.plan);
  return good;
}

/* ---- code that does not end ---- */

static char run_late[300]; /* the report, made beforehand: a handler of signals formats nothing */

static void run_alarm(int number) {
  ssize_t written = write(2, run_late, strlen(run_late));
  (void)written;
  _exit(1);
}

/* From now on the process ends after so many seconds, beside those that are measured; 0: never. */
static void run_watch(const run_job *job, const char *name, long seconds) {
  if (!seconds) {
    alarm(0);
    return;
  }
  snprintf(run_late, sizeof run_late,
           "loom-run: error: %.100s: runs longer than %ld seconds (--timeout): it may never end\n",
           name, seconds);
  signal(SIGALRM, run_alarm);
  alarm((unsigned)seconds + (job->milliseconds > 0 ? (unsigned)(job->milliseconds / 1000 + 1) : 0));
}

/* `object`: NULL where the module has the code. */
static bool run_function(run_job *job, MlirOperation root, const run_code *object) {
  interpret_call c;
  loom_buffer files[RUN_FILES];
  char name[128];
  MlirStringRef symbol = loom_get_str(root, "sym_name");
  memset(files, 0, sizeof files);
  snprintf(name, sizeof name, "%.*s", (int)(symbol.length < 100 ? symbol.length : 100),
           symbol.data);
  bool good = interpret_open(&c, root);
  c.skew = job->skew;
  if (good && job->size >= 0) interpret_resize(&c, job->size);
  good = good && run_read_inputs(job, &c, files) && interpret_allocate(&c) &&
         run_fill(job, &c, files) && interpret_unify(&c);
  run_watch(job, name, job->timeout);
  good = good && run_plan(job, &c, object, name);
  run_watch(job, name, 0);
  if (!good) run_fail(job, name, &c.err);
  for (int i = 0; i < RUN_FILES; i++)
    free(files[i].data);
  interpret_close(&c);
  return good;
}

/* ---- modules ---- */

static bool run_is_wanted(const run_job *job, MlirOperation op) {
  return interpret_is_root(op) &&
         (!job->function || loom_str_is(loom_get_str(op, "sym_name"), job->function));
}

static bool run_functions(run_job *job, MlirModule module) {
  MlirOperation top = mlirModuleGetOperation(module), op;
  MlirOperation first = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
  int wanted = 0;
  for (op = first; op.ptr; op = mlirOperationGetNextInBlock(op))
    wanted += run_is_wanted(job, op);
  if (!wanted)
    return loom_tool_error(&job->tool, job->function ? job->function : job->tool.input,
                           "there is no such function of tensors");
  if (wanted > 1 && (job->input_count || job->save_count))
    return loom_tool_error(&job->tool, job->tool.input,
                           "has several functions: name one with --function");
  bool good = loom_sizes_enter(top);
  for (op = first; op.ptr && good; op = mlirOperationGetNextInBlock(op))
    if (run_is_wanted(job, op)) good = run_function(job, op, NULL);
  loom_sizes_leave(top);
  return good;
}

static bool run_module(run_job *job, MlirContext ctx) {
  MlirModule module = loom_tool_parse(&job->tool, ctx);
  bool good = module.ptr &&
              loom_tool_lower(&job->tool, module, loom_target_here(&job->options), &job->options,
                              job->check != NULL, &(loom_trace){.verified = true}) &&
              run_functions(job, module);
  if (module.ptr) mlirModuleDestroy(module);
  return good;
}

/* ---- objects ---- */

static const uint8_t *run_find(const loom_image *image, const loom_entries *entries,
                               const char *name, const char *suffix) {
  char text[300];
  snprintf(text, sizeof text, "%s%s", name, suffix);
  int64_t offset = loom_entries_find(entries, text);
  return offset < 0 ? NULL : image->base + offset;
}

/* Runs the function whose signature says what it takes and gives. */
static bool run_entry(run_job *job, MlirContext ctx, const loom_image *image,
                      const loom_entries *entries, const char *name) {
  const char *(*signature)(void);
  const uint8_t *code = run_find(image, entries, name, "_signature");
  run_code object = {.entry = run_find(image, entries, name, ""),
                     .workspace = run_find(image, entries, name, "_workspace")};
  memcpy(&signature, &code, sizeof signature);
  MlirModule module = mlirModuleCreateParse(ctx, loom_str(signature()));
  MlirOperation root = {NULL};
  if (module.ptr) root = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
  bool good = object.entry && root.ptr && interpret_is_root(root);
  if (!good) loom_tool_error(&job->tool, name, "has no signature that can be read");
  good =
      good && loom_sizes_enter(mlirModuleGetOperation(module)) && run_function(job, root, &object);
  if (root.ptr) loom_sizes_leave(mlirModuleGetOperation(module));
  if (module.ptr) mlirModuleDestroy(module);
  return good;
}

static bool run_entries(run_job *job, MlirContext ctx, const loom_image *image,
                        const loom_entries *entries) {
  static const char suffix[] = "_signature";
  bool good = true, any = false;
  for (size_t i = 0; good && i < entries->count; i++) {
    size_t length = strlen(entries->items[i].name), tail = sizeof suffix - 1;
    char name[256];
    if (length <= tail || length - tail >= sizeof name ||
        strcmp(entries->items[i].name + length - tail, suffix) != 0)
      continue;
    snprintf(name, sizeof name, "%.*s", (int)(length - tail), entries->items[i].name);
    if (job->function && strcmp(job->function, name) != 0) continue;
    any = true;
    good = run_entry(job, ctx, image, entries, name);
  }
  return good && (any || loom_tool_error(&job->tool, job->tool.input,
                                         "there is no such function of loom-compile"));
}

static bool run_object(run_job *job, MlirContext ctx) {
  loom_error err = {0};
  loom_bytes image = {NULL, 0};
  loom_entries entries = {NULL, 0};
  loom_image mapped;
  bool good = loom_x86_link(&job->tool.text, 1, &image, &entries, &err) &&
              loom_image_map(image.data, image.size, &mapped, &err);
  if (!good) loom_tool_error(&job->tool, job->tool.input, err.message);
  if (good) {
    good = run_entries(job, ctx, &mapped, &entries);
    loom_image_unmap(&mapped);
  }
  loom_entries_fini(&entries);
  free(image.data);
  return good;
}

static bool run_input(void *user, MlirContext ctx) {
  run_job *job = user;
  loom_error err = {0};
  if (job->counts && !(job->counters = loom_counters_open(&err)))
    printf("no counters: %s\n", err.message);
  bool good = loom_tool_is_object(&job->tool) ? run_object(job, ctx) : run_module(job, ctx);
  loom_counters_close(job->counters);
  return good;
}

static int run_main(void *user) {
  run_job *job = user;
  return loom_tool_work(&job->tool, run_input, job);
}

/* ---- options ---- */

enum {
  OPTION_FUNCTION = 256,
  OPTION_SEED,
  OPTION_SIZE,
  OPTION_SHOWN,
  OPTION_TIME,
  OPTION_COUNTERS,
  OPTION_TARGET,
  OPTION_ORDER,
  OPTION_REQUESTS,
  OPTION_CPU,
  OPTION_CHECK,
  OPTION_SAVE,
  OPTION_TIMEOUT,
  OPTION_SKEW
};

static const struct argp_option run_options[] = {
    {"function", OPTION_FUNCTION, "NAME", 0, "run this function (default: all)", 0},
    {"input", 'i', "N=FILE", 0, "argument N is the array of a .npy file", 0},
    {"save", OPTION_SAVE, "N=FILE", 0, "save result N as a .npy file", 0},
    {"seed", OPTION_SEED, "NUMBER", 0,
     "other arguments are random (default: loom.values, else 0, 1, 2, ...)", 0},
    {"size", OPTION_SIZE, "NUMBER", 0, "the first symbolic size; those that follow count up", 0},
    {"elements", OPTION_SHOWN, "NUMBER", 0, "print so many elements of a result (default: 16)", 0},
    {"skew", OPTION_SKEW, "BYTES", 0, "arrays begin so many bytes behind a multiple of 64", 0},
    {"time", OPTION_TIME, "MS", OPTION_ARG_OPTIONAL,
     "in place of results: the best time of a run in so many milliseconds (default: 200)", 0},
    {"counters", OPTION_COUNTERS, NULL, 0, "with --time: the processor's counters, too", 0},
    {"timeout", OPTION_TIMEOUT, "SECONDS", 0,
     "a function that runs longer is an error; 0: never (default: 60)", 0},
    {"target", OPTION_TARGET, "NAME", 0, "x86 (default), or sim: GPU kernels on a simulator", 0},
    {"order", OPTION_ORDER, "NUMBER", 0,
     "sim: the seed of the order in which threads run (default 0: by number)", 0},
    {"requests", OPTION_REQUESTS, NULL, 0,
     "sim: what the kernels ask of memory: bytes, requests of a warp, their sectors and conflicts",
     0},
    {"mcpu", OPTION_CPU, "NAME", 0, "native (default), or a CPU of the x86 target", 0},
    {"check", OPTION_CHECK, "KIND", 0, "bounds: compare every access with the bounds of its array",
     0},
    {0}};

static bool run_number(const char *text, long least, long most, long *out) {
  char *end;
  *out = strtol(text, &end, 10);
  return *text && !*end && *out >= least && *out <= most;
}

/* "0=FILE"; of the only one the number may be left out. */
static bool run_add_file(run_file *list, int *count, char *text) {
  char *equals = strchr(text, '=');
  run_file file = {0, text};
  if (*count == RUN_FILES) return false;
  if (equals) {
    *equals = 0;
    if (!run_number(text, 0, RUN_FILES - 1, &file.number)) return false;
    file.path = equals + 1;
  }
  list[(*count)++] = file;
  return *file.path != 0;
}

static error_t run_option(int key, char *value, struct argp_state *state) {
  run_job *job = state->input;
  bool good = true;
  switch (key) {
  case OPTION_FUNCTION: job->function = value; break;
  case 'i': good = run_add_file(job->inputs, &job->input_count, value); break;
  case OPTION_SAVE: good = run_add_file(job->saves, &job->save_count, value); break;
  case OPTION_SEED: good = run_number(value, 0, INT32_MAX, &job->seed); break;
  case OPTION_SIZE: good = run_number(value, 0, INT32_MAX, &job->size); break;
  case OPTION_SHOWN: good = run_number(value, 0, INT32_MAX, &job->shown); break;
  case OPTION_TIME: good = run_number(value ? value : "200", 0, 1000000, &job->milliseconds); break;
  case OPTION_SKEW: good = run_number(value, 0, 63, &job->skew); break;
  case OPTION_TIMEOUT: good = run_number(value, 0, 1000000, &job->timeout); break;
  case OPTION_REQUESTS:
    job->requests = true;
    loom_sim_count(true);
    break;
  case OPTION_COUNTERS: job->counts = true; break;
  case OPTION_CPU: job->options.cpu = value; break;
  case OPTION_TARGET:
    job->options.machine = loom_target_find(value);
    good = job->options.machine == &loom_target_x86 || job->options.machine == &loom_target_sim;
    break;
  case OPTION_ORDER:
    good = run_number(value, 0, INT32_MAX, &job->order);
    loom_sim_set_seed((uint64_t)job->order);
    break;
  case OPTION_CHECK:
    job->check = value;
    good = strcmp(value, "bounds") == 0;
    break;
  case ARGP_KEY_ARG:
    if (job->tool.input) return ARGP_ERR_UNKNOWN;
    job->tool.input = value;
    break;
  default: return ARGP_ERR_UNKNOWN;
  }
  if (!good) loom_tool_error(&job->tool, value ? value : "", "is no value of this option");
  return good ? 0 : EINVAL;
}

LOOM_TOOL_MAIN loom_tool_run(int argc, char **argv) {
  static const struct argp parser = {
      run_options, run_option,
      "FILE",      "Compile the functions of a module of loom tensors and run them, each once.",
      NULL,        NULL,
      NULL};
  run_job job = {.tool = {.name = "loom-run", .objects = true},
                 .size = -1,
                 .shown = 16,
                 .milliseconds = -1,
                 .timeout = 60};
  argp_err_exit_status = 1;
  if (argp_parse(&parser, argc, argv, 0, NULL, &job)) return 1;
  if (!job.tool.input)
    return !loom_tool_error(&job.tool, "no input", "give a file, or - for standard input");
  return loom_tool_thread(run_main, &job);
}
