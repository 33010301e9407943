/* Where the stages of a compilation are written while `config.trace` names a folder. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/base/base.h"
#include "frontend/compile/compile.h"

char *compile_trace_folder(const char *name) {
  static atomic_uint counter;
  char path[4096];
  if (!*loom_config.trace) return NULL;
  int length = snprintf(path, sizeof path, "%s/%ld-%03u-%.100s", loom_config.trace, (long)getpid(),
                        counter++, name ? name : "unnamed");
  if (length < 0 || (size_t)length >= sizeof path) return NULL;
  for (char *p = path + strlen(loom_config.trace) + 1; *p; p++)
    if (strchr("/<> ", *p)) *p = '_';
  mkdir(loom_config.trace, 0777);
  if (mkdir(path, 0777) != 0 && errno != EEXIST) {
    loom_notice(LOOM_NOTICE_TRACE, "no stages are written to %.400s (%s)", path, strerror(errno));
    return NULL;
  }
  return strdup(path);
}
