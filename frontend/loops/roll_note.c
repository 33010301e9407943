/* Reports what became of each loop: records of a capture, and a line of the log. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/loops/internal.h"
#include "frontend/values/containers.h"

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

/* Where the loop is whose FOR_ITER is instruction `head` of a frame. */
static loom_location loop_location(tracer *t, const frame *f, int32_t head) {
  frame at = *f, *inner = t->frame;
  at.pc = head + 1;
  t->frame = &at;
  loom_location location = trace_location(t);
  t->frame = inner;
  return location;
}

/* A loop of the user's that has not been met before: it is unrolled. */
static loop_record *roll_note_unrolled(tracer *t, const frame *f, int64_t count) {
  const loom_instr *head = &f->code->instrs[f->pc - 1];
  if (f->library || pointer_map_get(&t->loops.noted, head)) return NULL;
  trace_map_set(t, &t->loops.noted, head, t);
  loom_location at = loop_location(t, f, f->pc - 1);
  uint32_t known = t->capture->loop_count;
  loop_record *r = loop_get(t->capture, &at);
  if (!r || t->capture->loop_count == known) return NULL; /* where it is longer says more */
  r->fate = LOOP_UNROLLED;
  r->count = count;
  return r;
}

void roll_note_short(tracer *t, const frame *f, int64_t left) {
  if (!LOOM_STRIDE_IS_SYM(left)) roll_note_unrolled(t, f, left);
}

void roll_note_items(tracer *t, const frame *f, const value *iterator) {
  int64_t count = iter_items(iterator);
  loop_record *r = roll_note_unrolled(t, f, count);
  if (r && (count < 0 || count > loom_config.unroll_limit))
    snprintf(r->why, sizeof r->why, "%s",
             iter_refuses(iterator) ? iter_refuses(iterator)
                                    : "its items are objects, each looked at by itself");
}

void roll_note_break(tracer *t, int reason) {
  const char *name, *hint, *text = loom_break_text(reason, &name, &hint);
  for (const frame *f = t->frame; f; f = f->back) {
    for (int32_t i = 0; i < f->pc && i < f->code->count; i++) {
      const loom_instr *in = &f->code->instrs[i];
      if (in->op != BC_FOR_ITER || in->target < f->pc || i + 1 == f->pc) continue;
      loom_location at = loop_location(t, f, i);
      loop_record *r = loop_get(t->capture, &at);
      if (!r) return;
      r->fate = LOOP_LEFT;
      r->count = -1;
      snprintf(r->why, sizeof r->why, "its body breaks: %s", text);
    }
  }
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
