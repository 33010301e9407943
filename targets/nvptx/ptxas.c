/* Machine code of PTX by ptxas, the assembler of NVIDIA's CUDA toolkit, for code that is compiled
 * ahead of time. Nothing else needs it: at run time the driver makes machine code of PTX. */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "targets/target.h"

typedef struct ptxas_files {
  char folder[4096], ptx[4128], cubin[4128];
} ptxas_files;

static bool ptxas_open(ptxas_files *files, loom_error *err) {
  const char *place = getenv("TMPDIR");
  if (!place || !*place) place = "/tmp";
  int length = snprintf(files->folder, sizeof files->folder, "%s/loom-ptxas-XXXXXX", place);
  bool fits = length >= 0 && (size_t)length < sizeof files->folder;
  if (!fits) errno = ENAMETOOLONG;
  if (!fits || !mkdtemp(files->folder))
    return loom_fail(err, "no folder for ptxas can be made in %.200s: %s", place, strerror(errno));
  snprintf(files->ptx, sizeof files->ptx, "%s/kernels.ptx", files->folder);
  snprintf(files->cubin, sizeof files->cubin, "%s/kernels.cubin", files->folder);
  return true;
}

static void ptxas_close(const ptxas_files *files) {
  unlink(files->ptx);
  unlink(files->cubin);
  rmdir(files->folder);
}

static bool ptxas_write(const char *path, const loom_bytes *bytes, loom_error *err) {
  FILE *file = fopen(path, "wb");
  bool good = file && fwrite(bytes->data, 1, bytes->size, file) == bytes->size;
  if (file && fclose(file) != 0) good = false;
  return good || loom_fail(err, "%.200s: %s", path, strerror(errno));
}

static bool ptxas_read(const char *path, loom_bytes *out, loom_error *err) {
  FILE *file = fopen(path, "rb");
  long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  out->data = size > 0 ? malloc((size_t)size) : NULL;
  out->size = size > 0 ? (size_t)size : 0;
  if (out->data) rewind(file);
  bool good = out->data && fread(out->data, 1, out->size, file) == out->size;
  if (file) fclose(file);
  if (good) return true;
  free(out->data);
  *out = (loom_bytes){NULL, 0};
  return loom_fail(err, "ptxas has written no cubin");
}

/* Its messages are the caller's, on stderr. */
static bool ptxas_call(const ptxas_files *files, const char *architecture, loom_error *err) {
  char option[80];
  pid_t process;
  int status = 0;
  snprintf(option, sizeof option, "-arch=%s", architecture);
  char *arguments[] = {"ptxas", option, (char *)files->ptx, "-o", (char *)files->cubin, NULL};
  int error = posix_spawnp(&process, "ptxas", NULL, NULL, arguments, environ);
  if (error == ENOENT)
    return loom_fail(err, "ptxas is not in PATH: it comes with NVIDIA's CUDA toolkit. --emit=ptx "
                          "needs none: the driver makes machine code of PTX");
  if (error) return loom_fail(err, "ptxas cannot be started: %s", strerror(error));
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return loom_fail(err, "ptxas is lost: %s", strerror(errno));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  return loom_fail(err, "ptxas refuses the kernels for %s", architecture);
}

bool loom_nvptx_assemble(const loom_target_options *options, const loom_bytes *ptx, loom_bytes *out,
                         loom_error *err) {
  loom_target_cpu cpu;
  ptxas_files files;
  *out = (loom_bytes){NULL, 0};
  if (!loom_target_resolve(&loom_target_nvptx, options, &cpu, err) || !ptxas_open(&files, err))
    return false;
  bool good = ptxas_write(files.ptx, ptx, err) && ptxas_call(&files, cpu.name, err) &&
              ptxas_read(files.cubin, out, err);
  ptxas_close(&files);
  return good;
}
