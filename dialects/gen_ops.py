"""Makes C tables from `llvm-tblgen --dump-json` of loom.td, read from standard input.

`table` prints loom_ops.inc (the op table of graph/), `folds` and `infers` list the C++ classes whose fold and whose
type inference call C, and `docs PAGE` puts a table of all ops before mlir-tblgen's page.
"""

import json
import sys
from collections import namedtuple

KINDS = {
    "I64Attr": "I64",
    "DenseI64ArrayAttr": "I64S",
    "BoolAttr": "BOOL",
    "StrAttr": "STR",
    "AnyAttr": "SCALAR",
    "TypeAttr": "DTYPE",
}


BITS = ("exact", "rounded", "whole", "truth", "strided")
SLOTS = 256  # of the hash table that finds an op by its name, in table.c

Row = namedtuple("Row", "name operands results regions shape lower fusion fp fp_integer dtypes parts cost cost_f64 bits attrs real")


def ops(records):
    """The records of all ops, those of graphs and of the compiler alone, in a fixed order."""
    return [records[n] for n in sorted(records["!instanceof"]["Loom_Op"], key=lambda n: (n.startswith("!"), n))]


def is_of_graphs(record):
    return record["shape"] != "none"


def traits(record):
    return {trait["def"] for trait in record["traits"]}


def rows(records):
    """Yields a Row for each op of the graph."""
    for record in ops(records):
        if not is_of_graphs(record):
            continue
        arity = {"arguments": 0, "results": 0}
        attrs = []
        for group in arity:
            for definition, label in record[group]["args"]:
                kind = definition["def"]
                if "DefaultValuedAttr" in records[kind].get("!superclasses", []):
                    kind = records[kind]["baseAttr"]["def"]
                if kind in KINDS:
                    attrs.append((label, KINDS[kind]))
                elif records[kind].get("!superclasses") and "Variadic" in records[kind]["!superclasses"]:
                    arity[group] = -1
                else:
                    arity[group] += 1
        cost = records[record["cost"]["def"]]
        bits = [name for name in BITS if record[name]] + ["pure"] * ("NoMemoryEffect" in traits(record))
        yield Row(record["opName"], arity["arguments"], arity["results"], len(record["regions"]["args"]), record["shape"],
                  record["lower"], record["fusion"], records[record["fp"]["def"]]["mask"],
                  records[record["fpInteger"]["def"]]["mask"], record["dtypes"], record["parts"], cost["other"],
                  cost["wide"], bits, attrs, record["real"])


def slots(names):
    """(slot, name) of an open-addressed table over the names; table.c hashes in the same way."""
    taken = {}
    for name in names:
        slot = 0
        for letter in name.encode():
            slot = (slot * 31 + letter) % SLOTS
        while slot in taken:
            slot = (slot + 1) % SLOTS
        taken[slot] = name
    return sorted(taken.items())


def classes(records, field):
    """Yields the C++ class of each op whose record has the bit `field` set."""
    for name in records["!instanceof"]["Loom_Op"]:
        if records[name][field]:
            yield name


CLASS_LISTS = {"folds": ("hasFolder", "LOOM_FOLD"), "infers": ("infersType", "LOOM_INFER")}


CLASSES = {"b": "bool", "i": "signed", "u": "unsigned", "f": "float", "c": "complex"}
FLAGS = {1: "divide", 2: "overflow", 4: "underflow", 8: "invalid"}
INTRODUCTION = """# The loom dialect

Array programs on value-semantics tensors, as NumPy and torch mean them. This page is generated from `dialects/loom.td`
by `make docs`.

Element types are bool (`i1`, one byte in memory), signed integers (`i8` to `i64`), unsigned ones (`ui8` to `ui64`),
`f16`, `bf16`, `f32`, `f64`, `complex<f32>` and `complex<f64>`. There is no implicit broadcasting: operands of an
elementwise op have one type. A dynamic size is an expression over symbols that are unique in the module, written as the
tensor type's encoding: `tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>`.

## All ops of a graph

*Types* are the classes of element types an op computes on; *reports* are the floating-point exceptions NumPy may warn of.

| op | what it is | types | reports |
| -- | ---------- | ----- | ------- |"""


def page(records, generated):
    """Prints the reference page: introduction, table, then what mlir-tblgen wrote, one level down."""
    print(INTRODUCTION)
    summaries = {records[n]["opName"]: records[n]["summary"] for n in records["!instanceof"]["Loom_Op"]}
    for row in sorted(rows(records)):
        name = row.name
        types = "all" if row.dtypes == "biufc" else ", ".join(CLASSES[letter] for letter in row.dtypes)
        flags = ", ".join(word for bit, word in FLAGS.items() if row.fp & bit)
        print(f"| [`{name}`](#loom{name}-loom{class_name(records, name)}) | {summaries[name]} | {types} | {flags} |")
    with open(generated, encoding="utf-8") as file:
        text = file.read()
    print("\n" + text[text.index("## Operations"):].rstrip())


def class_name(records, op):
    """The C++ class of an op in lower case, as it stands in the anchor of its heading."""
    return next(n for n in records["!instanceof"]["Loom_Op"] if records[n]["opName"] == op).lower()


def main():
    records = json.load(sys.stdin)
    if sys.argv[1] == "docs":
        page(records, sys.argv[2])
        return
    if sys.argv[1] in CLASS_LISTS:
        field, macro = CLASS_LISTS[sys.argv[1]]
        print("/* Generated from dialects/loom.td by dialects/gen_ops.py. */")
        for name in classes(records, field):
            print(f"{macro}({name})")
        return
    table(records)


def table(records):
    print(f"""/* Generated from dialects/loom.td by dialects/gen_ops.py.
 * LOOM_OP(ENUM, "name", fields of loom_op_info...): an op of graphs.
 * LOOM_OP_INTERNAL(ENUM, "name"): an op that only the compiler makes.
 * LOOM_OP_REAL1(ENUM, formula), LOOM_OP_REAL2(ENUM, formula): what it is of the double x, of x and y.
 * LOOM_OP_SLOT(slot, ENUM): where the op is in a hash table of {SLOTS} slots over all names. */
#ifndef LOOM_OP
#define LOOM_OP(...)
#endif
#ifndef LOOM_OP_INTERNAL
#define LOOM_OP_INTERNAL(...)
#endif
#ifndef LOOM_OP_REAL1
#define LOOM_OP_REAL1(...)
#endif
#ifndef LOOM_OP_REAL2
#define LOOM_OP_REAL2(...)
#endif
#ifndef LOOM_OP_SLOT
#define LOOM_OP_SLOT(...)
#endif""")
    for row in rows(records):
        attrs = ", ".join(f'{{"{label}", LOOM_ATTR_{kind}}}' for label, kind in row.attrs)
        fields = [f".operands = {row.operands}", f".results = {row.results}", f".regions = {row.regions}",
                  f'.shape = "{row.shape}"', f".lower = LOOM_LOWER_{row.lower.upper()}",
                  f".fusion = LOOM_CLASS_{row.fusion.upper()}", f".fp = {row.fp}", f".fp_integer = {row.fp_integer}",
                  f'.dtypes = "{row.dtypes}"', f".parts = LOOM_PARTS_{row.parts.upper()}", f".cost = {row.cost}",
                  f".cost_f64 = {row.cost_f64}", *(f".{bit} = true" for bit in row.bits)]
        if attrs:
            fields.append(f".attrs = {{{attrs}}}")
        print(f'LOOM_OP({row.name.upper()}, "{row.name}", {", ".join(fields)})')
        if row.real:
            print(f"LOOM_OP_REAL{row.operands}({row.name.upper()}, {row.real})")
    for record in ops(records):
        if not is_of_graphs(record):
            print(f'LOOM_OP_INTERNAL({record["opName"].upper()}, "{record["opName"]}")')
    for slot, name in slots(record["opName"] for record in ops(records)):
        print(f"LOOM_OP_SLOT({slot}, {name.upper()})")
    print("#undef LOOM_OP\n#undef LOOM_OP_INTERNAL\n#undef LOOM_OP_REAL1\n#undef LOOM_OP_REAL2\n#undef LOOM_OP_SLOT")


if __name__ == "__main__":
    main()
