/* Kernels of one sort (alone.h): lines along the axis, each by a stable radix sort of keys whose
 * unsigned order is NumPy's (NaN last, whatever its sign; zeros equal). Elements are moved as they
 * are, and their keys made again where they are wanted, so that payloads and signs of zeros stay.
 * Short lines are sorted by insertion.
 *
 * A chunk is some lines; each has its own part of the slots: two copies of a line's elements (and
 * of their numbers, when the permutation is wanted), and the counters of each digit.
 *
 * The code of a line has loops that end where the data says: it is written as text of upstream
 * dialects and parsed, as a function that the kernel's body calls.
 */
#include "passes/alone.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SORT_INSERTION 24     /* elements that are sorted by insertion */
#define SORT_WIDE 4096        /* elements from which on digits are wider */
#define SORT_CHUNKS 16        /* at most */
#define SORT_WORK 16384       /* elements that make a chunk worth its launch */
#define SORT_BYTES (32 << 20) /* of slots, unless one line needs more */

#define SORT_ALIGN 64

typedef struct sort_job {
  MlirOperation op;
  sort_array a;
  int64_t digit, passes;
  int64_t elements, places, area; /* bytes: of one copy of the elements, of their numbers, of all */
  int64_t chunk_lines, chunks;
} sort_job;

bool sort_array_read(const lower_kernel *kernel, MlirOperation op, sort_array *a) {
  *a = (sort_array){.lines = 1};
  MlirOperation yield = mlirBlockGetTerminator(kernel->block);
  for (int i = 0; i < kernel->operand_count; i++)
    if (mlirValueEqual(kernel->operands[i].value, loom_operand(op, 0)) &&
        kernel->operands[i].slot >= 0)
      a->in = &kernel->operands[i];
  if (!a->in || kernel->result_count != 1 ||
      !mlirValueEqual(loom_operand(yield, 0), loom_result(op, 0)))
    return alone_refuse(op, "the operand is no buffer, or there is something beside it");
  a->out = &kernel->results[0];
  const loom_type *type = &a->in->type;
  a->dtype = type->dtype;
  if (loom_dtype_is_complex(a->dtype)) return alone_refuse(op, "no order of this element type");
  a->axis = (int)loom_get_i64(op, "axis", 0);
  a->n = type->dims[a->axis];
  MlirAttribute indices = loom_get_attr(op, "indices");
  a->numbers = indices.ptr && mlirAttributeIsABool(indices) && mlirBoolAttrGetValue(indices);
  a->bits = 8 * (int)loom_dtype_size(a->dtype);
  for (int d = 0; d < type->rank; d++)
    if (d != a->axis) a->lines *= type->dims[d];
  return true;
}

static bool sort_read(const lower_kernel *kernel, MlirOperation op, sort_job *j) {
  memset(j, 0, sizeof *j);
  j->op = op;
  if (!sort_array_read(kernel, op, &j->a)) return false;
  if (j->a.n >= INT32_MAX) return alone_refuse(op, "lines of 2^31 elements and more");
  j->digit = j->a.n < SORT_WIDE ? 8 : 11;
  j->passes = loom_ceil_div(j->a.bits, j->digit);
  j->elements = loom_ceil_div(j->a.n * (j->a.bits / 8), SORT_ALIGN) * SORT_ALIGN;
  j->places = j->a.numbers ? loom_ceil_div(j->a.n * 4, SORT_ALIGN) * SORT_ALIGN : 0;
  j->area = 2 * j->elements + 2 * j->places;
  if (j->a.n > SORT_INSERTION) j->area += j->passes * 4 << j->digit;
  j->area = loom_ceil_div(j->area + 1, SORT_ALIGN) * SORT_ALIGN;
  j->chunks = loom_ceil_div(j->a.lines, loom_ceil_div(SORT_WORK, j->a.n + 1));
  if (j->chunks > SORT_CHUNKS) j->chunks = SORT_CHUNKS;
  if (j->chunks > SORT_BYTES / j->area) j->chunks = SORT_BYTES / j->area;
  if (j->chunks < 1) j->chunks = 1;
  j->chunk_lines = loom_ceil_div(j->a.lines, j->chunks);
  if (j->chunk_lines < 1) j->chunk_lines = 1;
  j->chunks = loom_ceil_div(j->a.lines, j->chunk_lines);
  return true;
}

bool sort_plan(const lower_kernel *kernel, alone_plan *out) {
  sort_job job;
  if (!sort_read(kernel, out->op, &job)) return false;
  out->stage_count = 1;
  if (job.a.n == 0) job.chunks = 0;
  out->stages[0] = job.chunks;
  out->slots = job.chunks * job.area;
  return true;
}

/* ---- text: %name is a value, e an element's type, all indices are i64 ---- */

static const char *sort_element(const sort_job *j) {
  return j->a.bits == 8 ? "i8" : j->a.bits == 16 ? "i16" : j->a.bits == 32 ? "i32" : "i64";
}

/* Constants that the text uses: 0, 1, n, and others by name. */
static void sort_constants(FILE *f, const sort_job *j) {
  fprintf(f,
          "%%zero = arith.constant 0 : i64\n%%one = arith.constant 1 : i64\n"
          "%%n = arith.constant %" PRId64 " : i64\n%%none = arith.constant 0 : i32\n"
          "%%unit = arith.constant 1 : i32\n%%count = arith.constant %" PRId64 " : i32\n"
          "%%radix = arith.constant %d : i64\n%%mask = arith.constant %d : i64\n"
          "%%digit = arith.constant %" PRId64 " : i64\n%%passes = arith.constant %" PRId64
          " : i64\n",
          j->a.n, j->a.n, 1 << j->digit, (1 << j->digit) - 1, j->digit, j->passes);
}

/* func @<name>_key: an element as an unsigned number whose order is the wanted one. */
static void sort_key(FILE *f, const sort_job *j, const char *name) {
  const char *e = sort_element(j);
  bool real = loom_dtype_is_float(j->a.dtype);
  fprintf(f,
          "func.func private @%s_key(%%x: %s) -> i64 attributes {passthrough = [\"alwaysinline\"], "
          "llvm.linkage = #llvm.linkage<internal>} {\n",
          name, e);
  int64_t sign = (int64_t)(UINT64_C(1) << (j->a.bits - 1));
  if (j->a.bits < 64 && sign >> (j->a.bits - 1)) sign = -sign; /* as a signed number of the width */
  const char *key = "%x";
  if (loom_dtype_is_signed(j->a.dtype)) {
    fprintf(f, "%%s = arith.constant %" PRId64 " : %s\n%%k = arith.xori %%x, %%s : %s\n", sign, e,
            e);
    key = "%k";
  } else if (real) {
    int64_t infinity = j->a.dtype == LOOM_F64    ? INT64_C(0x7FF0000000000000)
                       : j->a.dtype == LOOM_F32  ? 0x7F800000
                       : j->a.dtype == LOOM_BF16 ? 0x7F80
                                                 : 0x7C00;
    fprintf(f,
            "%%s = arith.constant %" PRId64 " : %s\n%%shift = arith.constant %d : %s\n"
            "%%all = arith.constant -1 : %s\n%%inf = arith.constant %" PRId64 " : %s\n"
            "%%o = arith.constant 0 : %s\n%%m = arith.shrsi %%x, %%shift : %s\n"
            "%%f = arith.ori %%m, %%s : %s\n%%k = arith.xori %%x, %%f : %s\n"
            "%%p = arith.xori %%s, %%all : %s\n%%a = arith.andi %%x, %%p : %s\n"
            "%%nan = arith.cmpi ugt, %%a, %%inf : %s\n%%null = arith.cmpi eq, %%a, %%o : %s\n"
            "%%k1 = arith.select %%null, %%s, %%k : %s\n"
            "%%k2 = arith.select %%nan, %%all, %%k1 : %s\n",
            sign, e, j->a.bits - 1, e, e, infinity, e, e, e, e, e, e, e, e, e, e, e);
    key = "%k2";
  }
  if (j->a.bits < 64)
    fprintf(f, "%%r = arith.extui %s : %s to i64\nfunc.return %%r : i64\n}\n", key, e);
  else
    fprintf(f, "func.return %s : i64\n}\n", key);
}

static void sort_gep(FILE *f, const char *to, const char *base, const char *index,
                     const char *type) {
  fprintf(f, "%s = llvm.getelementptr %s[%s] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n", to, base,
          index, type);
}

static void sort_load(FILE *f, const char *to, const char *base, const char *index,
                      const char *type) {
  fprintf(f, "%s_p = llvm.getelementptr %s[%s] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n", to, base,
          index, type);
  fprintf(f, "%s = llvm.load %s_p : !llvm.ptr -> %s\n", to, to, type);
}

static void sort_store(FILE *f, const char *value, const char *base, const char *index,
                       const char *type, const char *name) {
  sort_gep(f, name, base, index, type);
  fprintf(f, "llvm.store %s, %s : %s, !llvm.ptr\n", value, name, type);
}

/* Insertion: from the second element on, larger ones move up. */
static void sort_insertion(FILE *f, const sort_job *j, const char *name) {
  const char *e = sort_element(j);
  fprintf(f, "scf.for %%i = %%one to %%n step %%one : i64 {\n");
  sort_load(f, "%x", "%a", "%i", e);
  fprintf(f, "%%kx = func.call @%s_key(%%x) : (%s) -> i64\n", name, e);
  if (j->a.numbers) sort_load(f, "%w", "%ia", "%i", "i32");
  fprintf(f, "%%to = scf.while (%%g = %%i) : (i64) -> i64 {\n"
             "%%more = arith.cmpi sgt, %%g, %%zero : i64\n"
             "%%go = scf.if %%more -> i1 {\n%%h = arith.subi %%g, %%one : i64\n");
  sort_load(f, "%y", "%a", "%h", e);
  fprintf(f,
          "%%ky = func.call @%s_key(%%y) : (%s) -> i64\n"
          "%%up = arith.cmpi ugt, %%ky, %%kx : i64\nscf.yield %%up : i1\n} else {\n"
          "%%no = arith.constant false\nscf.yield %%no : i1\n}\n"
          "scf.condition(%%go) %%g : i64\n} do {\n^bb0(%%g: i64):\n"
          "%%h = arith.subi %%g, %%one : i64\n",
          name, e);
  sort_load(f, "%y", "%a", "%h", e);
  sort_store(f, "%y", "%a", "%g", e, "%q");
  if (j->a.numbers) {
    sort_load(f, "%v", "%ia", "%h", "i32");
    sort_store(f, "%v", "%ia", "%g", "i32", "%qv");
  }
  fprintf(f, "scf.yield %%h : i64\n}\n");
  sort_store(f, "%x", "%a", "%to", e, "%qx");
  if (j->a.numbers) sort_store(f, "%w", "%ia", "%to", "i32", "%qw");
  fprintf(f, "}\n");
}

/* Counters of all digits in one reading. */
static void sort_count(FILE *f, const sort_job *j, const char *name) {
  const char *e = sort_element(j);
  fprintf(f, "%%cells = arith.muli %%radix, %%passes : i64\n"
             "scf.for %%i = %%zero to %%cells step %%one : i64 {\n");
  sort_store(f, "%none", "%counts", "%i", "i32", "%q");
  fprintf(f, "}\nscf.for %%i = %%zero to %%n step %%one : i64 {\n");
  sort_load(f, "%x", "%a", "%i", e);
  fprintf(f,
          "%%k = func.call @%s_key(%%x) : (%s) -> i64\n"
          "scf.for %%t = %%zero to %%passes step %%one : i64 {\n"
          "%%by = arith.muli %%t, %%digit : i64\n%%hi = arith.shrui %%k, %%by : i64\n"
          "%%d = arith.andi %%hi, %%mask : i64\n%%base = arith.muli %%t, %%radix : i64\n"
          "%%cell = arith.addi %%base, %%d : i64\n",
          name, e);
  sort_load(f, "%c", "%counts", "%cell", "i32");
  fprintf(f,
          "%%c1 = arith.addi %%c, %%unit : i32\nllvm.store %%c1, %%c_p : i32, !llvm.ptr\n}\n}\n");
}

static void sort_digit(FILE *f, const char *to, const char *name, const char *e) {
  fprintf(f,
          "%s_k = func.call @%s_key(%s) : (%s) -> i64\n%s_h = arith.shrui %s_k, %%by : i64\n"
          "%s_d = arith.andi %s_h, %%mask : i64\n",
          to, name, to, e, to, to, to, to);
}

/* One pass a digit, from the lowest; a digit that all elements share needs none. */
static void sort_radix(FILE *f, const sort_job *j, const char *name) {
  const char *e = sort_element(j);
  const char *four = "!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr";
  sort_count(f, j, name);
  fprintf(f,
          "%%s:4 = scf.for %%t = %%zero to %%passes step %%one iter_args(%%u = %%a, %%v = %%b, "
          "%%iu = %%ia, %%iv = %%ib) -> (%s) : i64 {\n%%by = arith.muli %%t, %%digit : i64\n"
          "%%base = arith.muli %%t, %%radix : i64\n",
          four);
  sort_gep(f, "%row", "%counts", "%base", "i32");
  sort_load(f, "%f", "%u", "%zero", e);
  sort_digit(f, "%f", name, e);
  sort_load(f, "%fc", "%row", "%f_d", "i32");
  fprintf(f,
          "%%same = arith.cmpi eq, %%fc, %%count : i32\n%%r:4 = scf.if %%same -> (%s) {\n"
          "scf.yield %%u, %%v, %%iu, %%iv : %s\n} else {\n"
          "%%total = scf.for %%d = %%zero to %%radix step %%one iter_args(%%run = %%none) -> (i32) "
          ": i64 {\n",
          four, four);
  sort_load(f, "%c", "%row", "%d", "i32");
  fprintf(f, "llvm.store %%run, %%c_p : i32, !llvm.ptr\n%%next = arith.addi %%run, %%c : i32\n"
             "scf.yield %%next : i32\n}\nscf.for %%i = %%zero to %%n step %%one : i64 {\n");
  sort_load(f, "%x", "%u", "%i", e);
  sort_digit(f, "%x", name, e);
  sort_load(f, "%c", "%row", "%x_d", "i32");
  fprintf(f, "%%c1 = arith.addi %%c, %%unit : i32\nllvm.store %%c1, %%c_p : i32, !llvm.ptr\n"
             "%%at = arith.extui %%c : i32 to i64\n");
  sort_store(f, "%x", "%v", "%at", e, "%q");
  if (j->a.numbers) {
    sort_load(f, "%w", "%iu", "%i", "i32");
    sort_store(f, "%w", "%iv", "%at", "i32", "%qw");
  }
  fprintf(f,
          "}\nscf.yield %%v, %%u, %%iv, %%iu : %s\n}\nscf.yield %%r#0, %%r#1, %%r#2, %%r#3 : %s\n"
          "}\n",
          four, four);
}

/* %to_0: the offset of line %line in a buffer, its dimensions but the axis in C order. */
static void sort_offset(FILE *f, const sort_job *j, const lower_buffer *buffer, const char *to) {
  fprintf(f, "%s_%d = arith.constant 0 : i64\n%s_left%d = arith.addi %%line, %%zero : i64\n", to,
          j->a.in->type.rank, to, j->a.in->type.rank);
  for (int d = j->a.in->type.rank - 1; d >= 0; d--) {
    int64_t size = d == j->a.axis ? 1 : j->a.in->type.dims[d];
    fprintf(f,
            "%s_size%d = arith.constant %" PRId64 " : i64\n%s_step%d = arith.constant %" PRId64
            " : i64\n%s_at%d = arith.remui %s_left%d, %s_size%d : i64\n"
            "%s_left%d = arith.divui %s_left%d, %s_size%d : i64\n"
            "%s_by%d = arith.muli %s_at%d, %s_step%d : i64\n"
            "%s_%d = arith.addi %s_%d, %s_by%d : i64\n",
            to, d, size, to, d, d == j->a.axis ? 0 : buffer->strides[d], to, d, to, d + 1, to, d,
            to, d, to, d + 1, to, d, to, d, to, d, to, d, to, d, to, d + 1, to, d);
  }
  fprintf(f, "%s_axis = arith.constant %" PRId64 " : i64\n", to, buffer->strides[j->a.axis]);
}

static void sort_fetch(FILE *f, const sort_job *j) {
  const char *e = sort_element(j);
  sort_offset(f, j, j->a.in, "%in");
  fprintf(f, "scf.for %%i = %%zero to %%n step %%one : i64 {\n"
             "%%j = arith.muli %%i, %%in_axis : i64\n%%k = arith.addi %%j, %%in_0 : i64\n");
  sort_load(f, "%x", "%source", "%k", e);
  if (j->a.dtype == LOOM_BOOL) /* any byte but 0 is true */
    fprintf(f, "%%o = arith.constant 0 : i8\n%%truth = arith.cmpi ne, %%x, %%o : i8\n"
               "%%y = arith.extui %%truth : i1 to i8\n");
  sort_store(f, j->a.dtype == LOOM_BOOL ? "%y" : "%x", "%a", "%i", e, "%q");
  if (j->a.numbers) {
    fprintf(f, "%%w = arith.trunci %%i : i64 to i32\n");
    sort_store(f, "%w", "%ia", "%i", "i32", "%qw");
  }
  fprintf(f, "}\n");
}

static void sort_deliver(FILE *f, const sort_job *j, const char *elements, const char *numbers) {
  sort_offset(f, j, j->a.out, "%out");
  fprintf(f, "scf.for %%i = %%zero to %%n step %%one : i64 {\n"
             "%%j = arith.muli %%i, %%out_axis : i64\n%%k = arith.addi %%j, %%out_0 : i64\n");
  sort_load(f, "%x", j->a.numbers ? numbers : elements, "%i",
            j->a.numbers ? "i32" : sort_element(j));
  if (j->a.numbers) fprintf(f, "%%w = arith.extui %%x : i32 to i64\n");
  sort_store(f, j->a.numbers ? "%w" : "%x", "%target", "%k", j->a.numbers ? "i64" : sort_element(j),
             "%q");
  fprintf(f, "}\n");
}

/* func @<name>_sort(source, target, slots, begin, end) */
static void sort_write(FILE *f, const sort_job *j, const char *name) {
  const int64_t offsets[] = {0, j->elements, 2 * j->elements, 2 * j->elements + j->places,
                             2 * j->elements + 2 * j->places};
  const char *names[] = {"a", "b", "ia", "ib", "counts"};
  sort_key(f, j, name);
  fprintf(
      f,
      "func.func private @%s_sort(%%source: !llvm.ptr, %%target: !llvm.ptr, %%slots: !llvm.ptr, "
      "%%begin: i64, %%end: i64) attributes {llvm.linkage = #llvm.linkage<internal>} {\n",
      name);
  sort_constants(f, j);
  fprintf(f,
          "%%each = arith.constant %" PRId64 " : i64\n%%lines = arith.constant %" PRId64
          " : i64\n%%size = arith.constant %" PRId64 " : i64\n"
          "scf.for %%chunk = %%begin to %%end step %%one : i64 {\n"
          "%%place = arith.muli %%chunk, %%size : i64\n",
          j->chunk_lines, j->a.lines, j->area);
  sort_gep(f, "%area", "%slots", "%place", "i8");
  for (int i = 0; i < 5; i++) {
    char to[16], at[16];
    snprintf(to, sizeof to, "%%%s", names[i]);
    snprintf(at, sizeof at, "%%o_%s", names[i]);
    fprintf(f, "%s = arith.constant %" PRId64 " : i64\n", at, offsets[i]);
    sort_gep(f, to, "%area", at, "i8");
  }
  fprintf(f, "%%low = arith.muli %%chunk, %%each : i64\n%%sum = arith.addi %%low, %%each : i64\n"
             "%%high = arith.minsi %%sum, %%lines : i64\n"
             "scf.for %%line = %%low to %%high step %%one : i64 {\n");
  sort_fetch(f, j);
  bool small = j->a.n <= SORT_INSERTION;
  if (small)
    sort_insertion(f, j, name);
  else
    sort_radix(f, j, name);
  sort_deliver(f, j, small ? "%a" : "%s#0", small ? "%ia" : "%s#2");
  fprintf(f, "}\n}\nfunc.return\n}\n");
}

/* Parses the functions and puts them before the kernel. */
static bool sort_functions(lower *l, const sort_job *j, const char *name) {
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  if (!f) return lower_fail(l, j->op, "out of memory");
  sort_write(f, j, name);
  bool written = fclose(f) == 0 && text;
  MlirModule module = {NULL};
  if (written) module = mlirModuleCreateParse(l->kernel->ctx, loom_str(text));
  free(text);
  if (mlirModuleIsNull(module)) return lower_fail(l, j->op, "the text of the kernel is bad");
  MlirBlock from = mlirModuleGetBody(module), into = mlirOperationGetBlock(l->kernel->op);
  for (MlirOperation op = mlirBlockGetFirstOperation(from); op.ptr;
       op = mlirBlockGetFirstOperation(from)) {
    mlirOperationRemoveFromParent(op);
    mlirBlockInsertOwnedOperationBefore(into, l->kernel->op, op);
  }
  mlirModuleDestroy(module);
  return true;
}

void sort_lower(lower *l, const alone_plan *plan, int stage) {
  sort_job job;
  char name[240], callee[256];
  MlirStringRef symbol = loom_get_str(l->kernel->op, "sym_name");
  snprintf(name, sizeof name, "%.*s", (int)(symbol.length < 200 ? symbol.length : 200),
           symbol.data);
  snprintf(callee, sizeof callee, "%s_sort", name);
  if (!sort_read(l->kernel, plan->op, &job)) {
    l->failed = true;
    return;
  }
  if (job.a.n == 0 || job.a.lines == 0 || !sort_functions(l, &job, name)) return;
  MlirValue args[] = {l->pointers[job.a.in->slot], l->pointers[job.a.out->slot],
                      l->pointers[l->kernel->buffer_count], l->begin, l->end};
  loom_builder b = lower_at_level(l, l->depth);
  loom_named attr = {"callee", mlirFlatSymbolRefAttrGet(b.ctx, loom_str(callee))};
  loom_build(&b, "func.call", 5, args, 0, NULL, 1, &attr);
}
