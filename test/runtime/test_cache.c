/* cache.c: what is written is read back; damaged, foreign and truncated entries are misses. */
#include "build.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64], folder[128];

static void empty(void) {
  DIR *stream = opendir(folder);
  if (!stream) return;
  for (struct dirent *item; (item = readdir(stream));)
    unlinkat(dirfd(stream), item->d_name, 0);
  closedir(stream);
}

static int setup(void **state) {
  strcpy(root, "/tmp/loom-test-XXXXXX");
  assert_non_null(mkdtemp(root));
  snprintf(folder, sizeof folder, "%s/deep/cache", root);
  setenv("FRAMELOOM_CACHE_DIR", folder, 1);
  unsetenv("FRAMELOOM_CACHE");
  unsetenv("FRAMELOOM_CACHE_SIZE");
  return 0;
}

static int teardown(void **state) {
  char path[160];
  empty();
  rmdir(folder);
  snprintf(path, sizeof path, "%s/deep", root);
  rmdir(path);
  rmdir(root);
  return 0;
}

static bool holds(const char *key, const char *data) {
  loom_bytes found = {0};
  if (!loom_cache_read(key, strlen(key), &found)) return false;
  assert_int_equal(found.size, strlen(data));
  assert_memory_equal(found.data, data, found.size);
  free(found.data);
  return true;
}

static bool put(const char *key, const char *data) {
  return loom_cache_write(key, strlen(key), data, strlen(data));
}

/* The path of the only entry. */
static void only(char out[512]) {
  DIR *stream = opendir(folder);
  int count = 0;
  for (struct dirent *item; (item = readdir(stream));) {
    if (item->d_name[0] == '.') continue;
    snprintf(out, 512, "%s/%s", folder, item->d_name);
    count++;
  }
  closedir(stream);
  assert_int_equal(count, 1);
}

static void reads_what_was_written(void **state) {
  empty();
  assert_false(holds("key", "data"));
  assert_true(put("key", "data"));
  assert_true(holds("key", "data"));
  assert_false(holds("kez", "data"));
  assert_true(put("key", "other data"));
  assert_true(holds("key", "other data"));
  assert_true(put("empty", ""));
  assert_true(holds("empty", ""));
  struct stat info;
  assert_int_equal(stat(folder, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0700);
}

static void ignores_every_damaged_byte(void **state) {
  char path[512];
  empty();
  assert_true(put("a key", "some data"));
  only(path);
  uint8_t bytes[256];
  FILE *file = fopen(path, "r+");
  size_t size = fread(bytes, 1, sizeof bytes, file);
  for (size_t i = 0; i < size; i++) {
    for (int bit = 0; bit < 8; bit += 3) {
      fseek(file, (long)i, SEEK_SET);
      fputc(bytes[i] ^ (1 << bit), file);
      fflush(file);
      assert_false(holds("a key", "some data"));
    }
    fseek(file, (long)i, SEEK_SET);
    fputc(bytes[i], file);
    fflush(file);
  }
  fclose(file);
  assert_true(holds("a key", "some data"));
  for (size_t length = 0; length < size; length++) {
    assert_int_equal(truncate(path, (off_t)length), 0);
    assert_false(holds("a key", "some data"));
  }
  assert_true(put("a key", "some data"));
  assert_true(holds("a key", "some data"));
  file = fopen(path, "a");
  fputc(0, file);
  fclose(file);
  assert_false(holds("a key", "some data"));
}

/* A file under the right name but with another key is what a collision of hashes would look like.
 */
static void compares_the_whole_key(void **state) {
  char path[512], other[600];
  empty();
  assert_true(put("first key", "first"));
  only(path);
  snprintf(other, sizeof other, "%s.moved", path);
  assert_int_equal(rename(path, other), 0);
  assert_true(put("other key", "wrong"));
  assert_false(holds("first key", "wrong"));
  assert_int_equal(unlink(other), 0);
  char wrong[512];
  only(wrong);
  assert_int_equal(rename(wrong, path), 0);
  assert_false(holds("first key", "wrong"));
}

static void trusts_only_its_own_folder_and_files(void **state) {
  char path[512], target[600];
  empty();
  assert_true(put("key", "data"));
  only(path);
  chmod(path, 0622);
  assert_false(holds("key", "data"));
  chmod(path, 0600);
  assert_true(holds("key", "data"));
  static const mode_t refused[] = {0770, 0707, 0777, 0720, 0702, 01777};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    chmod(folder, refused[i]);
    assert_false(holds("key", "data"));
    assert_false(put("key", "data"));
  }
  static const mode_t good[] = {0750, 0755, 0711, 0700};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    chmod(folder, good[i]);
    assert_true(holds("key", "data"));
    assert_true(put("key", "data"));
  }
  snprintf(target, sizeof target, "%s/target", root);
  assert_int_equal(rename(path, target), 0);
  assert_int_equal(symlink(target, path), 0);
  assert_false(holds("key", "data"));
  unlink(path);
  unlink(target);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_false(holds("key", "data"));
  unlink(path);
  assert_int_equal(mkdir(path, 0700), 0);
  assert_false(holds("key", "data"));
  assert_false(put("key", "data"));
  rmdir(path);
  char link[160];
  snprintf(link, sizeof link, "%s/link", root);
  assert_int_equal(symlink(folder, link), 0);
  setenv("FRAMELOOM_CACHE_DIR", link, 1);
  assert_false(put("key", "data"));
  setenv("FRAMELOOM_CACHE_DIR", folder, 1);
  unlink(link);
}

static void can_be_off(void **state) {
  empty();
  assert_true(put("key", "data"));
  setenv("FRAMELOOM_CACHE", "0", 1);
  assert_false(holds("key", "data"));
  assert_false(put("key2", "data"));
  unsetenv("FRAMELOOM_CACHE");
  assert_false(holds("key2", "data"));
  assert_true(holds("key", "data"));
  setenv("FRAMELOOM_CACHE_DIR", "/proc/no such folder", 1);
  assert_false(put("key", "data"));
  assert_false(holds("key", "data"));
  setenv("FRAMELOOM_CACHE_DIR", folder, 1);
}

static void stays_within_its_size(void **state) {
  static char data[4096];
  memset(data, 'x', sizeof data - 1);
  empty();
  setenv("FRAMELOOM_CACHE_SIZE", "64K", 1);
  char name[200];
  snprintf(name, sizeof name, "%s/tmp-1-2-3", folder); /* left behind long ago */
  close(open(name, O_CREAT | O_WRONLY, 0600));
  struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
  utimensat(AT_FDCWD, name, old, 0);
  for (int i = 0; i < 200; i++) {
    char key[16];
    snprintf(key, sizeof key, "key %d", i);
    assert_true(put(key, data));
  }
  long total = 0;
  DIR *stream = opendir(folder);
  for (struct dirent *item; (item = readdir(stream));) {
    struct stat info;
    if (item->d_name[0] == '.' || fstatat(dirfd(stream), item->d_name, &info, 0)) continue;
    total += info.st_size;
  }
  closedir(stream);
  assert_true(total < (64 << 10) + 64 * 4300); /* looked at once in 64 writes */
  assert_int_equal(access(name, F_OK), -1);
  setenv("FRAMELOOM_CACHE_SIZE", "1K", 1);
  assert_false(put("too large", data));
  unsetenv("FRAMELOOM_CACHE_SIZE");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_what_was_written),
      cmocka_unit_test(ignores_every_damaged_byte),
      cmocka_unit_test(compares_the_whole_key),
      cmocka_unit_test(trusts_only_its_own_folder_and_files),
      cmocka_unit_test(can_be_off),
      cmocka_unit_test(stays_within_its_size),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
