/* What the files of the emission of values share (lower_emit.c, emit_memory.c). */
#ifndef LOOM_EMIT_H
#define LOOM_EMIT_H

#include "passes/lower.h"

/* ---- lower_emit.c ---- */

/* The scope in which the guard of an index is known; 0 without a guard. */
int emit_guard_level(const lower_at *at);
/* The lanes that a load touches: those of the tail, without those that the guard forbids. */
MlirValue emit_mask(lower *l, loom_builder *b, const lower_at *at, bool wide);

/* ---- emit_memory.c ---- */

/* The element of a buffer at an index, in every lane. `operand` is the buffer's number. */
lower_value emit_load(lower *l, const lower_buffer *buffer, int operand, const lower_at *at);
/* A scalar operand. It comes as 8 bytes among the parameters of the launch. */
lower_value emit_parameter(lower *l, const lower_buffer *buffer);

#endif
