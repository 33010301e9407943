/* The input of a tool, checked before MLIR opens it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

bool loom_check_input(int argc, char *const *argv, const char *path) {
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
  good = good && input_read(file, &data, &size, &err) && input_scan(data, size, &err) &&
         (!is_stdin || input_replay(data, size, &err));
  if (!good) fprintf(stderr, "%s: error: %s\n", is_stdin ? "<stdin>" : path, err.message);
  if (file && !is_stdin) fclose(file);
  free(data);
  return good;
}
