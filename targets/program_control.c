/* Loops and branches of a compiled program, as text of the LLVM dialect (program_text.h).
 *
 * A loop calls the function of its body with other pointers each time, and avoids copies. A carried
 * value that the body computes alternates between the buffer of its result and a spare buffer
 * behind the arena. A carried value may be the previous value of another one (`carry` below 0): it
 * follows that one. A chain of k such values shares k + 1 buffers, which take turns. The number of
 * iterations decides which of the buffers comes first, so that the last values end in the buffers
 * of the results. The first iterations read the initial values where they lie. A value that fits
 * into no chain is copied: the second of two values that are the same, one value of a cycle, and
 * all followers in a loop whose number of iterations is not known.
 */
#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "runtime/runtime.h"
#include "targets/program_text.h"

/* A carried value. */
typedef struct control_slot {
  int64_t from;  /* result of the body, or -1 - slot */
  int64_t bytes; /* of its buffer */
  int64_t spare; /* where its spare buffer begins behind the arena */
  int leader;    /* the slot that it follows, or -1: the first of a chain */
  int follower;  /* the slot that follows it, or -1 */
  int direct;    /* the slot in whose buffer the body puts this value's result; -1: none */
  bool in_place; /* the body writes over what it reads */
  int init, own; /* numbers of pointers: the initial value, the result */
} control_slot;

typedef struct control_loop {
  MlirOperation op, body, test; /* plans; test: of a while */
  intptr_t reads, count;
  int id; /* of its values' names */
  control_slot *slots;
  int64_t spares; /* bytes of all spare buffers */
  int *outside;   /* numbers of pointers that are only read */
  bool counts;    /* a for */
} control_loop;

/* ---- plans of regions ---- */

static MlirOperation control_plan(MlirOperation plan, MlirOperation run, intptr_t i) {
  MlirAttribute name = mlirArrayAttrGetElement(loom_get_attr(run, "plans"), i);
  while ((plan = program_next(plan)).ptr)
    if (mlirStringRefEqual(loom_get_str(plan, "sym_name"), mlirFlatSymbolRefAttrGetValue(name)))
      break;
  return plan;
}

static bool control_is(MlirOperation run, const char *kind) {
  return loom_str_is(loom_get_str(run, "kind"), kind);
}

static int64_t control_larger(int64_t a, int64_t b) {
  if (LOOM_STRIDE_IS_SYM(a) || LOOM_STRIDE_IS_SYM(b)) return loom_num_add(a, b);
  return a > b ? a : b;
}

/* ---- which buffers a loop's values have ---- */

/* Would following `leader` close a circle? */
static bool control_circles(const control_loop *l, intptr_t slot, int64_t leader) {
  while (leader >= 0 && leader != slot)
    leader = l->slots[leader].leader;
  return leader == slot;
}

static bool control_is_read_before(const control_loop *l, intptr_t slot) {
  for (intptr_t i = 0; i < l->count; i++)
    if (l->slots[i].from == -1 - slot) return true;
  return false;
}

static void control_link(control_loop *l) {
  for (intptr_t i = 0; i < l->count; i++) {
    int64_t leader = -1 - l->slots[i].from;
    if (!l->counts || leader < 0 || l->slots[leader].follower >= 0 || control_circles(l, i, leader))
      continue;
    l->slots[i].leader = (int)leader;
    l->slots[leader].follower = (int)i;
  }
  for (intptr_t i = 0; i < l->count; i++) {
    control_slot *s = &l->slots[i];
    if (s->from < 0) continue;
    s->direct = (int)i;
    for (intptr_t k = i - 1; k >= 0; k--)
      if (l->slots[k].from == s->from) s->direct = (int)k;
    int64_t over[64];
    intptr_t known = loom_get_i64s(l->body, loom_mark_overwrites, over, 64);
    s->in_place = s->direct == i && s->from < known && s->from < 64 &&
                  over[s->from] == i + l->counts && !control_is_read_before(l, i);
  }
}

static bool control_open(control_loop *l, MlirOperation plan, MlirOperation op) {
  MlirAttribute carry = loom_get_attr(op, "carry");
  *l = (control_loop){.op = op, .counts = control_is(op, "for")};
  l->count = mlirDenseArrayGetNumElements(carry);
  l->reads = loom_get_i64(op, "reads", 0);
  l->body = control_plan(plan, op, l->counts ? 0 : 1);
  if (!l->counts) l->test = control_plan(plan, op, 0);
  l->slots = calloc((size_t)l->count + 1, sizeof *l->slots);
  l->outside = calloc((size_t)l->reads + 1, sizeof *l->outside);
  if (!l->slots || !l->outside || !l->body.ptr || (!l->counts && !l->test.ptr)) return false;
  for (intptr_t i = 0; i < l->count; i++)
    l->slots[i] = (control_slot){.from = mlirDenseI64ArrayGetElement(carry, i),
                                 .bytes = program_bytes(plan, loom_operand(op, l->reads + i)),
                                 .leader = -1,
                                 .follower = -1,
                                 .direct = -1};
  control_link(l);
  for (intptr_t i = 0; i < l->count; i++) {
    control_slot *s = &l->slots[i];
    s->spare = l->spares;
    if (s->leader < 0 && !s->in_place)
      l->spares = loom_num_add(l->spares, program_aligned(s->bytes));
  }
  return true;
}

static void control_close(control_loop *l) {
  free(l->slots);
  free(l->outside);
}

int64_t program_run_bytes(MlirOperation plan, MlirOperation run) {
  int64_t bytes = 0;
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(loom_get_attr(run, "plans")); i++) {
    MlirOperation region = control_plan(plan, run, i);
    if (region.ptr) bytes = control_larger(bytes, program_workspace(region));
  }
  if (control_is(run, "if")) return bytes;
  control_loop l;
  if (control_open(&l, plan, run)) bytes = loom_num_add(bytes, l.spares);
  control_close(&l);
  return bytes;
}

void program_run_numbers(MlirOperation plan, MlirOperation run,
                         void (*visit)(void *user, int64_t number), void *user) {
  control_loop l;
  if (control_is(run, "if")) return;
  if (control_open(&l, plan, run)) {
    visit(user, l.spares);
    for (intptr_t i = 0; i < l.count; i++) {
      visit(user, l.slots[i].bytes);
      visit(user, l.slots[i].spare);
    }
  }
  control_close(&l);
}

int program_run_longest(MlirOperation plan) {
  intptr_t longest = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(program_block(plan)); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (program_is_run(op) && mlirOperationGetNumOperands(op) + 1 > longest)
      longest = mlirOperationGetNumOperands(op) + 1;
  return (int)longest;
}

/* ---- text ---- */

static void control_put(program_writer *w, const char *list, intptr_t index, const char *pointer) {
  int n = w->values++;
  fprintf(w->text,
          "%%a%d = llvm.getelementptr %%%s[%" PRIdPTR "] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr\n"
          "llvm.store %%%s, %%a%d : !llvm.ptr, !llvm.ptr\n",
          n, list, index, pointer, n);
}

static void control_put_number(program_writer *w, const char *list, intptr_t index, int n) {
  char name[24];
  snprintf(name, sizeof name, "p%d", n);
  control_put(w, list, index, name);
}

/* The status that a region returns joins the newest one. */
static void control_call(program_writer *w, MlirOperation region, const char *work) {
  MlirStringRef name = loom_get_str(region, "sym_name");
  bool checked = program_is_checked(w->plan);
  int step = w->step++;
  fprintf(w->text,
          "%%r%d = llvm.call @%s_%.*s(%s%%sizes, %%reads, %%writes, %%%s) : "
          "(%s!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32\n"
          "%%t%d = llvm.or %%t%d, %%r%d : i32\n",
          step, w->name, (int)name.length, name.data, checked ? "%frame, " : "", work,
          checked ? "!llvm.ptr, " : "", step + 1, step, step);
}

static bool control_no_memory(MlirOperation op) {
  return loom_emit_error(mlirOperationGetLocation(op), "a loop or branch reads no memory");
}

/* ---- loops ---- */

/* The name of what a slot holds now. */
static void control_now(const control_loop *l, intptr_t slot, char *out, size_t size) {
  if (l->slots[slot].in_place)
    snprintf(out, size, "p%d", l->slots[slot].own);
  else
    snprintf(out, size, "now%d_%d", l->id, (int)slot);
}

/* The name of where this iteration puts the value of the first slot of a chain. */
static void control_target(const control_loop *l, intptr_t slot, char *out, size_t size) {
  if (l->slots[slot].in_place)
    snprintf(out, size, "p%d", l->slots[slot].own);
  else
    snprintf(out, size, "ring%d_%d_0", l->id, (int)slot);
}

static int control_length(const control_loop *l, intptr_t first) {
  int length = 0;
  for (intptr_t i = first; i >= 0; i = l->slots[i].follower)
    length++;
  return length;
}

static bool control_is_first(const control_loop *l, intptr_t slot) {
  return l->slots[slot].leader < 0 && !l->slots[slot].in_place;
}

/* A chain of one value. */
static bool control_is_alone(const control_loop *l, intptr_t slot) {
  return control_is_first(l, slot) && l->slots[slot].follower < 0;
}

/* The list of the head's arguments: of types, or of the values that one branch to it passes. */
typedef enum control_pass { CONTROL_DECLARE, CONTROL_ENTER, CONTROL_AGAIN } control_pass;

static void control_args(program_writer *w, const control_loop *l, control_pass pass) {
  for (intptr_t i = 0; i < l->count; i++) {
    const control_slot *s = &l->slots[i];
    if (s->in_place) continue;
    if (pass == CONTROL_DECLARE)
      fprintf(w->text, ", %%now%d_%d: !llvm.ptr", l->id, (int)i);
    else if (pass == CONTROL_ENTER && control_is_alone(l, i))
      fprintf(w->text, ", %%begin%d_%d", l->id, (int)i);
    else if (pass == CONTROL_ENTER)
      fprintf(w->text, ", %%p%d", s->init);
    else if (s->leader >= 0)
      fprintf(w->text, ", %%now%d_%d", l->id, s->leader);
    else
      fprintf(w->text, ", %%ring%d_%d_0", l->id, (int)i);
    if (s->leader >= 0) continue;
    int length = control_length(l, i);
    for (int x = 0; x <= length; x++)
      if (pass == CONTROL_DECLARE)
        fprintf(w->text, ", %%ring%d_%d_%d: !llvm.ptr", l->id, (int)i, x);
      else if (pass == CONTROL_ENTER)
        fprintf(w->text, ", %%first%d_%d_%d", l->id, (int)i, x);
      else
        fprintf(w->text, ", %%ring%d_%d_%d", l->id, (int)i, (x + 1) % (length + 1));
  }
}

static void control_arg_types(program_writer *w, const control_loop *l) {
  fprintf(w->text, " : i64, i32");
  for (intptr_t i = 0; i < l->count; i++) {
    if (l->slots[i].in_place) continue;
    fprintf(w->text, ", !llvm.ptr");
    for (int x = 0; control_is_first(l, i) && x <= control_length(l, i); x++)
      fprintf(w->text, ", !llvm.ptr");
  }
}

/* The buffers of a chain in the order of their use: buffer (T + k - x) mod (k + 1) comes at x, so
 * that after T iterations each value is in the buffer of its result. The spare one is the last. */
static void control_ring(program_writer *w, const control_loop *l, intptr_t first) {
  int length = control_length(l, first), place = 0, spare = w->values++;
  program_number(w->text, "o", spare, l->slots[first].spare);
  fprintf(w->text,
          "%%p%d = llvm.getelementptr %%scratch[%%o%d] : (!llvm.ptr, i64) -> !llvm.ptr, i8\n",
          spare, spare);
  for (intptr_t i = first; i >= 0; i = l->slots[i].follower)
    control_put_number(w, "ring", place++, l->slots[i].own);
  control_put_number(w, "ring", length, spare);
  for (int x = 0; x <= length; x++) {
    int n = w->values++;
    char name[48];
    snprintf(name, sizeof name, "%d_%d_%d", l->id, (int)first, x);
    fprintf(w->text,
            "%%x%d = llvm.mlir.constant(%d : i64) : i64\n"
            "%%k%d = llvm.mlir.constant(%d : i64) : i64\n"
            "%%s%d = llvm.add %%times%d, %%x%d : i64\n"
            "%%i%d = llvm.urem %%s%d, %%k%d : i64\n"
            "%%a%d = llvm.getelementptr %%ring[%%i%d] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr\n"
            "%%first%s = llvm.load %%a%d : !llvm.ptr -> !llvm.ptr\n",
            n, length - x, n, length + 1, n, l->id, n, n, n, n, n, n, name, n);
  }
}

/* An initial value that lies in the buffer of its result, where the body may not write over it,
 * begins in the buffer that is written last. */
static void control_begin(program_writer *w, const control_loop *l, intptr_t slot) {
  const control_slot *s = &l->slots[slot];
  char name[32], from[24];
  snprintf(name, sizeof name, "%d_%d", l->id, (int)slot);
  fprintf(w->text,
          "%%shared%s = llvm.icmp \"eq\" %%p%d, %%p%d : !llvm.ptr\n"
          "%%begin%s = llvm.select %%shared%s, %%first%s_1, %%p%d : i1, !llvm.ptr\n",
          name, s->init, s->own, name, name, name, s->init);
  snprintf(from, sizeof from, "p%d", s->init);
  snprintf(name, sizeof name, "begin%d_%d", l->id, (int)slot);
  program_move(w, from, name, s->bytes);
}

/* Reads the pointers and the number of iterations, and aims the first one. */
static bool control_prepare(program_writer *w, control_loop *l) {
  int number;
  for (intptr_t i = 0; i < l->reads + l->count; i++) {
    if (!program_pointer(w, loom_operand(l->op, i), &number)) return control_no_memory(l->op);
    intptr_t slot = i - l->counts;
    if (i >= l->reads)
      l->slots[i - l->reads].own = number;
    else if (slot >= 0 && slot < l->count)
      l->slots[slot].init = number;
    else
      l->outside[i] = number;
  }
  if (l->counts)
    fprintf(w->text,
            "%%limit%d = llvm.load %%p%d : !llvm.ptr -> i64\n"
            "%%times%d = llvm.intr.smax(%%limit%d, %%zero) : (i64, i64) -> i64\n",
            l->id, l->outside[0], l->id, l->id);
  else
    fprintf(w->text, "%%times%d = llvm.add %%one, %%zero : i64\n", l->id);
  int area = w->values++;
  program_number(w->text, "o", area, l->spares);
  fprintf(w->text,
          "%%area%d = llvm.getelementptr %%scratch[%%o%d] : (!llvm.ptr, i64) -> !llvm.ptr, i8\n",
          l->id, area);
  for (intptr_t i = 0; i < l->count; i++) {
    char from[24], to[24];
    snprintf(from, sizeof from, "p%d", l->slots[i].init);
    snprintf(to, sizeof to, "p%d", l->slots[i].own);
    if (l->slots[i].in_place) program_move(w, from, to, l->slots[i].bytes);
    if (control_is_first(l, i)) control_ring(w, l, i);
    if (control_is_alone(l, i)) control_begin(w, l, i);
  }
  return true;
}

/* What a region reads: the index, the carried values, the rest. */
static void control_reads(program_writer *w, const control_loop *l) {
  char name[48];
  if (l->counts) control_put(w, "reads", 0, "index");
  for (intptr_t i = 0; i < l->count; i++) {
    control_now(l, i, name, sizeof name);
    control_put(w, "reads", i + l->counts, name);
  }
  for (intptr_t i = l->count + l->counts; i < l->reads; i++)
    control_put_number(w, "reads", i, l->outside[i]);
}

/* True as %go<id> when there is to be one more iteration. */
static void control_ask(program_writer *w, const control_loop *l) {
  int status = w->step;
  if (l->counts) {
    fprintf(w->text, "%%test%d = llvm.icmp \"slt\" %%at%d, %%times%d : i64\n", l->id, l->id, l->id);
  } else {
    char area[32];
    control_reads(w, l);
    control_put(w, "writes", 0, "more");
    snprintf(area, sizeof area, "area%d", l->id);
    control_call(w, l->test, area);
    status = w->step;
    fprintf(w->text,
            "%%more%d = llvm.load %%more : !llvm.ptr -> i8\n"
            "%%no%d = llvm.mlir.constant(0 : i8) : i8\n"
            "%%test%d = llvm.icmp \"ne\" %%more%d, %%no%d : i8\n",
            l->id, l->id, l->id, l->id, l->id);
  }
  fprintf(w->text,
          "%%bad%d = llvm.mlir.constant(%u : i32) : i32\n"
          "%%seen%d = llvm.and %%t%d, %%bad%d : i32\n"
          "%%none%d = llvm.mlir.constant(0 : i32) : i32\n"
          "%%well%d = llvm.icmp \"eq\" %%seen%d, %%none%d : i32\n"
          "%%go%d = llvm.and %%test%d, %%well%d : i1\n",
          l->id, LOOM_STATUS_INDEX | LOOM_STATUS_BOUNDS, l->id, status, l->id, l->id, l->id, l->id,
          l->id, l->id, l->id, l->id);
}

static void control_iteration(program_writer *w, const control_loop *l) {
  int64_t symbol = loom_get_i64(l->op, loom_mark_symbol, -1);
  char area[32], from[48], to[48];
  fprintf(w->text, "llvm.store %%at%d, %%index : i64, !llvm.ptr\n", l->id);
  if (symbol >= 0)
    fprintf(w->text,
            "%%symbol%d = llvm.getelementptr %%sizes[%" PRId64 "] : (!llvm.ptr) -> !llvm.ptr, i64\n"
            "llvm.store %%at%d, %%symbol%d : i64, !llvm.ptr\n",
            l->id, symbol, l->id, l->id);
  control_reads(w, l);
  for (intptr_t i = 0; i < l->count; i++) {
    control_target(l, i, to, sizeof to);
    if (l->slots[i].direct == i) control_put(w, "writes", l->slots[i].from, to);
  }
  snprintf(area, sizeof area, "area%d", l->id);
  control_call(w, l->body, area);
  for (intptr_t i = 0; i < l->count; i++) {
    const control_slot *s = &l->slots[i];
    if (s->leader >= 0 || s->direct == i) continue;
    if (s->from < 0)
      control_now(l, -1 - s->from, from, sizeof from);
    else
      control_target(l, s->direct, from, sizeof from);
    control_target(l, i, to, sizeof to);
    program_move(w, from, to, s->bytes);
  }
}

static void control_settle(program_writer *w, const control_loop *l) {
  for (intptr_t i = 0; i < l->count; i++) {
    char from[48], to[24];
    control_now(l, i, from, sizeof from);
    snprintf(to, sizeof to, "p%d", l->slots[i].own);
    if (!l->slots[i].in_place) program_move(w, from, to, l->slots[i].bytes);
  }
}

static void control_write_loop(program_writer *w, const control_loop *l) {
  fprintf(w->text, "llvm.br ^head%d(%%zero, %%t%d", l->id, w->step);
  control_args(w, l, CONTROL_ENTER);
  control_arg_types(w, l);
  fprintf(w->text, ")\n^head%d(%%at%d: i64, %%t%d: i32", l->id, l->id, w->step + 1);
  control_args(w, l, CONTROL_DECLARE);
  fprintf(w->text, "):\n");
  w->step++;
  control_ask(w, l);
  int asked = w->step;
  fprintf(w->text, "llvm.cond_br %%go%d, ^body%d, ^end%d\n^body%d:\n", l->id, l->id, l->id, l->id);
  control_iteration(w, l);
  fprintf(w->text, "%%next%d = llvm.add %%at%d, %%one : i64\nllvm.br ^head%d(%%next%d, %%t%d",
          l->id, l->id, l->id, l->id, w->step);
  control_args(w, l, CONTROL_AGAIN);
  control_arg_types(w, l);
  fprintf(w->text, ")\n^end%d:\n%%t%d = llvm.or %%t%d, %%t%d : i32\n", l->id, w->step + 1, asked,
          asked);
  w->step++;
  control_settle(w, l);
}

/* ---- branches ---- */

static bool control_branch(program_writer *w, MlirOperation op) {
  intptr_t count = mlirOperationGetNumOperands(op), reads = loom_get_i64(op, "reads", 0);
  int id = w->values++, condition = 0, number, before = w->step;
  for (intptr_t i = 0; i < count; i++) {
    if (!program_pointer(w, loom_operand(op, i), &number)) return control_no_memory(op);
    if (i == 0)
      condition = number;
    else
      control_put_number(w, i < reads ? "reads" : "writes", i < reads ? i - 1 : i - reads, number);
  }
  fprintf(w->text,
          "%%more%d = llvm.load %%p%d : !llvm.ptr -> i8\n"
          "%%no%d = llvm.mlir.constant(0 : i8) : i8\n"
          "%%go%d = llvm.icmp \"ne\" %%more%d, %%no%d : i8\n"
          "llvm.cond_br %%go%d, ^then%d, ^else%d\n",
          id, condition, id, id, id, id, id, id, id);
  for (intptr_t i = 0; i < 2; i++) {
    MlirOperation region = control_plan(w->plan, op, i);
    if (!region.ptr) return control_no_memory(op);
    int from = w->step++;
    fprintf(w->text, "^%s%d:\n%%t%d = llvm.or %%t%d, %%t%d : i32\n", i ? "else" : "then", id,
            from + 1, before, before);
    control_call(w, region, "scratch");
    fprintf(w->text, "llvm.br ^end%d(%%t%d : i32)\n", id, w->step);
  }
  fprintf(w->text, "^end%d(%%t%d: i32):\n", id, w->step + 1);
  w->step++;
  return true;
}

bool program_run(program_writer *w, MlirOperation op) {
  if (control_is(op, "if")) return control_branch(w, op);
  control_loop l;
  bool ok = control_open(&l, w->plan, op);
  if (!ok) loom_emit_error(mlirOperationGetLocation(op), "a loop without its plans, or no memory");
  l.id = w->values++;
  ok = ok && control_prepare(w, &l);
  if (ok) control_write_loop(w, &l);
  control_close(&l);
  return ok;
}
