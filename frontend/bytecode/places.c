/* Where the instructions of a code object come from: its table of locations read once, from
 * beginning to end. CPython's own way from an instruction to its line reads the table up to there,
 * each time. The format is that of Objects/locations.md of CPython, the same in 3.11, 3.12
 * and 3.13. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/bytecode/internal.h"

typedef struct place_reader {
  const uint8_t *at, *end;
  int32_t line, until; /* `until`: the first code unit behind the entry */
  int32_t shown, column;
} place_reader;

static uint32_t place_byte(place_reader *r) { return r->at < r->end ? *r->at++ : 0; }

static uint32_t place_varint(place_reader *r) {
  uint32_t byte = place_byte(r), value = byte & 63;
  for (int shift = 6; byte & 64 && shift < 30; shift += 6) {
    byte = place_byte(r);
    value |= (byte & 63) << shift;
  }
  return value;
}

static int32_t place_signed(place_reader *r) {
  uint32_t value = place_varint(r);
  return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

enum { PLACE_ONE_LINE = 10, PLACE_NO_COLUMNS = 13, PLACE_LONG, PLACE_NONE };

static void place_next(place_reader *r) {
  uint32_t first = place_byte(r), kind = first >> 3 & 15;
  r->until += (int32_t)(first & 7) + 1;
  r->column = -1;
  if (kind < PLACE_ONE_LINE) {
    r->column = (int32_t)(kind << 3 | place_byte(r) >> 4);
  } else if (kind < PLACE_NO_COLUMNS) {
    r->line += (int32_t)kind - PLACE_ONE_LINE;
    r->column = (int32_t)place_byte(r);
    place_byte(r);
  } else if (kind < PLACE_NONE) {
    r->line += place_signed(r);
  }
  if (kind == PLACE_LONG) {
    place_varint(r);
    r->column = (int32_t)place_varint(r) - 1;
    place_varint(r);
  }
  r->shown = kind == PLACE_NONE ? -1 : r->line;
}

void places_read(loom_code *code) {
  PyObject *table = code->object->co_linetable;
  const uint8_t *start = (const uint8_t *)PyBytes_AS_STRING(table);
  place_reader r = {.at = start,
                    .end = start + PyBytes_GET_SIZE(table),
                    .line = code->object->co_firstlineno,
                    .shown = -1,
                    .column = -1};
  for (int32_t i = 0; i < code->count; i++) {
    loom_instr *in = &code->instrs[i];
    while (r.until <= in->unit && r.at < r.end)
      place_next(&r);
    in->line = r.shown > 0 ? r.shown : code->object->co_firstlineno;
    in->column = r.column + 1;
  }
}
