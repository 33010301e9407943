/* Running the IR of any stage on arrays, for loom-interpret (interpret.c) and loom-check-stages
 * (check_stages.c). Functions of tensor ops, of loom.fusion groups and of loom.apply go to the
 * reference interpreter op by op (interpret_function.c), plans launch by launch on memory that is
 * laid out as they say (interpret_plan.c). Lowered kernels are machine code first: the tool gives
 * an interpret_native for that.
 */
#ifndef LOOM_INTERPRET_H
#define LOOM_INTERPRET_H

#include <mlir-c/IR.h>

#include "graph/graph.h"
#include "passes/passes.h"

/* ---- interpret_call.c: one call of a func.func or loom.plan ---------------------------------- */

typedef struct interpret_array {
  loom_type declared; /* sizes as codes of the table */
  int64_t strides[LOOM_MAX_RANK];
  bool scalar, constant;
  MlirAttribute values; /* `loom.values`, or null */
  loom_buffer buffer;   /* in C order; its data is in the table's arena */
} interpret_array;

typedef struct interpret_call {
  MlirOperation module, root;
  loom_graph table; /* symbolic sizes; its arena holds what a call needs */
  int64_t *symbols; /* a value for each symbol that the module may have */
  bool *given;      /* which of them `loom.values` says */
  uint32_t symbol_count;
  interpret_array *inputs, *outputs;
  uint32_t input_count, output_count;
  int depth;    /* of loops and branches that run */
  int64_t skew; /* bytes behind a multiple of 64 at which arrays that are laid out begin */
  loom_error err;
} interpret_call;

/* Can the op be called: a func.func of tensors or a loom.plan, no part of another one? */
bool interpret_is_root(MlirOperation op);
/* Reads what `root` takes and gives, and chooses values for symbolic sizes: those of `loom.values`,
 * else 3 as far as the symbol's range allows. `interpret_close` is called in any case. */
bool interpret_open(interpret_call *c, MlirOperation root);
/* Gives symbolic sizes without `loom.values` other values: the first one `size`, each that follows
 * one more, as far as their ranges allow. Before interpret_allocate. */
void interpret_resize(interpret_call *c, int64_t size);
void interpret_close(interpret_call *c);
/* Gives each size its value: arrays for all inputs and outputs, zeroed. */
bool interpret_allocate(interpret_call *c);
/* Elements of an input: its `loom.values`, else index, index + 1, ... */
bool interpret_fill(interpret_call *c, uint32_t index);
/* Elements that lie at the same address because of strides become one. */
bool interpret_unify(interpret_call *c);
/* Inputs, then outputs, as their strides lay them out, and the addresses of their first elements.
 */
typedef struct interpret_laid {
  loom_buffer *arrays; /* both in the table's arena */
  void **data;
} interpret_laid;
/* Memory for all, with the inputs' elements in it. */
bool interpret_lay_out(interpret_call *c, interpret_laid *out);
/* Copies the results to the outputs. */
void interpret_collect(interpret_call *c, const interpret_laid *laid);
/* Runs it, whatever its stage, for loom_interpret_seconds at most. */
bool interpret_run(interpret_call *c);
/* One line for each result: function, number, type, elements. */
void interpret_print(const interpret_call *c);

/* A number (a size, stride or offset) as it is in this call. */
bool interpret_number(interpret_call *c, int64_t number, int64_t *out);
bool interpret_size(interpret_call *c, const loom_graph *graph, const loom_type *type,
                    loom_type *out);
/* Reports at an op: "'loom.add' at <location>: ...". Returns false. */
bool interpret_refuse(interpret_call *c, MlirOperation op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
MlirOperation interpret_find(const interpret_call *c, MlirAttribute symbol);

/* Memory for an array of these strides: `low` bytes lie below its first element. */
bool interpret_extent(const loom_type *type, const int64_t *strides, int64_t *low, int64_t *bytes);
/* The size and strides of buffer `index` (operands, then results) of a kernel, whose type is one of
 * the graph. */
bool interpret_view(interpret_call *c, MlirOperation kernel, intptr_t index,
                    const loom_graph *graph, const loom_type *type, loom_buffer *out);
/* Do all elements lie in the memory? */
bool interpret_within(const loom_buffer *view, const void *low, int64_t bytes);
void interpret_copy(const loom_buffer *to, const loom_buffer *from);

/* ---- interpret_function.c -------------------------------------------------------------------- */

/* Runs a function on buffers that are laid out as it says (`loom.strides`). */
bool interpret_function(interpret_call *c, MlirOperation function, const loom_buffer *inputs,
                        const loom_buffer *outputs);

/* ---- interpret_control.c --------------------------------------------------------------------- */

typedef struct interpret_memory {
  void *data;
  int64_t bytes;
} interpret_memory;

/* What a region is called with; an output without data is one that nobody asks for. */
typedef struct interpret_region {
  int number; /* 0 or 1 */
  const interpret_memory *inputs, *outputs;
  intptr_t input_count, output_count;
} interpret_region;

/* A loop or branch over memory. */
typedef struct interpret_control {
  MlirOperation op;
  const interpret_memory *reads, *results;
  intptr_t read_count, result_count;
  bool (*run)(interpret_call *c, MlirOperation op, const interpret_region *region);
} interpret_control;

bool interpret_control_run(interpret_call *c, const interpret_control *control);

/* ---- interpret_plan.c ------------------------------------------------------------------------ */

/* Runs a plan whose kernels are loom.kernel ops on inputs and then outputs that are laid out as
 * their strides say. */
bool interpret_plan(interpret_call *c, const loom_buffer *laid);

/* ---- of the tool ----------------------------------------------------------------------------- */

/* Makes machine code of a module's lowered kernels, and runs a plan on arrays: `inputs` and
 * `outputs` are addresses of first elements, of scalars too. */
typedef bool (*interpret_native)(const interpret_call *c, void *const *inputs, void *const *outputs,
                                 loom_error *err);
extern interpret_native loom_interpret_native; /* NULL: the tool makes no machine code */
/* A call that runs longer on this thread fails; 0: no limit. Machine code is abandoned in the
 * middle, and its memory is lost, so the tool should end soon afterwards. */
extern _Thread_local int loom_interpret_seconds;

#endif
