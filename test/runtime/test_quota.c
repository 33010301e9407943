/* quota.c: limits of control groups of both versions, of groups above, in containers. */
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/internal.h"

static char folder[64];

static void put(const char *path, const char *text) {
  char whole[512];
  snprintf(whole, sizeof whole, "%s/%s", folder, path);
  for (char *at = whole + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
    *at = 0;
    mkdir(whole, 0700);
    *at = '/';
  }
  FILE *f = fopen(whole, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static long ask(const char *list) {
  char path[128];
  put("list", list);
  snprintf(path, sizeof path, "%s/list", folder);
  return loom_quota_cpus(path, folder);
}

static void version_two(void **state) {
  put("a/b/cpu.max", "150000 100000\n");
  put("a/cpu.max", "max 100000\n");
  assert_int_equal(ask("0::/a/b\n"), 2);
  assert_int_equal(ask("0::/a\n"), 0);
  put("a/cpu.max", "50000 100000\n");
  assert_int_equal(ask("0::/a/b\n"), 1);
  assert_int_equal(ask("0::/a/b/gone\n"), 1);
}

static void version_one(void **state) {
  put("cpu,cpuacct/x/cpu.cfs_quota_us", "300000\n");
  put("cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  put("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  put("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  assert_int_equal(ask("5:memory:/x\n4:cpu,cpuacct:/x\n"), 3);
  assert_int_equal(ask("5:memory:/x\n4:cpuset:/x\n"), 0);
  assert_int_equal(ask("4:cpu,cpuacct:/y\n"), 0);
}

/* The path is the host's; what the container sees as the root is the group itself. */
static void in_a_container(void **state) {
  put("cpu/cpu.cfs_quota_us", "100000\n");
  put("cpu/cpu.cfs_period_us", "100000\n");
  assert_int_equal(ask("4:cpu:/docker/0123456789\n"), 1);
}

static void nonsense(void **state) {
  assert_int_equal(ask(""), 0);
  assert_int_equal(ask("0::\n::\n4:cpu\n"), 0);
  assert_int_equal(loom_quota_cpus("/nowhere", "/nowhere"), 0);
  put("z/cpu.max", "0 0\n");
  assert_int_equal(ask("0::/z\n"), 0);
}

int main(void) {
  strcpy(folder, "/tmp/loom-quota-XXXXXX");
  if (!mkdtemp(folder)) return 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(version_two), cmocka_unit_test(version_one),
                                     cmocka_unit_test(nonsense), cmocka_unit_test(in_a_container)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command) || failed;
}
