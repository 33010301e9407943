/* Finding the row of an ATen op by its name. */
#include "frontend/base/base.h"
#include "frontend/torch/emit_internal.h"
#include "graph/ops.h"

#include <string.h>

static const aten_row aten_rows[] = {
#define ATEN(NAME, EMIT, OP, TEXT) {NAME, aten_##EMIT, LOOM_OP_##OP, TEXT},
#include "frontend/torch/aten.def"
#undef ATEN
};

bool aten_takes_sizes(const aten_row *row) {
  static const aten_emit sized[] = {
#define SIZED(EMIT) aten_##EMIT,
#include "frontend/torch/aten_sized.def"
#undef SIZED
  };
  for (size_t i = 0; i < sizeof sized / sizeof *sized; i++)
    if (sized[i] == row->emit) return true;
  return false;
}

#define ATEN_SLOTS 1024 /* of the hash table; more than twice the rows */

static uint32_t aten_hash(const char *name) {
  uint32_t hash = 2166136261u;
  for (; *name; name++)
    hash = (hash ^ (unsigned char)*name) * 16777619u;
  return hash;
}

/* Open addressing over row numbers + 1, filled on first use (under the GIL). */
const aten_row *aten_find(const char *name) {
  static uint16_t slots[ATEN_SLOTS];
  static bool filled;
  enum { ROWS = sizeof aten_rows / sizeof *aten_rows };
  _Static_assert(2 * ROWS < ATEN_SLOTS, "the table is too full");
  for (uint32_t i = 0; i < ROWS && !filled; i++) {
    uint32_t at = aten_hash(aten_rows[i].name) % ATEN_SLOTS;
    while (slots[at])
      at = (at + 1) % ATEN_SLOTS;
    slots[at] = (uint16_t)(i + 1);
  }
  filled = true;
  for (uint32_t at = aten_hash(name) % ATEN_SLOTS; slots[at]; at = (at + 1) % ATEN_SLOTS)
    if (!strcmp(aten_rows[slots[at] - 1].name, name)) return &aten_rows[slots[at] - 1];
  return NULL;
}

PyObject *torch_py_has_row(PyObject *module, PyObject *name) {
  const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
  if (text) return PyBool_FromLong(aten_find(text) != NULL);
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "torch_has_row() takes a str");
  return NULL;
}
