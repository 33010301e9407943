/* The hash tables of sets.
 *
 * The order in which Python iterates a set follows from its table: how large it has grown, which
 * item has which slot, and where items were removed. The next pop() depends on the last one, too.
 * No function of CPython copies all of that: a copy has a table of its own size. So the functions
 * here read and write the table itself, whose layout CPython's headers give. */
#include "frontend/base/base.h"
#include "frontend/captured/internal.h"
#include "frontend/captured/objects.h"

#include <string.h>

/* A slot that an item was removed from has a key, too, with a hash that no item has. */
static bool slot_has_item(const setentry *slot) { return slot->key && slot->hash != -1; }

uint64_t set_slot_token(PyObject *set, Py_ssize_t at) {
  const setentry *slot = &((PySetObject *)set)->table[at];
  return slot->key ? (uint64_t)slot->hash << 1 | 1 : 0;
}

Py_ssize_t set_slots(PyObject *set) { return ((PySetObject *)set)->mask + 1; }

/* Each item has the hash of the one in whose slot it comes. */
static bool set_hashes_equal(const PySetObject *from, PyObject *const *items) {
  Py_ssize_t at = 0;
  for (Py_ssize_t i = 0; i <= from->mask; i++) {
    if (!slot_has_item(&from->table[i])) continue;
    if (PyObject_Hash(items[at++]) == from->table[i].hash) continue;
    error_drop();
    return false;
  }
  return true;
}

/* The new set holds no reference to an item yet. */
static bool set_copy_slots(PySetObject *to, const PySetObject *from) {
  if (to->fill || to->table != to->smalltable) return false;
  if (from->mask >= PySet_MINSIZE) {
    setentry *table = PyMem_New(setentry, (size_t)from->mask + 1);
    if (!table) return PyErr_NoMemory(), false;
    to->table = table;
  }
  memcpy(to->table, from->table, ((size_t)from->mask + 1) * sizeof *to->table);
  to->fill = from->fill;
  to->used = from->used;
  to->mask = from->mask;
  to->finger = from->finger;
  return true;
}

bool set_table_give(PyObject *set, PyObject *like, PyObject *const *items) {
  PySetObject *to = (PySetObject *)set;
  const PySetObject *from = (PySetObject *)like;
  if ((items && !set_hashes_equal(from, items)) || !set_copy_slots(to, from)) return false;
  for (Py_ssize_t i = 0; i <= to->mask; i++)
    if (slot_has_item(&to->table[i]))
      to->table[i].key = Py_NewRef(items ? *items++ : to->table[i].key);
  return true;
}

PyObject *set_twin(PyObject *set, bool frozen) {
  PyObject *twin = frozen ? PyFrozenSet_New(NULL) : PySet_New(NULL);
  if (twin && !set_table_give(twin, set, NULL)) Py_CLEAR(twin);
  return twin;
}

PyObject *set_outline(PyObject *set) {
  PyObject *outline = PySet_New(NULL);
  PySetObject *to = (PySetObject *)outline;
  if (outline && !set_copy_slots(to, (PySetObject *)set)) Py_CLEAR(outline);
  for (Py_ssize_t i = 0; outline && i <= to->mask; i++)
    if (slot_has_item(&to->table[i])) to->table[i].key = Py_NewRef(Py_None);
  return outline;
}

bool set_tables_equal(PyObject *a, PyObject *b) {
  const PySetObject *l = (PySetObject *)a, *r = (PySetObject *)b;
  if (l->mask != r->mask || l->fill != r->fill || l->used != r->used) return false;
  for (Py_ssize_t i = 0; i <= l->mask; i++) {
    const setentry *x = &l->table[i], *y = &r->table[i];
    if (!x->key != !y->key || (x->key && x->hash != y->hash)) return false;
    if (slot_has_item(x) && !guard_key_equal(x->key, y->key)) return false;
  }
  return true;
}
