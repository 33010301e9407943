/* What became of each loop, for people: records of a capture, and a line of the log. */
#include "frontend/value/value.h"

#include <stdarg.h>

/* The record of the loop at this place, made when there is none; NULL when out of memory. */
static loop_record *loop_get(capture *c, const loom_location *at) {
  for (uint32_t i = 0; i < c->loop_count; i++) {
    const loom_location *known = &c->loops[i].location;
    if (known->line == at->line && known->column == at->column && known->file && at->file &&
        !strcmp(known->file, at->file))
      return &c->loops[i];
  }
  loop_record *grown = realloc(c->loops, (c->loop_count + 1u) * sizeof *grown);
  if (!grown) return NULL;
  c->loops = grown;
  grown[c->loop_count] = (loop_record){.location = *at};
  return &grown[c->loop_count++];
}

void trace_note_loop(tracer *t, loop_fate fate, int64_t count, const char *format, ...) {
  static const char *const words[] = {[LOOP_ROLLED] = "captured once",
                                      [LOOP_UNROLLED] = "unrolled",
                                      [LOOP_LEFT] = "left to Python"};
  loom_location at = trace_location(t);
  loop_record *r = loop_get(t->capture, &at);
  va_list arguments;
  if (!r) return;
  va_start(arguments, format);
  vsnprintf(r->why, sizeof r->why, format, arguments);
  va_end(arguments);
  r->fate = fate;
  r->count = count;
  if (count >= 0)
    loom_log(LOOM_LOG_DYNAMIC, "%s:%d: a loop of %lld iterations is %s%s%s",
             at.file ? at.file : "?", (int)at.line, (long long)count, words[fate],
             *r->why ? ": " : "", r->why);
  else
    loom_log(LOOM_LOG_DYNAMIC, "%s:%d: a loop is %s%s%s", at.file ? at.file : "?", (int)at.line,
             words[fate], *r->why ? ": " : "", r->why);
}
