/* The op table, generated from dialects/loom.td. */
#include "graph/graph.h"
#include "graph/ops.h"

#include <string.h>

const loom_op_info loom_op_table[LOOM_OP_END] = {
#define LOOM_OP_ROW(ENUM, ...) [LOOM_OP_##ENUM] = {__VA_ARGS__},
#include "loom_rows.inc"
};

bool loom_op_exists(loom_opcode op) { return op < LOOM_OP_COUNT && loom_op_table[op].name; }

bool loom_parts_take(const char *name, const char *word, size_t length) {
  static const struct {
    const char *name, *word;
  } taken[] = {{"kind", "sum"},
               {"combine", "set"},
               {"combine", "add"},
               {"direction", "eq"},
               {"direction", "ne"}};
  bool asked = false;
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
    if (strcmp(taken[i].name, name) != 0) continue;
    asked = true;
    if (strlen(taken[i].word) == length && !memcmp(taken[i].word, word, length)) return true;
  }
  return !asked;
}

/* ---- names: a hash table that gen_ops.py fills ---- */

#define TABLE_SLOTS 256 /* SLOTS of gen_ops.py */

static const struct {
  const char *name;
  uint32_t length;
} table_names[LOOM_OP_END] = {
#define LOOM_OP(ENUM, NAME) [LOOM_OP_##ENUM] = {NAME, sizeof NAME - 1},
#define LOOM_OP_INTERNAL(ENUM, NAME) [LOOM_OP_##ENUM] = {NAME, sizeof NAME - 1},
#include "loom_names.inc"
};

static const uint16_t table_slots[TABLE_SLOTS] = {
/* opcode + 1; 0: empty */
#define LOOM_OP_SLOT(SLOT, ENUM) [SLOT] = LOOM_OP_##ENUM + 1,
#include "loom_rows.inc"
};

loom_opcode loom_op_find(const char *name, size_t length) {
  uint32_t slot = 0;
  for (size_t i = 0; i < length; i++)
    slot = (slot * 31 + (unsigned char)name[i]) % TABLE_SLOTS;
  for (; table_slots[slot]; slot = (slot + 1) % TABLE_SLOTS) {
    loom_opcode found = (loom_opcode)(table_slots[slot] - 1);
    if (table_names[found].length == length && !memcmp(table_names[found].name, name, length))
      return found;
  }
  return LOOM_OP_COUNT;
}
