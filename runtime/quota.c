/* How many CPUs' worth of time the control groups of this process allow: what containers are given.
 *
 * The kernel stops all threads of a group that has used up its share, so more threads than that
 * only wait for each other. Version 2 says "quota period" in cpu.max; version 1 has
 * cpu.cfs_quota_us and cpu.cfs_period_us. The limits of all groups above hold as well. */
#include "runtime/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool quota_read(const char *folder, const char *file, char *out, int size) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path) return false;
  FILE *f = fopen(path, "re");
  if (!f) return false;
  bool good = fgets(out, size, f) != NULL;
  fclose(f);
  return good;
}

/* Rounded up; 0: no limit. */
static long quota_cpus(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return 0;
  return (long)((quota + period - 1) / period);
}

static long quota_of_folder(const char *folder) {
  char text[128], period[128];
  long long a, b;
  if (quota_read(folder, "cpu.max", text, sizeof text))
    return sscanf(text, "%lld %lld", &a, &b) == 2 ? quota_cpus(a, b) : 0;
  if (quota_read(folder, "cpu.cfs_quota_us", text, sizeof text) &&
      quota_read(folder, "cpu.cfs_period_us", period, sizeof period))
    return quota_cpus(atoll(text), atoll(period));
  return 0;
}

/* The least limit of the folder `mount` + `group` and those above it, up to the mount. */
static long quota_of_group(const char *mount, const char *group, long least) {
  char folder[4096];
  int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
  if (length >= (int)sizeof folder) return least;
  size_t root = strlen(mount);
  for (;;) {
    long here = quota_of_folder(folder);
    if (here > 0 && (!least || here < least)) least = here;
    char *slash = strrchr(folder + root, '/');
    if (!slash) return least;
    *slash = 0;
  }
}

/* A line of /proc/self/cgroup: "number:controllers:/path"; version 2 has no controllers. */
static bool quota_parse(char *line, const char **controllers, const char **group) {
  char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
  if (!second) return false;
  *first = *second = 0;
  second[1 + strcspn(second + 1, "\n")] = 0;
  *controllers = first + 1;
  *group = second + 1;
  return **group == '/';
}

static bool quota_has_cpu(const char *controllers) {
  for (const char *at = controllers; *at;) {
    size_t length = strcspn(at, ",");
    if (length == 3 && !strncmp(at, "cpu", 3)) return true;
    at += length + (at[length] == ',');
  }
  return false;
}

/* In a container the path may be one that only the host has: its own group then lies at the mount,
 * which quota_of_group() ends with. */
long loom_quota_cpus(const char *list, const char *mounts) {
  char line[4096], mount[4096];
  long least = 0;
  FILE *f = fopen(list, "re");
  while (f && fgets(line, sizeof line, f)) {
    const char *controllers, *group;
    if (!quota_parse(line, &controllers, &group)) continue;
    if (!*controllers) {
      least = quota_of_group(mounts, group, least);
      snprintf(mount, sizeof mount, "%s/unified", mounts);
      least = quota_of_group(mount, group, least);
    } else if (quota_has_cpu(controllers)) {
      int length = snprintf(mount, sizeof mount, "%s/%s", mounts, controllers);
      if (length < (int)sizeof mount) least = quota_of_group(mount, group, least);
      snprintf(mount, sizeof mount, "%s/cpu", mounts);
      least = quota_of_group(mount, group, least);
    }
  }
  if (f) fclose(f);
  return least;
}
