/* Is a plan's binary form what it should be? Checked when the plan is loaded, so that running it
 * needs no checks: every index lies within its table, and every name and offset within the bytes.
 */
#include "runtime/internal.h"

#include <string.h>

static bool check_section(const loom_plan_header *h, const loom_plan_section *s, size_t entry,
                          const char *what, loom_error *err) {
  if (s->offset % 8 || s->offset < sizeof *h ||
      (uint64_t)s->offset + (uint64_t)s->count * entry > h->total_size)
    return loom_fail(err, "plan: the %s (%u at %u) lie outside", what, s->count, s->offset);
  return true;
}

bool plan_check_header(const void *bytes, size_t size, loom_plan_header *h, loom_error *err) {
  if (size < sizeof *h) return loom_fail(err, "plan: truncated header (%zu bytes)", size);
  memcpy(h, bytes, sizeof *h);
  if (h->magic != LOOM_PLAN_MAGIC) return loom_fail(err, "plan: wrong magic number");
  if (h->version != LOOM_PLAN_VERSION)
    return loom_fail(err, "plan: version %u where %u is needed", h->version, LOOM_PLAN_VERSION);
  if (h->total_size != size)
    return loom_fail(err, "plan: %zu bytes where the header says %u", size, h->total_size);
  size_t skipped = offsetof(loom_plan_header, checksum) + sizeof h->checksum;
  if (h->checksum != loom_checksum((const uint8_t *)bytes + skipped, size - skipped))
    return loom_fail(err, "plan: wrong checksum");
  if (h->cpu_features & ~loom_cpu_features())
    return loom_fail(err, "plan: made for another CPU (features 0x%llx)",
                     (unsigned long long)h->cpu_features);
  if (h->arena_size > PLAN_ARENA_LARGEST)
    return loom_fail(err, "plan: an arena of %llu bytes", (unsigned long long)h->arena_size);
  if (h->input_count != h->inputs.count)
    return loom_fail(err, "plan: inputs or sizes that the header does not count");
  /* Each of them needs a buffer or an input of its own. Larger numbers are damage, for which no
   * memory is allocated. */
  if (h->output_count > h->buffers.count + h->instrs.count || h->scalar_count > h->inputs.count)
    return loom_fail(err, "plan: %u outputs, %u scalars", h->output_count, h->scalar_count);
  if (h->register_count >= LOOM_PLAN_PARAM_REGISTER ||
      (uint64_t)h->symbol_count + h->constants.count > h->register_count ||
      h->register_count - h->symbol_count - h->constants.count > h->instrs.count ||
      h->symbol_count > PLAN_SYMBOLS || h->late_count > h->buffers.count ||
      h->kept_count > h->buffers.count || h->prologue > h->instrs.count ||
      (h->flags & LOOM_PLAN_ARENA_REGISTER && h->arena_size >= h->register_count))
    return loom_fail(err, "plan: %u registers, %u late buffers", h->register_count, h->late_count);
  bool checked = h->flags & LOOM_PLAN_CHECKED;
  return check_section(h, &h->inputs, sizeof(loom_plan_input), "inputs", err) &&
         (!checked || check_section(h, &h->extents, sizeof(loom_plan_extent), "extents", err)) &&
         (!checked || check_section(h, &h->sites, sizeof(loom_plan_site), "sites", err)) &&
         check_section(h, &h->buffers, sizeof(loom_plan_buffer), "buffers", err) &&
         check_section(h, &h->instrs, sizeof(loom_plan_instr), "instructions", err) &&
         check_section(h, &h->indices, sizeof(uint32_t), "indices", err) &&
         check_section(h, &h->maps, sizeof(loom_tensor_map), "maps", err) &&
         check_section(h, &h->kernels, sizeof(loom_plan_kernel), "kernels", err) &&
         check_section(h, &h->constants, sizeof(int64_t), "constants", err) &&
         check_section(h, &h->names, 1, "names", err) &&
         check_section(h, &h->image, 1, "image", err) &&
         check_section(h, &h->once, sizeof(loom_plan_instr), "instructions run once", err) &&
         check_section(h, &h->regions, sizeof *h, "regions", err);
}

static bool check_inputs(const loom_plan_header *h, const uint8_t *bytes, loom_error *err) {
  const loom_plan_input *inputs = (const void *)(bytes + h->inputs.offset);
  const loom_plan_buffer *buffers = (const void *)(bytes + h->buffers.offset);
  for (uint32_t i = 0; i < h->inputs.count; i++) {
    const loom_plan_input *input = &inputs[i];
    bool good = false;
    if (input->kind == LOOM_PLAN_SCALAR)
      good = input->buffer < h->scalar_count;
    else if (input->kind == LOOM_PLAN_ARRAY || input->kind == LOOM_PLAN_CONST)
      good = input->buffer < h->buffers.count &&
             buffers[input->buffer].kind == LOOM_PLAN_BUFFER_INPUT &&
             buffers[input->buffer].index == i;
    if (!good) return loom_fail(err, "plan: input %u is not consistent", i);
  }
  return true;
}

static bool check_buffer(const loom_plan_header *h, const uint8_t *bytes,
                         const loom_plan_buffer *b) {
  const loom_plan_input *inputs = (const void *)(bytes + h->inputs.offset);
  const loom_plan_buffer *buffers = (const void *)(bytes + h->buffers.offset);
  bool size_known = !(b->flags & LOOM_PLAN_SIZE_REGISTER),
       offset_known = !(b->flags & LOOM_PLAN_OFFSET_REGISTER);
  if ((!size_known && b->size >= h->register_count) ||
      (!offset_known && (b->kind != LOOM_PLAN_BUFFER_ARENA || b->offset >= h->register_count)))
    return false;
  switch (b->kind) {
  case LOOM_PLAN_BUFFER_INPUT:
    return b->offset == 0 && b->index < h->inputs.count &&
           inputs[b->index].kind != LOOM_PLAN_SCALAR &&
           b == &buffers[inputs[b->index].buffer]; /* of one size */
  case LOOM_PLAN_BUFFER_OUTPUT:
    return b->offset == 0 && b->index < h->output_count && b->size <= PLAN_ARENA_LARGEST &&
           b->overwrites <= h->inputs.count;
  case LOOM_PLAN_BUFFER_ARENA:
    if (h->flags & LOOM_PLAN_ARENA_REGISTER) return true; /* run_arena() looks at it */
    if (!size_known || !offset_known) return false;
    return b->offset <= h->arena_size && b->size <= h->arena_size - b->offset;
  case LOOM_PLAN_BUFFER_LATE: return b->offset == 0 && b->index < h->late_count;
  case LOOM_PLAN_BUFFER_KEPT:
    return b->offset == 0 && b->index < h->kept_count && size_known && b->size &&
           b->size <= PLAN_ARENA_LARGEST;
  default: return false;
  }
}

bool plan_check_name(const loom_plan_header *h, const uint8_t *bytes, uint32_t name) {
  return name < h->names.count &&
         memchr(bytes + h->names.offset + name, 0, h->names.count - name) != NULL;
}

/* A list in `indices` whose entries are below `limit`. */
static bool check_list(const loom_plan_header *h, const uint8_t *bytes, uint32_t first,
                       uint32_t count, uint32_t limit) {
  const uint32_t *indices = (const void *)(bytes + h->indices.offset);
  if ((uint64_t)first + count > h->indices.count) return false;
  for (uint32_t i = 0; i < count; i++)
    if (indices[first + i] >= limit) return false;
  return true;
}

/* A launch's parameters: scalars and registers. */
static bool check_params(const loom_plan_header *h, const uint8_t *bytes,
                         const loom_plan_instr *in) {
  const uint32_t *indices = (const void *)(bytes + h->indices.offset);
  if ((uint64_t)in->params + in->param_count > h->indices.count) return false;
  for (uint32_t i = 0; i < in->param_count; i++) {
    uint32_t number = indices[in->params + i], limit = h->scalar_count;
    if (number & LOOM_PLAN_PARAM_REGISTER) {
      number &= ~LOOM_PLAN_PARAM_REGISTER;
      limit = h->register_count;
    }
    if (number >= limit) return false;
  }
  return true;
}

static bool check_copy(const loom_plan_header *h, const loom_plan_buffer *buffers,
                       const loom_plan_instr *in) {
  if (in->a >= h->buffers.count || in->b >= h->buffers.count) return false;
  const loom_plan_buffer *from = &buffers[in->a], *to = &buffers[in->b];
  bool known = !((from->flags | to->flags) & LOOM_PLAN_SIZE_REGISTER);
  return to->kind != LOOM_PLAN_BUFFER_INPUT && to->kind != LOOM_PLAN_BUFFER_KEPT &&
         (!known || (from->size == to->size && from->size <= PLAN_ARENA_LARGEST));
}

static bool check_size(const loom_plan_header *h, const loom_plan_instr *in) {
  uint32_t first = h->symbol_count + h->constants.count;
  bool op = in->op >= LOOM_EXPR_ADD && in->op <= LOOM_EXPR_MAX;
  return op && in->a >= first && in->a < h->register_count && in->b < h->register_count &&
         in->c < h->register_count;
}

/* What of a loop or branch can be seen without its regions: check_regions() does the rest. */
static bool check_control(const loom_plan_header *h, const uint8_t *bytes,
                          const loom_plan_instr *in) {
  uint32_t first = in->opcode != LOOM_PLAN_WHILE; /* a count or a condition comes first */
  bool loops = in->opcode != LOOM_PLAN_BRANCH;
  uint64_t needed = (uint64_t)first + (loops ? 2ull : 1ull) * in->c;
  if (needed > in->buffer_count ||
      !check_list(h, bytes, in->buffers, in->buffer_count, h->buffers.count))
    return false;
  const uint32_t *indices = (const void *)(bytes + h->indices.offset);
  const loom_plan_buffer *buffers = (const void *)(bytes + h->buffers.offset);
  const loom_plan_buffer *head = first ? &buffers[indices[in->buffers]] : NULL;
  if (head && (head->flags & LOOM_PLAN_SIZE_REGISTER || head->size < (loops ? 8u : 1u)))
    return false;
  return !loops ||
         (in->param_count == in->c && (uint64_t)in->params + in->param_count <= h->indices.count);
}

/* A launch on a device has the words that its kernel reads; a list is never of no word. */
static bool check_lists(const loom_plan_header *h, const uint8_t *bytes,
                        const loom_plan_instr *in) {
  const loom_plan_kernel *kernel = (const loom_plan_kernel *)(bytes + h->kernels.offset) + in->a;
  uint32_t buffers = kernel->entry & 0xffff, params = kernel->entry >> 16;
  return h->target == LOOM_PLAN_X86 || ((buffers <= 1 || in->buffer_count >= buffers) &&
                                        (params <= 1 || in->param_count >= params));
}

static bool check_instr(const loom_plan_header *h, const uint8_t *bytes,
                        const loom_plan_instr *in) {
  const loom_plan_buffer *buffers = (const void *)(bytes + h->buffers.offset);
  bool launches = in->opcode == LOOM_PLAN_LAUNCH || in->opcode == LOOM_PLAN_COPY;
  if (in->stream || in->device != (h->target != LOOM_PLAN_X86 && launches)) return false;
  bool controls = in->opcode == LOOM_PLAN_FOR || in->opcode == LOOM_PLAN_WHILE ||
                  in->opcode == LOOM_PLAN_BRANCH;
  bool sizes = in->opcode == LOOM_PLAN_SIZE || in->opcode == LOOM_PLAN_CHECK;
  if (h->target != LOOM_PLAN_X86 &&
      ((!launches && !controls && !sizes && in->opcode != LOOM_PLAN_TRIM &&
        in->opcode != LOOM_PLAN_HOST_CALL) ||
       (launches && (in->scratch || in->flags & LOOM_PLAN_SCRATCH_REGISTER))))
    return false;
  switch (in->opcode) {
  case LOOM_PLAN_LAUNCH:
    return in->a < h->kernels.count && check_lists(h, bytes, in) &&
           (!(in->flags & LOOM_PLAN_CHUNKS_REGISTER) || in->chunks < h->register_count) &&
           (!(in->flags & LOOM_PLAN_SCRATCH_REGISTER) || in->scratch < h->register_count) &&
           check_list(h, bytes, in->buffers, in->buffer_count, h->buffers.count) &&
           check_params(h, bytes, in) && in->c <= in->buffer_count;
  case LOOM_PLAN_HOST_CALL:
    return plan_check_name(h, bytes, in->a) && in->c <= in->buffer_count &&
           check_list(h, bytes, in->buffers, in->buffer_count, h->buffers.count);
  case LOOM_PLAN_COPY: return check_copy(h, buffers, in);
  case LOOM_PLAN_SIZE: return check_size(h, in);
  case LOOM_PLAN_CHECK:
    return in->op < LOOM_PLAN_CHECK_COUNT && in->a < h->register_count && in->b < h->register_count;
  case LOOM_PLAN_ALLOC:
    return in->a < h->buffers.count && buffers[in->a].kind == LOOM_PLAN_BUFFER_LATE &&
           in->b <= h->output_count;
  case LOOM_PLAN_FOR:
  case LOOM_PLAN_WHILE:
  case LOOM_PLAN_BRANCH: return check_control(h, bytes, in);
  case LOOM_PLAN_TRIM:
    return !(h->flags & LOOM_PLAN_ARENA_REGISTER) && in->a <= in->b &&
           in->b <= h->arena_size / LOOM_PLAN_PAGE + (h->arena_size % LOOM_PLAN_PAGE != 0);
  default: return false;
  }
}

/* Sizes and places are looked at before a run, so what computes the registers that name them comes
 * before it, too. Only those of late buffers are looked at later. */
static bool check_computed(const loom_plan_header *h, const uint8_t *bytes, loom_error *err) {
  const loom_plan_buffer *buffers = (const void *)(bytes + h->buffers.offset);
  const loom_plan_instr *instrs = (const void *)(bytes + h->instrs.offset);
  uint8_t *fixed = calloc(1, h->register_count + 1u);
  if (!fixed) return loom_fail(err, "plan: out of memory");
  for (uint32_t i = 0; i < h->buffers.count; i++) {
    const loom_plan_buffer *b = &buffers[i];
    if (b->kind == LOOM_PLAN_BUFFER_LATE) continue;
    if (b->flags & LOOM_PLAN_SIZE_REGISTER) fixed[b->size] = 1;
    if (b->flags & LOOM_PLAN_OFFSET_REGISTER) fixed[b->offset] = 1;
  }
  if (h->flags & LOOM_PLAN_ARENA_REGISTER) fixed[h->arena_size] = 1;
  bool good = true;
  for (uint32_t i = h->prologue; i < h->instrs.count; i++)
    good &= instrs[i].opcode != LOOM_PLAN_SIZE || !fixed[instrs[i].a];
  free(fixed);
  return good || loom_fail(err, "plan: a size changes while it is run");
}

/* Words that a kernel gets by value: a map lies at a multiple of 64 bytes. */
static bool check_words(const loom_plan_kernel *kernel, uint32_t maps) {
  uint64_t words = 8ull * ((kernel->entry & 0xffff) + (kernel->entry >> 16));
  return words + (maps ? maps * LOOM_MAP_BYTES + 64ull : 0) <= LOOM_PLAN_LAUNCH_BYTES;
}

/* Maps are of buffers that their kernel gets, and come in the order of kernels. */
static bool check_maps(const loom_plan_header *h, const uint8_t *bytes) {
  const loom_plan_kernel *kernels = (const void *)(bytes + h->kernels.offset);
  const loom_tensor_map *maps = (const void *)(bytes + h->maps.offset);
  uint32_t count = 0;
  for (uint32_t i = 0; i < h->maps.count; i++) {
    if (h->target != LOOM_PLAN_NVPTX || maps[i].kernel >= h->kernels.count ||
        maps[i].kind >= LOOM_MAP_KINDS)
      return false;
    if (i && maps[i].kernel < maps[i - 1].kernel) return false;
    count = i && maps[i].kernel == maps[i - 1].kernel ? count + 1 : 1;
    const loom_plan_kernel *kernel = &kernels[maps[i].kernel];
    for (int k = 0; k < 10; k++)
      if (maps[i].parameters[k / 2][k % 2] > kernel->entry >> 16) return false;
    if (count > LOOM_MAP_MOST || maps[i].buffer >= (kernel->entry & 0xffff) ||
        !check_words(kernel, count))
      return false;
  }
  return true;
}

/* What devices have not: results of unknown sizes, what is kept, checked kernels. */
static bool check_device(const loom_plan_header *h, const uint8_t *bytes, loom_error *err) {
  const loom_plan_kernel *kernels = (const void *)(bytes + h->kernels.offset);
  bool region = h->flags & LOOM_PLAN_REGION; /* whose image is its root's */
  bool ends = h->image.count && !bytes[h->image.offset + h->image.count - 1];
  bool good = h->target <= LOOM_PLAN_AMDGPU && !h->late_count && !h->kept_count && !h->once.count &&
              !(h->flags & LOOM_PLAN_CHECKED) &&
              (region || ends || (!h->image.count && !h->kernels.count));
  for (uint32_t i = 0; good && i < h->kernels.count; i++)
    good = plan_check_name(h, bytes, kernels[i].name) && kernels[i].threads &&
           (!kernels[i].op || plan_check_name(h, bytes, kernels[i].op - 1)) &&
           kernels[i].threads <= 1024 && kernels[i].shared <= LOOM_PLAN_SHARED &&
           (!kernels[i].shared || h->target == LOOM_PLAN_NVPTX) && check_words(&kernels[i], 0);
  good = good && check_maps(h, bytes);
  return good || loom_fail(err, "plan: not valid for a device");
}

bool plan_check(const loom_plan_header *h, const uint8_t *bytes, loom_error *err) {
  if (h->target != LOOM_PLAN_X86 && !check_device(h, bytes, err)) return false;
  if (!check_inputs(h, bytes, err)) return false;
  const loom_plan_buffer *buffers = (const void *)(bytes + h->buffers.offset);
  for (uint32_t i = 0; i < h->buffers.count; i++)
    if (!check_buffer(h, bytes, &buffers[i]))
      return loom_fail(err, "plan: buffer %u is not valid", i);
  const loom_plan_instr *instrs = (const void *)(bytes + h->instrs.offset);
  for (uint32_t i = 0; i < h->instrs.count; i++) {
    bool size = instrs[i].opcode == LOOM_PLAN_SIZE || instrs[i].opcode == LOOM_PLAN_CHECK;
    if (!check_instr(h, bytes, &instrs[i]) || (i < h->prologue && !size))
      return loom_fail(err, "plan: instruction %u (opcode %u) is not valid", i, instrs[i].opcode);
  }
  const loom_plan_instr *once = (const void *)(bytes + h->once.offset);
  for (uint32_t i = 0; i < h->once.count; i++)
    if (once[i].opcode != LOOM_PLAN_LAUNCH || !check_instr(h, bytes, &once[i]))
      return loom_fail(err, "plan: instruction %u of those run once is not valid", i);
  return check_computed(h, bytes, err);
}
