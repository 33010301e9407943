/* Programs whose kernels are checked (loom-check), as text of the LLVM dialect (program_text.h).
 *
 * The workspace begins with the launches' frame (graph/check.h), which all of them share, and the
 * spare memory. Each launch writes its bounds there, and the frame's address before its array of
 * buffers. What was accessed first stays in the frame: a second function, <name>_violation, tells
 * it.
 */
#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <stddef.h>
#include <string.h>

#include "dialects/ir.h"
#include "graph/check.h"
#include "runtime/runtime.h"
#include "targets/program_text.h"

bool program_is_checked(MlirOperation plan) { return loom_get_attr(plan, loom_mark_extents).ptr; }

int64_t program_check_bytes(MlirOperation plan) {
  return program_is_checked(plan) ? program_aligned(LOOM_CHECK_FRAME) + LOOM_CHECK_SPARE : 0;
}

void program_check_numbers(MlirOperation plan, void (*visit)(void *user, int64_t number),
                           void *user) {
  MlirAttribute extents = loom_get_attr(plan, loom_mark_extents);
  for (intptr_t i = 0; extents.ptr && i < mlirDenseArrayGetNumElements(extents); i++)
    visit(user, mlirDenseI64ArrayGetElement(extents, i));
}

/* ---- launches ---- */

static void check_clear(FILE *text, const char *at) {
  fprintf(text,
          "\"llvm.intr.memset\"(%%%s, %%clear, %%%sbytes) <{isVolatile = false}> : "
          "(!llvm.ptr, i8, i64) -> ()\n",
          at, at);
}

void program_check_head(FILE *text, bool entry) {
  size_t bounds = offsetof(loom_check_frame, buffers);
  fprintf(text,
          "%%clear = llvm.mlir.constant(0 : i8) : i8\n"
          "%%slots = llvm.mlir.constant(%d : i64) : i64\n"
          "%%table = llvm.alloca %%slots x !llvm.ptr : (i64) -> !llvm.ptr\n"
          "%%tablebytes = llvm.mlir.constant(%zu : i64) : i64\n"
          "%%buffers = llvm.getelementptr %%table[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr\n"
          "%%limits = llvm.getelementptr %%frame[%zu] : (!llvm.ptr) -> !llvm.ptr, i8\n"
          "%%limitsbytes = llvm.mlir.constant(%zu : i64) : i64\n"
          "%%boundsbit = llvm.mlir.constant(%u : i32) : i32\n",
          1 + LOOM_CHECK_BUFFERS, (1 + LOOM_CHECK_BUFFERS) * sizeof(void *), bounds,
          LOOM_CHECK_FRAME - bounds, LOOM_STATUS_BOUNDS);
  if (!entry) return;
  fprintf(text,
          "%%framebytes = llvm.mlir.constant(%zu : i64) : i64\n"
          "%%spare = llvm.getelementptr %%frame[%" PRId64 "] : (!llvm.ptr) -> !llvm.ptr, i8\n"
          "%%spareat = llvm.getelementptr %%frame[%zu] : (!llvm.ptr) -> !llvm.ptr, i8\n"
          "%%work = llvm.getelementptr %%spare[%u] : (!llvm.ptr) -> !llvm.ptr, i8\n",
          LOOM_CHECK_FRAME, program_aligned(LOOM_CHECK_FRAME), offsetof(loom_check_frame, spare),
          LOOM_CHECK_SPARE);
  check_clear(text, "frame");
  fprintf(text, "llvm.store %%spare, %%spareat : !llvm.ptr, !llvm.ptr\n");
}

/* A number of the frame. */
static void check_put(program_writer *w, size_t offset, int64_t number) {
  int n = w->values++;
  program_number(w->text, "cb", n, number);
  fprintf(w->text,
          "%%ca%d = llvm.getelementptr %%frame[%zu] : (!llvm.ptr) -> !llvm.ptr, i8\n"
          "llvm.store %%cb%d, %%ca%d : i64, !llvm.ptr\n",
          n, offset, n, n);
}

/* What a launch may access of a buffer: of an argument as `loom.extents` says, of another all. */
static bool check_bounds(program_writer *w, MlirValue buffer, int32_t index) {
  int64_t low = 0, size;
  MlirAttribute extents = loom_get_attr(w->plan, loom_mark_extents);
  size_t at = offsetof(loom_check_frame, buffers) + sizeof(loom_check_bounds) * (size_t)index;
  if (mlirValueIsABlockArgument(buffer)) {
    intptr_t number = mlirBlockArgumentGetArgNumber(buffer);
    if (2 * number + 1 >= mlirDenseArrayGetNumElements(extents)) return false;
    low = mlirDenseI64ArrayGetElement(extents, 2 * number);
    size = mlirDenseI64ArrayGetElement(extents, 2 * number + 1);
  } else {
    size = program_bytes(w->plan, buffer);
    if (size == -1) return false;
  }
  check_put(w, at + offsetof(loom_check_bounds, low), low);
  check_put(w, at + offsetof(loom_check_bounds, size), size);
  return true;
}

bool program_check_before(program_writer *w, MlirOperation launch, int32_t buffers) {
  if (!program_is_checked(w->plan)) return true;
  if (buffers > LOOM_CHECK_BUFFERS)
    return loom_emit_error(mlirOperationGetLocation(launch), "too many buffers to be checked");
  check_clear(w->text, "table");
  check_clear(w->text, "limits");
  fprintf(w->text, "llvm.store %%frame, %%table : !llvm.ptr, !llvm.ptr\n");
  for (int32_t i = 0; i < buffers; i++)
    if (!check_bounds(w, loom_operand(launch, i), i))
      return loom_emit_error(mlirOperationGetLocation(launch), "operand %d has no bounds", i);
  int64_t params =
      mlirOperationGetNumOperands(launch) - buffers + loom_get_i64(launch, "symbols", 0);
  check_put(w, offsetof(loom_check_frame, params) + offsetof(loom_check_bounds, size), 8 * params);
  check_put(w, offsetof(loom_check_frame, scratch) + offsetof(loom_check_bounds, size),
            loom_get_i64(launch, "scratch", 0));
  return true;
}

void program_check_after(program_writer *w) {
  if (!program_is_checked(w->plan)) return;
  int step = w->step++;
  fprintf(w->text,
          "%%taken%d = llvm.load %%frame : !llvm.ptr -> i64\n"
          "%%left%d = llvm.icmp \"ne\" %%taken%d, %%zero : i64\n"
          "%%r%d = llvm.select %%left%d, %%boundsbit, %%t0 : i1, i32\n"
          "%%t%d = llvm.or %%t%d, %%r%d : i32\n",
          step, step, step, step, step, step + 1, step, step);
}

/* ---- what was accessed ---- */

static void check_write_text(FILE *out, MlirStringRef text) {
  for (size_t i = 0; i < text.length; i++)
    fprintf(out, "\\%02X", (uint8_t)text.data[i]);
  fputs("\\00", out);
}

/* All texts behind one another, and where each begins. */
static void check_tables(FILE *text, MlirAttribute sites, const char *name) {
  intptr_t count = mlirArrayAttrGetNumElements(sites);
  size_t at = 0;
  fprintf(text, "llvm.mlir.global internal constant @%s_texts(\"", name);
  for (intptr_t i = 0; i < count; i++) {
    MlirStringRef site = mlirStringAttrGetValue(mlirArrayAttrGetElement(sites, i));
    check_write_text(text, site);
    at += site.length + 1;
  }
  fprintf(text, "\\00\") : !llvm.array<%zu x i8>\n", at + 1);
  fprintf(text, "llvm.mlir.global internal constant @%s_sites(dense<[", name);
  at = 0;
  for (intptr_t i = 0; i < count; i++) {
    fprintf(text, "%zu, ", at);
    at += mlirStringAttrGetValue(mlirArrayAttrGetElement(sites, i)).length + 1;
  }
  fprintf(text, "%zu]> : tensor<%" PRIdPTR "xi64>) : !llvm.array<%" PRIdPTR " x i64>\n", at,
          count + 1, count + 1);
}

/* const char *<name>_violation(const void *workspace, const void **address) */
void program_check_text(FILE *text, MlirAttribute sites, const char *name) {
  check_tables(text, sites, name);
  fprintf(text,
          "llvm.func @%s_violation(%%frame: !llvm.ptr, %%address: !llvm.ptr) -> !llvm.ptr {\n"
          "%%zero = llvm.mlir.constant(0 : i64) : i64\n"
          "%%null = llvm.mlir.zero : !llvm.ptr\n"
          "%%taken = llvm.load %%frame : !llvm.ptr -> i64\n"
          "%%none = llvm.icmp \"eq\" %%taken, %%zero : i64\n"
          "llvm.cond_br %%none, ^none, ^some\n"
          "^none:\nllvm.return %%null : !llvm.ptr\n"
          "^some:\n%%asked = llvm.icmp \"ne\" %%address, %%null : !llvm.ptr\n"
          "llvm.cond_br %%asked, ^where, ^what\n"
          "^where:\n%%from = llvm.getelementptr %%frame[%zu] : (!llvm.ptr) -> !llvm.ptr, i8\n"
          "%%at = llvm.load %%from : !llvm.ptr -> i64\n"
          "llvm.store %%at, %%address : i64, !llvm.ptr\nllvm.br ^what\n",
          name, offsetof(loom_check_frame, address));
  fprintf(text,
          "^what:\n%%number = llvm.getelementptr %%frame[%zu] : (!llvm.ptr) -> !llvm.ptr, i8\n"
          "%%written = llvm.load %%number : !llvm.ptr -> i64\n"
          "%%last = llvm.mlir.constant(%" PRIdPTR " : i64) : i64\n"
          "%%site = llvm.intr.umin(%%written, %%last) : (i64, i64) -> i64\n"
          "%%sites = llvm.mlir.addressof @%s_sites : !llvm.ptr\n"
          "%%entry = llvm.getelementptr %%sites[%%site] : (!llvm.ptr, i64) -> !llvm.ptr, i64\n"
          "%%offset = llvm.load %%entry : !llvm.ptr -> i64\n"
          "%%texts = llvm.mlir.addressof @%s_texts : !llvm.ptr\n"
          "%%text = llvm.getelementptr %%texts[%%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8\n"
          "llvm.return %%text : !llvm.ptr\n}\n",
          offsetof(loom_check_frame, site), mlirArrayAttrGetNumElements(sites), name, name);
}
