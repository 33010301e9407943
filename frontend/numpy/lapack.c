/* Small systems of linear equations by the LAPACK that NumPy itself calls.
 *
 * np.linalg.solve() of a few unknowns takes several microseconds, of which LAPACK takes a tenth. A
 * host call of it with matrices of known sizes calls LAPACK's routine as NumPy does, so that the
 * bits are NumPy's. A singular matrix is left to NumPy, which raises. */
#include "frontend/base/base.h"
#include "frontend/numpy/host_call_internal.h"
#include "frontend/numpy/numpy_internal.h"

#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define LAPACK_LARGEST 32 /* rows: of more the call itself takes longer than all around it */
#define LAPACK_ROOM (LAPACK_LARGEST * LAPACK_LARGEST)

/* dgesv: integers of 64 bits, of which a LAPACK with 32 bits reads and writes the lower half. */
typedef void (*lapack_gesv)(const int64_t *n, const int64_t *columns, void *a, const int64_t *lda,
                            int64_t *pivots, void *b, const int64_t *ldb, int64_t *info);

static struct {
  bool asked;
  PyObject *solve, *inv;
  lapack_gesv gesv;
} lapack;

static lapack_gesv lapack_find(void *library) {
  static const char *const names[] = {"scipy_dgesv_64_", "dgesv_64_", "scipy_dgesv_", "dgesv_"};
  lapack_gesv found = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++) {
    void *place = dlsym(library, names[i]);
    memcpy(&found, &place, sizeof found);
  }
  return found;
}

/* The library is the one that NumPy's own module is linked with. */
static void lapack_open(void) {
  PyObject *module = PyImport_ImportModule("numpy.linalg._umath_linalg");
  PyObject *path = module ? PyObject_GetAttrString(module, "__file__") : NULL;
  const char *file = path ? PyUnicode_AsUTF8(path) : NULL;
  void *library = file ? dlopen(file, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  if (library) {
    lapack.gesv = lapack_find(library);
    dlclose(library);
  }
  Py_XDECREF(path);
  Py_XDECREF(module);
  PyObject *linalg = PyImport_ImportModule("numpy.linalg");
  lapack.solve = linalg ? PyObject_GetAttrString(linalg, "solve") : NULL;
  lapack.inv = linalg ? PyObject_GetAttrString(linalg, "inv") : NULL;
  Py_XDECREF(linalg);
  error_drop();
  lapack.asked = true;
}

static double lapack_read(const void *from, int64_t i, bool wide) {
  double x;
  float small;
  if (!wide) return memcpy(&small, (const char *)from + i * 4, 4), small;
  return memcpy(&x, (const char *)from + i * 8, 8), x;
}

/* The rows of a matrix as columns: LAPACK's matrices are in Fortran order. Floats become doubles,
 * with which NumPy computes as well. */
static void lapack_load(double *to, const void *from, int64_t rows, int64_t columns, bool wide) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = 0; k < columns; k++)
      to[k * rows + i] = lapack_read(from, i * columns + k, wide);
}

static void lapack_identity(double *to, int64_t n) {
  for (int64_t i = 0; i < n * n; i++)
    to[i] = i % (n + 1) == 0;
}

/* NumPy warns of doubles that are no floats. */
static bool lapack_are_floats(const double *x, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (isfinite(x[i]) && fabs(x[i]) > FLT_MAX) return false;
  return true;
}

static void lapack_store(void *to, const double *from, int64_t rows, int64_t columns, bool wide) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = 0; k < columns; k++) {
      double x = from[k * rows + i];
      float small = wide ? 0 : (float)x;
      char *place = (char *)to + (i * columns + k) * (wide ? 8 : 4);
      memcpy(place, wide ? (const void *)&x : (const void *)&small, wide ? 8 : 4);
    }
}

bool np_lapack_run(const np_lapack_call *c) {
  double a[LAPACK_ROOM], b[LAPACK_ROOM];
  int64_t pivots[LAPACK_LARGEST], info = 0, n = c->n, columns = c->b ? c->columns : n;
  if (!lapack.gesv || n < 1 || n > LAPACK_LARGEST || columns < 1 || columns > LAPACK_ROOM / n)
    return false;
  lapack_load(a, c->a, n, n, c->wide);
  if (c->b)
    lapack_load(b, c->b, n, columns, c->wide);
  else
    lapack_identity(b, n);
  lapack.gesv(&n, &columns, a, &n, pivots, b, &n, &info);
  if ((int32_t)info || (!c->wide && !lapack_are_floats(b, n * columns))) return false;
  lapack_store(c->out, b, n, columns, c->wide);
  return true;
}

int np_lapack_operands(PyObject *callable) {
  if (!lapack.asked) lapack_open();
  return callable == lapack.solve ? 2 : callable == lapack.inv ? 1 : 0;
}
