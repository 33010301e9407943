/* What the threads of a simulated warp do together to matrices: ldmatrix and mma of NVIDIA, MFMA
 * and WMMA of AMD. Each thread has a fragment of each matrix; the documents say which elements.
 *
 * Products of halves are exact. They are added up in f64 in the order of the depth and rounded to
 * f32 once. In what order a GPU adds them, how it rounds, and what it takes subnormal numbers for,
 * is left open (PTX ISA 9.7.14.5.14, mma). f64 is a chain of multiply-adds.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "graph/types.h"
#include "runtime/sim.h"

#define MATRIX_SIDE 16  /* of a matrix, at most, */
#define MATRIX_DEPTH 32 /* and steps */

typedef struct matrix_call {
  uint32_t a[8], b[8]; /* halves by twos, */
  double da, db;       /* or an element */
  float c[8];
  uint32_t ic[4];
  double dc[4];
  const uint16_t *line; /* of ldmatrix */
} matrix_call;

/* ---- halves ---- */

static double matrix_half(const uint32_t *fragment, int i, bool f16) {
  uint16_t bits = (uint16_t)(fragment[i / 2] >> i % 2 * 16);
  return sim_half(bits, f16);
}

/* ---- ldmatrix: PTX ISA 9.7.14.5.15 ---- */

/* Threads 8 j to 8 j + 7 say where the lines of matrix j begin. Register j of a thread gets
 * elements 2 (t % 4) and the next one of line t / 4; `turned`: of the column of that number. */
static void matrix_load(void *const *calls, bool turned) {
  for (int t = 0; t < SIM_WARP; t++)
    for (int j = 0; j < 4; j++) {
      uint16_t pair[2];
      for (int e = 0; e < 2; e++) {
        int line = turned ? t % 4 * 2 + e : t / 4, at = turned ? t / 4 : t % 4 * 2 + e;
        pair[e] = ((const matrix_call *)calls[8 * j + line])->line[at];
      }
      ((matrix_call *)calls[t])->a[j] = pair[0] | (uint32_t)pair[1] << 16;
    }
}

static void matrix_load_plain(void *const *calls) { matrix_load(calls, false); }
static void matrix_load_turned(void *const *calls) { matrix_load(calls, true); }

static loom_u32x4 matrix_ldmatrix(const void *line, uint32_t site, sim_exchange load) {
  matrix_call call = {.line = line};
  loom_u32x4 out;
  if ((uintptr_t)line % 16)
    sim_fault(sim_current(), -1,
              "thread %d loads a line of a matrix that is not at a multiple of "
              "16 bytes",
              sim_current()->thread);
  sim_together("ldmatrix", site, SIM_WARP, load, &call);
  memcpy(&out, call.a, sizeof out);
  return out;
}

loom_u32x4 loom_sim_ldmatrix(const void *line, uint32_t site) {
  return matrix_ldmatrix(line, site, matrix_load_plain);
}
loom_u32x4 loom_sim_ldmatrix_turned(const void *line, uint32_t site) {
  return matrix_ldmatrix(line, site, matrix_load_turned);
}

/* ---- products ---- */

/* Which element of a matrix thread t has as its element i: a[row][depth], b[column][depth],
 * c[row][column]. */
typedef struct matrix_place {
  int line, at;
} matrix_place;

typedef struct matrix_form {
  int threads, m, n, k;
  int a, b, c; /* elements of a thread */
  matrix_place (*of_a)(int t, int i);
  matrix_place (*of_b)(int t, int i);
  matrix_place (*of_c)(int t, int i);
} matrix_form;

/* PTX ISA 9.7.14.5.8, fragments of mma.m16n8k16 with 16-bit floats. */
static matrix_place mma_a(int t, int i) {
  return (matrix_place){t / 4 + i / 2 % 2 * 8, t % 4 * 2 + i % 2 + i / 4 * 8};
}
static matrix_place mma_b(int t, int i) {
  return (matrix_place){t / 4, t % 4 * 2 + i % 2 + i / 2 * 8};
}
static matrix_place mma_c(int t, int i) {
  return (matrix_place){t / 4 + i / 2 * 8, t % 4 * 2 + i % 2};
}
static const matrix_form matrix_mma = {32, 16, 8, 16, 8, 4, 4, mma_a, mma_b, mma_c};

/* PTX ISA 9.7.14.5.7, fragments of mma.m16n8k8 with .tf32; those of c are the same. */
static matrix_place mma32_a(int t, int i) {
  return (matrix_place){t / 4 + i % 2 * 8, t % 4 + i / 2 * 4};
}
static matrix_place mma32_b(int t, int i) { return (matrix_place){t / 4, t % 4 + i * 4}; }
static const matrix_form matrix_mma32 = {32, 16, 8, 8, 4, 2, 4, mma32_a, mma32_b, mma_c};

/* PTX ISA 9.7.14.5.10, fragments of mma.m16n8k32 with .s8. */
static matrix_place mma8_a(int t, int i) {
  return (matrix_place){t / 4 + i / 4 % 2 * 8, t % 4 * 4 + i % 4 + i / 8 * 16};
}
static matrix_place mma8_b(int t, int i) {
  return (matrix_place){t / 4, t % 4 * 4 + i % 4 + i / 4 * 16};
}
static const matrix_form matrix_mma8 = {32, 16, 8, 32, 16, 8, 4, mma8_a, mma8_b, mma_c};

/* PTX ISA 9.7.14.5.2, fragments of mma.m8n8k4 with .f64. */
static matrix_place mma64_ab(int t, int i) { return (matrix_place){t / 4, t % 4 + i}; }
static matrix_place mma64_c(int t, int i) { return (matrix_place){t / 4, t % 4 * 2 + i}; }
static const matrix_form matrix_mma64 = {32, 8, 8, 4, 1, 1, 2, mma64_ab, mma64_ab, mma64_c};

/* AMD Instinct MI300 ISA (CDNA3), 7.1, layouts of V_MFMA_F32_16X16X16_F16 and _BF16; as on CDNA2.
 */
static matrix_place mfma_ab(int t, int i) { return (matrix_place){t % 16, t / 16 * 4 + i}; }
static matrix_place mfma_c(int t, int i) { return (matrix_place){t / 16 * 4 + i, t % 16}; }
static const matrix_form matrix_mfma = {64, 16, 16, 16, 4, 4, 4, mfma_ab, mfma_ab, mfma_c};

/* The same, of V_MFMA_F64_16X16X4_F64: rows of c are 4 apart. */
static matrix_place mfma64_ab(int t, int i) { return (matrix_place){t % 16, t / 16 + i}; }
static matrix_place mfma64_c(int t, int i) { return (matrix_place){t / 16 + 4 * i, t % 16}; }
static const matrix_form matrix_mfma64 = {64, 16, 16, 4, 1, 1, 4, mfma64_ab, mfma64_ab, mfma64_c};

/* RDNA3 ISA, 7.9, V_WMMA_F32_16X16X16_F16 and _BF16 of waves of 32: threads 16 to 31 have the same
 * lines of a and b as threads 0 to 15. */
static matrix_place wmma_ab(int t, int i) { return (matrix_place){t % 16, i}; }
static matrix_place wmma_c(int t, int i) { return (matrix_place){2 * i + t / 16, t % 16}; }
static const matrix_form matrix_wmma = {32, 16, 16, 16, 16, 16, 8, wmma_ab, wmma_ab, wmma_c};

/* PTX ISA 9.7.9.21, cvt.rna.tf32.f32: to nearest, ties away from zero. */
static double matrix_tf32(uint32_t bits) {
  float value;
  if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0x1000u) & ~0x1fffu;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Element i of a fragment. */
static double matrix_element(const uint32_t *fragment, double wide, int i, int kind) {
  if (kind == 64) return wide;
  if (kind == 32) return matrix_tf32(fragment[i]);
  if (kind == 8) return (int8_t)(fragment[i / 4] >> i % 4 * 8);
  return matrix_half(fragment, i, kind);
}

/* The matrices that the fragments make. Where threads have the same element the last one's is
 * taken; all are to be the same. */
static void matrix_gather(const matrix_form *form, void *const *calls, int kind, double *a,
                          double *b) {
  for (int t = 0; t < form->threads; t++) {
    const matrix_call *call = calls[t];
    for (int i = 0; i < form->a; i++) {
      matrix_place at = form->of_a(t, i);
      a[at.line * form->k + at.at] = matrix_element(call->a, call->da, i, kind);
    }
    for (int i = 0; i < form->b; i++) {
      matrix_place at = form->of_b(t, i);
      b[at.line * form->k + at.at] = matrix_element(call->b, call->db, i, kind);
    }
  }
}

/* `kind`: 0: bf16, 1: f16, 32: tf32, 64: f64, 8: int8, whose products are exact in f64. */
static void matrix_multiply(const matrix_form *form, void *const *calls, int kind) {
  double a[MATRIX_SIDE * MATRIX_DEPTH], b[MATRIX_SIDE * MATRIX_DEPTH];
  sim_count_matrix(sim_current());
  matrix_gather(form, calls, kind, a, b);
  for (int t = 0; t < form->threads; t++)
    for (int i = 0; i < form->c; i++) {
      matrix_call *call = calls[t];
      matrix_place at = form->of_c(t, i);
      const double *x = a + at.line * form->k, *y = b + at.at * form->k;
      double sum = kind == 64 ? call->dc[i] : kind == 8 ? 0 : (double)call->c[i];
      for (int k = 0; k < form->k; k++)
        sum = kind == 64 ? fma(x[k], y[k], sum) : sum + x[k] * y[k];
      if (kind == 64)
        call->dc[i] = sum;
      else if (kind == 8)
        call->ic[i] += (uint32_t)(int32_t)sum;
      else
        call->c[i] = (float)sum;
    }
}

#define MATRIX_EXCHANGE(NAME, FORM, KIND)                                                          \
  static void NAME(void *const *calls) { matrix_multiply(&FORM, calls, KIND); }
MATRIX_EXCHANGE(matrix_mma_bf16, matrix_mma, 0)
MATRIX_EXCHANGE(matrix_mma_f16, matrix_mma, 1)
MATRIX_EXCHANGE(matrix_mma_tf32, matrix_mma32, 32)
MATRIX_EXCHANGE(matrix_mma_s8, matrix_mma8, 8)
MATRIX_EXCHANGE(matrix_mma_f64, matrix_mma64, 64)
MATRIX_EXCHANGE(matrix_mfma_bf16, matrix_mfma, 0)
MATRIX_EXCHANGE(matrix_mfma_f16, matrix_mfma, 1)
MATRIX_EXCHANGE(matrix_mfma_f64, matrix_mfma64, 64)
MATRIX_EXCHANGE(matrix_wmma_bf16, matrix_wmma, 0)
MATRIX_EXCHANGE(matrix_wmma_f16, matrix_wmma, 1)

/* ---- the primitives (passes/gpu.def) ---- */

/* The body of a product: operands into the call's places A and B, sums into place C and back. */
#define MATRIX_BODY(NAME, A, B, C, THREADS)                                                        \
  matrix_call call = {0};                                                                          \
  memcpy(&call.A, &a, sizeof a);                                                                   \
  memcpy(&call.B, &b, sizeof b);                                                                   \
  memcpy(&call.C, &c, sizeof c);                                                                   \
  sim_together("matrix product", site, THREADS, matrix_##NAME, &call);                             \
  memcpy(&c, &call.C, sizeof c);                                                                   \
  return c

loom_f32x4 loom_sim_mma_bf16(loom_u32x4 a, loom_u32x2 b, loom_f32x4 c, uint32_t site) {
  MATRIX_BODY(mma_bf16, a, b, c, 32);
}
loom_f32x4 loom_sim_mma_f16(loom_u32x4 a, loom_u32x2 b, loom_f32x4 c, uint32_t site) {
  MATRIX_BODY(mma_f16, a, b, c, 32);
}
loom_f32x4 loom_sim_mma_tf32(loom_u32x4 a, loom_u32x2 b, loom_f32x4 c, uint32_t site) {
  MATRIX_BODY(mma_tf32, a, b, c, 32);
}
loom_u32x4 loom_sim_mma_s8(loom_u32x4 a, loom_u32x2 b, loom_u32x4 c, uint32_t site) {
  MATRIX_BODY(mma_s8, a, b, ic, 32);
}
loom_f64x2 loom_sim_mma_f64(double a, double b, loom_f64x2 c, uint32_t site) {
  MATRIX_BODY(mma_f64, da, db, dc, 32);
}
loom_f32x4 loom_sim_mfma_bf16(loom_u32x2 a, loom_u32x2 b, loom_f32x4 c, uint32_t site) {
  MATRIX_BODY(mfma_bf16, a, b, c, 64);
}
loom_f32x4 loom_sim_mfma_f16(loom_u32x2 a, loom_u32x2 b, loom_f32x4 c, uint32_t site) {
  MATRIX_BODY(mfma_f16, a, b, c, 64);
}
LOOM_WIDE loom_f64x4 loom_sim_mfma_f64(double a, double b, loom_f64x4 c, uint32_t site) {
  MATRIX_BODY(mfma_f64, da, db, dc, 64);
}
LOOM_WIDE loom_f32x8 loom_sim_wmma_bf16(loom_u32x8 a, loom_u32x8 b, loom_f32x8 c, uint32_t site) {
  MATRIX_BODY(wmma_bf16, a, b, c, 32);
}
LOOM_WIDE loom_f32x8 loom_sim_wmma_f16(loom_u32x8 a, loom_u32x8 b, loom_f32x8 c, uint32_t site) {
  MATRIX_BODY(wmma_f16, a, b, c, 32);
}

/* ---- numbers of one thread ---- */

/* Subnormal results are zeros, as those of ex2.approx.ftz. */
float loom_sim_exp2(float x) {
  float y = exp2f(x);
  return y < FLT_MIN ? 0.0F : y;
}

uint32_t loom_sim_pack_bf16(float low, float high) {
  return loom_bfloat_from_double(low) | (uint32_t)loom_bfloat_from_double(high) << 16;
}

uint32_t loom_sim_pack_f16(float low, float high) {
  return loom_half_from_double(low) | (uint32_t)loom_half_from_double(high) << 16;
}
