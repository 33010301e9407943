"""Makes C tables from `llvm-tblgen --dump-json` of loom.td, read from standard input.

`table` prints loom_ops.inc (the op table of graph/), `folds` and `infers` list the C++ classes whose fold and whose
type inference call C, and `docs PAGE` puts a table of all ops before mlir-tblgen's page.
"""

import json
import sys

KINDS = {
    "I64Attr": "I64",
    "DenseI64ArrayAttr": "I64S",
    "BoolAttr": "BOOL",
    "StrAttr": "STR",
    "AnyAttr": "SCALAR",
    "TypeAttr": "DTYPE",
}


def rows(records):
    """Yields (enum, name, operands, results, regions, shape, lower, fp, dtypes, attrs) for each op of the graph."""
    for name in sorted(records["!instanceof"]["Loom_Op"], key=lambda n: (n.startswith("!"), n)):
        record = records[name]
        if record["shape"] == "none":
            continue  # structure, not computation: no captured graph holds it
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
        fp = records[record["fp"]["def"]]["mask"]
        yield (record["opName"].upper(), record["opName"], arity["arguments"], arity["results"],
               len(record["regions"]["args"]), record["shape"], record["lower"], fp, record["dtypes"], attrs)


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
    for _, name, _, _, _, _, _, fp, dtypes, _ in sorted(rows(records), key=lambda row: row[1]):
        types = "all" if dtypes == "biufc" else ", ".join(CLASSES[letter] for letter in dtypes)
        flags = ", ".join(word for bit, word in FLAGS.items() if fp & bit)
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
    print("/* Generated from dialects/loom.td by dialects/gen_ops.py. LOOM_OP(ENUM, name, operands, results, regions,")
    print(" * shape, lower, fp, dtypes, {attribute name, kind}...) */")
    for enum, name, operands, results, regions, shape, lower, fp, dtypes, attrs in rows(records):
        listed = "".join(f', {{"{label}", LOOM_ATTR_{kind}}}' for label, kind in attrs)
        print(f'LOOM_OP({enum}, "{name}", {operands}, {results}, {regions}, "{shape}", "{lower}", {fp}, "{dtypes}"{listed})')


if __name__ == "__main__":
    main()
