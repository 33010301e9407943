/* The disk cache: one file for each entry, named by the hash of its key.
 *
 * An entry is a header, the whole key and the data. It counts only if it lies in a folder of this
 * user or of root that nobody else may write to, is itself a plain file of that kind, its key is
 * the one asked for and its checksum holds; all else is a miss. Entries are written to a temporary
 * file of the same folder and renamed, so that readers see the old or the new one; a checksum
 * stands in for fsync after a crash. The size is bounded: now and then a writer removes the entries
 * longest unread.
 */
#include "runtime/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CACHE_MAGIC 0x314843434d4f4f4cull
#define CACHE_VERSION 1u
#define CACHE_LARGEST (256u << 20) /* bytes of one entry */
#define CACHE_DEFAULT_SIZE (1ull << 30)
#define CACHE_SWEEP_EVERY 64     /* writes of this process between looks at the folder's size */
#define CACHE_STALE_SECONDS 3600 /* age of a temporary file that no one can still be writing */
#define NAME_LENGTH 37           /* 32 hexadecimal digits and ".loom" */

typedef struct cache_header {
  uint64_t magic;
  uint32_t version, plan_version;
  uint64_t key_size, data_size;
  uint64_t checksum; /* of key and data */
} cache_header;

/* ---- the folder ---- */

static bool cache_path(char out[PATH_MAX]) {
  const char *folder = loom_env(LOOM_ENV_CACHE_DIR), *base = getenv("XDG_CACHE_HOME"),
             *home = getenv("HOME");
  int length;
  if (folder)
    length = snprintf(out, PATH_MAX, "%s", folder);
  else if (base && *base == '/')
    length = snprintf(out, PATH_MAX, "%s/frameloom", base);
  else if (home && *home == '/')
    length = snprintf(out, PATH_MAX, "%s/.cache/frameloom", home);
  else
    return false;
  return length > 0 && length < PATH_MAX;
}

/* Makes the folder and what is missing above it, all for this user alone. */
static void cache_make(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0700);
    *slash = '/';
  }
  mkdir(path, 0700);
}

/* The folder is not used, and the user is to know why: code is compiled again by every process. */
static int cache_refuse(int folder, const char *path, const char *why, const char *mend) {
  loom_notice(
      LOOM_NOTICE_FOLDER,
      "the disk cache is not used, so that every process compiles anew: the folder %.400s %s. "
      "%s, set FRAMELOOM_CACHE_DIR to another folder, or FRAMELOOM_CACHE=0",
      path, why, mend);
  if (folder >= 0) close(folder);
  return -1;
}

static int cache_refuse_open(const char *path, int error) {
  struct stat info;
  if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode))
    return cache_refuse(-1, path, "is a symbolic link", "Name what it points to");
  if (error == ENOTDIR) return cache_refuse(-1, path, "is not a folder", "Move the file away");
  char why[128];
  snprintf(why, sizeof why, "cannot be %s: %s", error == ENOENT ? "made" : "opened",
           error == ENOENT ? "its parent is missing, or cannot be written" : strerror(error));
  return cache_refuse(-1, path, why, "Let this user make and open it");
}

/* Who can write to the folder can make this process run any code. Being read does no harm: entries
 * are readable by their owner alone, and their names tell nothing. With access control lists, the
 * bits of the group are the most that anybody is granted. */
static int cache_check(int folder, const char *path) {
  struct stat info;
  char why[64];
  if (fstat(folder, &info)) return close(folder), -1;
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    snprintf(why, sizeof why, "belongs to another user (%lu)", (unsigned long)info.st_uid);
    return cache_refuse(folder, path, why, "Change its owner (chown)");
  }
  if (!(info.st_mode & 022)) return folder;
  snprintf(why, sizeof why, "may be written by others (mode %03o)", (unsigned)info.st_mode & 0777);
  return cache_refuse(folder, path, why, "Make it private (chmod 700)");
}

/* The open folder, or -1: the cache is off. */
static int cache_open(bool make) {
  char path[PATH_MAX];
  if (!loom_env_switch(LOOM_ENV_CACHE)) return -1;
  if (!cache_path(path)) {
    loom_notice(LOOM_NOTICE_FOLDER,
                "the disk cache is not used, so that every process compiles anew: neither HOME nor "
                "XDG_CACHE_HOME names a folder. Set FRAMELOOM_CACHE_DIR, or FRAMELOOM_CACHE=0");
    return -1;
  }
  int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int folder = open(path, flags);
  if (folder < 0 && errno == ENOENT) {
    if (!make) return -1;
    cache_make(path);
    folder = open(path, flags);
  }
  return folder < 0 ? cache_refuse_open(path, errno) : cache_check(folder, path);
}

static void cache_name(const void *key, size_t key_size, char out[NAME_LENGTH + 1]) {
  uint64_t hash[2];
  loom_hash128(key, key_size, hash);
  snprintf(out, NAME_LENGTH + 1, "%016llx%016llx.loom", (unsigned long long)hash[0],
           (unsigned long long)hash[1]);
}

static uint64_t cache_checksum(const void *key, size_t key_size, const void *data, size_t size) {
  return loom_checksum(key, key_size) * 31 + loom_checksum(data, size);
}

/* ---- reading ---- */

static bool read_all(int file, void *out, size_t size) {
  for (uint8_t *to = out; size;) {
    ssize_t got = read(file, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= (size_t)got;
  }
  return true;
}

static bool cache_read_file(int file, const void *key, size_t key_size, loom_bytes *out) {
  struct stat info;
  cache_header h;
  if (fstat(file, &info) || !S_ISREG(info.st_mode) ||
      (info.st_uid != geteuid() && info.st_uid != 0) || (info.st_mode & 022))
    return false;
  if (!read_all(file, &h, sizeof h) || h.magic != CACHE_MAGIC || h.version != CACHE_VERSION ||
      h.plan_version != LOOM_PLAN_VERSION || h.key_size != key_size ||
      h.data_size > CACHE_LARGEST || (uint64_t)info.st_size != sizeof h + h.key_size + h.data_size)
    return false;
  /* Data first, then the key: one allocation whose start is what the caller gets. */
  uint8_t *bytes = malloc(h.data_size + key_size + 1);
  if (!bytes) return false;
  uint8_t *stored = bytes + h.data_size;
  if (read_all(file, stored, key_size) && memcmp(stored, key, key_size) == 0 &&
      read_all(file, bytes, h.data_size) &&
      h.checksum == cache_checksum(key, key_size, bytes, h.data_size)) {
    *out = (loom_bytes){bytes, h.data_size};
    return true;
  }
  free(bytes);
  return false;
}

bool loom_cache_read(const void *key, size_t key_size, loom_bytes *out) {
  int folder = cache_open(false);
  if (folder < 0) return false;
  char name[NAME_LENGTH + 1];
  cache_name(key, key_size, name);
  int file = openat(folder, name,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC); /* a fifo must not block */
  close(folder);
  if (file < 0) return false;
  bool found = cache_read_file(file, key, key_size, out);
  close(file);
  return found;
}

/* ---- eviction ---- */

typedef struct entry {
  char name[NAME_LENGTH + 1];
  time_t used;
  uint64_t size;
} entry;

static int entry_compare(const void *a, const void *b) {
  const entry *x = a, *y = b;
  return x->used != y->used ? (x->used < y->used ? -1 : 1) : strcmp(x->name, y->name);
}

/* Lists the entries and removes temporary files that were left behind; returns their number, -1
 * without memory. */
static ssize_t sweep_list(DIR *stream, entry **out) {
  size_t count = 0, capacity = 0;
  *out = NULL;
  for (struct dirent *item; (item = readdir(stream));) {
    struct stat info;
    size_t length = strlen(item->d_name);
    bool temporary = strncmp(item->d_name, "tmp-", 4) == 0;
    bool ours = length == NAME_LENGTH && strcmp(item->d_name + length - 5, ".loom") == 0;
    if ((!temporary && !ours) || fstatat(dirfd(stream), item->d_name, &info, AT_SYMLINK_NOFOLLOW))
      continue;
    if (temporary) {
      if (time(NULL) - info.st_mtime > CACHE_STALE_SECONDS)
        unlinkat(dirfd(stream), item->d_name, 0);
      continue;
    }
    if (count == capacity) {
      capacity = capacity ? capacity * 2 : 64;
      entry *more = realloc(*out, capacity * sizeof **out);
      if (!more) return -1;
      *out = more;
    }
    entry *e = &(*out)[count++];
    memcpy(e->name, item->d_name, length + 1);
    e->used = info.st_atime > info.st_mtime ? info.st_atime : info.st_mtime;
    e->size = (uint64_t)info.st_size;
  }
  return (ssize_t)count;
}

/* Brings the folder to three quarters of its bound when it is over it. */
static void cache_sweep(int folder, uint64_t bound) {
  int copy = dup(folder);
  DIR *stream = copy < 0 ? NULL : fdopendir(copy);
  if (!stream) {
    if (copy >= 0) close(copy);
    return;
  }
  rewinddir(stream);
  entry *entries;
  ssize_t count = sweep_list(stream, &entries);
  uint64_t total = 0;
  for (ssize_t i = 0; i < count; i++)
    total += entries[i].size;
  if (count > 0 && total > bound) {
    qsort(entries, (size_t)count, sizeof *entries, entry_compare);
    for (ssize_t i = 0; i < count && total > bound / 4 * 3; i++) {
      if (unlinkat(folder, entries[i].name, 0) == 0) total -= entries[i].size;
    }
  }
  free(entries);
  closedir(stream);
}

/* ---- writing ---- */

static bool write_all(int file, const void *data, size_t size) {
  for (const uint8_t *from = data; size;) {
    ssize_t put = write(file, from, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    from += put;
    size -= (size_t)put;
  }
  return true;
}

static void cache_note_write(int error) {
  char path[PATH_MAX];
  if (!cache_path(path)) return;
  loom_notice(
      LOOM_NOTICE_WRITE,
      "compiled code is not kept in the disk cache, so that every process compiles anew: the "
      "folder %.400s cannot be written to (%s). Set FRAMELOOM_CACHE_DIR to another folder, or "
      "FRAMELOOM_CACHE=0",
      path, strerror(error));
}

static bool cache_write_file(int folder, const char *name, const cache_header *h, const void *key,
                             const void *data) {
  static _Atomic unsigned serial;
  char temporary[64];
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(temporary, sizeof temporary, "tmp-%ld-%u-%lx", (long)getpid(),
           atomic_fetch_add(&serial, 1), (unsigned long)now.tv_nsec);
  errno = 0;
  int file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  bool good = file >= 0 && write_all(file, h, sizeof *h) && write_all(file, key, h->key_size) &&
              write_all(file, data, h->data_size);
  good = (file < 0 || close(file) == 0) && good;
  good = good && renameat(folder, temporary, folder, name) == 0;
  if (good) return true;
  int error = errno;
  if (file >= 0) unlinkat(folder, temporary, 0);
  cache_note_write(error);
  return false;
}

bool loom_cache_write(const void *key, size_t key_size, const void *data, size_t size) {
  static _Atomic unsigned writes;
  uint64_t bound;
  if (!loom_env_bytes(LOOM_ENV_CACHE_SIZE, &bound)) bound = CACHE_DEFAULT_SIZE;
  cache_header h = {CACHE_MAGIC, CACHE_VERSION, LOOM_PLAN_VERSION,
                    key_size,    size,          cache_checksum(key, key_size, data, size)};
  if (size > CACHE_LARGEST || key_size > CACHE_LARGEST || sizeof h + key_size + size > bound)
    return false;
  int folder = cache_open(true);
  if (folder < 0) return false;
  char name[NAME_LENGTH + 1];
  cache_name(key, key_size, name);
  bool good = cache_write_file(folder, name, &h, key, data);
  if (atomic_fetch_add(&writes, 1) % CACHE_SWEEP_EVERY == 0) cache_sweep(folder, bound);
  close(folder);
  return good;
}
