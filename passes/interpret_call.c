/* One call of a function or a plan, for loom-interpret and loom-check-stages: what it takes and
 * gives, values for symbolic sizes, arrays, and the way to what runs it. */
#include <inttypes.h>
#include <mlir-c/AffineMap.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "graph/arrays.h"
#include "loom_ops_compiler.h"
#include "passes/interpret.h"

enum {
  CALL_SIZE = 3,       /* of a symbolic size without values */
  CALL_STRIDE = 4096,  /* of a symbolic stride */
  CALL_SYMBOLS = 1024, /* a module without a table may name so many */
  CALL_BYTES = 1 << 30 /* of one array */
};

interpret_native loom_interpret_native;
_Thread_local int loom_interpret_seconds;

bool interpret_refuse(interpret_call *c, MlirOperation op, const char *format, ...) {
  char text[300];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  loom_fail(&c->err, "'%.*s': %s, at ", (int)name.length, name.data, text);
  mlirLocationPrint(mlirOperationGetLocation(op), loom_error_append, &c->err);
  return false;
}

MlirOperation interpret_find(const interpret_call *c, MlirAttribute symbol) {
  if (!symbol.ptr || !mlirAttributeIsAFlatSymbolRef(symbol)) return (MlirOperation){NULL};
  MlirStringRef name = mlirFlatSymbolRefAttrGetValue(symbol);
  MlirOperation op =
      mlirBlockGetFirstOperation(mlirRegionGetFirstBlock(mlirOperationGetRegion(c->module, 0)));
  while (op.ptr && !mlirStringRefEqual(loom_get_str(op, "sym_name"), name))
    op = mlirOperationGetNextInBlock(op);
  return op;
}

/* ---- what it takes and gives ---- */

static bool call_is_tensors(MlirType function) {
  for (intptr_t i = 0; i < mlirFunctionTypeGetNumInputs(function); i++)
    if (!mlirTypeIsARankedTensor(mlirFunctionTypeGetInput(function, i))) return false;
  for (intptr_t i = 0; i < mlirFunctionTypeGetNumResults(function); i++)
    if (!mlirTypeIsARankedTensor(mlirFunctionTypeGetResult(function, i))) return false;
  return true;
}

static MlirType call_type(MlirOperation function) {
  MlirAttribute type = loom_get_attr(function, "function_type");
  bool there =
      type.ptr && mlirAttributeIsAType(type) && mlirTypeIsAFunction(mlirTypeAttrGetValue(type));
  return there ? mlirTypeAttrGetValue(type) : (MlirType){NULL};
}

bool interpret_is_root(MlirOperation op) {
  if (loom_get_attr(op, loom_mark_region).ptr) return false;
  if (loom_is(op, LOOM_OP_PLAN)) return true;
  if (!loom_is_named(op, "func.func")) return false;
  MlirType type = call_type(op);
  return type.ptr && call_is_tensors(type) &&
         mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0)).ptr;
}

/* The attributes of an argument or result in a list of dictionaries; null where it has none. */
static MlirAttribute call_dict(MlirAttribute all, intptr_t index) {
  bool there = all.ptr && mlirAttributeIsAArray(all) && index < mlirArrayAttrGetNumElements(all);
  MlirAttribute dict = there ? mlirArrayAttrGetElement(all, index) : (MlirAttribute){NULL};
  return dict.ptr && mlirAttributeIsADictionary(dict) ? dict : (MlirAttribute){NULL};
}

static MlirAttribute call_mark(MlirAttribute dict, const char *name) {
  return dict.ptr ? mlirDictionaryAttrGetElementByName(dict, loom_str(name))
                  : (MlirAttribute){NULL};
}

static bool call_array(interpret_call *c, MlirType type, MlirAttribute dict, interpret_array *out) {
  memset(out, 0, sizeof *out);
  if (!loom_type_from_mlir_in(&c->table, type, &out->declared))
    return interpret_refuse(c, c->root, "a size of an argument or result has no expression");
  MlirAttribute strides = call_mark(dict, loom_mark_strides);
  out->scalar = call_mark(dict, loom_mark_scalar).ptr != NULL;
  out->constant = call_mark(dict, loom_mark_const).ptr != NULL;
  out->values = call_mark(dict, loom_mark_values);
  if (strides.ptr) {
    if (loom_attr_read_i64s(strides, out->strides, LOOM_MAX_RANK) != out->declared.rank)
      return interpret_refuse(c, c->root, "loom.strides has not one number for each dimension");
    return true;
  }
  int64_t step = 1;
  for (int d = out->declared.rank - 1; d >= 0; d--) {
    out->strides[d] = step;
    if (!loom_stride_combine(&c->table, LOOM_EXPR_MUL, step,
                             loom_stride_of_dim(out->declared.dims[d]), &step))
      return interpret_refuse(c, c->root, "a size overflows");
  }
  return true;
}

static bool call_arrays(interpret_call *c, intptr_t inputs, intptr_t outputs) {
  c->input_count = (uint32_t)inputs;
  c->output_count = (uint32_t)outputs;
  c->inputs = loom_arena_alloc(&c->table.arena, sizeof *c->inputs * (size_t)(inputs + 1));
  c->outputs = loom_arena_alloc(&c->table.arena, sizeof *c->outputs * (size_t)(outputs + 1));
  return (c->inputs && c->outputs) || loom_fail(&c->err, "out of memory");
}

static bool call_signature(interpret_call *c, MlirType type, MlirAttribute arguments,
                           MlirAttribute results) {
  if (!call_arrays(c, mlirFunctionTypeGetNumInputs(type), mlirFunctionTypeGetNumResults(type)))
    return false;
  for (uint32_t i = 0; i < c->input_count; i++)
    if (!call_array(c, mlirFunctionTypeGetInput(type, i), call_dict(arguments, i), &c->inputs[i]))
      return false;
  for (uint32_t i = 0; i < c->output_count; i++)
    if (!call_array(c, mlirFunctionTypeGetResult(type, i), call_dict(results, i), &c->outputs[i]))
      return false;
  return true;
}

/* A plan whose sizes and strides are all static says them by its memrefs. */
static bool call_memref(interpret_call *c, MlirType type, interpret_array *out) {
  memset(out, 0, sizeof *out);
  int64_t offset;
  out->scalar = !mlirTypeIsAMemRef(type);
  if (!loom_type_from_mlir(type, &out->declared) || !mlirShapedTypeHasStaticShape(type))
    return interpret_refuse(c, c->root, "its symbolic sizes need loom.signature");
  if (out->scalar) return true;
  MlirAttribute layout = mlirMemRefTypeGetLayout(type);
  if (mlirAttributeIsAAffineMap(layout) &&
      mlirAffineMapIsIdentity(mlirAffineMapAttrGetValue(layout))) {
    loom_contiguous_strides(&out->declared, out->strides);
    return true;
  }
  if (mlirLogicalResultIsFailure(mlirMemRefTypeGetStridesAndOffset(type, out->strides, &offset)))
    return interpret_refuse(c, c->root, "an argument has no strides");
  for (int d = 0; d < out->declared.rank; d++)
    if (mlirShapedTypeIsDynamicStrideOrOffset(out->strides[d]))
      return interpret_refuse(c, c->root, "its symbolic strides need loom.signature");
  return true;
}

static bool call_plan(interpret_call *c) {
  MlirAttribute signature = loom_get_attr(c->root, loom_mark_signature);
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(c->root, 0));
  intptr_t count = mlirBlockGetNumArguments(block);
  int64_t inputs = loom_get_i64(c->root, "inputs", 0);
  if (inputs < 0 || inputs > count) return interpret_refuse(c, c->root, "inputs: a wrong number");
  if (signature.ptr) {
    bool good = mlirAttributeIsAArray(signature) && mlirArrayAttrGetNumElements(signature) == 3;
    MlirAttribute type = good ? mlirArrayAttrGetElement(signature, 0) : (MlirAttribute){NULL};
    good = good && mlirAttributeIsAType(type) && mlirTypeIsAFunction(mlirTypeAttrGetValue(type)) &&
           call_is_tensors(mlirTypeAttrGetValue(type)) &&
           mlirFunctionTypeGetNumInputs(mlirTypeAttrGetValue(type)) == inputs &&
           mlirFunctionTypeGetNumResults(mlirTypeAttrGetValue(type)) == count - inputs;
    if (!good) return interpret_refuse(c, c->root, "loom.signature is not that of the plan");
    return call_signature(c, mlirTypeAttrGetValue(type), mlirArrayAttrGetElement(signature, 1),
                          mlirArrayAttrGetElement(signature, 2));
  }
  if (!call_arrays(c, inputs, count - inputs)) return false;
  for (intptr_t i = 0; i < count; i++) {
    interpret_array *array = i < inputs ? &c->inputs[i] : &c->outputs[i - inputs];
    if (!call_memref(c, mlirValueGetType(mlirBlockGetArgument(block, i)), array)) return false;
  }
  int64_t consts[256];
  intptr_t given = loom_get_i64s(c->root, "consts", consts, 256);
  for (intptr_t i = 0; i < given && i < 256; i++)
    if (consts[i] >= 0 && consts[i] < inputs) c->inputs[consts[i]].constant = true;
  return true;
}

/* ---- values of symbols ---- */

static int64_t call_choose(const loom_symbol *symbol, int64_t size) {
  int64_t divisor = symbol->divisor > 1 ? symbol->divisor : 1;
  int64_t value = symbol->min < 0 ? CALL_STRIDE : size; /* only a stride may be negative */
  if (value < symbol->min) value = symbol->min;
  if (value % divisor) value += divisor - value % divisor;
  if (value > symbol->max) value = symbol->max - symbol->max % divisor;
  return value;
}

static bool call_from_values(interpret_call *c, uint32_t index) {
  loom_type type;
  const interpret_array *in = &c->inputs[index];
  if (!in->values.ptr) return true;
  if (!mlirAttributeIsADenseElements(in->values) ||
      !loom_type_from_mlir(mlirAttributeGetType(in->values), &type) ||
      type.dtype != in->declared.dtype || type.rank != in->declared.rank)
    return loom_fail(&c->err, "loom.values of argument %u is no dense constant of its type", index);
  for (int d = 0; d < type.rank; d++) {
    loom_dim dim = in->declared.dims[d];
    if (!LOOM_DIM_IS_SYM(dim)) continue;
    const loom_expr *expr = &c->table.exprs[LOOM_DIM_EXPR(dim)];
    if (expr->kind != LOOM_EXPR_SYMBOL) continue;
    c->symbols[expr->value] = type.dims[d];
    c->given[expr->value] = true;
  }
  return true;
}

bool interpret_open(interpret_call *c, MlirOperation root) {
  memset(c, 0, sizeof *c);
  loom_graph_init(&c->table);
  c->root = root;
  c->module = mlirOperationGetParentOperation(root);
  if (!loom_sizes_load(root, &c->table))
    return loom_fail(&c->err, "loom.symbols and loom.exprs are no table of sizes");
  bool function = loom_is_named(root, "func.func");
  if (function ? !call_signature(c, call_type(root), loom_get_attr(root, "arg_attrs"),
                                 loom_get_attr(root, "res_attrs"))
               : !call_plan(c))
    return false;
  c->symbol_count = c->table.symbol_count + CALL_SYMBOLS;
  c->symbols = loom_arena_alloc(&c->table.arena, sizeof *c->symbols * c->symbol_count);
  c->given = loom_arena_alloc(&c->table.arena, c->symbol_count);
  if (!c->symbols || !c->given) return loom_fail(&c->err, "out of memory");
  for (uint32_t i = 0; i < c->symbol_count; i++)
    c->symbols[i] =
        i < c->table.symbol_count ? call_choose(&c->table.symbols[i], CALL_SIZE) : CALL_SIZE;
  for (uint32_t i = 0; i < c->input_count; i++)
    if (!call_from_values(c, i)) return false;
  return true;
}

void interpret_resize(interpret_call *c, int64_t size) {
  for (uint32_t i = 0; i < c->table.symbol_count; i++)
    if (!c->given[i]) c->symbols[i] = call_choose(&c->table.symbols[i], size + i);
}

void interpret_close(interpret_call *c) { loom_graph_fini(&c->table); }

bool interpret_number(interpret_call *c, int64_t number, int64_t *out) {
  return (loom_number_exists(&c->table, number) &&
          loom_stride_eval(&c->table, number, c->symbols, out)) ||
         loom_fail(&c->err, "a symbolic number has no valid value");
}

bool interpret_size(interpret_call *c, const loom_graph *graph, const loom_type *type,
                    loom_type *out) {
  *out = *type;
  if (graph->symbol_count > c->symbol_count) return loom_fail(&c->err, "too many symbolic sizes");
  for (int d = 0; d < type->rank; d++)
    if (!loom_dim_eval(graph, type->dims[d], c->symbols, &out->dims[d]) || out->dims[d] < 0)
      return loom_fail(&c->err, "a symbolic size has no valid value");
  int64_t count = loom_type_elements(out);
  return (count >= 0 && count <= CALL_BYTES / (int64_t)loom_dtype_size(type->dtype)) ||
         loom_fail(&c->err, "an array is too large");
}

/* ---- arrays ---- */

static bool call_allocate(interpret_call *c, interpret_array *array) {
  loom_type type;
  if (!interpret_size(c, &c->table, &array->declared, &type)) return false;
  size_t size = loom_dtype_size(type.dtype);
  array->buffer.type = type;
  array->buffer.data =
      loom_arena_alloc(&c->table.arena, (size_t)loom_type_elements(&type) * size + 1);
  loom_contiguous_strides(&type, array->buffer.strides);
  return array->buffer.data || loom_fail(&c->err, "out of memory");
}

bool interpret_allocate(interpret_call *c) {
  for (uint32_t i = 0; i < c->input_count; i++)
    if (!call_allocate(c, &c->inputs[i])) return false;
  for (uint32_t i = 0; i < c->output_count; i++)
    if (!call_allocate(c, &c->outputs[i])) return false;
  return true;
}

static bool call_fill_values(interpret_call *c, uint32_t index) {
  loom_type type;
  loom_buffer *in = &c->inputs[index].buffer;
  MlirAttribute values = c->inputs[index].values;
  if (!loom_type_from_mlir(mlirAttributeGetType(values), &type) ||
      !loom_type_equal(&type, &in->type))
    return loom_fail(&c->err, "loom.values of argument %u is no dense constant of its type", index);
  size_t size = loom_dtype_size(type.dtype);
  bool splat = mlirDenseElementsAttrIsSplat(values);
  int64_t count = loom_type_elements(&type);
  for (int64_t i = 0; i < count; i++) {
    char *at = (char *)in->data + (size_t)i * size;
    if (type.dtype == LOOM_BOOL)
      *at = splat ? mlirDenseElementsAttrGetBoolSplatValue(values)
                  : mlirDenseElementsAttrGetBoolValue(values, i);
    else
      memcpy(at,
             (const char *)mlirDenseElementsAttrGetRawData(values) + (splat ? 0 : (size_t)i * size),
             size);
  }
  return true;
}

bool interpret_fill(interpret_call *c, uint32_t index) {
  loom_buffer *in = &c->inputs[index].buffer;
  loom_dtype dtype = in->type.dtype;
  if (c->inputs[index].values.ptr) return call_fill_values(c, index);
  int64_t count = loom_type_elements(&in->type);
  for (int64_t i = 0; i < count; i++)
    loom_cell_store(dtype, (char *)in->data + (size_t)i * loom_dtype_size(dtype),
                    loom_cell_convert(LOOM_I64, dtype, (loom_cell){.i = i + index}));
  return true;
}

bool interpret_extent(const loom_type *type, const int64_t *strides, int64_t *low, int64_t *bytes) {
  int64_t below = 0, above = 0, size = (int64_t)loom_dtype_size(type->dtype), count = 1, last;
  for (int d = 0; d < type->rank; d++)
    count = type->dims[d] ? count : 0;
  for (int d = 0; count && d < type->rank; d++) {
    if (__builtin_mul_overflow(type->dims[d] - 1, strides[d], &last) || last > CALL_BYTES ||
        last < -CALL_BYTES)
      return false;
    below -= last < 0 ? last : 0;
    above += last > 0 ? last : 0;
  }
  *low = below * size;
  *bytes = count ? (below + above + 1) * size : 0;
  return *bytes <= CALL_BYTES;
}

bool interpret_view(interpret_call *c, MlirOperation kernel, intptr_t index,
                    const loom_graph *graph, const loom_type *type, loom_buffer *out) {
  MlirAttribute strides = loom_get_attr(kernel, "strides");
  int64_t codes[LOOM_MAX_RANK];
  if (!interpret_size(c, graph, type, &out->type)) return false;
  bool there = strides.ptr && mlirAttributeIsAArray(strides) &&
               index < mlirArrayAttrGetNumElements(strides) &&
               loom_attr_read_i64s(mlirArrayAttrGetElement(strides, index), codes, LOOM_MAX_RANK) ==
                   type->rank;
  if (!there)
    return interpret_refuse(c, kernel, "it does not say where buffer %d lies", (int)index);
  for (int d = 0; d < type->rank; d++)
    if (!interpret_number(c, codes[d], &out->strides[d])) return false;
  return true;
}

bool interpret_within(const loom_buffer *view, const void *low, int64_t bytes) {
  int64_t below, size;
  if (!interpret_extent(&view->type, view->strides, &below, &size)) return false;
  uintptr_t begin = (uintptr_t)view->data - (uintptr_t)below, from = (uintptr_t)low;
  return !size || (begin >= from && begin + (uintptr_t)size <= from + (uintptr_t)bytes);
}

static bool call_next(const loom_type *type, int64_t *index) {
  for (int d = type->rank - 1; d >= 0; d--) {
    if (++index[d] < type->dims[d]) return true;
    index[d] = 0;
  }
  return false;
}

void interpret_copy(const loom_buffer *to, const loom_buffer *from) {
  int64_t index[LOOM_MAX_RANK] = {0};
  int64_t size = (int64_t)loom_dtype_size(to->type.dtype);
  if (loom_type_elements(&to->type) <= 0) return;
  do {
    int64_t at = 0, source = 0;
    for (int d = 0; d < to->type.rank; d++) {
      at += index[d] * to->strides[d];
      source += index[d] * from->strides[d];
    }
    memcpy((char *)to->data + at * size, (const char *)from->data + source * size, (size_t)size);
  } while (call_next(&to->type, index));
}

/* An array as its strides lay it out: memory in the arena, `data` at its first element. */
static bool call_lay_out(interpret_call *c, const interpret_array *array, loom_buffer *out) {
  int64_t low, bytes;
  *out = array->buffer;
  for (int d = 0; d < out->type.rank; d++)
    if (!interpret_number(c, array->strides[d], &out->strides[d])) return false;
  if (!interpret_extent(&out->type, out->strides, &low, &bytes))
    return loom_fail(&c->err, "an array is too large");
  char *memory = loom_arena_alloc(&c->table.arena, (size_t)(bytes + c->skew) + 128);
  if (!memory) return loom_fail(&c->err, "out of memory");
  memory +=
      64 - (uintptr_t)memory % 64 + (uintptr_t)c->skew; /* 0: as the runtime's callers have it */
  memset(memory, 0xff, (size_t)bytes);
  out->data = memory + low;
  return true;
}

bool interpret_unify(interpret_call *c) {
  for (uint32_t i = 0; i < c->input_count; i++) {
    loom_buffer laid;
    if (!call_lay_out(c, &c->inputs[i], &laid)) return false;
    interpret_copy(&laid, &c->inputs[i].buffer);
    interpret_copy(&c->inputs[i].buffer, &laid);
  }
  return true;
}

/* ---- running ---- */

/* Has the module lowered kernels in place of loom.kernel ops? */
static bool call_is_lowered(const interpret_call *c) {
  bool lowered = false;
  MlirBlock top = mlirRegionGetFirstBlock(mlirOperationGetRegion(c->module, 0));
  for (MlirOperation op = mlirBlockGetFirstOperation(top); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    if (loom_body(op).ptr) return false;
    MlirType type = loom_is_named(op, "func.func") ? call_type(op) : (MlirType){NULL};
    lowered |= loom_is_named(op, "llvm.func") || (type.ptr && !call_is_tensors(type));
  }
  return lowered;
}

bool interpret_lay_out(interpret_call *c, interpret_laid *out) {
  size_t count = (size_t)c->input_count + c->output_count + 1;
  out->arrays = loom_arena_alloc(&c->table.arena, sizeof *out->arrays * count);
  out->data = loom_arena_alloc(&c->table.arena, sizeof *out->data * count);
  if (!out->arrays || !out->data) return loom_fail(&c->err, "out of memory");
  for (uint32_t i = 0; i < count - 1; i++) {
    bool in = i < c->input_count;
    const interpret_array *array = in ? &c->inputs[i] : &c->outputs[i - c->input_count];
    if (!call_lay_out(c, array, &out->arrays[i])) return false;
    if (in) interpret_copy(&out->arrays[i], &array->buffer);
    out->data[i] = out->arrays[i].data;
  }
  return true;
}

void interpret_collect(interpret_call *c, const interpret_laid *laid) {
  for (uint32_t i = 0; i < c->output_count; i++)
    interpret_copy(&c->outputs[i].buffer, &laid->arrays[c->input_count + i]);
}

static bool call_run_stage(interpret_call *c) {
  bool function = loom_is_named(c->root, "func.func"), lowered = !function && call_is_lowered(c);
  interpret_laid laid;
  if (lowered && !loom_interpret_native)
    return interpret_refuse(c, c->root, "this tool makes no machine code of lowered kernels");
  if (!interpret_lay_out(c, &laid)) return false;
  if (!(lowered    ? loom_interpret_native(c, laid.data, laid.data + c->input_count, &c->err)
        : function ? interpret_function(c, c->root, laid.arrays, laid.arrays + c->input_count)
                   : interpret_plan(c, laid.arrays)))
    return false;
  interpret_collect(c, &laid);
  return true;
}

bool interpret_run(interpret_call *c) {
  loom_interpret_within(loom_interpret_seconds);
  bool good = call_run_stage(c);
  loom_interpret_within(0);
  return good;
}

/* ---- results ---- */

void interpret_print(const interpret_call *c) {
  MlirStringRef name = loom_get_str(c->root, "sym_name");
  char text[80];
  for (uint32_t r = 0; r < c->output_count; r++) {
    const loom_buffer *out = &c->outputs[r].buffer;
    printf("%.*s %u: %s[", (int)name.length, name.data, r, loom_dtype_name(out->type.dtype));
    for (int i = 0; i < out->type.rank; i++)
      printf("%s%" PRId64, i ? "x" : "", out->type.dims[i]);
    printf("]");
    int64_t count = loom_type_elements(&out->type);
    size_t size = loom_dtype_size(out->type.dtype);
    for (int64_t i = 0; i < count; i++) {
      printf(" ");
      loom_dtype dtype = out->type.dtype;
      loom_cell_print(dtype, loom_cell_load(dtype, (char *)out->data + (size_t)i * size), text,
                      sizeof text);
      printf("%s", text);
    }
    printf("\n");
  }
  fflush(stdout);
}
