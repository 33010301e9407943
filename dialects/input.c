/* The input of a tool, checked before MLIR opens it. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dialects/dialect.h"

static bool input_read(FILE *file, char **out, size_t *size, loom_error *err) {
  size_t capacity = 1 << 16, used = 0, got;
  char *data = malloc(capacity);
  while (data && !feof(file) && !ferror(file) &&
         (got = fread(data + used, 1, capacity - used, file)) > 0) {
    used += got;
    if (used < capacity) continue;
    char *grown = realloc(data, capacity *= 2);
    if (!grown) free(data);
    data = grown;
  }
  if (!data) return loom_fail(err, "out of memory");
  if (ferror(file)) {
    free(data);
    return loom_fail(err, "%s", strerror(errno));
  }
  *out = data;
  *size = used;
  return true;
}

/* ---- bytecode: MLIR's reader trusts it, and damaged bytecode corrupts the memory of the process
 * that reads it. So a child reads it, and gives it back as text, which the parser checks. ---- */

#define INPUT_SECONDS 60 /* of processor time for reading bytecode */

static bool input_is_bytecode(const char *data, size_t size) {
  return size >= 4 && memcmp(data, "ML\xefR", 4) == 0;
}

static void input_write_text(MlirStringRef text, void *user) {
  FILE *file = user;
  fwrite(text.data, 1, text.length, file);
}

/* In the child: its exit status. */
static int input_convert(const char *data, size_t size, const char *path, FILE *out,
                         MlirDialectRegistry registry) {
  const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    signal(signals[i], SIG_DFL);
  setrlimit(RLIMIT_CPU, &(struct rlimit){INPUT_SECONDS, INPUT_SECONDS});
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  MlirContext ctx = mlirContextCreateWithRegistry(registry, false);
  mlirContextSetAllowUnregisteredDialects(ctx, true);
  MlirOperation op = mlirOperationCreateParse(ctx, mlirStringRefCreate(data, size),
                                              mlirStringRefCreateFromCString(path));
  if (!op.ptr) return 1;
  MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
  mlirOpPrintingFlagsEnableDebugInfo(flags, true, false);
  mlirOpPrintingFlagsPrintGenericOpForm(flags);
  mlirOperationPrintWithFlags(op, flags, input_write_text, out);
  return fflush(out) == 0 ? 0 : 1;
}

/* Replaces bytecode by its text. */
static bool input_from_bytecode(char **data, size_t *size, const char *path,
                                MlirDialectRegistry registry, loom_error *err) {
  FILE *out = tmpfile();
  if (!out) return loom_fail(err, "%s", strerror(errno));
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) _exit(input_convert(*data, *size, path, out, registry));
  int status = -1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  free(*data);
  *data = NULL;
  bool good =
      child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && fseek(out, 0, SEEK_SET) == 0;
  good = good ? input_read(out, data, size, err) : loom_fail(err, "the bytecode cannot be read");
  fclose(out);
  return good;
}

/* What came through a pipe is put back where the parser will read it: a file in memory takes
 * standard input's place. */
static bool input_replay(const char *data, size_t size, loom_error *err) {
  int fd = memfd_create("stdin", MFD_CLOEXEC);
  for (size_t done = 0; fd >= 0 && done < size;) {
    ssize_t wrote = write(fd, data + done, size - done);
    if (wrote < 0 && errno != EINTR) return close(fd), loom_fail(err, "%s", strerror(errno));
    if (wrote > 0) done += (size_t)wrote;
  }
  if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0)
    return loom_fail(err, "%s", strerror(errno));
  close(fd);
  return true;
}

static bool input_scan(const char *data, size_t size, loom_error *err) {
  const char *problem = loom_scan_text(data, size);
  return !problem || loom_fail(err, "%s", problem);
}

bool loom_has_option(int argc, char *const *argv, const char *name) {
  for (int i = 1; i < argc; i++)
    if (argv[i][0] == '-' && strcmp(argv[i] + strspn(argv[i], "-"), name) == 0) return true;
  return false;
}

/* Options with which mlir-opt answers without reading an input. */
static bool input_is_unread(int argc, char *const *argv) {
  return loom_has_option(argc, argv, "show-dialects") || loom_has_option(argc, argv, "list-passes");
}

bool loom_check_input(int argc, char *const *argv, const char *path, MlirDialectRegistry registry,
                      bool *replaced) {
  loom_error err = {0};
  bool is_stdin = strcmp(path, "-") == 0;
  if (input_is_unread(argc, argv) || (is_stdin && isatty(STDIN_FILENO))) return true;
  FILE *file = is_stdin ? stdin : fopen(path, "rb");
  char *data = NULL;
  size_t size = 0;
  struct stat info;
  bool good = file != NULL;
  if (!file) loom_fail(&err, "%s", strerror(errno));
  if (good && fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode))
    good = loom_fail(&err, "is a directory");
  good = good && input_read(file, &data, &size, &err);
  *replaced = good && input_is_bytecode(data, size);
  if (*replaced) good = input_from_bytecode(&data, &size, path, registry, &err);
  good = good && input_scan(data, size, &err) &&
         (!(is_stdin || *replaced) || input_replay(data, size, &err));
  if (!good) fprintf(stderr, "%s: error: %s\n", is_stdin ? "<stdin>" : path, err.message);
  if (file && !is_stdin) fclose(file);
  free(data);
  return good;
}
