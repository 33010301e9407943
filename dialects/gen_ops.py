"""Makes C tables from `llvm-tblgen --dump-json` of loom.td, read from standard input.

`tables FOLDER` writes loom_ops_<group>.h (opcodes) and loom_op_ranges.h (their bounds), loom_names.inc, loom_rows.inc (the op
table of graph/), loom_formulas.inc (what its interpreter computes), loom_gradients.inc (derivatives), loom_pairs.inc (complex
arithmetic), and loom_folds.inc and loom_infers.inc (the C++ classes whose fold and whose type inference call C). `docs PAGE`
puts a table of all ops before mlir-tblgen's page.
"""

import json
import re
import sys
from collections import namedtuple
from pathlib import Path

KINDS = {
    "I64Attr": "I64",
    "DenseI64ArrayAttr": "I64S",
    "BoolAttr": "BOOL",
    "StrAttr": "STR",
    "AnyAttr": "SCALAR",
    "TypeAttr": "DTYPE",
}


BITS = ("exact", "rounded", "whole", "truth", "strided", "alias", "updates", "indexed", "windowed", "body", "applies", "control")
TRAITS = {"NoMemoryEffect": "pure", "ConstantLike": "constant", "Terminator": "ends"}  # trait of an op: column
FORMULAS = {"real": "f", "integer": "iu", "boolean": "b", "complex": "c"}  # column: letters of `dtypes`
# Groups of opcodes, and for how many each has room: a new op leaves the numbers of others, and the headers of other groups,
# as they are. Those of graphs come first.
GROUPS = {"arithmetic": 32, "logic": 32, "functions": 80, "shapes": 32, "elements": 16, "reductions": 16, "control": 16, "": 32}
SLOTS = 256  # of the hash table that finds an op by its name, in table.c

Row = namedtuple("Row", "name operands results regions shape lower fusion fp fp_integer dtypes parts cost cost_f64 bits attrs formulas gradient format")


def ops(records):
    """The records of all ops, those of graphs and of the compiler alone, in a fixed order."""
    return [records[n] for n in sorted(records["!instanceof"]["Loom_Op"], key=lambda n: (n.startswith("!"), n))]


def is_of_graphs(record):
    return record["shape"] != "none"


def traits(record):
    return {trait["def"] for trait in record["traits"]}


def formulas_of(record):
    """Yields (column, formula) for each class of element types that the op computes on and has a formula for."""
    for column, letters in FORMULAS.items():
        formula = record[column] or (record["integer"] if column == "boolean" else "")
        if formula and set(letters) & set(record["dtypes"]):
            yield column, " ".join(formula.split())


def bits_of(record):
    return [name for name in BITS if record[name]] + [column for trait, column in TRAITS.items() if trait in traits(record)]


def template(record, attrs):
    """The assembly format as graph/print.c reads it: words with a space between. %N: operand N, `%N*` it and all behind it;
    @N: attribute N; #N: region N; `[N` and `]` around what is there unless attribute N is -1; `{}`: attributes that the
    format does not name; T: the type of the result; F: those of operands and results."""
    operands, variadic, regions = {}, "", [name for _, name in record["regions"]["args"]]
    names = [name for name, _ in attrs]
    for definition, name in record["arguments"]["args"]:
        if name not in names:
            operands[name] = len(operands)
            variadic = name if definition["def"].startswith("anonymous") or "Variadic" in definition["def"] else variadic
    words = []
    text = record["assemblyFormat"].replace("functional-type(operands, results)", "F").replace("type($result)", "T")
    for word in re.findall(r"`[^`]*`|\$\w+\^?|attr-dict|\(|\)\?|[TF]\b", text):
        name = word.strip("$^")
        if word[0] == "`":
            words.append(word[1:-1])
        elif word[0] == "$":
            words.append(f"@{names.index(name)}" if name in names else f"#{regions.index(name)}" if name in regions
                         else f"%{operands[name]}" + "*" * (name == variadic))
        else:
            words.append({"attr-dict": "{}", "(": "[", ")?": "]"}.get(word, word))
    for i, word in enumerate(words):
        if word == "[":
            words[i] = "[" + next(w[1:] for w in words[i:] if w[0] == "@")
    return " ".join(words)


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
        bits = bits_of(record)
        yield Row(record["opName"], arity["arguments"], arity["results"], len(record["regions"]["args"]), record["shape"],
                  record["lower"], record["fusion"], records[record["fp"]["def"]]["mask"],
                  records[record["fpInteger"]["def"]]["mask"], record["dtypes"], record["parts"], cost["other"],
                  cost["wide"], bits, attrs, dict(formulas_of(record)), record["gradient"],
                  template(record, attrs))


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


def group_header(group):
    """The name of the header of a group; "": the ops that only the compiler makes."""
    return f"loom_ops_{group or 'compiler'}"


def opcodes(records):
    """{group: [(name, opcode)]}"""
    first, numbers = 0, {}
    for group, room in GROUPS.items():
        names = [record["opName"] for record in ops(records) if record["group"] == group]
        if len(names) > room:
            sys.exit(f"gen_ops.py: group \"{group}\" has room for {room} opcodes: give it more in GROUPS")
        first += group == ""  # LOOM_OP_COUNT is the opcode of no op
        numbers[group] = [(name, first + i) for i, name in enumerate(names)]
        first += room
    return numbers


def check_groups(records):
    for record in ops(records):
        if record["group"] not in GROUPS or is_of_graphs(record) != (record["group"] != ""):
            sys.exit(f"gen_ops.py: {record['opName']} has the group \"{record['group']}\": one of GROUPS, or none where it has no shape rule")


def header(stem, about, constants):
    guard = stem.upper() + "_H"
    lines = [f"  LOOM_OP_{name.upper()} = {number}," for name, number in constants]
    return "\n".join([f"/* {about} Generated from dialects/loom.td by dialects/gen_ops.py. */", f"#ifndef {guard}", f"#define {guard}", "",
                      "enum {", *lines, "};", "", "#endif"]) + "\n"


def headers(records):
    """(stem, text) of each header."""
    check_groups(records)
    about = "Opcodes of graphs are below LOOM_OP_COUNT, which is that of no op; those of the compiler are below LOOM_OP_END."
    ranges = [("count", sum(room for group, room in GROUPS.items() if group)), ("end", sum(GROUPS.values()) + 1)]
    yield "loom_op_ranges", header("loom_op_ranges", about, ranges)
    for group, constants in opcodes(records).items():
        about = f"Opcodes of the group {group}." if group else "Opcodes of what only the compiler makes."
        yield group_header(group), header(group_header(group), about, constants)


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


def names(records):
    """LOOM_OP(ENUM, "name"): an op of graphs; LOOM_OP_INTERNAL(ENUM, "name"): one that only the compiler makes."""
    for record in ops(records):
        macro = "LOOM_OP" if is_of_graphs(record) else "LOOM_OP_INTERNAL"
        yield f'{macro}({record["opName"].upper()}, "{record["opName"]}")'


def table(records):
    """LOOM_OP_ROW(ENUM, fields of loom_op_info...); LOOM_OP_SLOT(slot, ENUM): its place in a hash table over all names."""
    for row in rows(records):
        attrs = ", ".join(f'{{"{label}", LOOM_ATTR_{kind}}}' for label, kind in row.attrs)
        fields = [f'.name = "{row.name}"', f'.format = "{row.format}"', f".operands = {row.operands}", f".results = {row.results}",
                  f".regions = {row.regions}", f'.shape = "{row.shape}"', f".lower = LOOM_LOWER_{row.lower.upper()}",
                  f".fusion = LOOM_CLASS_{row.fusion.upper()}", f".fp = {row.fp}", f".fp_integer = {row.fp_integer}",
                  f'.dtypes = "{row.dtypes}"', f".parts = LOOM_PARTS_{row.parts.upper()}", f".cost = {row.cost}",
                  f".cost_f64 = {row.cost_f64}", *(f".{bit} = true" for bit in row.bits)]
        if attrs:
            fields.append(f".attrs = {{{attrs}}}")
        yield f'LOOM_OP_ROW({row.name.upper()}, {", ".join(fields)})'
    for record in ops(records):
        if not is_of_graphs(record):
            fields = [f'.name = "{record["opName"]}"', '.shape = "none"', '.dtypes = ""',
                      *(f".{bit} = true" for bit in bits_of(record) if bit != "pure")]
            yield f'LOOM_OP_ROW({record["opName"].upper()}, {", ".join(fields)})'
    for slot, name in slots(record["opName"] for record in ops(records)):
        yield f"LOOM_OP_SLOT({slot}, {name.upper()})"


def formulas(records):
    """LOOM_FORMULA_INTEGER(ENUM, expression), and so on for each of these columns."""
    for column in FORMULAS:
        for row in rows(records):
            if column in row.formulas:
                yield f"LOOM_FORMULA_{column.upper()}({row.name.upper()}, {row.formulas[column]})"


def gradients(records):
    """LOOM_OP_GRADIENT(ENUM, INDEX, formula): the cotangent of an operand of a pointwise op."""
    for row in rows(records):
        for index, formula in enumerate(row.gradient):
            yield f"LOOM_OP_GRADIENT({row.name.upper()}, {index}, {formula})"


def pairs(records):
    """LOOM_OP_PAIR(ENUM, formula): the parts of a complex result of a pointwise op."""
    for record in ops(records):
        if record["pair"]:
            yield f'LOOM_OP_PAIR({record["opName"].upper()}, {" ".join(record["pair"].split())})'


def class_list(field, macro):
    def lines(records):
        for name in classes(records, field):
            yield f"{macro}({name})"
    lines.__doc__ = f"{macro}(CLASS)"
    return lines


TABLES = {"names": names, "rows": table, "formulas": formulas, "gradients": gradients, "pairs": pairs, "folds": class_list("hasFolder", "LOOM_FOLD"),
          "infers": class_list("infersType", "LOOM_INFER")}


def write(path, text):
    """A file that would not change is not written, so that nothing is built for it."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_tables(records, folder):
    for stem, text in headers(records):
        write(Path(folder) / f"{stem}.h", text)
    for stem, table_of in TABLES.items():
        lines = list(table_of(records))
        macros = sorted({line[:line.index("(")] for line in lines})
        text = "\n".join(["/* Generated from dialects/loom.td by dialects/gen_ops.py.", f" * {table_of.__doc__} */",
                          *(f"#ifndef {macro}\n#define {macro}(...)\n#endif" for macro in macros), *lines,
                          *(f"#undef {macro}" for macro in macros)]) + "\n"
        write(Path(folder) / f"loom_{stem}.inc", text)


def main():
    records = json.load(sys.stdin)
    if sys.argv[1] == "docs":
        page(records, sys.argv[2])
    else:
        write_tables(records, sys.argv[2])


if __name__ == "__main__":
    main()
