/* Sorts on a GPU (gpu_order.c): keys as unsigned numbers whose order is NumPy's (NaN last, whatever
 * its sign; zeros equal), as on x86 (lower_sort.c). Elements are fetched by their numbers at the
 * end, so that payloads and signs of zeros stay. */
#include "passes/alone.h"
#include "passes/gpu.h"

typedef struct sort_job {
  sort_array a;
  loom_dtype raw; /* an unsigned integer of an element's size */
} sort_job;

static MlirValue sort_key(lower *l, void *user, MlirValue line, MlirValue at);
static void sort_deliver(lower *l, void *user, MlirValue line, MlirValue at, MlirValue key,
                         MlirValue number);

static bool sort_read(const lower_kernel *kernel, MlirOperation op, sort_job *j, gpu_order *o) {
  static const loom_dtype raws[] = {LOOM_U8, LOOM_U16, LOOM_U32, LOOM_U64};
  if (!sort_array_read(kernel, op, &j->a)) return false;
  j->raw = raws[j->a.bits == 8 ? 0 : j->a.bits == 16 ? 1 : j->a.bits == 32 ? 2 : 3];
  *o = (gpu_order){.n = j->a.n,
                   .lines = j->a.lines,
                   .wide = j->a.bits == 64,
                   .key = sort_key,
                   .deliver = sort_deliver,
                   .user = j};
  if (o->n > GPU_ORDER_MOST) return alone_refuse(op, "lines that are too long for a GPU");
  return true;
}

bool gpu_sort_plan(const lower_kernel *kernel, alone_plan *out) {
  sort_job job;
  gpu_order order;
  if (!sort_read(kernel, out->op, &job, &order)) return false;
  out->stage_count = 1;
  if (order.n == 0 || order.lines == 0) return true;
  out->stage_count = gpu_order_stages(&order, out->stages);
  out->slots = gpu_order_bytes(&order);
  return true;
}

/* ---- elements ---- */

/* Where element `at` of a line lies in a buffer. */
static MlirValue sort_place(lower *l, const sort_job *j, const lower_buffer *buffer, MlirValue line,
                            MlirValue at, loom_dtype dtype) {
  MlirValue offset = alone_op(l, "arith.muli", at, buffer->strides[j->a.axis]);
  for (int d = j->a.in->type.rank - 1; d >= 0; d--) {
    int64_t size = j->a.in->type.dims[d];
    if (d == j->a.axis || size == 1) continue;
    MlirValue here = alone_op(l, "arith.remui", line, size);
    offset = alone_add_scaled(l, offset, here, buffer->strides[d]);
    line = alone_op(l, "arith.divui", line, size);
  }
  return alone_address(l, l->pointers[buffer->slot], offset, dtype);
}

/* An element as it is; of a bool any byte but 0 is 1. */
static MlirValue sort_element(lower *l, const sort_job *j, MlirValue line, MlirValue at) {
  MlirValue place = sort_place(l, j, j->a.in, line, at, j->raw);
  loom_builder b = alone_here(l);
  MlirValue x = lane_load(&b, place, j->raw, 1, (MlirValue){NULL});
  if (j->a.dtype != LOOM_BOOL) return x;
  MlirType type = mlirValueGetType(x);
  return loom_build1(&b, "arith.extui", lane_cmpi(&b, "ne", x, lane_const_int(&b, type, 0)), type);
}

/* Floats: negative ones are turned over, others get the sign's bit. */
static MlirValue sort_float_key(loom_builder *b, const sort_job *j, MlirValue x, int64_t sign) {
  int64_t infinity = j->a.dtype == LOOM_F64    ? INT64_C(0x7FF0000000000000)
                     : j->a.dtype == LOOM_F32  ? 0x7F800000
                     : j->a.dtype == LOOM_BF16 ? 0x7F80
                                               : 0x7C00;
  MlirType type = mlirValueGetType(x);
  MlirValue all = lane_const_int(b, type, -1), zero = lane_const_int(b, type, 0);
  MlirValue high = lane_const_int(b, type, sign);
  MlirValue negative = lane_op2(b, "arith.shrsi", x, lane_const_int(b, type, j->a.bits - 1));
  MlirValue key = lane_op2(b, "arith.xori", x, lane_op2(b, "arith.ori", negative, high));
  MlirValue size = lane_op2(b, "arith.andi", x, lane_op2(b, "arith.xori", high, all));
  MlirValue nan = lane_cmpi(b, "ugt", size, lane_const_int(b, type, infinity));
  key = lane_select(b, lane_cmpi(b, "eq", size, zero), high, key);
  return lane_select(b, nan, all, key);
}

static MlirValue sort_key(lower *l, void *user, MlirValue line, MlirValue at) {
  const sort_job *j = user;
  MlirValue x = sort_element(l, j, line, at);
  loom_builder b = alone_here(l);
  MlirType type = mlirValueGetType(x);
  int64_t sign = (int64_t)(UINT64_C(1) << (j->a.bits - 1));
  if (loom_dtype_is_float(j->a.dtype))
    x = sort_float_key(&b, j, x, sign);
  else if (loom_dtype_is_signed(j->a.dtype))
    x = lane_op2(&b, "arith.xori", x, lane_const_int(&b, type, sign));
  return j->a.bits < 32 ? loom_build1(&b, "arith.extui", x, mlirIntegerTypeGet(b.ctx, 32)) : x;
}

static void sort_deliver(lower *l, void *user, MlirValue line, MlirValue at, MlirValue key,
                         MlirValue number) {
  const sort_job *j = user;
  loom_builder b = alone_here(l);
  MlirValue from = loom_build1(&b, "arith.extui", number, mlirIntegerTypeGet(b.ctx, 64));
  loom_dtype dtype = j->a.numbers ? LOOM_I64 : j->raw;
  MlirValue value = j->a.numbers ? from : sort_element(l, j, line, from);
  MlirValue place = sort_place(l, j, j->a.out, line, at, dtype);
  b = alone_here(l);
  lane_store(&b, value, place, dtype, (MlirValue){NULL});
}

void gpu_sort_lower(lower *l, const alone_plan *plan, int stage) {
  sort_job job;
  gpu_order order;
  if (!sort_read(l->kernel, plan->op, &job, &order)) {
    l->failed = true;
    return;
  }
  if (order.n && order.lines) gpu_order_lower(l, &order, stage);
}
