/* loom-reduce: makes a module smaller for as long as a program says that it is still interesting.
 *
 * The program gets the path of a file with the module as its last argument. Status 0: interesting.
 * Each kind of edit (reduce.h) is tried on all of its places, then on halves and so on down to
 * single ones, and an edit stays if the module is valid and interesting. All kinds are tried again
 * until none of them has made the module smaller. */
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <mlir-c/Diagnostics.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "targets/reduce.h"
#include "targets/tools.h"

enum { REDUCE_ARGUMENTS_OF_TEST = 64 };

typedef struct reduce_job {
  loom_tool tool;
  const char *output;
  char *test[REDUCE_ARGUMENTS_OF_TEST + 2];
  int test_count;
  long seconds, limit;
  bool generic, quiet;
  char path[4096]; /* of the file that the test gets */
  int watcher;     /* a pipe to the process that removes it; 0: none */
  MlirContext ctx;
  MlirModule module;
  long tests, kept;
} reduce_job;

/* ---- the test ---- */

static void reduce_write_piece(MlirStringRef text, void *user) {
  fwrite(text.data, 1, text.length, user);
}

static char *reduce_text(const reduce_job *job, MlirOperation module) {
  char *text = NULL;
  size_t size;
  FILE *file = open_memstream(&text, &size);
  if (!file) return NULL;
  MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
  if (job->generic) mlirOpPrintingFlagsPrintGenericOpForm(flags);
  mlirOperationPrintWithFlags(module, flags, reduce_write_piece, file);
  mlirOpPrintingFlagsDestroy(flags);
  fputc('\n', file);
  return fclose(file) == 0 ? text : NULL;
}

static bool reduce_write(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  bool good = file && fputs(text, file) >= 0;
  return file && fclose(file) == 0 && good;
}

/* Waits for the process; one that takes too long is ended with what it has started. */
static int reduce_wait(const reduce_job *job, pid_t process) {
  int status = 1;
  struct timespec nap = {0, 1000000};
  for (long waited = 0; waitpid(process, &status, WNOHANG) == 0; waited++) {
    if (waited >= job->seconds * 1000) {
      kill(-process, SIGKILL);
      waitpid(process, &status, 0);
      return 1;
    }
    nanosleep(&nap, NULL);
  }
  return status;
}

/* The process of the running test, 0: none. */
static void reduce_tell(const reduce_job *job, pid_t process) {
  if (job->watcher && write(job->watcher, &process, sizeof process) < 0) perror("loom-reduce");
}

/* However this process ends, another one then removes the file and ends the test. */
static void reduce_watch(const reduce_job *job, int from) {
  pid_t running = 0, told;
  setsid();
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  while (read(from, &told, sizeof told) == sizeof told)
    running = told;
  if (running > 0) kill(-running, SIGKILL);
  unlink(job->path);
  _exit(0);
}

static bool reduce_start_watcher(reduce_job *job) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return loom_tool_error(&job->tool, "a pipe", strerror(errno));
  pid_t process = fork();
  if (process == 0) {
    close(ends[1]);
    reduce_watch(job, ends[0]);
  }
  close(ends[0]);
  job->watcher = ends[1];
  return process > 0 || loom_tool_error(&job->tool, "a process", strerror(errno));
}

/* The new process: it tells the watcher of itself before it becomes the test. */
static void reduce_exec(const reduce_job *job) {
  int nothing = open("/dev/null", O_RDWR), said = fcntl(2, F_DUPFD_CLOEXEC, 3);
  setpgid(0, 0);
  reduce_tell(job, getpid());
  if (nothing >= 0) dup2(nothing, 0);
  if (job->quiet && nothing >= 0) {
    dup2(nothing, 1);
    dup2(nothing, 2);
  }
  execvp(job->test[0], job->test);
  dprintf(said, "loom-reduce: error: %s: %s\n", job->test[0], strerror(errno));
  _exit(127);
}

static bool reduce_spawn(const reduce_job *job, pid_t *process) {
  *process = fork();
  if (*process == 0) reduce_exec(job);
  if (*process > 0) setpgid(*process, *process);
  return *process > 0 || loom_tool_error(&job->tool, job->test[0], strerror(errno));
}

static bool reduce_is_interesting(reduce_job *job, const char *text) {
  pid_t process, none = 0;
  if (job->tests >= job->limit || !text || !reduce_write(job->path, text)) return false;
  job->tests++;
  if (!reduce_spawn(job, &process)) return false;
  int status = reduce_wait(job, process);
  reduce_tell(job, none);
  return status == 0;
}

/* ---- edits ---- */

static MlirLogicalResult reduce_hush(MlirDiagnostic diagnostic, void *user) {
  (void)diagnostic;
  (void)user;
  return mlirLogicalResultSuccess();
}

/* Takes over a module that is valid and interesting. */
static bool reduce_keep(reduce_job *job, MlirModule candidate) {
  MlirDiagnosticHandlerID id =
      mlirContextAttachDiagnosticHandler(job->ctx, reduce_hush, NULL, NULL);
  bool good = mlirOperationVerify(mlirModuleGetOperation(candidate));
  mlirContextDetachDiagnosticHandler(job->ctx, id);
  char *text = good ? reduce_text(job, mlirModuleGetOperation(candidate)) : NULL;
  good = good && reduce_is_interesting(job, text);
  free(text);
  if (good) {
    mlirModuleDestroy(job->module);
    job->module = candidate;
    job->kept++;
  }
  return good;
}

static bool reduce_try(reduce_job *job, reduce_kind kind, int first, int count) {
  MlirOperation copy = mlirOperationClone(mlirModuleGetOperation(job->module));
  MlirModule candidate = mlirModuleFromOperation(copy);
  if (reduce_edit(copy, kind, first, count) && reduce_keep(job, candidate)) return true;
  mlirModuleDestroy(candidate);
  return false;
}

/* From the last places on: what reads a value goes before what makes it. */
static bool reduce_all(reduce_job *job, reduce_kind kind) {
  MlirOperation module = mlirModuleGetOperation(job->module);
  bool any = false;
  for (int size = reduce_count(module, kind); size > 0; size /= 2) {
    int end = reduce_count(mlirModuleGetOperation(job->module), kind);
    while (end > 0) {
      int first = end > size ? end - size : 0;
      bool kept = reduce_try(job, kind, first, end - first);
      any |= kept;
      end = first;
      int count = reduce_count(mlirModuleGetOperation(job->module), kind);
      if (end > count) end = count;
    }
  }
  return any;
}

/* Frees the text. */
static bool reduce_try_text(reduce_job *job, char *text) {
  if (!text) return false;
  MlirDiagnosticHandlerID id =
      mlirContextAttachDiagnosticHandler(job->ctx, reduce_hush, NULL, NULL);
  MlirModule candidate = mlirModuleCreateParse(job->ctx, loom_str(text));
  mlirContextDetachDiagnosticHandler(job->ctx, id);
  free(text);
  if (candidate.ptr && reduce_keep(job, candidate)) return true;
  if (candidate.ptr) mlirModuleDestroy(candidate);
  return false;
}

static bool reduce_try_size(reduce_job *job, const char *text, long size, long smaller) {
  for (int lists = 0; lists < 2; lists++)
    if (reduce_try_text(job, reduce_size(text, size, smaller, lists))) return true;
  return false;
}

static bool reduce_sizes(reduce_job *job) {
  bool any = false;
  for (long size = 1;;) {
    char *text = reduce_text(job, mlirModuleGetOperation(job->module));
    size = text ? reduce_next_size(text, size) : 0;
    bool kept = size && (reduce_try_size(job, text, size, 1) ||
                         (size > 2 && reduce_try_size(job, text, size, 2)) ||
                         (size > 5 && reduce_try_size(job, text, size, size / 2)));
    any |= kept;
    free(text);
    if (!size) return any;
  }
}

static bool reduce_try_dimension(reduce_job *job, const char *text, int rank, int dimension) {
  for (unsigned how = 0; how < REDUCE_HOWS; how++)
    if (reduce_try_text(job, reduce_dimension(text, rank, dimension, how))) return true;
  return false;
}

/* Drops dimensions, those of the highest ranks first. */
static bool reduce_dimensions(reduce_job *job) {
  bool any = false;
  for (int rank = LOOM_MAX_RANK; rank > 0; rank--)
    for (int dimension = 0; dimension < rank; dimension++) {
      char *text = reduce_text(job, mlirModuleGetOperation(job->module));
      any |= text && reduce_try_dimension(job, text, rank, dimension);
      free(text);
    }
  return any;
}

static bool reduce_module(reduce_job *job) {
  char *text = reduce_text(job, mlirModuleGetOperation(job->module));
  bool good = reduce_is_interesting(job, text), any = good;
  free(text);
  if (!good)
    return loom_tool_error(&job->tool, job->tool.input, "is not interesting: the test fails on it");
  while (any) {
    any = false;
    for (int kind = 0; kind < REDUCE_KINDS; kind++)
      any |= reduce_all(job, (reduce_kind)kind);
    any |= reduce_sizes(job);
    any |= reduce_dimensions(job);
  }
  text = reduce_text(job, mlirModuleGetOperation(job->module));
  loom_bytes bytes = {(uint8_t *)text, text ? strlen(text) : 0};
  good = text && loom_tool_write(&job->tool, job->output, &bytes);
  free(text);
  fprintf(stderr, "loom-reduce: %ld edits kept, %ld tests\n", job->kept, job->tests);
  return good;
}

static bool reduce_make_path(reduce_job *job) {
  const char *base = getenv("TMPDIR");
  int length = snprintf(job->path, sizeof job->path, "%s/loom-reduce-XXXXXX.mlir",
                        base && *base ? base : "/tmp");
  if (length < 0 || (size_t)length >= sizeof job->path)
    return loom_tool_error(&job->tool, "TMPDIR", strerror(ENAMETOOLONG));
  int file = mkstemps(job->path, 5);
  if (file < 0) return loom_tool_error(&job->tool, job->path, strerror(errno));
  close(file);
  job->test[job->test_count] = job->path;
  return true;
}

static bool reduce_input(void *user, MlirContext ctx) {
  reduce_job *job = user;
  job->ctx = ctx;
  job->module = loom_tool_parse(&job->tool, ctx);
  bool good = job->module.ptr && reduce_module(job);
  if (job->module.ptr) mlirModuleDestroy(job->module);
  return good;
}

static int reduce_main(void *user) {
  reduce_job *job = user;
  return loom_tool_work(&job->tool, reduce_input, job);
}

/* ---- options ---- */

enum { OPTION_TEST = 256, OPTION_TIMEOUT, OPTION_LIMIT, OPTION_GENERIC, OPTION_VERBOSE };

static const struct argp_option reduce_options[] = {
    {"test", OPTION_TEST, "PROGRAM", 0,
     "says with status 0 that the module in the file, its last argument, is interesting", 0},
    {"test-arg", 'a', "TEXT", 0, "an argument of the program, in front of the file", 0},
    {"output", 'o', "FILE", 0, "where to write (default -: standard output)", 0},
    {"timeout", OPTION_TIMEOUT, "SECONDS", 0, "a test that takes longer has failed (default: 60)",
     0},
    {"limit", OPTION_LIMIT, "NUMBER", 0, "stop after so many tests (default: 100000)", 0},
    {"mlir-print-op-generic", OPTION_GENERIC, NULL, 0, "write the generic form", 0},
    {"verbose", OPTION_VERBOSE, NULL, 0, "show what the program prints", 0},
    {0}};

static bool reduce_number(const char *text, long *out) {
  char *end;
  *out = strtol(text, &end, 10);
  return *text && !*end && *out > 0 && *out <= INT32_MAX;
}

static error_t reduce_option(int key, char *value, struct argp_state *state) {
  reduce_job *job = state->input;
  bool good = true;
  switch (key) {
  case OPTION_TEST: job->test[0] = value; break;
  case 'a':
    good = job->test_count <= REDUCE_ARGUMENTS_OF_TEST;
    if (good) job->test[job->test_count++] = value;
    break;
  case 'o': job->output = value; break;
  case OPTION_TIMEOUT: good = reduce_number(value, &job->seconds); break;
  case OPTION_LIMIT: good = reduce_number(value, &job->limit); break;
  case OPTION_GENERIC: job->generic = true; break;
  case OPTION_VERBOSE: job->quiet = false; break;
  case ARGP_KEY_ARG:
    if (job->tool.input) return ARGP_ERR_UNKNOWN;
    job->tool.input = value;
    break;
  default: return ARGP_ERR_UNKNOWN;
  }
  if (!good) loom_tool_error(&job->tool, value, "is no value of this option");
  return good ? 0 : EINVAL;
}

LOOM_TOOL_MAIN loom_tool_reduce(int argc, char **argv) {
  static const struct argp parser = {
      reduce_options,
      reduce_option,
      "FILE",
      "Make a module smaller for as long as a program says that it is interesting.",
      NULL,
      NULL,
      NULL};
  reduce_job job = {.tool = {.name = "loom-reduce"},
                    .output = "-",
                    .test_count = 1,
                    .seconds = 60,
                    .limit = 100000,
                    .quiet = true};
  argp_err_exit_status = 1;
  if (argp_parse(&parser, argc, argv, 0, NULL, &job)) return 1;
  if (!job.tool.input)
    return !loom_tool_error(&job.tool, "no input", "give a file, or - for standard input");
  if (!job.test[0]) return !loom_tool_error(&job.tool, "no test", "give a program with --test");
  if (!reduce_make_path(&job)) return 1;
  int status = reduce_start_watcher(&job) ? loom_tool_thread(reduce_main, &job) : 1;
  unlink(job.path);
  return status;
}
