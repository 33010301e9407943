/* The passes. One file a pass; no pass calls another; the pipelines are listed in pipeline.c.
 *
 * Sections by file: pipeline.c, util.c, view.c, late.c; every other file is one pass.
 */
#ifndef LOOM_PASSES_H
#define LOOM_PASSES_H

#include <mlir-c/IR.h>
#include <mlir-c/Pass.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"

/* ---- pipeline.c ------------------------------------------------------------------------------ */

/* Registers every pass of passes.def and the pipelines with MLIR's registry. Called once by each
 * tool. */
void loom_register_passes(void);
/* The flag of each of them; NULL behind the last. */
const char *loom_pass_flag(size_t index);

/* The passes of each stage, in the order of the data. */
void loom_add_front_passes(
    MlirOpPassManager manager); /* to a canonical graph in loom.fusion groups */
void loom_add_kernel_passes(MlirOpPassManager manager); /* to scheduled loom.kernels */
void loom_add_plan_passes(MlirOpPassManager manager);   /* to a loom.plan */
void loom_add_lower_passes(MlirOpPassManager manager);  /* kernels to scf, arith, vector and llvm */
void loom_add_check_passes(MlirOpPassManager manager);  /* between these two, where asked for */
void loom_add_llvm_passes(MlirOpPassManager manager);   /* kernels to the LLVM dialect */

/* Runs all passes from the graph to lowered kernels, and those to the LLVM dialect, for a target
 * and its vectors, with or without checks. `run` runs the passes of one stage; NULL: they run, and
 * no more. */
typedef bool (*loom_stage_fn)(MlirModule module, const char *stage,
                              void (*add)(MlirOpPassManager manager), void *user);
bool loom_lower_module(MlirModule module, const char *target, int vector_bits, bool check,
                       loom_stage_fn run, void *user);

/* ---- util.c: what several passes ask of the IR ----------------------------------------------- */

/* A result that is kept from one call to the next (loom-keep) has at most so many bytes, or at most
 * as many as the operands that it is made of. */
#define LOOM_KEEP_BYTES (1 << 20)

/* The function named @main of a module, else the first function; null when there is none. */
MlirOperation loom_main_function(MlirOperation module);
/* The functions to be compiled, one after the other: the main one (previous: null), then all others
 * of tensors, those that loom-regions made (`loom.region`) among them; null at the end. */
MlirOperation loom_next_function(MlirOperation module, MlirOperation previous);
/* The plans of a module's block, and the launches of a plan's, one after the other (previous: null,
 * or the one before). */
MlirOperation loom_next_plan(MlirBlock body, MlirOperation previous);
MlirOperation loom_next_launch(MlirBlock body, MlirOperation previous);
/* The dot_general of a kernel's or group's block; null where it has none. */
MlirOperation loom_product_in(MlirBlock body);
/* Adds the function that a graph is, under this name, in front of another one. */
bool loom_add_function(MlirOperation before, const loom_graph *graph, MlirAttribute name,
                       loom_error *err);
/* "cannot <do>: <why>" at this place of the user's, or at the function where there is none. */
void loom_function_error(MlirOperation func, const loom_location *at, const char *what,
                         const loom_error *err);
/* Puts a graph in a function's place, under its name. */
bool loom_replace_function(MlirOperation func, const loom_graph *graph, loom_error *err);

/* A constant, or a broadcast of a single element: it can be made at any size. */
bool loom_is_splat(MlirValue value);
/* The op's class in the op table; an update_slice that is marked to be done in place is alone. */
loom_class loom_class_of(MlirOperation op);

/* Updates in place are for arrays of this size and more (fuse_inplace.c): smaller ones are copied
 * as fast as a kernel is launched. */
#define LOOM_INPLACE_BYTES 16384
/* The op in a group's or kernel's body that overwrites its operand 0: a scatter, or an update_slice
 * in place; or null. */
MlirOperation loom_overwriting(MlirBlock body);
/* Erases the block's ops that nobody reads, backwards, so that chains die at once. */
void loom_sweep(MlirBlock block);
/* Does the op report indices that are out of bounds? Such an op is computed even if nothing reads
 * its result. */
bool loom_checks_indices(MlirOperation op);
/* Is `here` the last op of its block that reads `value` or a view of it? */
bool loom_is_read_last(MlirValue value, MlirOperation here);
/* `value` is an initial value of a loop (loom.control). The number of the loop-carried result that
 * is best computed in the buffer of `value`, which nothing but the loop reads from then on; -1:
 * there is none (loop_inplace.c). */
intptr_t loom_loop_takes(MlirOperation control, MlirValue value);

/* An attribute of the op or of the nearest op around it that has one; or null. */
MlirAttribute loom_option(MlirOperation op, const char *name);
bool loom_is_for_gpu(MlirOperation op);   /* by the option `loom.target` */
bool loom_is_simulated(MlirOperation op); /* a GPU that the runtime simulates (runtime/sim.c) */

/* Strides in elements of a value of this static type: of a function argument or result from the
 * attribute `loom.strides` (absent: C order). */
void loom_argument_strides(MlirOperation function, intptr_t index, const loom_type *type,
                           int64_t *out);
void loom_result_strides(MlirOperation function, intptr_t index, const loom_type *type,
                         int64_t *out);
/* Do the strides give each element the place that it has in C order? Strides of dimensions with one
 * element do not matter. */
bool loom_strides_fit_plain(const loom_type *type, const int64_t *strides);
/* The strides of a value whose dimensions lie in this order, the outermost first; false when they
 * cannot be expressed. */
bool loom_order_strides(const loom_type *type, const int64_t *order, int64_t *out);
/* The strides of a value between kernels. An argument has those of its attribute. A returned value
 * has those that the function's result asks for (of several the first one), so that its kernel
 * writes the output itself, also where nothing but its reshape is returned; if it is read through a
 * reshape otherwise, it is in C order, as every
 * other value is that loom-layout has chosen no order for (`loom.orders`). */
void loom_value_strides(MlirOperation function, MlirValue value, const loom_type *type,
                        int64_t *out);
/* A value that is read by nothing but one reshape, which is returned: its strides for the result to
 * lie as asked. False: the value is another one, or only C order will do. */
bool loom_reshaped_strides(MlirOperation function, MlirValue value, const loom_type *type,
                           int64_t *out);
bool loom_strides_are_contiguous(const loom_type *type, const int64_t *strides);
/* The argument whose buffer the caller may pass as the output buffer of result `index`, too
 * (`loom.overwrites`); or -1. */
int64_t loom_result_overwrites(MlirOperation function, intptr_t index);
/* Whether argument (result) `index` of a function has the unit or boolean attribute `name`. */
bool loom_argument_has(MlirOperation function, intptr_t index, const char *name);
bool loom_result_has(MlirOperation function, intptr_t index, const char *name);

/* Strides that make `out` a view of `in` (types of as many elements, static sizes); false when only
 * a copy can. */
bool loom_reshape_strides(const loom_type *in, const int64_t *in_strides, const loom_type *out,
                          int64_t *out_strides);

/* ---- view.c: views that are nothing but other strides ---- */

typedef struct loom_layout {
  loom_type type;
  int64_t base, strides[LOOM_MAX_RANK]; /* numbers, in elements */
} loom_layout;

/* Where the elements of a view lie when its operand lies at `in`; false when strides cannot say. */
bool loom_layout_view(MlirOperation op, const loom_layout *in, loom_layout *out);
/* What is under reshapes of a value: between kernels these are the same buffer, in C order. */
MlirValue loom_buffer_root(MlirValue value);
/* What is under all views of a value. */
MlirValue loom_view_root(MlirValue value);
/* The layout of a value from that of its root. */
bool loom_layout_follow(MlirValue value, MlirValue root, const loom_layout *of_root,
                        loom_layout *out);

/* ---- late.c: sizes that are known only when a host call has run ---- */

typedef struct loom_late {
  uint32_t symbols;
  int32_t *told;        /* for each symbol: the number of the call that it becomes known by, or 0 */
  MlirOperation *calls; /* call 1, 2, ... of the block, in its order */
  int32_t count;
} loom_late;

/* False: out of memory. loom_late_fini() is called in either case. */
bool loom_late_find(loom_late *late, MlirBlock block);
void loom_late_fini(loom_late *late);
/* The last call that has to be made before the number, or all sizes of the value, are known; 0: no
 * call. */
int32_t loom_late_number(const loom_late *late, int64_t number);
int32_t loom_late_value(const loom_late *late, MlirValue value);
/* Writes the symbols that become known by a call to `out`, at most `room`; returns how many. */
intptr_t loom_late_told(const loom_late *late, int32_t call, int64_t *out, intptr_t room);

/* A map from a pointer (operation, value) to an integer. */
typedef struct loom_map {
  const void **keys;
  int64_t *values;
  size_t capacity, count;
} loom_map;

bool loom_map_put(loom_map *map, const void *key, int64_t value); /* false: out of memory */
int64_t loom_map_get(const loom_map *map, const void *key, int64_t otherwise);
void loom_map_fini(loom_map *map);

#endif
