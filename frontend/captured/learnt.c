/* What a callable has learnt of the sizes and numbers of its calls, for its next capture. */
#include "frontend/captured/learnt.h"
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"

#include <string.h>

void size_table_clear(size_table *table) {
  for (uint32_t i = 0; i < table->count; i++)
    free(table->facts[i].name);
  free(table->facts);
  *table = (size_table){.always = table->always, .never = table->never};
}

static uint64_t size_hash(const char *name) {
  uint64_t hash[2];
  loom_hash128(name, strlen(name), hash);
  return hash[0];
}

size_fact *size_table_find(size_table *table, const char *name, size_field field, int axis) {
  uint64_t hash = table->count ? size_hash(name) : 0;
  for (uint32_t i = 0; i < table->count; i++) {
    size_fact *f = &table->facts[i];
    if (f->hash == hash && f->field == field && f->axis == axis && !strcmp(f->name, name)) return f;
  }
  return NULL;
}

static size_fact *size_add(size_table *table, const char *name, size_field field, int axis) {
  if (!loom_grow(&table->facts, (size_t)table->count, &table->capacity, sizeof *table->facts))
    return NULL;
  char *copy = strdup(name);
  if (!copy) return NULL;
  size_fact *f = &table->facts[table->count];
  *f = (size_fact){.name = copy,
                   .hash = size_hash(name),
                   .field = field,
                   .axis = axis,
                   .group = table->count++,
                   .unit = 1,
                   .min = field == SIZE_OF_DIM ? 2 : INT64_MIN / 4,
                   .max = field == SIZE_OF_DIM ? SIZE_DIM_MAX : INT64_MAX / 4};
  return f;
}

size_fact *size_table_get(size_table *table, const source *s, size_field field, int axis) {
  PyObject *text = source_name(s);
  const char *name = text ? PyUnicode_AsUTF8(text) : NULL;
  size_fact *f = name ? size_table_find(table, name, field, axis) : NULL;
  if (name && !f) f = size_add(table, name, field, axis);
  Py_XDECREF(text);
  error_drop();
  return f;
}

bool size_know_numbers(size_table *table) {
  bool any = false;
  for (uint32_t i = 0; i < table->count; i++) {
    size_fact *f = &table->facts[i];
    if (!f->of_library || f->state != SIZE_SYMBOL || f->apart) continue;
    f->state = SIZE_PINNED;
    any = true;
  }
  return any;
}
