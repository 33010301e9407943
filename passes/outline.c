/* loom-outline: each loom.fusion becomes a loom.kernel symbol and a loom.apply.
 *
 * before:
 *     %0 = loom.fusion(%a, %b) {...}
 *
 * after:
 *     loom.kernel @k0 {...} {strides = ..., scalars = ..., inplace = ..., fp = ...}
 *     %0 = loom.apply @k0(%a, %b)
 *
 * requires: loom-fuse.
 *
 * keeps: values.
 *
 * breaks: there is no loom.fusion afterwards.
 *
 * A kernel also says where its buffers lie. Strides come from the function's arguments
 * (`loom.strides`) and results; what lies between kernels is C-ordered, but for what loom-layout
 * has given another order (`loom.orders`). Views of an operand that are nothing but other strides
 * (transpose, broadcast, a slice from 0 upwards, a reshape that cuts no dimension badly) go into
 * the operand's strides, so that what is left of views inside a body needs index arithmetic.
 * Identical kernels are made one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "dialects/pass.h"
#include "loom_ops_compiler.h"
#include "passes/passes.h"

enum { OUTLINE_ATTRS = 6 }; /* of a kernel, but for its name: at most */

typedef struct outline_operand {
  MlirValue outer; /* what the apply passes */
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  bool scalar;
} outline_operand;

typedef struct outline_kernel { /* what was made before, to find the same again */
  uint64_t *words;
  size_t count;
  char name[24];
} outline_kernel;

typedef struct outline_state {
  MlirOperation function;
  MlirContext ctx;
  outline_operand *operands;
  intptr_t operand_count;
  uint32_t operand_capacity;
  outline_kernel *kernels;
  size_t kernel_count, number; /* number: of the next name */
  uint32_t kernel_capacity;
  MlirSymbolTable symbols; /* of the module as it was */
  uint64_t *words;
  size_t word_count;
  uint32_t word_capacity;
  bool out_of_memory;
} outline_state;

/* ---- where values lie ---- */

static bool outline_is_scalar(const outline_state *s, MlirValue value) {
  return mlirValueIsABlockArgument(value) &&
         loom_argument_has(s->function, mlirBlockArgumentGetArgNumber(value), loom_mark_scalar);
}

static outline_operand *outline_add_operand(outline_state *s) {
  if (!loom_grow(&s->operands, (size_t)s->operand_count, &s->operand_capacity,
                 sizeof *s->operands)) {
    s->out_of_memory = true;
    return NULL;
  }
  outline_operand *operand = &s->operands[s->operand_count++];
  memset(operand, 0, sizeof *operand);
  return operand;
}

/* ---- views that are only other strides ---- */

static bool outline_view(MlirOperation op, const outline_operand *in, outline_operand *out) {
  loom_layout from = {.type = in->type}, to;
  memcpy(from.strides, in->strides, sizeof from.strides);
  if (!loom_layout_view(op, &from, &to) || to.base != 0) return false;
  *out = (outline_operand){.outer = in->outer, .type = to.type};
  memcpy(out->strides, to.strides, sizeof to.strides);
  return true;
}

/* An operand of this layout for the same outer value: an existing argument or a new one. */
static MlirValue outline_argument_for(outline_state *s, MlirBlock block, MlirLocation loc,
                                      const outline_operand *wanted) {
  for (intptr_t i = 0; i < s->operand_count; i++) {
    const outline_operand *have = &s->operands[i];
    if (have->outer.ptr == wanted->outer.ptr && loom_type_equal(&have->type, &wanted->type) &&
        !memcmp(have->strides, wanted->strides, sizeof have->strides))
      return mlirBlockGetArgument(block, i);
  }
  outline_operand *operand = outline_add_operand(s);
  if (!operand) return (MlirValue){NULL};
  *operand = *wanted;
  return mlirBlockAddArgument(block, loom_type_to_mlir(s->ctx, &wanted->type), loc);
}

/* Moves views of arguments into strides, then drops arguments that nobody reads. */
static void outline_absorb_views(outline_state *s, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block), next; op.ptr; op = next) {
    next = mlirOperationGetNextInBlock(op);
    if (loom_class_of(op) != LOOM_CLASS_VIEW || mlirOperationGetNumOperands(op) != 1) continue;
    MlirValue source = loom_operand(op, 0);
    outline_operand out;
    if (!mlirValueIsABlockArgument(source)) continue;
    outline_operand in = s->operands[mlirBlockArgumentGetArgNumber(source)];
    if (in.scalar || !outline_view(op, &in, &out)) continue;
    MlirValue made = outline_argument_for(s, block, mlirValueGetLocation(source), &out);
    if (!made.ptr) return;
    mlirValueReplaceAllUsesOfWith(loom_result(op, 0), made);
    mlirOperationDestroy(op);
  }
  for (intptr_t i = s->operand_count - 1; i >= 0; i--) {
    if (!mlirOpOperandIsNull(mlirValueGetFirstUse(mlirBlockGetArgument(block, i)))) continue;
    mlirBlockEraseArgument(block, (unsigned)i);
    s->operand_count--;
    memmove(&s->operands[i], &s->operands[i + 1],
            sizeof *s->operands * (size_t)(s->operand_count - i));
  }
}

/* ---- what a kernel's buffers are ---- */

static bool outline_is_pointwise_body(MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    loom_class class = loom_class_of(op);
    if (class != LOOM_CLASS_POINTWISE && class != LOOM_CLASS_CONSTANT && !loom_info(op)->ends)
      return false;
  }
  return true;
}

/* Is this apply or fusion the last op that reads `value`, and is it only read once? */
static bool outline_dies_here(MlirValue value, MlirOperation here) {
  MlirOpOperand use = mlirValueGetFirstUse(value);
  return !mlirOpOperandIsNull(use) && mlirOpOperandIsNull(mlirOpOperandGetNextUse(use)) &&
         mlirOperationEqual(mlirOpOperandGetOwner(use), here);
}

static bool outline_is_returned(MlirValue value) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (loom_is_named(user, "func.return") || loom_info(user)->alias) return true;
  }
  return false;
}

/* A scatter or an update in place overwrites its operand (loom-fuse has seen to it that it may),
 * also in an output. */
static int64_t outline_overwritten(const outline_state *s, MlirOperation fusion,
                                   MlirOperation inside) {
  MlirValue operand = loom_operand(inside, 0);
  if (!mlirValueIsABlockArgument(operand)) return -1;
  int64_t i = mlirBlockArgumentGetArgNumber(operand);
  MlirValue outer = s->operands[i].outer;
  MlirOperation def = loom_def(outer);
  bool made = def.ptr && (loom_info(def)->applies || loom_info(def)->control);
  return made && !s->operands[i].scalar && loom_is_read_last(outer, fusion) ? i : -1;
}

/* Which dying operand a result may overwrite: a pointwise body, no view of it, the same layout and
 * element size, and the value is not returned (outputs have buffers of their own). -1: none. */
static int64_t outline_inplace(const outline_state *s, MlirOperation fusion, MlirBlock block,
                               intptr_t result, const int64_t *strides, uint64_t *taken) {
  loom_type type;
  MlirValue value = loom_result(fusion, result);
  MlirOperation inside = loom_overwriting(block);
  if (inside.ptr) return outline_overwritten(s, fusion, inside);
  if (outline_is_returned(value) || !outline_is_pointwise_body(block) ||
      !loom_type_from_mlir(mlirValueGetType(value), &type))
    return -1;
  for (intptr_t i = 0; i < s->operand_count && i < 64; i++) {
    const outline_operand *operand = &s->operands[i];
    MlirOperation def = loom_def(operand->outer);
    if (!def.ptr || !loom_info(def)->applies || *taken >> i & 1 ||
        !outline_dies_here(operand->outer, fusion) || operand->type.rank != type.rank ||
        loom_dtype_size(operand->type.dtype) != loom_dtype_size(type.dtype) ||
        memcmp(operand->type.dims, type.dims, sizeof type.dims) ||
        memcmp(operand->strides, strides, sizeof *strides * (size_t)type.rank))
      continue;
    bool twice = false;
    for (intptr_t k = 0; k < s->operand_count; k++)
      twice |= k != i && s->operands[k].outer.ptr == operand->outer.ptr;
    if (twice) continue;
    *taken |= (uint64_t)1 << i;
    return i;
  }
  return -1;
}

/* Is `value` read once by `here`, and never by what comes after it? */
static bool outline_ends_here(MlirValue value, MlirOperation here) {
  int reads = 0;
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    reads += mlirOperationEqual(user, here);
    for (MlirOperation op = mlirOperationGetNextInBlock(here); op.ptr;
         op = mlirOperationGetNextInBlock(op))
      if (mlirOperationEqual(user, op) || loom_info(user)->alias) return false;
  }
  return reads == 1;
}

/* The result of the group or loop that overwrites `value` in place, or null. */
static MlirValue outline_overwritten_later(MlirValue value) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    intptr_t taken = loom_info(user)->control ? loom_loop_takes(user, value) : -1;
    if (taken >= 0) return loom_result(user, taken);
    MlirBlock body = loom_body(user);
    if (!body.ptr) continue;
    MlirOperation inside = loom_overwriting(body);
    if (inside.ptr &&
        mlirValueEqual(loom_operand(inside, 0),
                       mlirBlockGetArgument(body, mlirOpOperandGetOperandNumber(use))))
      return loom_result(user, 0);
  }
  return (MlirValue){NULL};
}

/* The one result of the function that `value` is, perhaps after it was overwritten in place; -1.
 * Others may read it then: from the result's own buffer. */
static intptr_t outline_result_number(MlirValue value) {
  intptr_t number = -1;
  for (MlirValue next; (next = outline_overwritten_later(value)).ptr;)
    value = next;
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    if (!loom_is_named(mlirOpOperandGetOwner(use), "func.return")) continue;
    if (number >= 0) return -1;
    number = mlirOpOperandGetOperandNumber(use);
  }
  return number;
}

/* The operand whose buffer the caller may pass for a result too (`loom.overwrites` of the
 * function's result): a pointwise body, nobody reads it later, the same type and layout. -1: none.
 */
static int64_t outline_overlap(const outline_state *s, MlirOperation fusion, MlirBlock block,
                               intptr_t result, const int64_t *strides) {
  MlirValue value = loom_result(fusion, result);
  intptr_t number = outline_is_pointwise_body(block) ? outline_result_number(value) : -1;
  int64_t argument = number < 0 ? -1 : loom_result_overwrites(s->function, number);
  loom_type type;
  if (argument < 0 || !loom_type_from_mlir(mlirValueGetType(value), &type)) return -1;
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(s->function, 0));
  MlirValue outer = mlirBlockGetArgument(body, argument);
  int64_t found = -1;
  for (intptr_t i = 0; i < s->operand_count; i++) {
    const outline_operand *operand = &s->operands[i];
    if (operand->outer.ptr != outer.ptr) continue;
    if (found >= 0 || operand->scalar || !outline_ends_here(outer, fusion) ||
        !loom_type_equal(&operand->type, &type) ||
        memcmp(operand->strides, strides, sizeof *strides * (size_t)type.rank))
      return -1;
    found = i;
  }
  return found;
}

static uint32_t outline_fp(MlirBlock block) {
  uint32_t fp = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    fp |= loom_fp_of(op);
  return fp;
}

/* ---- identical kernels ---- */

static void outline_word(outline_state *s, uint64_t word) {
  if (!loom_grow(&s->words, (size_t)s->word_count, &s->word_capacity, sizeof *s->words)) {
    s->out_of_memory = true;
    return;
  }
  s->words[s->word_count++] = word;
}

/* Names, attributes and types are unique in a context, so their addresses stand for them. */
static void outline_describe(outline_state *s, MlirBlock block, intptr_t attr_count,
                             const loom_named *attrs) {
  loom_map numbers = {0};
  int64_t next = 0;
  s->word_count = 0;
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); i++) {
    MlirValue argument = mlirBlockGetArgument(block, i);
    outline_word(s, (uintptr_t)mlirValueGetType(argument).ptr);
    if (!loom_map_put(&numbers, argument.ptr, next++)) s->out_of_memory = true;
  }
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    outline_word(s, (uintptr_t)mlirOperationGetName(op).ptr);
    outline_word(s, (uintptr_t)mlirOperationGetNumOperands(op));
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++)
      outline_word(s, (uint64_t)loom_map_get(&numbers, loom_operand(op, i).ptr, -1));
    for (intptr_t i = 0; i < mlirOperationGetNumAttributes(op); i++) {
      outline_word(s, (uintptr_t)mlirOperationGetAttribute(op, i).name.ptr);
      outline_word(s, (uintptr_t)mlirOperationGetAttribute(op, i).attribute.ptr);
    }
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
      outline_word(s, (uintptr_t)mlirValueGetType(loom_result(op, i)).ptr);
      if (!loom_map_put(&numbers, loom_result(op, i).ptr, next++)) s->out_of_memory = true;
    }
  }
  for (intptr_t i = 0; i < attr_count; i++) {
    outline_word(s, (uintptr_t)mlirIdentifierGet(s->ctx, loom_str(attrs[i].name)).ptr);
    outline_word(s, (uintptr_t)attrs[i].value.ptr);
  }
  loom_map_fini(&numbers);
}

static bool outline_is_taken(const outline_state *s, const char *name) {
  return mlirSymbolTableLookup(s->symbols, loom_str(name)).ptr != NULL;
}

/* A name that nothing in the module has, and whose stages (loom-lower) have such names, too. */
static void outline_name(outline_state *s, outline_kernel *kernel) {
  char stage[sizeof kernel->name + 4];
  do {
    snprintf(kernel->name, sizeof kernel->name, "k%zu", s->number++);
    snprintf(stage, sizeof stage, "%s_s0", kernel->name);
  } while (outline_is_taken(s, kernel->name) || outline_is_taken(s, stage));
}

/* The kernel that has the words now described, or a new entry with a fresh name. */
static outline_kernel *outline_find_kernel(outline_state *s, bool *is_new) {
  *is_new = false;
  for (size_t i = 0; i < s->kernel_count; i++)
    if (s->kernels[i].count == s->word_count &&
        !memcmp(s->kernels[i].words, s->words, sizeof *s->words * s->word_count))
      return &s->kernels[i];
  if (!loom_grow(&s->kernels, (size_t)s->kernel_count, &s->kernel_capacity, sizeof *s->kernels))
    return NULL;
  outline_kernel *kernel = &s->kernels[s->kernel_count];
  kernel->words = malloc(sizeof *s->words * s->word_count);
  if (!kernel->words) return NULL;
  memcpy(kernel->words, s->words, sizeof *s->words * s->word_count);
  kernel->count = s->word_count;
  s->kernel_count++;
  outline_name(s, kernel);
  *is_new = true;
  return kernel;
}

/* ---- one fusion ---- */

static bool outline_read_operands(outline_state *s, MlirOperation fusion) {
  s->operand_count = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(fusion); i++) {
    outline_operand *operand = outline_add_operand(s);
    if (!operand) return false;
    operand->outer = loom_operand(fusion, i);
    if (!loom_type_from_mlir(mlirValueGetType(operand->outer), &operand->type) ||
        !loom_type_is_sized(&operand->type))
      return loom_emit_error(mlirOperationGetLocation(fusion),
                             "a kernel needs operands of known size");
    operand->scalar = outline_is_scalar(s, operand->outer);
    loom_value_strides(s->function, operand->outer, &operand->type, operand->strides);
  }
  return true;
}

/* `loom.same` of a kernel with a product: of each operand the first one that is the same value,
 * perhaps with other strides. Null: no two are. */
static MlirAttribute outline_same(const outline_state *s, MlirBlock block) {
  int64_t first[64];
  bool twice = false;
  if (!loom_product_in(block).ptr || s->operand_count > 64) return (MlirAttribute){NULL};
  for (intptr_t i = 0; i < s->operand_count; i++) {
    for (first[i] = 0; s->operands[first[i]].outer.ptr != s->operands[i].outer.ptr;)
      first[i]++;
    twice |= first[i] != i;
  }
  return twice ? loom_attr_i64s(s->ctx, s->operand_count, first) : (MlirAttribute){NULL};
}

static bool outline_attributes(outline_state *s, MlirOperation fusion, MlirBlock block,
                               loom_named out[OUTLINE_ATTRS], intptr_t *count) {
  intptr_t results = mlirOperationGetNumResults(fusion), total = s->operand_count + results;
  MlirAttribute *strides = malloc(sizeof *strides * (size_t)(total + 1));
  int64_t *numbers = malloc(sizeof *numbers * 2 * (size_t)(total + 1)), *overlaps = NULL;
  bool good = strides && numbers, overlapping = false;
  if (good) overlaps = numbers + total + 1;
  intptr_t scalars = 0;
  uint64_t taken = 0;
  for (intptr_t i = 0; good && i < s->operand_count; i++) {
    const outline_operand *operand = &s->operands[i];
    strides[i] = loom_attr_i64s(s->ctx, operand->type.rank, operand->strides);
    if (operand->scalar) numbers[scalars++] = i;
  }
  if (good) out[1] = (loom_named){"scalars", loom_attr_i64s(s->ctx, scalars, numbers)};
  for (intptr_t i = 0; good && i < results; i++) {
    loom_type type;
    int64_t layout[LOOM_MAX_RANK];
    good = loom_type_from_mlir(mlirValueGetType(loom_result(fusion, i)), &type) &&
           loom_type_is_sized(&type);
    if (!good) {
      loom_emit_error(mlirOperationGetLocation(fusion), "a kernel needs results of known size");
      break;
    }
    loom_value_strides(s->function, loom_result(fusion, i), &type, layout);
    strides[s->operand_count + i] = loom_attr_i64s(s->ctx, type.rank, layout);
    numbers[i] = outline_inplace(s, fusion, block, i, layout, &taken);
    overlaps[i] = outline_overlap(s, fusion, block, i, layout);
    overlapping |= overlaps[i] >= 0;
  }
  *count = 4;
  if (good) {
    out[0] = (loom_named){"strides", mlirArrayAttrGet(s->ctx, total, strides)};
    out[2] = (loom_named){"inplace", loom_attr_i64s(s->ctx, results, numbers)};
    out[3] = (loom_named){"fp", loom_attr_i64(s->ctx, outline_fp(block))};
    if (overlapping)
      out[(*count)++] = (loom_named){loom_mark_overlaps, loom_attr_i64s(s->ctx, results, overlaps)};
    MlirAttribute same = outline_same(s, block);
    if (same.ptr) out[(*count)++] = (loom_named){loom_mark_same, same};
  }
  free(strides);
  free(numbers);
  return good;
}

static void outline_make_kernel(outline_state *s, MlirOperation fusion, const char *name,
                                const loom_named *attrs, intptr_t count) {
  loom_builder b = loom_builder_before(s->function);
  b.loc = mlirOperationGetLocation(fusion);
  MlirRegion region = mlirRegionCreate();
  mlirRegionTakeBody(region, mlirOperationGetRegion(fusion, 0));
  loom_named all[OUTLINE_ATTRS + 1] = {{"sym_name", loom_attr_str(s->ctx, name)}};
  memcpy(all + 1, attrs, sizeof *attrs * (size_t)count);
  loom_build_op_regions(&b, LOOM_OP_KERNEL, 0, NULL, 0, NULL, count + 1, all, 1, &region);
}

enum { OUTLINE_COUNT_KERNELS, OUTLINE_COUNT_SHARED };

static void outline_tell(MlirOperation fusion, const char *kernel, bool is_new) {
  loom_count(is_new ? OUTLINE_COUNT_KERNELS : OUTLINE_COUNT_SHARED, 1);
  if (!is_new)
    loom_remark(LOOM_REMARK_PASSED, mlirOperationGetLocation(fusion), "share",
                "the group is the same as another one: @%s computes both", kernel);
}

static bool outline_fusion(MlirOperation fusion, void *user) {
  outline_state *s = user;
  MlirBlock block = loom_body(fusion);
  if (!block.ptr) return true;
  loom_named attrs[OUTLINE_ATTRS];
  intptr_t count;
  bool is_new;
  if (!outline_read_operands(s, fusion)) return false;
  outline_absorb_views(s, block);
  if (!outline_attributes(s, fusion, block, attrs, &count)) return false;
  outline_describe(s, block, count, attrs);
  outline_kernel *kernel = s->out_of_memory ? NULL : outline_find_kernel(s, &is_new);
  if (!kernel) return loom_emit_error(mlirOperationGetLocation(fusion), "out of memory");
  outline_tell(fusion, kernel->name, is_new);
  if (is_new) outline_make_kernel(s, fusion, kernel->name, attrs, count);

  intptr_t results = mlirOperationGetNumResults(fusion);
  MlirValue *operands = malloc(sizeof *operands * (size_t)(s->operand_count + 1));
  MlirType *types = malloc(sizeof *types * (size_t)(results + 1));
  if (operands && types) {
    for (intptr_t i = 0; i < s->operand_count; i++)
      operands[i] = s->operands[i].outer;
    for (intptr_t i = 0; i < results; i++)
      types[i] = mlirValueGetType(loom_result(fusion, i));
    loom_builder b = loom_builder_before(fusion);
    loom_named name = {"kernel", mlirFlatSymbolRefAttrGet(s->ctx, loom_str(kernel->name))};
    MlirOperation apply =
        loom_build_op(&b, LOOM_OP_APPLY, s->operand_count, operands, results, types, 1, &name);
    MlirAttribute orders = loom_get_attr(fusion, loom_mark_orders);
    if (orders.ptr) loom_set_attr(apply, loom_mark_orders, orders);
    for (intptr_t i = 0; i < results; i++)
      mlirValueReplaceAllUsesOfWith(loom_result(fusion, i), loom_result(apply, i));
    mlirOperationDestroy(fusion);
  }
  bool good = operands && types;
  free(operands);
  free(types);
  return good || loom_emit_error(mlirOperationGetLocation(s->function), "out of memory");
}

static bool outline_run(MlirOperation module) {
  outline_state s = {.ctx = mlirOperationGetContext(module),
                     .symbols = mlirSymbolTableCreate(module)};
  bool good = true;
  for (MlirOperation f = loom_next_function(module, s.function); f.ptr && good;
       f = loom_next_function(module, f)) {
    s.function = f;
    good =
        loom_walk_block(mlirRegionGetFirstBlock(mlirOperationGetRegion(f, 0)), outline_fusion, &s);
  }
  for (size_t i = 0; i < s.kernel_count; i++)
    free(s.kernels[i].words);
  free(s.kernels);
  free(s.operands);
  free(s.words);
  mlirSymbolTableDestroy(s.symbols);
  return good;
}

MlirPass loom_make_outline_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LoomOutline",
      .flag = "loom-outline",
      .summary = "Turn each loom.fusion into a loom.kernel symbol and a loom.apply",
      .root = "builtin.module",
      .run = outline_run,
      .counters = {{"kernels", "kernels made"},
                   {"shared", "groups that have the kernel of another one"}}};
  return loom_pass_of(&spec);
}
