/* Plans: the binary form is checked when loaded, so that running it needs no checks.
 *
 * Loading resolves what it can: kernel entries to addresses, each launch's buffer list to places
 * (which array of pointers, which entry, what offset). A plan of one launch of one chunk, the
 * common small case, takes a path without allocation, lock or loop over instructions.
 */
#include "runtime/internal.h"

#include <stdlib.h>
#include <string.h>

const loom_plan_header *loom_plan_header_of(const loom_plan *plan) {
  return (const loom_plan_header *)plan->bytes;
}

/* ---- loading ---- */

static bool resolve_outputs(loom_plan *plan, const loom_plan_header *h, loom_error *err) {
  memset(plan->outputs, 0xff, h->output_count * sizeof *plan->outputs);
  for (uint32_t i = 0; i < h->buffers.count; i++) {
    const loom_plan_buffer *b = &plan->buffers[i];
    if (b->kind != LOOM_PLAN_BUFFER_OUTPUT) continue;
    if (plan->outputs[b->index] != UINT32_MAX)
      return loom_fail(err, "plan: two buffers for output %u", b->index);
    plan->outputs[b->index] = i;
  }
  for (uint32_t i = 0; i < h->instrs.count; i++) {
    const loom_plan_instr *in = &plan->instrs[i];
    if (in->opcode != LOOM_PLAN_ALLOC || !in->b) continue;
    if (plan->outputs[in->b - 1] != UINT32_MAX)
      return loom_fail(err, "plan: two buffers for output %u", in->b - 1);
    plan->outputs[in->b - 1] = in->a;
  }
  for (uint32_t i = 0; i < h->output_count; i++)
    if (plan->outputs[i] == UINT32_MAX) return loom_fail(err, "plan: no buffer for output %u", i);
  return true;
}

static void resolve_places(loom_plan *plan, const loom_plan_header *h) {
  const loom_plan_input *inputs = (const void *)(plan->bytes + h->inputs.offset);
  for (uint32_t i = 0; i < h->buffers.count; i++) {
    const loom_plan_buffer *b = &plan->buffers[i];
    place *p = &plan->places[i];
    bool at = b->flags & LOOM_PLAN_OFFSET_REGISTER;
    *p = (place){at ? PLACE_ARENA_AT : PLACE_ARENA, at ? (uint32_t)b->offset : 0, b->offset};
    if (b->kind == LOOM_PLAN_BUFFER_ARENA) continue;
    bool constant = b->kind == LOOM_PLAN_BUFFER_INPUT && inputs[b->index].kind == LOOM_PLAN_CONST;
    p->kind = b->kind == LOOM_PLAN_BUFFER_OUTPUT ? PLACE_OUTPUT
              : b->kind == LOOM_PLAN_BUFFER_LATE ? PLACE_LATE
              : b->kind == LOOM_PLAN_BUFFER_KEPT ? PLACE_KEPT
              : constant                         ? PLACE_CONST
                                                 : PLACE_INPUT;
    p->index = b->index;
    p->offset = 0;
  }
}

static bool load_image(loom_plan *plan, const uint8_t *bytes, const loom_plan_header *h,
                       loom_error *err) {
  loom_image_header code;
  if ((!h->kernels.count && !h->image.count) || h->target != LOOM_PLAN_X86) return true;
  if (!loom_image_map(bytes + h->image.offset, h->image.count, &plan->image, err)) return false;
  memcpy(&code, bytes + h->image.offset, sizeof code);
  plan->text_size = code.text_size;
  return true;
}

/* In place of kernels that are on a device: loom_plan_run() has none to run. */
static uint32_t kernel_elsewhere(void *const *buffers, const uint64_t *params, void *scratch,
                                 int64_t begin, int64_t end) {
  return LOOM_STATUS_HOST;
}

/* A region's kernels are in the image of its root. */
static bool resolve_kernels(loom_plan *plan, const loom_plan_header *h, loom_error *err) {
  for (uint32_t i = 0; i < h->kernels.count; i++)
    plan->kernels[i] = kernel_elsewhere;
  if (!h->kernels.count || h->target != LOOM_PLAN_X86) return true;
  const loom_plan *root = plan->root;
  if (!root->image.base) return loom_fail(err, "plan: a region with kernels but no image");
  const loom_plan_kernel *kernels = (const void *)(plan->bytes + h->kernels.offset);
  for (uint32_t i = 0; i < h->kernels.count; i++) {
    if (kernels[i].entry >= root->text_size || !plan_check_name(h, plan->bytes, kernels[i].name))
      return loom_fail(err, "plan: kernel %u has no entry or no name", i);
    plan->kernels[i] = (loom_kernel_fn)(uintptr_t)(root->image.base + kernels[i].entry);
  }
  return true;
}

static void resolve_last(loom_plan *plan, uint32_t instr, uint32_t buffer) {
  const loom_plan_buffer *b = &plan->buffers[buffer];
  if (b->kind == LOOM_PLAN_BUFFER_INPUT) plan->last[b->index] = instr + 1;
}

static void resolve_uses(loom_plan *plan, const loom_plan_header *h) {
  for (uint32_t i = 0; i < h->instrs.count; i++) {
    const loom_plan_instr *in = &plan->instrs[i];
    if (in->opcode == LOOM_PLAN_COPY) resolve_last(plan, i, in->a);
    if (!run_has_list(in)) continue;
    for (uint32_t k = 0; k < in->buffer_count; k++)
      resolve_last(plan, i, plan->indices[in->buffers + k]);
  }
}

static void resolve_kept_use(loom_plan *plan, uint32_t buffer) {
  const place *p = &plan->places[buffer];
  if (p->kind == PLACE_KEPT) plan->kept->used[p->index] = true;
}

/* How large what is kept is, what of it every run uses, and that `once` makes that. */
static bool resolve_kept(loom_plan *plan, const loom_plan_header *h, loom_error *err) {
  if (!h->once.count && !h->kept_count) return true;
  plan->kept = kept_new(h);
  uint8_t *made = calloc(1, h->kept_count + 1u);
  if (!plan->kept || !made) return free(made), loom_fail(err, "plan: out of memory");
  for (uint32_t i = 0; i < h->buffers.count; i++) {
    const loom_plan_buffer *b = &plan->buffers[i];
    if (b->kind == LOOM_PLAN_BUFFER_KEPT && b->size > plan->kept->sizes[b->index])
      plan->kept->sizes[b->index] = b->size;
  }
  for (uint32_t i = 0; i < h->once.count; i++)
    for (uint32_t k = 0; k < plan->once[i].buffer_count; k++) {
      const place *p = &plan->places[plan->indices[plan->once[i].buffers + k]];
      if (p->kind == PLACE_KEPT) made[p->index] = 1;
    }
  for (uint32_t i = 0; i < h->instrs.count; i++) {
    const loom_plan_instr *in = &plan->instrs[i];
    if (in->opcode == LOOM_PLAN_COPY) resolve_kept_use(plan, in->a);
    for (uint32_t k = 0; run_has_list(in) && k < in->buffer_count; k++)
      resolve_kept_use(plan, plan->indices[in->buffers + k]);
  }
  bool good = true;
  for (uint32_t i = 0; i < h->kept_count; i++)
    good &= made[i] || !plan->kept->used[i];
  free(made);
  return good || loom_fail(err, "plan: nothing makes what is kept");
}

static bool resolve_instrs(loom_plan *plan, const loom_plan_header *h, loom_error *err) {
  for (uint32_t i = 0; i < h->instrs.count + h->once.count; i++) {
    const loom_plan_instr *in =
        i < h->instrs.count ? &plan->instrs[i] : &plan->once[i - h->instrs.count];
    uint32_t params = in->opcode == LOOM_PLAN_LAUNCH ? in->param_count : 0;
    uint32_t longest = in->opcode == LOOM_PLAN_COPY ? 0
                       : in->buffer_count > params  ? in->buffer_count
                                                    : params;
    if (longest > plan->list_limit) plan->list_limit = longest;
  }
  plan->direct = h->instrs.count == 1 && plan->instrs[0].opcode == LOOM_PLAN_LAUNCH &&
                 plan->instrs[0].chunks == 1 && !plan->instrs[0].b && !plan->instrs[0].scratch &&
                 !h->arena_size && !h->register_count && !h->once.count &&
                 plan->list_limit <= PLAN_STACK && !plan->extents;
  resolve_uses(plan, h);
  resolve_places(plan, h);
  return resolve_kept(plan, h, err) && resolve_outputs(plan, h, err) &&
         resolve_kernels(plan, h, err);
}

/* ---- regions ---- */

#define PLAN_REGIONS 4096
#define PLAN_DEPTH 256

/* A region takes arrays of known number, and its results are as many as asked. */
static bool check_region(const loom_plan *plan, uint32_t number, uint32_t caller, uint32_t inputs,
                         uint32_t outputs, loom_error *err) {
  if (number <= caller || number >= plan->root->region_count)
    return loom_fail(err, "plan: region %u runs region %u", caller, number);
  const loom_plan *region = plan->root->regions[number];
  const loom_plan_header *h = loom_plan_header_of(region);
  const loom_plan_input *in = (const void *)(region->bytes + h->inputs.offset);
  bool good = h->input_count == inputs && h->output_count == outputs &&
              h->symbol_count == loom_plan_header_of(plan)->symbol_count;
  for (uint32_t i = 0; i < h->input_count && good; i++)
    good = in[i].kind == LOOM_PLAN_ARRAY;
  for (uint32_t i = 0; i < h->output_count && good; i++)
    good = region->buffers[region->outputs[i]].kind == LOOM_PLAN_BUFFER_OUTPUT;
  return good || loom_fail(err, "plan: region %u is not what is run", number);
}

/* Each result of the body becomes a carried value, whose buffer it is written into. */
static bool check_carried(const loom_plan *plan, const loom_plan_instr *in, uint32_t results) {
  for (uint32_t result = 0; result < results; result++) {
    uint32_t at = 0;
    while (at < in->param_count && plan->indices[in->params + at] != result)
      at++;
    if (at == in->param_count) return false;
  }
  return true;
}

static bool check_carry(const loom_plan *plan, const loom_plan_instr *in, uint32_t *results) {
  *results = 0;
  for (uint32_t i = 0; i < in->param_count; i++) {
    uint32_t entry = plan->indices[in->params + i];
    if (entry & LOOM_PLAN_CARRY_BEFORE) {
      if ((entry & ~LOOM_PLAN_CARRY_BEFORE) >= in->c) return false;
    } else if (entry >= in->c) {
      return false;
    } else if (entry >= *results) {
      *results = entry + 1;
    }
  }
  return check_carried(plan, in, *results);
}

/* The body of a counting loop reads one number as its first input. */
static bool check_counter(const loom_plan *body) {
  for (uint32_t i = 0; i < loom_plan_header_of(body)->buffers.count; i++) {
    const loom_plan_buffer *b = &body->buffers[i];
    if (b->kind == LOOM_PLAN_BUFFER_INPUT && b->index == 0 &&
        (b->flags & LOOM_PLAN_SIZE_REGISTER || b->size > sizeof(int64_t)))
      return false;
  }
  return true;
}

/* Every loop and branch of plan number `caller` runs regions that fit it and come behind it. */
static bool check_regions(const loom_plan *plan, uint32_t caller, loom_error *err) {
  const loom_plan_header *h = loom_plan_header_of(plan);
  for (uint32_t i = 0; i < h->instrs.count; i++) {
    const loom_plan_instr *in = &plan->instrs[i];
    uint32_t reads = in->buffer_count - in->c, results = in->c;
    if (in->opcode == LOOM_PLAN_BRANCH) {
      if (!check_region(plan, in->a, caller, reads - 1, results, err) ||
          !check_region(plan, in->b, caller, reads - 1, results, err))
        return false;
      continue;
    }
    if (in->opcode != LOOM_PLAN_FOR && in->opcode != LOOM_PLAN_WHILE) continue;
    if (!check_carry(plan, in, &results))
      return loom_fail(err, "plan: loop %u carries what it has not", i);
    if (!check_region(plan, in->a, caller, reads, results, err)) return false;
    if ((in->opcode == LOOM_PLAN_FOR ? in->b : in->op) > h->symbol_count)
      return loom_fail(err, "plan: loop %u counts in no symbol", i);
    if (in->opcode == LOOM_PLAN_FOR && !check_counter(plan->root->regions[in->a]))
      return loom_fail(err, "plan: the body of loop %u reads more than its index", i);
    if (in->opcode == LOOM_PLAN_FOR) continue;
    if (!check_region(plan, in->b, caller, reads, 1, err)) return false;
    const loom_plan *test = plan->root->regions[in->b];
    const loom_plan_buffer *truth = &test->buffers[test->outputs[0]];
    if (truth->flags & LOOM_PLAN_SIZE_REGISTER || truth->size != sizeof(uint8_t))
      return loom_fail(err, "plan: the condition of loop %u is no bool", i);
  }
  return true;
}

/* Regions run regions of higher numbers, each on the stack of the one that runs it. */
static bool check_depth(const loom_plan *root, loom_error *err) {
  uint16_t depth[PLAN_REGIONS + 1] = {0};
  for (uint32_t n = root->region_count; n-- > 0;) {
    const loom_plan *plan = n ? root->regions[n] : root;
    uint32_t count = plan ? loom_plan_header_of(plan)->instrs.count : 0;
    for (uint32_t i = 0; i < count; i++) {
      const loom_plan_instr *in = &plan->instrs[i];
      bool loop = in->opcode == LOOM_PLAN_FOR || in->opcode == LOOM_PLAN_WHILE;
      if (!loop && in->opcode != LOOM_PLAN_BRANCH) continue;
      uint16_t a = depth[in->a], b = in->opcode == LOOM_PLAN_FOR ? 0 : depth[in->b];
      if (depth[n] <= (a > b ? a : b)) depth[n] = (a > b ? a : b) + 1;
    }
    if (depth[n] > PLAN_DEPTH) return loom_fail(err, "plan: regions nested too deeply");
  }
  return true;
}

static loom_plan *plan_load(const void *bytes, size_t size, const loom_plan *root, loom_error *err);

static bool load_regions(loom_plan *plan, const uint8_t *bytes, loom_error *err) {
  const loom_plan_header *h = loom_plan_header_of(plan);
  if (h->regions.count >= PLAN_REGIONS) return loom_fail(err, "plan: %u regions", h->regions.count);
  plan->regions = calloc(h->regions.count + 1u, sizeof *plan->regions);
  if (!plan->regions) return loom_fail(err, "plan: out of memory");
  uint64_t at = h->regions.offset;
  for (uint32_t i = 1; i <= h->regions.count; i++) {
    loom_plan_header region;
    if (h->total_size - at < sizeof region) return loom_fail(err, "plan: region %u is cut off", i);
    memcpy(&region, bytes + at, sizeof region);
    if (region.total_size > h->total_size - at || region.total_size % 8)
      return loom_fail(err, "plan: region %u is cut off", i);
    plan->regions[i] = plan_load(bytes + at, region.total_size, plan, err);
    if (!plan->regions[i]) return false;
    plan->region_count = i + 1;
    at += region.total_size;
  }
  bool good = check_regions(plan, 0, err);
  for (uint32_t i = 1; i < plan->region_count && good; i++)
    good = check_regions(plan->regions[i], i, err);
  return good && check_depth(plan, err);
}

static size_t section_end(const loom_plan_section *s, size_t entry) {
  return s->offset + (size_t)s->count * entry;
}

/* So many bytes have all that a plan is run by: its code is mapped, its regions are plans of their
 * own. */
static size_t plan_kept_bytes(const loom_plan_header *h) {
  bool checked = h->flags & LOOM_PLAN_CHECKED;
  const size_t ends[] = {section_end(&h->inputs, sizeof(loom_plan_input)),
                         section_end(&h->buffers, sizeof(loom_plan_buffer)),
                         section_end(&h->instrs, sizeof(loom_plan_instr)),
                         section_end(&h->once, sizeof(loom_plan_instr)),
                         section_end(&h->indices, sizeof(uint32_t)),
                         section_end(&h->kernels, sizeof(loom_plan_kernel)),
                         section_end(&h->maps, sizeof(loom_tensor_map)),
                         section_end(&h->constants, sizeof(int64_t)),
                         section_end(&h->names, 1),
                         checked ? section_end(&h->extents, sizeof(loom_plan_extent)) : 0,
                         checked ? section_end(&h->sites, sizeof(loom_plan_site)) : 0,
                         h->target != LOOM_PLAN_X86 ? section_end(&h->image, 1) : 0};
  size_t most = sizeof *h;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    most = ends[i] > most ? ends[i] : most;
  return most;
}

static loom_plan *plan_load(const void *bytes, size_t size, const loom_plan *root,
                            loom_error *err) {
  loom_plan_header h;
  if (!plan_check_header(bytes, size, &h, err)) return NULL;
  if (!root != !(h.flags & LOOM_PLAN_REGION) ||
      (root && (h.regions.count || h.image.count || h.once.count ||
                h.target != loom_plan_header_of(root)->target)))
    return loom_fail(err, "plan: a region alone, or one in another"), NULL;
  size_t kept = plan_kept_bytes(&h);
  loom_plan *plan = calloc(1, sizeof *plan + kept);
  if (!plan) return loom_fail(err, "plan: out of memory"), NULL;
  plan->root = root ? root : plan;
  atomic_init(&plan->references, 1);
  memcpy(plan->bytes, bytes, kept);
  plan->instrs = (const void *)(plan->bytes + h.instrs.offset);
  plan->once = (const void *)(plan->bytes + h.once.offset);
  plan->indices = (const void *)(plan->bytes + h.indices.offset);
  plan->names = (const char *)plan->bytes + h.names.offset;
  plan->buffers = (const void *)(plan->bytes + h.buffers.offset);
  plan->constants = (const void *)(plan->bytes + h.constants.offset);
  plan->constant_count = h.constants.count;
  if (h.flags & LOOM_PLAN_CHECKED) {
    plan->extents = (const void *)(plan->bytes + h.extents.offset);
    plan->sites = (const void *)(plan->bytes + h.sites.offset);
  }
  if (!plan_check(&h, plan->bytes, err) || !bounds_check(plan, err) ||
      (!root && !load_image(plan, bytes, &h, err)))
    goto fail;
  plan->kernels = calloc(h.kernels.count + 1u, sizeof *plan->kernels);
  plan->consts = calloc(h.inputs.count + 1u, sizeof *plan->consts);
  plan->outputs = calloc(h.output_count + 1u, sizeof *plan->outputs);
  plan->places = calloc(h.buffers.count + 1u, sizeof *plan->places);
  plan->last = calloc(h.inputs.count + 1u, sizeof *plan->last);
  if (!plan->kernels || !plan->consts || !plan->outputs || !plan->places || !plan->last) {
    loom_fail(err, "plan: out of memory");
    goto fail;
  }
  if (resolve_instrs(plan, &h, err) && (root || load_regions(plan, bytes, err))) return plan;
fail:
  loom_plan_unref(plan);
  return NULL;
}

loom_plan *loom_plan_load(const void *bytes, size_t size, loom_error *err) {
  return plan_load(bytes, size, NULL, err);
}

loom_plan *loom_plan_ref(loom_plan *plan) {
  atomic_fetch_add_explicit(&plan->references, 1, memory_order_relaxed);
  return plan;
}

void loom_plan_unref(loom_plan *plan) {
  if (!plan || atomic_fetch_sub_explicit(&plan->references, 1, memory_order_acq_rel) != 1) return;
  for (uint32_t i = 1; i < plan->region_count; i++)
    loom_plan_unref(plan->regions[i]);
  free(plan->regions);
  loom_image_unmap(&plan->image);
  free(plan->kernels);
  free(plan->consts);
  free(plan->outputs);
  free(plan->places);
  free(plan->last);
  free(plan->lives);
  kept_free(plan->kept);
  free(plan);
}

uint32_t loom_plan_kind_of_input(const loom_plan *plan, uint32_t index) {
  const loom_plan_header *h = loom_plan_header_of(plan);
  const loom_plan_input *inputs = (const void *)(plan->bytes + h->inputs.offset);
  return inputs[index].kind;
}

int32_t loom_plan_output_overwrites(const loom_plan *plan, uint32_t index) {
  if (index >= loom_plan_header_of(plan)->output_count) return -1;
  const loom_plan_buffer *buffer = &plan->buffers[plan->outputs[index]];
  return buffer->kind == LOOM_PLAN_BUFFER_OUTPUT ? (int32_t)buffer->overwrites - 1 : -1;
}

void loom_plan_set_const(loom_plan *plan, uint32_t input, const void *data) {
  if (input < loom_plan_header_of(plan)->input_count) plan->consts[input] = (void *)(uintptr_t)data;
  if (plan->kept) atomic_store(&plan->kept->state, KEPT_NOT);
}
