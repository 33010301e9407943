/* loom.plan and an image as the bytes of a plan (runtime/runtime.h). */
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "passes/passes.h"
#include "runtime/runtime.h"
#include "targets/serialize.h"
#include "targets/target.h"

void serial_put(serial_bytes *bytes, const void *data, size_t size) {
  if (bytes->size + size > bytes->capacity && !bytes->failed) {
    size_t capacity = (bytes->capacity + size) * 2 + 256;
    uint8_t *grown = realloc(bytes->data, capacity);
    if (!grown) bytes->failed = true;
    if (grown) {
      bytes->data = grown;
      bytes->capacity = capacity;
    }
  }
  if (bytes->failed) return;
  if (size) memcpy(bytes->data + bytes->size, data, size);
  bytes->size += size;
}

static void serial_align(serial_bytes *bytes) {
  static const uint8_t zeros[8];
  serial_put(bytes, zeros, (8 - bytes->size % 8) % 8);
}

/* ---- arguments ---- */

static bool serial_is_const(const serial_state *s, int64_t input) {
  MlirAttribute consts = loom_get_attr(s->plan, "consts");
  for (intptr_t i = 0; i < mlirDenseArrayGetNumElements(consts); i++)
    if (mlirDenseI64ArrayGetElement(consts, i) == input) return true;
  return false;
}

static bool serial_arguments(serial_state *s, MlirBlock block) {
  intptr_t count = mlirBlockGetNumArguments(block);
  int64_t inputs = loom_get_i64(s->plan, "inputs", 0);
  for (intptr_t i = 0; i < count; i++) {
    MlirValue value = mlirBlockGetArgument(block, i);
    bool is_buffer = mlirTypeIsAMemRef(mlirValueGetType(value));
    if (i >= inputs) {
      if (!serial_buffer(s, value, LOOM_PLAN_BUFFER_OUTPUT, s->output_count++, 0)) return false;
      continue;
    }
    loom_plan_input input = {LOOM_PLAN_SCALAR, is_buffer ? s->buffer_count : s->scalar_count};
    if (is_buffer) {
      input.kind = serial_is_const(s, i) ? LOOM_PLAN_CONST : LOOM_PLAN_ARRAY;
      if (!serial_buffer(s, value, LOOM_PLAN_BUFFER_INPUT, (uint32_t)i, 0)) return false;
    } else if (!loom_map_put(&s->scalars, value.ptr, s->scalar_count++)) {
      return loom_fail(s->err, "out of memory");
    }
    serial_put(&s->inputs, &input, sizeof input);
    s->input_count++;
  }
  return true;
}

/* ---- instructions ---- */

static uint32_t serial_name(serial_state *s, const char *text, size_t length) {
  uint32_t at = (uint32_t)s->names.size;
  serial_put(&s->names, text, length);
  serial_put(&s->names, "", 1);
  return at;
}

static int64_t serial_find_stage(const loom_gpu_table *table, const char *name) {
  for (uint32_t i = 0; i < table->count; i++)
    if (strcmp(table->rows[i].name, name) == 0) return i;
  return -1;
}

/* The maps of the next kernel. */
static void serial_maps(serial_state *s, const loom_gpu_row *row) {
  for (uint32_t i = 0; i < row->map_count; i++) {
    loom_tensor_map map = row->maps[i];
    map.kernel = s->kernel_count;
    serial_put(&s->maps, &map, sizeof map);
  }
}

/* The number of a kernel's stage in the table of entry points; UINT32_MAX after an error. */
static uint32_t serial_kernel(serial_state *s, MlirOperation launch) {
  char name[128];
  MlirStringRef kernel = mlirFlatSymbolRefAttrGetValue(loom_get_attr(launch, "kernel"));
  int length = snprintf(name, sizeof name, "%.*s_s%d", (int)kernel.length, kernel.data,
                        (int)loom_get_i64(launch, "stage", 0));
  int64_t entry = -1;
  if (length < (int)sizeof name)
    entry = s->gpu ? serial_find_stage(s->gpu, name) : loom_entries_find(s->entries, name);
  if (entry < 0) {
    loom_fail(s->err, "the image has no entry '%s'", name);
    return UINT32_MAX;
  }
  const void *key = (const void *)(uintptr_t)(entry + 1);
  int64_t known = loom_map_get(&s->kernels, key, -1);
  if (known >= 0) return (uint32_t)known;
  loom_plan_kernel row = {(uint32_t)entry, serial_name(s, name, (size_t)length), 0, 0, 0, 0};
  if (s->gpu) {
    row.entry = LOOM_PLAN_KERNEL_LISTS(s->gpu->rows[entry].buffers, s->gpu->rows[entry].params);
    row.threads = s->gpu->rows[entry].threads;
    row.flags = s->gpu->rows[entry].flags;
    row.shared = loom_gpu_given(&s->gpu->rows[entry]);
    serial_maps(s, &s->gpu->rows[entry]);
    MlirStringRef op = loom_get_str(launch, loom_mark_reports);
    if (op.length) row.op = 1 + serial_name(s, op.data, op.length);
  }
  serial_put(&s->table, &row, sizeof row);
  if (loom_map_put(&s->kernels, key, s->kernel_count)) return s->kernel_count++;
  loom_fail(s->err, "out of memory");
  return UINT32_MAX;
}

/* The sizes with which a checked kernel compares. */
static bool serial_ready_extents(serial_state *s, MlirOperation op) {
  for (intptr_t i = 0; s->reach.ptr && i < mlirOperationGetNumOperands(op); i++) {
    MlirValue buffer = loom_operand(op, i);
    if (!mlirTypeIsAMemRef(mlirValueGetType(buffer))) continue;
    intptr_t number = loom_def(buffer).ptr ? -1 : mlirBlockArgumentGetArgNumber(buffer);
    int64_t low = number < 0 ? 0 : mlirDenseI64ArrayGetElement(s->reach, 2 * number);
    int64_t size =
        number < 0 ? serial_size(s, buffer) : mlirDenseI64ArrayGetElement(s->reach, 2 * number + 1);
    if (!serial_ready(s, low) || !serial_ready(s, size)) return false;
  }
  return true;
}

/* Before an instruction: memory for its buffers that have none yet, and sizes that it names. */
static bool serial_prepare(serial_state *s, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    MlirValue buffer = loom_operand(op, i);
    int64_t output = loom_map_get(&s->waiting, buffer.ptr, -1);
    if (output < 0) continue;
    if (!serial_ready(s, serial_size(s, buffer))) return false;
    loom_plan_instr instr = {.opcode = LOOM_PLAN_ALLOC,
                             .a = (uint32_t)loom_map_get(&s->buffers, buffer.ptr, 0),
                             .b = (uint32_t)output};
    serial_put(&s->instrs, &instr, sizeof instr);
    if (!loom_map_put(&s->waiting, buffer.ptr, -1)) return loom_fail(s->err, "out of memory");
  }
  return serial_ready(s, loom_get_i64(op, "chunks", 0)) &&
         serial_ready(s, loom_get_i64(op, "scratch", 0));
}

/* After a host call: the symbols that it introduces are known, and the sizes of its results. */
static bool serial_introduce(serial_state *s, MlirOperation op) {
  MlirAttribute made = loom_get_attr(op, loom_mark_introduces);
  for (intptr_t i = 0; made.ptr && i < mlirDenseArrayGetNumElements(made); i++)
    s->unknown[mlirDenseI64ArrayGetElement(made, i)] = 0;
  for (intptr_t i = loom_get_i64(op, "reads", 0); i < mlirOperationGetNumOperands(op); i++)
    if (!serial_ready(s, serial_size(s, loom_operand(op, i)))) return false;
  return true;
}

/* Appends a list of buffers or scalars; entries from `first` on of the op's operands. */
static bool serial_list(serial_state *s, const loom_map *numbers, MlirOperation op, intptr_t first,
                        intptr_t count) {
  for (intptr_t i = 0; i < count; i++) {
    int64_t number = loom_map_get(numbers, loom_operand(op, first + i).ptr, -1);
    if (number < 0) return loom_fail(s->err, "a plan's instruction reads an unknown buffer");
    uint32_t entry = (uint32_t)number;
    serial_put(&s->indices, &entry, sizeof entry);
  }
  return true;
}

static bool serial_launch(serial_state *s, MlirOperation op) {
  MlirAttribute segments = loom_get_attr(op, "operandSegmentSizes");
  intptr_t buffers = mlirDenseI32ArrayGetElement(segments, 0);
  intptr_t scalars = mlirDenseI32ArrayGetElement(segments, 1);
  loom_plan_instr instr = {
      .opcode = LOOM_PLAN_LAUNCH, .device = s->gpu != NULL, .a = serial_kernel(s, op)};
  if (instr.a == UINT32_MAX) return false;
  uint64_t chunks =
      serial_number(s, loom_get_i64(op, "chunks", 1), LOOM_PLAN_CHUNKS_REGISTER, &instr.flags);
  uint64_t scratch =
      serial_number(s, loom_get_i64(op, "scratch", 0), LOOM_PLAN_SCRATCH_REGISTER, &instr.flags);
  int64_t first = loom_get_i64(op, loom_mark_first, 0);
  if (chunks > UINT32_MAX || scratch > UINT32_MAX || first < 0 || first > UINT32_MAX)
    return loom_fail(s->err, "a launch of %lld chunks with %lld bytes of scratch",
                     (long long)chunks, (long long)scratch);
  if (s->gpu && (scratch || instr.flags & LOOM_PLAN_SCRATCH_REGISTER))
    return loom_fail(s->err, "a kernel with scratch memory has no form on a GPU");
  instr.fp_mask = (uint32_t)loom_get_i64(op, "fp", 15);
  instr.b = (uint32_t)first;
  instr.c = (uint32_t)loom_get_i64(op, loom_mark_reads, 0);
  instr.chunks = (uint32_t)chunks;
  instr.scratch = (uint32_t)scratch;
  instr.buffers = (uint32_t)(s->indices.size / sizeof(uint32_t));
  instr.buffer_count = (uint32_t)buffers;
  instr.params = instr.buffers + instr.buffer_count;
  uint32_t symbols = (uint32_t)loom_get_i64(op, "symbols", 0);
  instr.param_count = (uint32_t)scalars + symbols;
  serial_put(loom_get_attr(op, loom_mark_once).ptr ? &s->once : &s->instrs, &instr, sizeof instr);
  if (!serial_list(s, &s->buffers, op, 0, buffers) ||
      !serial_list(s, &s->scalars, op, buffers, scalars))
    return false;
  for (uint32_t i = 0; i < symbols; i++) {
    uint32_t entry = LOOM_PLAN_PARAM_REGISTER | i;
    serial_put(&s->indices, &entry, sizeof entry);
  }
  return true;
}

static bool serial_host_call(serial_state *s, MlirOperation op) {
  MlirStringRef name = loom_get_str(op, "name");
  intptr_t count = mlirOperationGetNumOperands(op);
  loom_plan_instr instr = {
      .opcode = LOOM_PLAN_HOST_CALL,
      .a = serial_name(s, name.data, name.length),
      .b = (uint32_t)loom_get_i64(op, "slot", 0),
      .c = (uint32_t)loom_get_i64(op, "reads", 0),
      .buffers = (uint32_t)(s->indices.size / sizeof(uint32_t)),
      .buffer_count = (uint32_t)count,
  };
  serial_put(&s->instrs, &instr, sizeof instr);
  return serial_list(s, &s->buffers, op, 0, count) && serial_introduce(s, op);
}

/* The number of a region's plan; behind the one that runs it, so that none runs itself. */
static bool serial_region(serial_state *s, MlirOperation op, intptr_t i, uint32_t *out) {
  MlirAttribute name = mlirArrayAttrGetElement(loom_get_attr(op, "plans"), i);
  MlirStringRef text = mlirFlatSymbolRefAttrGetValue(name);
  for (intptr_t p = 1; p < s->plan_count; p++) {
    if (!mlirStringRefEqual(loom_get_str(s->plans[p], "sym_name"), text)) continue;
    *out = (uint32_t)p;
    return true;
  }
  return loom_fail(s->err, "there is no plan '%.*s'", (int)text.length, text.data);
}

/* Plans a (the body, or the branch taken) and b (the condition, or the other branch). */
static bool serial_run(serial_state *s, MlirOperation op) {
  MlirStringRef kind = loom_get_str(op, "kind");
  MlirAttribute carry = loom_get_attr(op, "carry");
  bool counts = loom_str_is(kind, "for"), branches = loom_str_is(kind, "if");
  loom_plan_instr instr = {.opcode = counts     ? LOOM_PLAN_FOR
                                     : branches ? LOOM_PLAN_BRANCH
                                                : LOOM_PLAN_WHILE};
  uint32_t first = 0, second = 0;
  if (!serial_region(s, op, 0, &first) || (!counts && !serial_region(s, op, 1, &second)))
    return false;
  bool swapped = !counts && !branches; /* a condition comes before its body */
  instr.a = swapped ? second : first;
  instr.b = swapped ? first : second;
  uint32_t symbol = (uint32_t)(loom_get_i64(op, loom_mark_symbol, -1) + 1);
  int64_t known = loom_get_i64(op, loom_mark_count, -1);
  if (counts) instr.b = symbol;
  if (counts && known >= 0 && known < UINT32_MAX) instr.op = (uint32_t)known + 1;
  if (swapped) instr.op = symbol;
  intptr_t count = mlirOperationGetNumOperands(op);
  instr.c = (uint32_t)mlirDenseArrayGetNumElements(carry);
  instr.buffers = (uint32_t)(s->indices.size / sizeof(uint32_t));
  instr.buffer_count = (uint32_t)count;
  instr.params = instr.buffers + instr.buffer_count;
  instr.param_count = instr.c;
  serial_put(&s->instrs, &instr, sizeof instr);
  if (!serial_list(s, &s->buffers, op, 0, count)) return false;
  for (uint32_t i = 0; i < instr.c; i++) {
    int64_t from = mlirDenseI64ArrayGetElement(carry, i);
    uint32_t entry = from < 0 ? LOOM_PLAN_CARRY_BEFORE | (uint32_t)(-1 - from) : (uint32_t)from;
    serial_put(&s->indices, &entry, sizeof entry);
  }
  return true;
}

static bool serial_copy(serial_state *s, MlirOperation op) {
  int64_t from = loom_map_get(&s->buffers, loom_operand(op, 0).ptr, -1);
  int64_t to = loom_map_get(&s->buffers, loom_operand(op, 1).ptr, -1);
  if (from < 0 || to < 0) return loom_fail(s->err, "a plan's copy reads an unknown buffer");
  loom_plan_instr instr = {
      .opcode = LOOM_PLAN_COPY, .device = s->gpu != NULL, .a = (uint32_t)from, .b = (uint32_t)to};
  serial_put(&s->instrs, &instr, sizeof instr);
  return true;
}

/* In pages, rounded inwards but at the arena's end: what lies behind that is nobody's. */
static bool serial_trim(serial_state *s, MlirOperation op) {
  int64_t begin = loom_get_i64(op, "offset", 0), end = begin + loom_get_i64(op, "bytes", 0);
  if (end == loom_get_i64(s->plan, "arena", 0)) end += LOOM_PLAN_PAGE - 1;
  int64_t first = (begin + LOOM_PLAN_PAGE - 1) / LOOM_PLAN_PAGE, last = end / LOOM_PLAN_PAGE;
  if (begin < 0 || last <= first || last > UINT32_MAX) return true;
  loom_plan_instr instr = {.opcode = LOOM_PLAN_TRIM, .a = (uint32_t)first, .b = (uint32_t)last};
  serial_put(&s->instrs, &instr, sizeof instr);
  return true;
}

/* What a device does not do. torch's functions take memory of a device, and order their work on it;
 * other functions of the host take memory of the host. */
static bool serial_fits_device(const serial_state *s, MlirOperation op) {
  loom_opcode code = loom_op_of(op);
  MlirStringRef name = loom_get_str(op, "name");
  return code != LOOM_OP_CALL_HOST || loom_str_is(name, "torch") ||
         loom_fail(s->err, "%.*s runs on the host and has no kernel for a GPU", (int)name.length,
                   name.data);
}

static bool serial_op(MlirOperation op, void *user) {
  serial_state *s = user;
  loom_opcode code = loom_op_of(op);
  if (s->gpu && !serial_fits_device(s, op)) return false;
  if (code == LOOM_OP_BUFFER)
    return serial_buffer(s, loom_result(op, 0), LOOM_PLAN_BUFFER_ARENA, 0,
                         loom_get_i64(op, "offset", 0));
  if (!serial_prepare(s, op)) return false;
  switch (code) {
  case LOOM_OP_LAUNCH: return serial_ready_extents(s, op) && serial_launch(s, op);
  case LOOM_OP_CALL_HOST: return serial_host_call(s, op);
  case LOOM_OP_COPY_BUFFER: return serial_copy(s, op);
  case LOOM_OP_TRIM_ARENA: return serial_trim(s, op);
  case LOOM_OP_RUN: return serial_run(s, op);
  default: break;
  }
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  return loom_fail(s->err, "'%.*s' has no form in a plan's bytes", (int)name.length, name.data);
}

/* ---- what checked kernels access ---- */

static void serial_sites(serial_state *s) {
  MlirAttribute texts = loom_get_attr(s->plan, loom_mark_sites);
  MlirAttribute buffers = loom_get_attr(s->plan, loom_mark_site_buffers);
  MlirAttribute bytes = loom_get_attr(s->plan, loom_mark_site_bytes);
  for (intptr_t i = 0; texts.ptr && i < mlirArrayAttrGetNumElements(texts); i++) {
    MlirStringRef text = mlirStringAttrGetValue(mlirArrayAttrGetElement(texts, i));
    loom_plan_site site = {.text = serial_name(s, text.data, text.length),
                           .buffer = (int32_t)mlirDenseI64ArrayGetElement(buffers, i),
                           .bytes = (uint32_t)mlirDenseI64ArrayGetElement(bytes, i)};
    serial_put(&s->sites, &site, sizeof site);
  }
}

/* ---- the whole ---- */

static void serial_section(serial_bytes *out, loom_plan_section *section, const void *data,
                           size_t size, uint32_t count) {
  serial_align(out);
  *section = (loom_plan_section){(uint32_t)out->size, count};
  serial_put(out, data, size);
}

/* `regions`: the bytes of the regions' plans, of the main one only. */
static bool serial_assemble(serial_state *s, const loom_bytes *image, const loom_bytes *regions,
                            uint64_t features, loom_bytes *out) {
  loom_plan_header h = {
      .magic = LOOM_PLAN_MAGIC,
      .version = LOOM_PLAN_VERSION,
      .cpu_features = features,
      .input_count = s->input_count,
      .output_count = s->output_count,
      .scalar_count = s->scalar_count,
      .symbol_count = s->symbol_count,
      .register_count = s->register_count,
      .late_count = s->late_count,
      .kept_count = s->kept_count,
      .prologue = s->prologue,
      .peak = (uint64_t)loom_get_i64(s->plan, loom_mark_peak, 0),
  };
  if (s->gpu) h.target = s->gpu->plan;
  if (s->gpu && s->late_count)
    return loom_fail(s->err, "sizes that depend on data have no form on a GPU");
  h.arena_size =
      serial_number(s, loom_get_i64(s->plan, "arena", 0), LOOM_PLAN_ARENA_REGISTER, &h.flags);
  if (!regions) h.flags |= LOOM_PLAN_REGION;
  if (s->reach.ptr) h.flags |= LOOM_PLAN_CHECKED;
  serial_bytes all = {0};
  serial_put(&all, &h, sizeof h);
  serial_section(&all, &h.inputs, s->inputs.data, s->inputs.size, s->input_count);
  serial_section(&all, &h.buffers, s->buffer_table.data, s->buffer_table.size, s->buffer_count);
  serial_section(&all, &h.instrs, s->instrs.data, s->instrs.size,
                 (uint32_t)(s->instrs.size / sizeof(loom_plan_instr)));
  serial_section(&all, &h.indices, s->indices.data, s->indices.size,
                 (uint32_t)(s->indices.size / sizeof(uint32_t)));
  serial_section(&all, &h.kernels, s->table.data, s->table.size, s->kernel_count);
  serial_section(&all, &h.constants, s->constants.data, s->constants.size, s->constant_count);
  serial_section(&all, &h.names, s->names.data, s->names.size, (uint32_t)s->names.size);
  serial_section(&all, &h.once, s->once.data, s->once.size,
                 (uint32_t)(s->once.size / sizeof(loom_plan_instr)));
  serial_section(&all, &h.extents, s->extents.data, s->extents.size,
                 (uint32_t)(s->extents.size / sizeof(loom_plan_extent)));
  serial_section(&all, &h.sites, s->sites.data, s->sites.size,
                 (uint32_t)(s->sites.size / sizeof(loom_plan_site)));
  serial_section(&all, &h.maps, s->maps.data, s->maps.size,
                 (uint32_t)(s->maps.size / sizeof(loom_tensor_map)));
  /* What a loaded plan does not keep comes last. */
  serial_section(&all, &h.image, image->data, regions ? image->size : 0,
                 regions ? (uint32_t)image->size : 0);
  serial_section(&all, &h.regions, NULL, 0, regions ? (uint32_t)(s->plan_count - 1) : 0);
  for (intptr_t i = 1; regions && i < s->plan_count; i++)
    serial_put(&all, regions[i].data, regions[i].size); /* multiples of 8 bytes */
  serial_align(&all);
  bool failed = all.failed || s->inputs.failed || s->buffer_table.failed || s->instrs.failed ||
                s->once.failed || s->indices.failed || s->table.failed || s->names.failed ||
                s->constants.failed || s->extents.failed || s->sites.failed || s->maps.failed;
  if (failed || all.size > UINT32_MAX) {
    free(all.data);
    return loom_fail(s->err, failed ? "out of memory" : "a plan of %zu bytes", all.size);
  }
  h.total_size = (uint32_t)all.size;
  memcpy(all.data, &h, sizeof h);
  size_t skipped = offsetof(loom_plan_header, checksum) + sizeof h.checksum;
  h.checksum = loom_checksum(all.data + skipped, all.size - skipped);
  memcpy(all.data, &h, sizeof h);
  *out = (loom_bytes){all.data, all.size};
  return true;
}

static bool serial_plan(serial_state *shared, intptr_t number, const loom_bytes *image,
                        const loom_bytes *regions, uint64_t features, loom_bytes *out) {
  serial_state s = *shared;
  s.plan = s.plans[number];
  s.reach = loom_get_attr(s.plan, loom_mark_extents);
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(s.plan, 0));
  serial_sites(&s);
  bool good = serial_registers(&s, block) && serial_arguments(&s, block) &&
              loom_walk_block(block, serial_op, &s) &&
              serial_assemble(&s, image, regions, features, out);
  loom_map_fini(&s.buffers);
  loom_map_fini(&s.scalars);
  loom_map_fini(&s.kernels);
  serial_bytes *parts[] = {&s.inputs, &s.buffer_table, &s.instrs,  &s.once,  &s.indices, &s.table,
                           &s.names,  &s.constants,    &s.extents, &s.sites, &s.maps};
  free(s.registers);
  free(s.unknown);
  free(s.pending);
  loom_map_fini(&s.waiting);
  loom_map_fini(&s.late);
  loom_map_fini(&s.kept);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    free(parts[i]->data);
  return good;
}

bool loom_plan_serialize(const MlirOperation *plans, intptr_t count, const loom_bytes *image,
                         const loom_entries *entries, const loom_gpu_table *gpu, uint64_t features,
                         loom_bytes *out, loom_error *err) {
  serial_state s = {
      .plans = plans, .plan_count = count, .entries = entries, .gpu = gpu, .err = err};
  loom_bytes *regions = calloc((size_t)count, sizeof *regions);
  bool good = regions || loom_fail(err, "out of memory");
  for (intptr_t i = 1; i < count && good; i++)
    good = serial_plan(&s, i, image, NULL, features, &regions[i]);
  good = good && serial_plan(&s, 0, image, regions, features, out);
  for (intptr_t i = 1; i < count && regions; i++)
    free(regions[i].data);
  free(regions);
  return good;
}
