/* loom-order: puts kernels in an order in which less memory is live at once.
 *
 * before:
 *     %0 = loom.fusion(%a, %w) {...}      // 8 MiB, returned
 *     %1 = loom.fusion(%a, %b) {...}      // 1 MiB, the last reader of %a and %b
 *
 * after:
 *     %1 = loom.fusion(%a, %b) {...}
 *     %0 = loom.fusion(%a, %w) {...}
 *
 * requires: loom-fuse; before loom-outline, which looks at the order when it lets a result
 * overwrite an operand.
 *
 * keeps: values; the order of host calls and of control flow among each other; what has a size that
 * a host call tells stays behind that call.
 *
 * breaks: nothing.
 *
 * What counts: values between kernels, arguments that the caller gives away (`loom.given`) and
 * results that it makes when they are first written (`loom.lent`). In the backward pass of a
 * training step these are all the memory: activations go while gradients come, and the gradient of
 * a large weight that is made early is held while all activations are still there.
 *
 * A greedy list schedule: of all ops whose operands are there, the one after which the least is
 * live comes next, of equal ones the first of the program. Greed can be wrong, so both orders are
 * gone through and the new one is taken only when its highest point is lower by some percent;
 * programs of little memory are left as they are. It ends since each round places one op.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "dialects/pass.h"
#include "loom_ops_reductions.h"
#include "passes/passes.h"

#define ORDER_SMALL                                                                                \
  (1 << 20) /* bytes at the highest point below which the order does not matter                    \
             */
#define ORDER_PACKED                                                                               \
  (512 << 10) /* bytes that a product packs at once, or a part of its operands                     \
               */
#define ORDER_PACKED_PART 32
#define ORDER_GAIN 50    /* a new order has to save at least one part in so many */
#define ORDER_WINDOW 256 /* so many ready ops are looked at */

typedef struct order_value { /* one storage: a value and its reshapes */
  int64_t size;
  int32_t readers, left; /* ops that read it; of these, not yet placed */
  bool kept;             /* it stays: an argument of the caller's, a result */
} order_value;

typedef struct order_op {
  MlirOperation op;
  int32_t waits;            /* ops that have to come before and are not placed */
  int32_t reads, writes;    /* where its lists begin */
  int32_t next_count, next; /* ops that wait for it: where the list begins */
  int32_t read_count, write_count;
  int32_t overwrites; /* a storage that it reads, or -1 */
  int64_t packed;     /* bytes of the factors of a product, which may be packed while it runs */
} order_op;

typedef struct order_state {
  MlirOperation function;
  MlirBlock block;
  loom_map values, ops;
  order_value *storages;
  order_op *list;
  int32_t *numbers; /* lists of storages, then of ops that wait */
  int32_t *order, *ready;
  int32_t op_count, storage_count, number_count;
  int64_t base; /* live before the first op */
  loom_late late;
} order_state;

/* ---- what is there ---- */

static int64_t order_bytes(MlirValue value) {
  loom_type type;
  if (!loom_type_from_mlir(mlirValueGetType(value), &type) || !loom_type_is_sized(&type)) return 0;
  int64_t elements = loom_num_hint(loom_num_elements(&type));
  return elements < 0 || elements > INT64_MAX >> 20
             ? 0
             : elements * (int64_t)loom_dtype_size(type.dtype);
}

/* Is it a result, and one that the caller makes late? */
static bool order_is_result(const order_state *s, MlirValue value, bool *lent) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    bool through = loom_info(user)->alias && order_is_result(s, loom_result(user, 0), lent);
    if (loom_is_named(user, "func.return"))
      *lent = loom_result_has(s->function, mlirOpOperandGetOperandNumber(use), loom_mark_lent);
    if (through || loom_is_named(user, "func.return")) return true;
  }
  return false;
}

static bool order_add_value(order_state *s, MlirValue value) {
  order_value *storage = &s->storages[s->storage_count];
  bool lent = true;
  *storage = (order_value){.size = order_bytes(value)};
  if (mlirValueIsABlockArgument(value)) {
    intptr_t number = mlirBlockArgumentGetArgNumber(value);
    storage->kept = !loom_argument_has(s->function, number, loom_mark_given);
    if (!storage->kept) s->base += storage->size;
  } else {
    storage->kept = order_is_result(s, value, &lent);
    if (storage->kept && !lent) storage->size = 0; /* it is there all the time */
  }
  return loom_map_put(&s->values, value.ptr, s->storage_count++);
}

static int32_t order_find(const order_state *s, MlirValue value) {
  return (int32_t)loom_map_get(&s->values, loom_buffer_root(value).ptr, -1);
}

/* Appends a storage to the list of an op that began at `begin`, once. */
static void order_note(order_state *s, int32_t begin, int32_t storage) {
  for (int32_t i = begin; i < s->number_count; i++)
    if (s->numbers[i] == storage) return;
  if (storage >= 0) s->numbers[s->number_count++] = storage;
}

/* A product packs so much of its operands at once (dot_rounds.c). */
static int64_t order_round(MlirOperation product) {
  int64_t lhs = order_bytes(loom_operand(product, 0)), rhs = order_bytes(loom_operand(product, 1));
  int64_t part = (lhs + rhs + order_bytes(loom_result(product, 0))) / ORDER_PACKED_PART;
  part = part > ORDER_PACKED ? part : ORDER_PACKED;
  return lhs + rhs < part ? lhs + rhs : part;
}

static int64_t order_packed(MlirOperation op) {
  int64_t bytes = 0;
  MlirBlock body = loom_body(op);
  if (!body.ptr) return 0;
  for (MlirOperation in = mlirBlockGetFirstOperation(body); in.ptr;
       in = mlirOperationGetNextInBlock(in))
    if (loom_class_of(in) == LOOM_CLASS_DOT)
      bytes += order_round(in);
    else if (loom_is(in, LOOM_OP_CONVOLUTION_GRADIENT))
      bytes += order_bytes(loom_operand(in, 0)) + order_bytes(loom_operand(in, 1));
  return bytes;
}

/* The storage of the operand that a group writes over, or -1. */
static int32_t order_overwritten(const order_state *s, MlirOperation op) {
  MlirBlock body = loom_body(op);
  MlirOperation inside = body.ptr ? loom_overwriting(body) : (MlirOperation){NULL};
  if (!inside.ptr || !mlirValueIsABlockArgument(loom_operand(inside, 0))) return -1;
  intptr_t argument = mlirBlockArgumentGetArgNumber(loom_operand(inside, 0));
  MlirValue written = loom_operand(op, argument);
  return mlirValueIsABlockArgument(loom_buffer_root(written)) ? -1 : order_find(s, written);
}

/* A result that lies in the storage of an operand. */
static bool order_add_alias(order_state *s, MlirValue result, int32_t storage) {
  order_value *value = &s->storages[storage];
  bool lent = true;
  if (order_is_result(s, result, &lent)) {
    value->kept = true;
    if (!lent) value->size = 0;
  }
  return loom_map_put(&s->values, result.ptr, storage);
}

static bool order_add_op(order_state *s, MlirOperation op) {
  order_op *entry = &s->list[s->op_count];
  *entry = (order_op){.op = op, .reads = s->number_count};
  if (!loom_info(op)->alias)
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++)
      order_note(s, entry->reads, order_find(s, loom_operand(op, i)));
  entry->read_count = s->number_count - entry->reads;
  for (int32_t i = 0; i < entry->read_count; i++)
    s->storages[s->numbers[entry->reads + i]].readers++;
  entry->writes = s->number_count;
  int32_t overwritten = order_overwritten(s, op);
  entry->overwrites = overwritten;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op) && !loom_info(op)->alias; i++) {
    if (i == 0 && overwritten >= 0) {
      if (!order_add_alias(s, loom_result(op, i), overwritten)) return false;
      continue;
    }
    if (!order_add_value(s, loom_result(op, i))) return false;
    s->numbers[s->number_count++] = s->storage_count - 1;
  }
  entry->write_count = s->number_count - entry->writes;
  entry->packed = order_packed(op);
  return loom_map_put(&s->ops, op.ptr, s->op_count++);
}

/* ---- what has to come before what ---- */

static bool order_is_ordered(MlirOperation op) {
  return loom_class_of(op) == LOOM_CLASS_HOST || loom_info(op)->control;
}

static bool order_reads(const order_state *s, int32_t n, int32_t storage) {
  const order_op *op = &s->list[n];
  for (int32_t i = 0; i < op->read_count; i++)
    if (s->numbers[op->reads + i] == storage) return true;
  return false;
}

/* The last call that tells a size of what the op, or a group's body, computes; 0: none. */
static int32_t order_call_before(const order_state *s, MlirOperation op) {
  int32_t last = 0;
  if (!s->late.count) return 0;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
    int32_t call = loom_late_value(&s->late, loom_result(op, i));
    if (call > last) last = call;
  }
  MlirBlock body = loom_body(op);
  if (!body.ptr) return last;
  for (MlirOperation in = mlirBlockGetFirstOperation(body); in.ptr;
       in = mlirOperationGetNextInBlock(in)) {
    int32_t call = order_call_before(s, in);
    if (call > last) last = call;
  }
  return last;
}

/* Calls `visit` for each op that has to come before op `n`; one may be named twice. */
static void order_before(const order_state *s, int32_t n, int32_t last_ordered,
                         void (*visit)(order_state *, int32_t, int32_t), order_state *state) {
  MlirOperation op = s->list[n].op;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    MlirOperation def = loom_def(loom_operand(op, i));
    int32_t before = def.ptr ? (int32_t)loom_map_get(&s->ops, def.ptr, -1) : -1;
    if (before >= 0) visit(state, before, n);
  }
  int32_t call = order_call_before(s, op);
  int32_t teller = call ? (int32_t)loom_map_get(&s->ops, s->late.calls[call - 1].ptr, -1) : -1;
  if (teller >= 0 && teller != n) visit(state, teller, n);
  if (last_ordered >= 0 && order_is_ordered(op)) visit(state, last_ordered, n);
  int32_t over = s->list[n].overwrites;
  for (int32_t k = n - 1; k >= 0 && over >= 0 && s->list[k].overwrites != over; k--)
    if (order_reads(s, k, over)) visit(state, k, n);
}

static void order_count_edge(order_state *s, int32_t before, int32_t after) {
  s->list[before].next_count++;
  s->list[after].waits++;
}

static void order_add_edge(order_state *s, int32_t before, int32_t after) {
  order_op *from = &s->list[before];
  s->numbers[from->next + from->next_count++] = after;
}

static void order_visit_edges(order_state *s, void (*visit)(order_state *, int32_t, int32_t)) {
  int32_t ordered = -1;
  for (int32_t n = 0; n < s->op_count; n++) {
    order_before(s, n, ordered, visit, s);
    if (order_is_ordered(s->list[n].op)) ordered = n;
  }
}

/* A result that may take an argument's buffer is written when all that read the argument before it
 * have done so: the order of the program stays for these. */
static bool order_overwrites(const order_state *s) {
  MlirOperation terminator = mlirBlockGetTerminator(s->block);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(terminator); i++)
    if (loom_result_overwrites(s->function, i) >= 0) return true;
  return false;
}

static void order_find_edges(order_state *s) {
  order_visit_edges(s, order_count_edge);
  int32_t at = s->number_count;
  for (int32_t n = 0; n < s->op_count; n++) {
    s->list[n].next = at;
    at += s->list[n].next_count;
    s->list[n].next_count = 0;
  }
  order_visit_edges(s, order_add_edge);
}

/* ---- the order ---- */

static int64_t order_made(const order_state *s, const order_op *op) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < op->write_count; i++)
    bytes += s->storages[s->numbers[op->writes + i]].size;
  return bytes;
}

/* What nothing needs any more once it has run; its own results that nobody reads, too. */
static int64_t order_freed(const order_state *s, const order_op *op) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < op->read_count; i++) {
    const order_value *value = &s->storages[s->numbers[op->reads + i]];
    if (value->left == 1 && !value->kept) bytes += value->size;
  }
  for (int32_t i = 0; i < op->write_count; i++) {
    const order_value *value = &s->storages[s->numbers[op->writes + i]];
    if (value->readers == 0 && !value->kept) bytes += value->size;
  }
  return bytes;
}

static void order_start(order_state *s) {
  for (int32_t i = 0; i < s->storage_count; i++)
    s->storages[i].left = s->storages[i].readers;
}

/* Places an op: what is live afterwards; `peak` grows to what is live while it runs. */
static int64_t order_place(order_state *s, int32_t n, int64_t live, int64_t *peak) {
  const order_op *op = &s->list[n];
  live += order_made(s, op);
  if (live + op->packed > *peak) *peak = live + op->packed;
  live -= order_freed(s, op);
  for (int32_t i = 0; i < op->read_count; i++)
    s->storages[s->numbers[op->reads + i]].left--;
  return live;
}

static int64_t order_peak_of_program(order_state *s) {
  int64_t live = s->base, peak = s->base;
  order_start(s);
  for (int32_t n = 0; n < s->op_count; n++)
    live = order_place(s, n, live, &peak);
  return peak;
}

/* The place in `ready`, which is sorted, of the op to come next. */
static int32_t order_choose(const order_state *s, int32_t ready_count) {
  int32_t best = 0, window = ready_count < ORDER_WINDOW ? ready_count : ORDER_WINDOW;
  int64_t best_growth = INT64_MAX;
  for (int32_t i = 0; i < window; i++) {
    const order_op *op = &s->list[s->ready[i]];
    int64_t growth = order_made(s, op) - order_freed(s, op);
    if (growth >= best_growth) continue;
    best_growth = growth;
    best = i;
  }
  return best;
}

static int32_t order_insert(order_state *s, int32_t count, int32_t n) {
  int32_t at = count;
  for (; at > 0 && s->ready[at - 1] > n; at--)
    s->ready[at] = s->ready[at - 1];
  s->ready[at] = n;
  return count + 1;
}

/* Fills `order`; the highest point. */
static int64_t order_greedily(order_state *s) {
  int64_t live = s->base, peak = s->base;
  int32_t ready_count = 0, placed = 0;
  order_start(s);
  for (int32_t n = 0; n < s->op_count; n++)
    if (s->list[n].waits == 0) ready_count = order_insert(s, ready_count, n);
  while (ready_count > 0) {
    int32_t at = order_choose(s, ready_count), n = s->ready[at];
    memmove(s->ready + at, s->ready + at + 1, sizeof *s->ready * (size_t)(--ready_count - at));
    live = order_place(s, n, live, &peak);
    s->order[placed++] = n;
    for (int32_t i = 0; i < s->list[n].next_count; i++) {
      int32_t next = s->numbers[s->list[n].next + i];
      if (--s->list[next].waits == 0) ready_count = order_insert(s, ready_count, next);
    }
  }
  return placed == s->op_count ? peak : INT64_MAX;
}

static void order_move(order_state *s) {
  MlirOperation terminator = mlirBlockGetTerminator(s->block);
  for (int32_t i = 0; i < s->op_count; i++)
    mlirOperationMoveBefore(s->list[s->order[i]].op, terminator);
}

/* ---- the pass ---- */

static bool order_allocate(order_state *s) {
  size_t ops = 1, values = (size_t)mlirBlockGetNumArguments(s->block) + 1, numbers = 1;
  for (MlirOperation op = mlirBlockGetFirstOperation(s->block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    size_t operands = (size_t)mlirOperationGetNumOperands(op);
    size_t results = (size_t)mlirOperationGetNumResults(op);
    ops++;
    values += results;
    numbers += 3 * operands + results + 2; /* reads, writes, edges for values, storages, sizes */
  }
  s->storages = malloc(sizeof *s->storages * values);
  s->list = malloc(sizeof *s->list * ops);
  s->numbers = malloc(sizeof *s->numbers * numbers);
  s->order = malloc(sizeof *s->order * ops);
  s->ready = malloc(sizeof *s->ready * ops);
  return loom_late_find(&s->late, s->block) && s->storages && s->list && s->numbers && s->order &&
         s->ready;
}

static bool order_read(order_state *s) {
  if (!order_allocate(s)) return false;
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(s->block); i++)
    if (!order_add_value(s, mlirBlockGetArgument(s->block, i))) return false;
  MlirOperation terminator = mlirBlockGetTerminator(s->block);
  for (MlirOperation op = mlirBlockGetFirstOperation(s->block);
       op.ptr && !mlirOperationEqual(op, terminator); op = mlirOperationGetNextInBlock(op))
    if (!order_add_op(s, op)) return false;
  return true;
}

enum { ORDER_COUNT_FUNCTIONS, ORDER_COUNT_SAVED };

static void order_tell(MlirOperation function, int64_t before, int64_t after, bool better) {
  MlirLocation loc = mlirOperationGetLocation(function);
  if (better) {
    loom_count(ORDER_COUNT_FUNCTIONS, 1);
    loom_count(ORDER_COUNT_SAVED, before - after);
    loom_remark(LOOM_REMARK_PASSED, loc, "order",
                "in another order %" PRId64 " bytes are live at once, not %" PRId64, after, before);
  } else {
    loom_remark(LOOM_REMARK_MISSED, loc, "order",
                "the order stays: in no other one are much less than %" PRId64
                " bytes live at once",
                before);
  }
}

static bool order_run(MlirOperation function) {
  order_state s = {.function = function};
  s.block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  if (mlirBlockIsNull(s.block) || !mlirBlockIsNull(mlirBlockGetNextInRegion(s.block))) return true;
  MlirOperation terminator = mlirBlockGetTerminator(s.block);
  if (!terminator.ptr || !loom_is_named(terminator, "func.return") || order_overwrites(&s))
    return true;
  bool good = order_read(&s);
  int64_t before = good ? order_peak_of_program(&s) : 0;
  if (before > ORDER_SMALL) {
    order_find_edges(&s);
    int64_t after = order_greedily(&s);
    bool better = after < before - before / ORDER_GAIN;
    order_tell(function, before, after, better);
    if (better) order_move(&s);
  }
  loom_map_fini(&s.values);
  loom_map_fini(&s.ops);
  loom_late_fini(&s.late);
  free(s.storages);
  free(s.list);
  free(s.numbers);
  free(s.order);
  free(s.ready);
  return good || loom_emit_error(mlirOperationGetLocation(function), "out of memory");
}

MlirPass loom_make_order_pass(void) {
  static const loom_pass_spec spec = {.name = "LoomOrder",
                                      .flag = "loom-order",
                                      .summary =
                                          "Order kernels so that less memory is live at once",
                                      .root = "builtin.module",
                                      .each_function = true,
                                      .run = order_run,
                                      .counters = {{"functions", "functions in another order"},
                                                   {"saved", "bytes fewer at the highest point"}}};
  return loom_pass_of(&spec);
}
