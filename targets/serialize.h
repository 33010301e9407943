/* What the files share that write a plan's bytes (serialize.c, serialize_sizes.c). */
#ifndef LOOM_TARGETS_SERIALIZE_H
#define LOOM_TARGETS_SERIALIZE_H

#include "dialects/ir.h"
#include "passes/passes.h"
#include "runtime/runtime.h"
#include "targets/target.h"

/* A growing array of bytes; `failed` is looked at once, at the end. */
typedef struct serial_bytes {
  uint8_t *data;
  size_t size, capacity;
  bool failed;
} serial_bytes;

typedef struct serial_state {
  MlirOperation plan;
  const MlirOperation *plans; /* with those of the regions, which it is one of */
  intptr_t plan_count;
  const loom_entries *entries;
  const loom_gpu_table *gpu; /* NULL: the kernels are x86's */
  loom_error *err;
  loom_map buffers; /* memref value -> buffer number */
  loom_map scalars; /* 0-d tensor value -> scalar number */
  loom_map kernels; /* (kernel, stage) as offset of the entry + 1 -> number in `table` */
  serial_bytes inputs, buffer_table, instrs, once, indices, table, names, constants;
  serial_bytes extents, sites; /* of a checked plan */
  serial_bytes maps;
  MlirAttribute reach; /* `loom.extents`; null: it is not checked */
  uint32_t input_count, output_count, scalar_count, buffer_count, kernel_count;
  uint32_t *registers; /* for each expression of the table: its register, or UINT32_MAX */
  uint32_t symbol_count, register_count, constant_count, prologue, late_count, kept_count;
  uint8_t *unknown; /* symbols that no host call has introduced yet */
  uint8_t *pending; /* expressions to be computed when their symbols are known */
  loom_map
      waiting; /* buffer value -> 1 + output number (or 1): to be allocated before its first use */
  loom_map kept; /* 1 + storage -> the number of what is kept, however it is seen */
  loom_map late; /* 1 + storage (passes/plan.c) -> its memory's number, however it is seen */
} serial_state;

/* ---- serialize.c ---- */

/* Appends bytes. When memory is short, `failed` is set and nothing is appended any more. */
void serial_put(serial_bytes *bytes, const void *data, size_t size);

/* ---- serialize_sizes.c: registers and the instructions that fill them ---- */

/* Computes what a number needs and has had to wait for a host call. */
bool serial_ready(serial_state *s, int64_t number);
/* Registers: symbols, then constants, then the rest in the table's order, operands first. */
bool serial_registers(serial_state *s, MlirBlock block);
/* A number as a field: itself, or a register with the flag set. */
uint64_t serial_number(const serial_state *s, int64_t number, uint32_t flag, uint32_t *flags);
/* Bytes of a buffer: by its type, or as the plan says where that is symbolic. */
int64_t serial_size(const serial_state *s, MlirValue buffer);
/* Adds a row for the buffer `value` to the table of buffers: its kind and size, and for some kinds
 * `index` and `offset`. */
bool serial_buffer(serial_state *s, MlirValue value, loom_plan_buffer_kind kind, uint32_t index,
                   int64_t offset);

#endif
