/* The plan's binary form. Included by runtime.h. */
#ifndef LOOM_RUNTIME_PLAN_FORMAT_H
#define LOOM_RUNTIME_PLAN_FORMAT_H

#include "graph/graph.h"

/* ---- the plan's binary form
 *
 * Little-endian, position-independent, all offsets from the start and 8-byte aligned: header, then
 * the sections that it names. Versioned and bounds-checked when loaded; kernels' code is
 * checksummed.
 *
 * Registers hold 64-bit integers, those of one call: first the graph's symbols (given by the
 * caller, or written by the host call that introduces them), then constants, then what
 * LOOM_PLAN_SIZE instructions compute. Sizes and offsets of buffers, the arena's size, chunks and
 * kernels' parameters may name a register instead of a number.
 */
#define LOOM_PLAN_MAGIC 0x314d4f4f4c4e4c50ull
#define LOOM_PLAN_VERSION 13u
#define LOOM_PLAN_PAGE 4096u /* the unit of LOOM_PLAN_TRIM */

typedef struct loom_plan_section {
  uint32_t offset, count; /* bytes from the start; entries */
} loom_plan_section;

typedef struct loom_plan_header {
  uint64_t magic;
  uint32_t version, total_size;
  uint64_t checksum;     /* XXH3 of all bytes after this field */
  uint64_t cpu_features; /* what the code needs: loom_cpu_features() must include these bits */
  uint64_t arena_size;   /* bytes of scratch arena for one call, or a register
                            (LOOM_PLAN_ARENA_REGISTER) */
  uint64_t peak; /* bytes that are there at the highest point of a call, what the caller gives away
                    or makes late included; 0: not known */
  uint32_t input_count, output_count, scalar_count;
  uint32_t symbol_count, register_count; /* registers: symbols, constants, computed ones */
  uint32_t late_count;                   /* buffers of kind LATE */
  uint32_t kept_count;                   /* buffers of kind KEPT */
  uint32_t target;                       /* loom_plan_target: what runs the kernels */
  uint32_t prologue; /* so many first instructions are SIZE and CHECK, and need only what the caller
                        knows */
  uint32_t flags;    /* LOOM_PLAN_ARENA_REGISTER */
  loom_plan_section inputs;    /* loom_plan_input, for each graph input */
  loom_plan_section buffers;   /* loom_plan_buffer */
  loom_plan_section instrs;    /* loom_plan_instr */
  loom_plan_section indices;   /* uint32_t: buffer and parameter lists of the instructions */
  loom_plan_section kernels;   /* loom_plan_kernel: one for each stage's entry point */
  loom_plan_section constants; /* int64_t: the constant registers */
  loom_plan_section names;     /* bytes: NUL-terminated names */
  loom_plan_section
      image; /* bytes: one loom_image (image.c) with the code of all kernels; count 0: no code */
  loom_plan_section once;    /* loom_plan_instr: LAUNCHes that read constants and what is kept;
                                run once, before the first call's instructions */
  loom_plan_section regions; /* plans of what is run over and over or only sometimes: whole plans
                                one after the other, whose kernels are in this image */
  /* With LOOM_PLAN_CHECKED: */
  loom_plan_section extents; /* loom_plan_extent, for each buffer */
  loom_plan_section sites;   /* loom_plan_site: accesses in the kernels' code, not of regions */
  loom_plan_section maps;    /* loom_tensor_map: of kernels of a GPU, in the order of these */
} loom_plan_header;

/* With a GPU, the image is PTX or a code object of AMDGPU (ELF), with a NUL at its end. Every
 * buffer is device memory, and there are no instructions but LAUNCH, COPY, TRIM, SIZE, CHECK,
 * HOST_CALL and control flow, none of them with scratch. A loop's count and index, a condition and
 * the buffers of a call of the host are device memory, too. */
typedef enum loom_plan_target { LOOM_PLAN_X86, LOOM_PLAN_NVPTX, LOOM_PLAN_AMDGPU } loom_plan_target;

typedef enum loom_plan_input_kind {
  LOOM_PLAN_ARRAY,
  LOOM_PLAN_SCALAR,
  LOOM_PLAN_CONST
} loom_plan_input_kind;

typedef struct loom_plan_input {
  uint32_t kind;   /* loom_plan_input_kind */
  uint32_t buffer; /* ARRAY, CONST: its buffer; SCALAR: its number among the scalars */
} loom_plan_input;

typedef enum loom_plan_buffer_kind {
  LOOM_PLAN_BUFFER_INPUT,  /* index: which input */
  LOOM_PLAN_BUFFER_OUTPUT, /* index: which output */
  LOOM_PLAN_BUFFER_ARENA,  /* index: unused; offset into the arena */
  LOOM_PLAN_BUFFER_LATE,   /* index: which late buffer; its data comes from an ALLOC or from a host
                              call */
  LOOM_PLAN_BUFFER_KEPT    /* index: which kept buffer; `once` fills it, and it stays as long as the
                              plan, or until `once` has used it last when nothing else does */
} loom_plan_buffer_kind;

/* Flags of buffers, instructions and the header: the field is a register's number. */
#define LOOM_PLAN_SIZE_REGISTER 1u
#define LOOM_PLAN_OFFSET_REGISTER 2u
#define LOOM_PLAN_CHUNKS_REGISTER 1u
#define LOOM_PLAN_SCRATCH_REGISTER 2u
#define LOOM_PLAN_ARENA_REGISTER 1u
#define LOOM_PLAN_REGION 2u  /* of the header: one of the regions of another plan */
#define LOOM_PLAN_CHECKED 4u /* of the header: kernels compare what they access with its bounds */
/* In a launch's list of parameters: a register, not a scalar. */
#define LOOM_PLAN_PARAM_REGISTER 0x80000000u

typedef struct loom_plan_buffer {
  uint32_t kind, index;
  uint64_t offset,
      size; /* bytes, or registers by `flags`; size of an output: what the caller allocates */
  uint32_t flags;
  uint32_t overwrites; /* OUTPUT: 1 + the input whose buffer may be passed for it as well; or 0 */
} loom_plan_buffer;

/* Bytes that kernels may access of a buffer: from `low` bytes behind its pointer on, where strides
 * are negative from before it. */
typedef struct loom_plan_extent {
  int64_t low;
  int64_t size;
  uint32_t flags;   /* LOOM_PLAN_OFFSET_REGISTER: of `low`, LOOM_PLAN_SIZE_REGISTER */
  uint32_t storage; /* in the arena: 1 + what is the same for all that see the same memory; or 0 */
} loom_plan_extent;

typedef struct loom_plan_site {
  uint32_t text;  /* in `names`: what it does, in which kernel, for which op, of which line */
  int32_t buffer; /* number in the launch, or LOOM_CHECK_* (graph/check.h) */
  uint32_t bytes, reserved;
} loom_plan_site;

typedef enum loom_plan_opcode {
  LOOM_PLAN_LAUNCH, /* kernel `a` over `chunks` from chunk `b` on; lists: buffers, then params. For
                       a GPU: `c` buffers are read, the rest may be written */
  LOOM_PLAN_HOST_CALL, /* name `a`, slot `b`; buffers list: `c` read, the rest written */
  LOOM_PLAN_COPY,      /* buffer `a` to buffer `b` */
  LOOM_PLAN_SIZE, /* register a = register b OP register c, `op` a loom_expr_kind; stops on overflow
                   */
  LOOM_PLAN_CHECK, /* stops unless register a OP register b, `op` a loom_plan_check */
  LOOM_PLAN_ALLOC, /* memory for late buffer `a`: until the call's end (b 0), or as output b - 1 */
  /* Control flow. Plans are numbered from 1 in `regions`; one runs only later ones. The last `c`
     buffers are written, in C order like all others. */
  LOOM_PLAN_FOR,   /* plan `a` as often as the first buffer (int64) says; then `c` carried values,
                      then what else it reads. It gets the int64 index in place of the count,
                      and as the value of its symbol b - 1 (0: none). The count is `op` - 1, where
                      it is known (0: it is not). params: LOOM_PLAN_CARRY_BEFORE */
  LOOM_PLAN_WHILE, /* plan `a` while the one result (bool) of plan `b` is true; both get `c` carried
                      values and what else they read, plan `a` the number of iterations before as
                      the value of its symbol `op` - 1 (0: none) */
  LOOM_PLAN_BRANCH, /* plan `a` if the first buffer (bool) is true, else plan `b`, with the others
                     */
  LOOM_PLAN_SYNC,
  LOOM_PLAN_TRIM, /* pages [a, b) of the arena hold nothing any more: back to the system */
  LOOM_PLAN_OPCODE_COUNT
} loom_plan_opcode;

/* In a loop's list of parameters: what each carried value becomes is a result of the body, by
 * number, or, with this bit, a carried value as it was before. */
#define LOOM_PLAN_CARRY_BEFORE 0x80000000u

typedef enum loom_plan_check {
  LOOM_PLAN_CHECK_EQ,
  LOOM_PLAN_CHECK_NE,
  LOOM_PLAN_CHECK_LE,
  LOOM_PLAN_CHECK_COUNT
} loom_plan_check;

typedef struct loom_plan_instr {
  uint16_t opcode;
  uint8_t device, stream; /* 0: the host; 1: LAUNCH and COPY of a plan for a GPU */
  uint32_t a, b, c;
  uint32_t fp_mask;               /* LAUNCH: which floating-point flags matter */
  uint32_t buffers, buffer_count; /* in `indices` */
  uint32_t params, param_count;   /* in `indices`: scalar numbers or registers */
  uint32_t scratch;               /* bytes private to a thread */
  uint32_t chunks;                /* or a register */
  uint32_t flags;                 /* LOOM_PLAN_CHUNKS_REGISTER, LOOM_PLAN_SCRATCH_REGISTER */
  uint32_t op;                    /* SIZE, CHECK, FOR, WHILE */
} loom_plan_instr;

typedef struct loom_plan_kernel {
  uint32_t entry; /* bytes from the start of the image's code; on a GPU LOOM_PLAN_KERNEL_LISTS */
  uint32_t name;  /* in `names`: for profiles and logs; on a GPU the entry point's */
  /* Of a GPU: threads of a block, LOOM_PLAN_KERNEL_*, and 1 + the name of the operation whose
   * errors it reports, or 0; bytes of shared memory that a launch gives it beside its own. */
  uint32_t threads, flags, op, shared;
} loom_plan_kernel;

/* What a tensor map's elements are: f32 is rounded to TF32 on the way. */
typedef enum loom_map_kind {
  LOOM_MAP_HALVES,
  LOOM_MAP_TF32,
  LOOM_MAP_BYTE,
  LOOM_MAP_KINDS
} loom_map_kind;

/* A part of a kernel's buffer that it copies boxes of: lines next to each other, in batches. What
 * is outside of them is zeros. */
typedef struct loom_tensor_map {
  uint32_t kernel, buffer; /* the row of the kernel, the number in its list */
  int64_t offset;          /* bytes behind the buffer's pointer */
  uint64_t extents[3];     /* elements of a line, lines, batches */
  uint64_t strides[2];     /* bytes from a line to the next one, and from a batch */
  /* Where one of these five is known in a launch alone: two of its parameters, 1 + their numbers
   * (0: none), by which the number above is multiplied, and what is added then. */
  uint16_t parameters[5][2];
  uint32_t plus[5];
  uint32_t box[2];       /* elements of a line, lines */
  uint32_t kind, unused; /* LOOM_MAP_* */
} loom_tensor_map;

/* The map of a launch with these parameters. False: a number that none has. */
static inline bool loom_map_known(loom_tensor_map *map, const uint64_t *parameters) {
  for (int i = 0; i < 5; i++) {
    uint64_t *number = i < 3 ? &map->extents[i] : &map->strides[i - 3];
    for (int k = 0; k < 2; k++)
      if (map->parameters[i][k] &&
          __builtin_mul_overflow(*number, parameters[map->parameters[i][k] - 1], number))
        return false;
    if (__builtin_add_overflow(*number, map->plus[i], number)) return false;
    if (*number > (i < 3 ? (uint64_t)INT32_MAX : UINT64_C(1) << 40)) return false;
  }
  return true;
}

/* Bytes of an element. */
static inline uint32_t loom_map_size(uint32_t kind) {
  return kind == LOOM_MAP_HALVES ? 2 : kind == LOOM_MAP_TF32 ? 4 : 1;
}
#define LOOM_PLAN_STATIC 49152u  /* bytes of shared memory that a kernel may have of its own */
#define LOOM_PLAN_SHARED 232448u /* or that a launch may give it, at most (sm_90) */
#define LOOM_MAP_BYTES 128u      /* of a tensor map, which a kernel gets by value */
#define LOOM_MAP_MOST 2u         /* of a kernel */

#define LOOM_PLAN_KERNEL_BLOCKS 1u /* a chunk is a block's work, not a thread's */
#define LOOM_PLAN_KERNEL_SILENT 2u /* it never reports a status */
/* Words of the lists that a kernel of a GPU gets by value: of buffers, and of parameters. */
#define LOOM_PLAN_LAUNCH_BYTES 4072u /* of both lists: 4,096 of arguments, without three others */
#define LOOM_PLAN_KERNEL_LISTS(BUFFERS, PARAMS) ((uint32_t)(BUFFERS) | (uint32_t)(PARAMS) << 16)

#endif
