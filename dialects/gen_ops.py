"""Makes C tables from `llvm-tblgen --dump-json` of loom.td, read from standard input.

`table` prints loom_ops.inc (the op table of graph/), `folds` and `infers` list the C++ classes whose fold and whose
type inference call C.
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
    """Yields (enum, name, operands, results, shape, lower, fp, dtypes, attrs) for each op of the graph."""
    for name in sorted(records["!instanceof"]["Loom_Op"], key=lambda n: (n.startswith("!"), n)):
        record = records[name]
        if record["regions"]["args"] or record["shape"] == "none":
            continue  # structure, not computation: no captured graph holds it
        arity = {"arguments": 0, "results": 0}
        attrs = []
        for group in arity:
            for definition, label in record[group]["args"]:
                kind = definition["def"]
                if kind in KINDS:
                    attrs.append((label, KINDS[kind]))
                elif records[kind].get("!superclasses") and "Variadic" in records[kind]["!superclasses"]:
                    arity[group] = -1
                else:
                    arity[group] += 1
        fp = records[record["fp"]["def"]]["mask"]
        yield (record["opName"].upper(), record["opName"], arity["arguments"], arity["results"], record["shape"],
               record["lower"], fp, record["dtypes"], attrs)


def classes(records, field):
    """Yields the C++ class of each op whose record has the bit `field` set."""
    for name in records["!instanceof"]["Loom_Op"]:
        if records[name][field]:
            yield name


CLASS_LISTS = {"folds": ("hasFolder", "LOOM_FOLD"), "infers": ("infersType", "LOOM_INFER")}


def main():
    records = json.load(sys.stdin)
    if sys.argv[1] in CLASS_LISTS:
        field, macro = CLASS_LISTS[sys.argv[1]]
        print("/* Generated from dialects/loom.td by dialects/gen_ops.py. */")
        for name in classes(records, field):
            print(f"{macro}({name})")
        return
    print("/* Generated from dialects/loom.td by dialects/gen_ops.py. LOOM_OP(ENUM, name, operands, results, shape,")
    print(" * lower, fp, dtypes, {attribute name, kind}...) */")
    for enum, name, operands, results, shape, lower, fp, dtypes, attrs in rows(records):
        listed = "".join(f', {{"{label}", LOOM_ATTR_{kind}}}' for label, kind in attrs)
        print(f'LOOM_OP({enum}, "{name}", {operands}, {results}, "{shape}", "{lower}", {fp}, "{dtypes}"{listed})')


if __name__ == "__main__":
    main()
