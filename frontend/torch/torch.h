/* The torch backend: FX graphs of ATen ops become captured graphs, tensors are read and made from
 * C.
 *
 * Nothing here is linked against torch: what is needed of its C interface is looked up in the
 * libraries that the process has already loaded (tensor.c), and everything else goes through
 * Python at compile time.
 *
 * Sections by file: tensor.c (the data plane), fx.c (nodes to values), fx_size.c (symbolic sizes),
 * fx_result.c (results), fx_args.c (arguments of one call), foreach.def and foreach.c (ops over
 * lists), aten.def and aten_*.c (one emitter for each family of ops), host.c (ops that run through
 * torch), native.c and native_*.c (ops that functions of the extension compute), compiled.c (the
 * callable that AOTAutograd gets).
 */
#ifndef LOOM_FRONTEND_TORCH_H
#define LOOM_FRONTEND_TORCH_H

#include "frontend/frontend.h"
#include "graph/build.h"

/* ==== tensor.c: tensors from C ================================================================ */

/* Finds torch's C interface; false with an exception when torch is not imported or too different.
 */
bool torch_init(void);

/* What a compiled graph expects of a tensor, or makes. Strides are in elements. In an import and in
 * what it gives sizes and strides may be symbolic numbers of the graph (fx_spec_at). */
typedef struct torch_spec {
  loom_dtype dtype;
  int32_t rank;
  int64_t sizes[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
} torch_spec;

/* A strided tensor on the CPU, dense in its bits (no conjugate or negative view): its data, sizes
 * and strides. The arrays live as long as the tensor's metadata. */
typedef struct torch_view {
  void *data;
  int64_t *sizes, *strides;
  int64_t rank;
  int32_t dtype; /* torch's ScalarType */
} torch_view;

/* Is it a conjugate or negative view, or zeros that take no memory: does its memory not hold its
 * elements? */
bool torch_is_lazy(PyObject *tensor);
PyObject *torch_resolve(PyObject *tensor); /* what such a tensor stands for, in memory of its own */
bool torch_read(PyObject *tensor, torch_view *out); /* false with an exception: not such a tensor */
/* Does its storage begin with it, and have so many bytes? */
bool torch_is_whole(PyObject *tensor, int64_t bytes);
/* A new tensor from torch's own allocator; its data. NULL with an exception. */
PyObject *torch_empty(const torch_spec *spec, void **data);
/* A tensor over another one's memory, `offset` elements behind where that begins, which autograd
 * does not know as a view of it. */
PyObject *torch_part(PyObject *tensor, const torch_spec *spec, int64_t offset);
/* A tensor over memory of somebody else, who keeps it while it is used. */
PyObject *torch_over(const torch_spec *spec, void *data);
int32_t torch_scalar_type(loom_dtype dtype);
/* A strided array of the plan's. */
typedef struct torch_array {
  torch_spec spec;
  void *data;
} torch_array;
/* out = l @ r by torch's own product of matrices, if there is one; false with an exception. */
bool torch_has_product(void);
bool torch_product(const torch_array *l, const torch_array *r, const torch_array *out);

/* ==== fx.c: an FX graph as values ==============================================================
 */

typedef struct fx_value {
  enum { FX_NOTHING, FX_TENSOR, FX_MANY, FX_SIZE, FX_REAL, FX_OBJECT } kind;
  loom_value value;       /* TENSOR; REAL: a symbolic float, float64 of rank 0 */
  loom_value wide;        /* TENSOR of halves: the same before it was rounded, float32; or none */
  int32_t placeholder;    /* TENSOR: which one it is, or -1 */
  struct fx_value *items; /* MANY; in the import's arena */
  uint32_t count;
  int64_t number;   /* SIZE: maybe symbolic */
  PyObject *object; /* OBJECT: anything else, borrowed from the graph */
  PyObject *meta;   /* TENSOR: the FakeTensor that describes it, borrowed from the graph */
} fx_value;

/* How one result of the graph is made. */
typedef struct fx_result {
  enum {
    FX_RESULT_OUTPUT,
    FX_RESULT_INPUT,
    FX_RESULT_PART, /* of an input's memory */
    FX_RESULT_VIEW, /* of another result */
    FX_RESULT_SIZE,
    FX_RESULT_OBJECT
  } kind;
  uint32_t number;  /* OUTPUT: of the graph; INPUT, PART: the argument; VIEW: the other result */
  int64_t offset;   /* PART, VIEW: in elements, maybe symbolic; PART: from where the input begins */
  int64_t size;     /* SIZE: the number */
  PyObject *object; /* owned */
  torch_spec spec;  /* OUTPUT: the tensor that is allocated */
  torch_spec view;  /* PART, VIEW: the tensor; OUTPUT that is expanded: with its full sizes */
  bool expanded;
  bool conjugate, negative; /* PART, VIEW: of what it is a view of */
} fx_result;

/* What a placeholder is bound to in a call. */
typedef struct fx_input {
  enum { FX_INPUT_TENSOR, FX_INPUT_SIZE, FX_INPUT_OBJECT } kind;
  uint32_t number; /* TENSOR: of the graph's inputs */
  torch_spec spec; /* TENSOR */
  bool whole;      /* TENSOR: it has to be the whole of its storage, which something looks into */
  int64_t size;    /* SIZE: the number, maybe symbolic */
} fx_input;

#define FX_MAX_SYMBOLS LOOM_MAX_SYMBOLS

/* A symbol of torch's: where a call tells its value, and what is known of it. */
typedef struct fx_symbol {
  PyObject *name;               /* owned */
  uint32_t place;               /* the placeholder that tells it */
  int32_t axis;                 /* its size there; -1: the int itself */
  int64_t factor;               /* what is there is so many times the symbol */
  int64_t min, max, unit, hint; /* unit divides it; hint: in the call that was captured */
  bool hinted;
} fx_symbol;

typedef struct fx_symbols {
  fx_symbol rows[FX_MAX_SYMBOLS];
  uint32_t count;
} fx_symbols;

/* A SCALAR input of the graph whose value is a size. */
typedef struct fx_scalar {
  loom_value value; /* while it is imported: pruning renumbers values */
  uint32_t input;
  int64_t number;
} fx_scalar;

typedef struct fx_import {
  loom_graph *graph;
  loom_builder builder;
  int64_t visible;           /* so many first results may be written to by whoever gets them */
  PyObject *own;             /* a set: numbers of results that are handed on as they are */
  PyObject *frozen;          /* dict: number of a placeholder -> the tensor that is bound to it */
  const fx_symbols *symbols; /* of the module */
  const int64_t *values_of_symbols; /* their values, or NULL: they become symbols of the graph */
  PyObject *sizes;                  /* dict: name of a symbol of torch's -> the number that it is */
  int64_t hints[FX_MAX_SYMBOLS];    /* of the graph's symbols */
  fx_scalar *scalars;               /* in the order of the graph's SCALAR inputs; malloc'ed */
  uint32_t scalar_count;
  fx_input *inputs; /* by placeholder; malloc'ed */
  uint32_t input_count;
  PyObject *index;  /* dict: node -> number in `values` */
  fx_value *values; /* malloc'ed */
  uint32_t value_count, value_capacity;
  PyObject *module;       /* borrowed */
  PyObject *constants;    /* list of tensors: data of the CONST inputs, in their order */
  PyObject *hosts;        /* list, by slot: see host.c */
  PyObject *host_reasons; /* list of (op, reason) */
  PyObject *host_places;  /* for each: "file:line" of the model, or "" */
  uint32_t ops;           /* call_function nodes with an array result */
  bool checks;            /* some op checks a value: when it is wrong, eager torch raises */
} fx_import;

/* The whole graph module: inputs in the order of its placeholders, results in that of its output.
 * False with an exception. `results` and `im->inputs` are the caller's to free. */
bool fx_import_module(fx_import *im, PyObject *module, fx_result **results, uint32_t *result_count);
/* What the placeholders of a module are, before anything is imported: malloc'ed; NULL with an
 * exception. */
fx_input *fx_placeholders(PyObject *module, uint32_t *count, fx_symbols *symbols);
void fx_import_fini(fx_import *im);
/* The type of a FakeTensor; false (with an exception or not) when it is of no supported kind. */
bool fx_read_type(fx_import *im, PyObject *meta, loom_type *out);
bool fx_read_spec(fx_import *im, PyObject *meta, torch_spec *out);
bool fx_read_dtype(PyObject *dtype, loom_dtype *out);
fx_value *fx_value_of(fx_import *im, PyObject *node);
bool fx_is_fake_tensor(PyObject *meta);
/* A tensor as a value of the graph: its data is bound to the plan. LOOM_NO_VALUE with an exception.
 */
loom_value fx_constant(fx_import *im, PyObject *tensor, const loom_type *type);
/* The tensor that is so bound to a value, borrowed; NULL for other values. */
PyObject *fx_bound(const fx_import *im, loom_value value);

/* ==== fx_size.c: symbolic sizes =================================================================
 */

/* The symbols of a module, by what its placeholders tell (`metas`, one for each). */
bool fx_find_symbols(const fx_input *inputs, uint32_t count, PyObject *const *metas,
                     fx_symbols *out);
void fx_symbols_fini(fx_symbols *s);
/* Does what is known of the symbols hold for these values? */
bool fx_symbols_fit(const fx_symbols *s, const int64_t *values);
/* Makes the numbers that the symbols stand for in an import. */
bool fx_bind_symbols(fx_import *im);
/* An int or SymInt as a number; as a size of a type. False with an exception. */
bool fx_read_number(fx_import *im, PyObject *number, int64_t *out);

/* Where a tensor lies in its storage, in elements: numbers of the graph. */
typedef struct fx_place {
  PyObject *storage; /* an int that identifies it; owned */
  int64_t offset, end, size;
  bool sized; /* is `size` known? It may be made of symbols that no argument tells */
  bool empty;
} fx_place;
bool fx_read_place(fx_import *im, PyObject *meta, const torch_spec *spec, fx_place *out);
bool fx_read_dim(fx_import *im, PyObject *number, loom_dim *out);
/* The value of a number in the call that was captured. */
int64_t fx_hint(const fx_import *im, int64_t number);
/* Is a size 0 or 1? No symbolic one counts as that. */
bool fx_one(int64_t size);
/* A spec for these values of the graph's symbols; false when a size overflows. */
bool fx_spec_at(const loom_graph *graph, const torch_spec *spec, const int64_t *symbols,
                torch_spec *out);
/* In a graph without symbols: does a value lie in the memory of `input`, a placeholder? As which
 * tensor, and how many elements behind its beginning. */
bool fx_part_of(fx_import *im, const fx_value *v, const fx_value *input, torch_spec *view,
                int64_t *offset);
/* The strides of `spec` as those of a dense array of permuted axes (axes of size 1 get one that
 * fits) in `out`; where they are no such strides, `spec` and `out` become C order. False when that
 * cannot be expressed. */
bool fx_spec_dense(fx_import *im, torch_spec *spec, int64_t *out);
/* The axes by their strides in the captured call, the largest first, equal ones as they come. */
void fx_spec_order(const fx_import *im, const torch_spec *spec, int64_t *out);

/* ==== fx_result.c: results ======================================================================
 */

/* The results of an output node, malloc'ed. */
bool fx_output(fx_import *im, PyObject *node, fx_result **results, uint32_t *count);

typedef struct fx_call fx_call;
/* The arguments of a call by its schema; false when declined or with an exception. */
bool fx_bind(fx_call *c, PyObject *args, PyObject *kwargs);
void fx_release(fx_call *c); /* what fx_bind has made */
/* One call: through its emitter or through torch. False with an exception. */
bool fx_emit_call(fx_call *c, PyObject *args, PyObject *kwargs, loom_value *values);

/* ==== foreach.c: ops over lists of tensors ====================================================
 */

/* False with an exception; `*is_one`: the op was one of foreach.def, its results are in `out`. */
bool fx_foreach(fx_call *c, PyObject *args, PyObject *kwargs, fx_value *out, bool *is_one);

/* ==== fx_args.c: the arguments of one call ======================================================
 */

#define FX_MAX_ARGS 20
#define FX_MAX_RESULTS 128

struct fx_call {
  fx_import *im;
  loom_builder *b;
  PyObject *target, *node, *meta; /* the op, the node, its FakeTensor(s); borrowed */
  PyObject *args[FX_MAX_ARGS];    /* in the schema's order, defaults filled in; borrowed */
  PyObject *kept[FX_MAX_ARGS];    /* those of them that are owned */
  int count;
  loom_type types[FX_MAX_RESULTS]; /* of the tensor results, as torch declares them */
  bool present[FX_MAX_RESULTS];    /* is this result a tensor? */
  uint32_t result_count;
  loom_value wide[FX_MAX_RESULTS]; /* what fx_round rounded */
  bool rounded;                    /* operands are taken as they were rounded */
  loom_opcode op;                  /* of the row in aten.def */
  const char *text;                /* of the row: a direction, a kind */
  char why[160];                   /* the reason, once it was declined */
};

/* Declines: the op runs through torch, for this reason. Always false. */
bool fx_decline(fx_call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

bool fx_has(const fx_call *c, int i); /* given and not None */
bool fx_is_tensor(const fx_call *c, int i);
/* Operand `i`, which has to be a tensor; LOOM_NO_VALUE after a failure of the builder. */
loom_value fx_tensor(fx_call *c, int i);
/* The same as `dtype`. Halves that were just computed are not rounded in between: like torch's own
 * compiler, and closer to the exact result than eager torch. */
loom_value fx_tensor_as(fx_call *c, int i, loom_dtype dtype);
/* A computed value as the declared dtype of result `i`. */
loom_value fx_round(fx_call *c, uint32_t i, loom_value v);
/* The tensors of a list; -1 after a failure. */
int fx_tensors(fx_call *c, int i, loom_value *out, int capacity);
/* Operand `i`, tensor or number, as `dtype` in the shape of the first result. */
loom_value fx_operand(fx_call *c, int i, loom_dtype dtype, const loom_type *shape);
/* torch.result_type of the given operands (tensors, 0-d tensors and numbers rank differently). */
bool fx_promote(fx_call *c, const int *operands, int count, loom_dtype *out);
bool fx_int(fx_call *c, int i, int64_t *out); /* these decline when it is none */
bool fx_double(fx_call *c, int i, double *out);
bool fx_bool(fx_call *c, int i, bool *out);
bool fx_dtype(fx_call *c, int i, loom_dtype *out);
int fx_ints(fx_call *c, int i, int64_t *out, int capacity);  /* the count, or -1 */
int fx_dims(fx_call *c, int i, loom_dim *out, int capacity); /* sizes, maybe symbolic */
bool fx_number(fx_call *c, int i, int64_t *out);             /* an int, maybe symbolic */
int fx_numbers(fx_call *c, int i, int64_t *out, int capacity);
/* A number, maybe symbolic, as a 0-d int64; as a tensor of this type. */
loom_value fx_number_data(fx_call *c, int64_t number);
loom_value fx_number_value(fx_call *c, const loom_type *type, int64_t number);
/* fx_real.c: is this the type of a symbolic float? The value of a call that gives one, or none. */
bool fx_is_real(PyObject *meta);
loom_value fx_real(fx_call *c, PyObject *args);
/* The product of the sizes over the axes of a mask, maybe symbolic. */
bool fx_product(fx_call *c, const loom_type *type, uint32_t axes, int64_t *out);
const char *fx_text(fx_call *c, int i); /* "" when None */
/* An axis in [0, rank). */
bool fx_axis(fx_call *c, int i, int rank, int *out);
/* A mask of axes; None and the empty list are all of them. */
bool fx_axes(fx_call *c, int i, int rank, uint32_t *out);

/* `v` at the positions `at` (a line) of an axis; what lies outside is some element. */
loom_value fx_take_along(fx_call *c, loom_value v, int axis, loom_value at);
/* A line along `axis` of `type`, spread over it. */
loom_value fx_spread_line(fx_call *c, loom_value line, int axis, const loom_type *type);

/* Elements of a type over the axes of a mask; -1 when symbolic. */
int64_t fx_count(const loom_type *type, uint32_t axes);
/* Has it a size 0, or more elements than can be counted? */
bool fx_is_empty(const loom_type *type);
/* Are the sizes from axis `first` on no symbolic ones? */
bool fx_sizes_known(const loom_type *type, int first);
/* The dtype in which torch computes on this one: float32 for the halves. */
loom_dtype fx_compute_dtype(loom_dtype dtype);

/* ==== aten.def, aten_*.c =========================================================================
 */

/* Emits a call: its results in `out`. False: declined, or the builder has failed. */
typedef bool (*aten_emit)(fx_call *c, loom_value *out);
typedef struct aten_row {
  const char *name; /* "add.Tensor" */
  aten_emit emit;
  loom_opcode op;
  const char *text;
} aten_row;
const aten_row *aten_find(const char *name);
/* Does the emitter take symbolic sizes (aten_sized.def)? */
bool aten_takes_sizes(const aten_row *row);

#define ATEN(NAME, EMIT, OP, TEXT) bool aten_##EMIT(fx_call *c, loom_value *out);
#include "frontend/torch/aten.def"
#undef ATEN

/* aten_complex.c: has kernel formulas for all nodes from this one on that have to do with complex
 * numbers? Else it declines. */
bool fx_complex_ok(fx_call *c, uint32_t first_node);
bool fx_is_complex_operand(fx_call *c, int i);
bool fx_complex_abs(fx_call *c, loom_value *out); /* of operand 0 */
bool fx_complex_angle(fx_call *c, loom_value *out);
bool fx_complex_to_real(fx_call *c, loom_value *out);

/* aten_strided.c: ops that look into their operand's storage; may this one, since its operand is
 * the whole of it? False with an exception. */
bool strided_reads_storage(const char *name);
bool strided_takes_whole(fx_call *c);

/* ==== host.c: ops without an emitter =============================================================
 */

/* Appends a host call for the node; its results. False with an exception. */
bool torch_host_emit(fx_call *c, PyObject *args, PyObject *kwargs, loom_value *out);
#define TORCH_HOST_OTHER                                                                           \
  2 /* the call has to be made by eager torch: results of other sizes than                         \
       declared, wrong data */
int torch_host_run(PyObject *hosts, const loom_graph *graph, const loom_host_call *call);

/* ==== native.c, native_*.c: ops that are computed by functions of the extension
 * ===================
 */

#define TORCH_NATIVE_NUMBERS 4

/* 0, TORCH_HOST_OTHER or, with an exception, 1. */
typedef int (*torch_native_fn)(const torch_array *operands, torch_array *results,
                               const int64_t *numbers);

/* Appends the call of `run` for these arguments of the op, which have to be tensors. */
bool torch_native_emit(fx_call *c, torch_native_fn run, const int *arguments, int count,
                       const int64_t *numbers, int number_count, loom_value *out);
/* What stands for the op in a slot: a function and its numbers, an object of its own type. */
PyObject *torch_native_op(torch_native_fn run, const int64_t *numbers, int count);
bool torch_is_native(PyObject *op);
int torch_native_run(PyObject *op, PyObject *specs, PyObject *results, const loom_graph *graph,
                     const loom_host_call *call);

int torch_topk(const torch_array *operands, torch_array *results, const int64_t *numbers);
int torch_grouped_rows(const torch_array *in, torch_array *out, const int64_t *numbers);
int torch_grouped_sums(const torch_array *in, torch_array *out, const int64_t *numbers);
int torch_triangular(const torch_array *in, torch_array *out, const int64_t *numbers);
int torch_grouped_gradients(const torch_array *in, torch_array *out, const int64_t *numbers);

/* ==== describe.c: reports and logs
 * ================================================================
 */

typedef struct torch_description {
  const loom_graph *graph;
  const loom_plan *plan; /* NULL: the interpreter */
  const loom_compile_report *report;
  PyObject *host_reasons, *host_places; /* as in fx_import; borrowed */
  uint32_t ops;
  PyObject *name; /* a str; borrowed */
} torch_description;

PyObject *torch_describe(const torch_description *d); /* a new dict */
void torch_log(const torch_description *d);
PyObject *torch_graph_text(const loom_graph *graph); /* as MLIR */

/* ==== compiled.c
 * ================================================================================== */

/* (graph module, options dict) -> callable with one list of inputs. METH_VARARGS. */
PyObject *torch_py_init(PyObject *module, PyObject *unused);
PyObject *torch_py_compile(PyObject *module, PyObject *args);
bool torch_compiled_init(PyObject *module);

#endif
