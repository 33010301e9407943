/* Instructions of AVX-512 that functions are shorter with, on vectors of floats.
 *
 * Each works on one register, so a longer vector is divided and joined again. A shorter one, or a
 * scalar, looks its elements up as a part of a register; it is scaled without the instruction,
 * which gives the same bits.
 */
#include "passes/math.h"

#define WIDE_BYTES 64
#define WIDE_LOOKED_UP 32 /* elements of a table: two registers of floats */

typedef MlirValue wide_make(math *m, const MlirValue *args, MlirType type);

static bool wide_has(const math *m) {
  return m->l && m->l->kernel->target == LANES_CPU && m->l->kernel->vector_bytes == WIDE_BYTES;
}

static int wide_unit(const math *m) { return WIDE_BYTES / (m->f64 ? 8 : 4); }

/* A vector is divided into halves until one is a register. */
static bool wide_divides(const math *m) {
  int width = lane_width(m->type);
  return (width & (width - 1)) == 0;
}

bool math_looks_up(const math *m) { return wide_has(m) && wide_divides(m) && !m->f64; }
bool math_scales(const math *m) {
  return wide_has(m) && wide_divides(m) && lane_width(m->type) >= wide_unit(m);
}

static MlirValue wide_intrinsic(math *m, const char *name, int count, const MlirValue *args,
                                MlirType type) {
  int32_t segments[] = {count, 0};
  loom_named attrs[] = {{"intrin", loom_attr_str(m->b->ctx, name)},
                        {"op_bundle_sizes", mlirDenseI32ArrayGet(m->b->ctx, 0, NULL)},
                        {"operandSegmentSizes", mlirDenseI32ArrayGet(m->b->ctx, 2, segments)}};
  return loom_result(loom_build(m->b, "llvm.call_intrinsic", count, args, 1, &type, 3, attrs), 0);
}

static MlirType wide_vector(MlirType like, int width) {
  int64_t size = width;
  return mlirVectorTypeGet(1, &size, lane_element(like));
}

/* `count` elements from `first` on; behind the last one they may be anything. */
static MlirValue wide_piece(math *m, MlirValue v, int first, int count) {
  int64_t elements[WIDE_LOOKED_UP];
  int width = lane_width(mlirValueGetType(v));
  if (!mlirTypeIsAVector(mlirValueGetType(v))) return lane_splat(m->b, v, count);
  if (width == count) return v;
  for (int i = 0; i < count; i++)
    elements[i] = first + i < width ? first + i : -1;
  return lane_shuffle2(m->b, v, v, count, elements);
}

/* Two vectors of `count` elements as one. */
static MlirValue wide_join(math *m, MlirValue low, MlirValue high, int count) {
  int64_t elements[256];
  for (int i = 0; i < 2 * count && i < 256; i++)
    elements[i] = i;
  return lane_shuffle2(m->b, low, high, 2 * count, elements);
}

/* Elements `first` to `first + width` of the result. */
static MlirValue wide_part(math *m, wide_make *make, int count, const MlirValue *args, int first,
                           int width) {
  int unit = wide_unit(m), half = width / 2;
  if (width > unit) {
    MlirValue low = wide_part(m, make, count, args, first, half);
    return wide_join(m, low, wide_part(m, make, count, args, first + half, half), half);
  }
  MlirValue pieces[4];
  for (int i = 0; i < count; i++)
    pieces[i] = wide_piece(m, args[i], first, unit);
  return make(m, pieces, wide_vector(m->type, unit));
}

static MlirValue wide_scale(math *m, const MlirValue *args, MlirType type) {
  loom_builder *b = m->b;
  MlirValue all = loom_build_int(b, mlirIntegerTypeGet(b->ctx, m->f64 ? 8 : 16), -1);
  MlirValue mode = loom_build_int(b, mlirIntegerTypeGet(b->ctx, 32), 4); /* as the unit rounds */
  MlirValue operands[] = {args[0], args[1], args[0], all, mode};
  const char *name =
      m->f64 ? "llvm.x86.avx512.mask.scalef.pd.512" : "llvm.x86.avx512.mask.scalef.ps.512";
  return wide_intrinsic(m, name, 5, operands, type);
}

MlirValue math_scale_by_power(math *m, MlirValue x, MlirValue n) {
  MlirValue args[] = {x, n};
  return wide_part(m, wide_scale, 2, args, 0, lane_width(m->type));
}

static MlirValue wide_look_up(math *m, const MlirValue *args, MlirType type) {
  MlirValue operands[] = {args[1], args[0], args[2]};
  return wide_intrinsic(m, "llvm.x86.avx512.vpermi2var.ps.512", 3, operands, type);
}

static MlirValue wide_half_table(math *m, const double *table) {
  MlirAttribute elements[WIDE_LOOKED_UP / 2];
  MlirType type = wide_vector(m->type, WIDE_LOOKED_UP / 2);
  for (int i = 0; i < WIDE_LOOKED_UP / 2; i++)
    elements[i] = mlirFloatAttrDoubleGet(m->b->ctx, lane_element(type), table[i]);
  loom_named attr = {"value", mlirDenseElementsAttrGet(type, WIDE_LOOKED_UP / 2, elements)};
  return loom_result(loom_build(m->b, "arith.constant", 0, NULL, 1, &type, 1, &attr), 0);
}

MlirValue math_look_up(math *m, MlirValue place, const double *table) {
  MlirValue args[] = {place, wide_half_table(m, table),
                      wide_half_table(m, table + WIDE_LOOKED_UP / 2)};
  int width = lane_width(m->type), unit = wide_unit(m);
  MlirValue found = wide_part(m, wide_look_up, 3, args, 0, width);
  if (width >= unit) return found;
  if (width == 1 && !mlirTypeIsAVector(m->type)) return lane_extract(m->b, found, 0);
  int64_t elements[WIDE_LOOKED_UP];
  for (int i = 0; i < width; i++)
    elements[i] = i;
  return lane_shuffle2(m->b, found, found, width, elements);
}
