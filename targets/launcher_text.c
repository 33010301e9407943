/* Texts of C for the drivers of GPUs (launcher.h). */
#include "targets/launcher.h"

#include <string.h>

static const launcher_driver text_cuda = {.header = "#include <cuda.h>\n",
                                          .library = "libcuda (-lcuda)",
                                          .images = "PTX with a NUL at its end (--emit=ptx), or a "
                                                    "cubin (--emit=cubin)",
                                          .result = "CUresult",
                                          .success = "CUDA_SUCCESS",
                                          .invalid = "CUDA_ERROR_INVALID_VALUE",
                                          .address = "CUdeviceptr",
                                          .stream = "CUstream",
                                          .module = "CUmodule",
                                          .function = "CUfunction",
                                          .prefix = "cu",
                                          .launch = "cuLaunchKernel",
                                          .word = "(uint64_t)",
                                          .back = "(CUdeviceptr)",
                                          .threads = ""};

static const launcher_driver text_hip = {
    .header = "#ifndef __HIP_PLATFORM_AMD__\n#define __HIP_PLATFORM_AMD__ 1\n#endif\n"
              "#include <hip/hip_runtime_api.h>\n",
    .library = "libamdhip64 (-lamdhip64)",
    .images = "a code object (--emit=hsaco)",
    .result = "hipError_t",
    .success = "hipSuccess",
    .invalid = "hipErrorInvalidValue",
    .address = "hipDeviceptr_t",
    .stream = "hipStream_t",
    .module = "hipModule_t",
    .function = "hipFunction_t",
    .prefix = "hip",
    .launch = "hipModuleLaunchKernel",
    .word = "(uint64_t)(uintptr_t)",
    .back = "(hipDeviceptr_t)(uintptr_t)",
    .threads = " || blocks * (int64_t)threads > UINT32_MAX"};

const launcher_driver *launcher_driver_of(const loom_target *machine) {
  return machine == &loom_target_amdgpu ? &text_hip : &text_cuda;
}

static const char *text_word(const launcher_words *words, char letter) {
  const launcher_driver *d = words->driver;
  switch (letter) {
  case 'n': return words->name;
  case 'N': return words->upper;
  case 'r': return d->result;
  case 's': return d->success;
  case 'i': return d->invalid;
  case 'a': return d->address;
  case 't': return d->stream;
  case 'm': return d->module;
  case 'f': return d->function;
  case 'p': return d->prefix;
  case 'l': return d->launch;
  case 'w': return d->word;
  case 'b': return d->back;
  case 'h': return d->header;
  case 'k': return d->library;
  case 'o': return d->images;
  case 'x': return d->threads;
  default: return "$";
  }
}

void launcher_print(FILE *out, const launcher_words *words, const char *text) {
  const char *next;
  while ((next = strchr(text, '$'))) {
    fwrite(text, 1, (size_t)(next - text), out);
    fputs(text_word(words, next[1]), out);
    text = next + 2;
  }
  fputs(text, out);
}

/* ---- functions of a header ---- */

const char launcher_asking[] = "  for (i = 0; i < $N_KERNELS && error == $s; i++)\n"
                               "    if ($n_kernels[i].asked)\n"
                               "      error = cuFuncSetAttribute(module->functions[i], "
                               "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,\n"
                               "                                 (int)$n_kernels[i].asked);\n";

const char launcher_loading[] =
    "typedef struct $n_module {\n"
    "  $m module;\n"
    "  $f functions[$N_KERNELS + 1];\n"
    "} $n_module;\n\n"
    "/* Loads the kernels for the current context or device. `image`: $o. It stays the\n"
    " * caller's, and outlives the module. */\n"
    "static inline $r $n_load($n_module *module, const void *image) {\n"
    "  $r error = $s;\n"
    "  int i;\n"
    "  module->module = 0;\n"
    "  if ($N_KERNELS > 0) error = $pModuleLoadData(&module->module, image);\n"
    "  if (error != $s) return error;\n"
    "  for (i = 0; i < $N_KERNELS && error == $s; i++)\n"
    "    error = $pModuleGetFunction(&module->functions[i], module->module, $n_kernels[i].name);\n";

const char launcher_unloading[] = "  if (error == $s) return error;\n"
                                  "  (void)$pModuleUnload(module->module);\n"
                                  "  module->module = 0;\n"
                                  "  return error;\n"
                                  "}\n\n"
                                  "/* No call may still run. */\n"
                                  "static inline $r $n_unload($n_module *module) {\n"
                                  "  $m loaded = module->module;\n"
                                  "  module->module = 0;\n"
                                  "  return loaded ? $pModuleUnload(loaded) : $s;\n"
                                  "}\n\n";

const char launcher_map[] =
    "/* The tensor map of a matrix: elements, lines and batches, and the bytes between lines and "
    "between batches. Without\n"
    " * one, as of a matrix that does not begin at a multiple of 16 bytes, the kernel reads single "
    "elements. */\n"
    "static inline $r $n_map(CUtensorMap *map, uint64_t address, CUtensorMapDataType type, "
    "unsigned "
    "width,\n"
    "                        unsigned lines, const uint64_t *sizes) {\n"
    "  const cuuint64_t extents[3] = {sizes[0], sizes[1], sizes[2]}, strides[2] = {sizes[3], "
    "sizes[4]};\n"
    "  const cuuint32_t box[3] = {width, lines, 1}, steps[3] = {1, 1, 1};\n"
    "  int i;\n"
    "  memset(map, 0, sizeof *map);\n"
    "  if (address % 16 != 0) return $s;\n"
    "  for (i = 0; i < 3; i++) {\n"
    "    if (sizes[i] == 0) return $s;\n"
    "    if (sizes[i] > INT32_MAX) return $i;\n"
    "  }\n"
    "  return cuTensorMapEncodeTiled(map, type, 3, (void *)(uintptr_t)address, extents, strides, "
    "box, steps,\n"
    "                                CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,\n"
    "                                CU_TENSOR_MAP_L2_PROMOTION_L2_128B, "
    "CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);\n"
    "}\n\n";

const char launcher_start[] =
    "/* Launches a kernel with these lists, which the driver reads before this returns. */\n"
    "static inline $r $n_start(const $n_module *module, int kernel, uint64_t *buffers, uint64_t "
    "*params,\n"
    "                          uint64_t status, void *maps, int64_t first, int64_t chunks, $t "
    "stream) "
    "{\n"
    "  unsigned threads = $n_kernels[kernel].threads;\n"
    "  int64_t end = first + chunks, blocks = $n_blocks(&$n_kernels[kernel], chunks);\n"
    "  void *parameters[] = {buffers, params, &first, &end, &status, maps};\n"
    "  if (blocks == 0) return $s;\n"
    "  if (blocks > INT32_MAX$x) return $i;\n"
    "  return $l(module->functions[kernel], (unsigned)blocks, 1, 1, threads, 1, 1,\n"
    "                        $n_kernels[kernel].asked, stream, parameters, 0);\n"
    "}\n\n";
