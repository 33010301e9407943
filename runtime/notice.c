/* Notices: what the user should know although nothing fails, such as a setting that cannot be read
 * or a cache that cannot be used. The runtime notes them on any thread, once for each cause in a
 * process. The frontend takes them where it may give warnings. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "runtime/runtime.h"

enum { NOTICE_NONE, NOTICE_WRITING, NOTICE_READY, NOTICE_TAKEN };

static struct {
  _Atomic int state;
  char text[LOOM_NOTICE_SIZE];
} notices[LOOM_NOTICE_COUNT];

static _Atomic int notices_ready;

void loom_notice(int cause, const char *format, ...) {
  int expected = NOTICE_NONE;
  if (!atomic_compare_exchange_strong(&notices[cause].state, &expected, NOTICE_WRITING)) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(notices[cause].text, LOOM_NOTICE_SIZE, format, arguments);
  va_end(arguments);
  atomic_store(&notices[cause].state, NOTICE_READY);
  atomic_fetch_add(&notices_ready, 1);
}

int loom_notice_take(char out[LOOM_NOTICE_SIZE]) {
  if (atomic_load_explicit(&notices_ready, memory_order_relaxed) <= 0) return -1;
  for (int i = 0; i < LOOM_NOTICE_COUNT; i++) {
    int expected = NOTICE_READY;
    if (!atomic_compare_exchange_strong(&notices[i].state, &expected, NOTICE_TAKEN)) continue;
    atomic_fetch_sub(&notices_ready, 1);
    memcpy(out, notices[i].text, LOOM_NOTICE_SIZE);
    return i;
  }
  return -1;
}

const char *loom_notice_text(int cause) {
  return atomic_load(&notices[cause].state) >= NOTICE_READY ? notices[cause].text : NULL;
}
