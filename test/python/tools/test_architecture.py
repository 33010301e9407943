"""The rules of the house that a machine can check: who includes what, tables without dead rows, where C++ may be."""

import collections
import re
import shutil
import subprocess
import sys

import pytest
from paths import OP_TABLE, ROOT, op_table

# Folder: the folders of the project it may include, and what of the outside world.
RULES = {
    "graph": ({"graph"}, set()),
    "runtime": ({"runtime", "graph"}, set()),
    "frontend": ({"frontend", "runtime", "graph", "targets/compiler.h"}, {"python"}),
    "dialects": ({"dialects", "graph"}, {"mlir"}),
    "passes": ({"passes", "dialects", "graph"}, {"mlir"}),
    "targets": ({"targets", "passes", "dialects", "runtime", "graph"}, {"mlir", "llvm"}),
}
WORLD = [
    ("python", re.compile(r"^(Python\.h|structmember\.h|opcode\.h|frameobject\.h|internal/|cpython/|numpy/)")),
    ("mlir", re.compile(r"^(mlir-c/|mlir/)")),
    ("llvm", re.compile(r"^(llvm-c/|llvm/)")),
]
# The tools and the one C++ file put the compiler together, so that they know the passes too; loom-opt knows how to
# run what the passes make.
TOGETHER = {"dialects/glue.cpp", "dialects/loom-opt.c", "dialects/loom-lsp-server.c"}


def sources(folder, *endings):
    return sorted(p for ending in endings for p in (ROOT / folder).rglob(f"*{ending}"))


def includes(path):
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), re.M)


def world_of(name):
    return next((world for world, pattern in WORLD if pattern.match(name)), None)


@pytest.mark.parametrize("folder", RULES)
def test_includes(folder):
    allowed, worlds = RULES[folder]
    for path in sources(folder, ".c", ".h", ".cpp"):
        relative = str(path.relative_to(ROOT))
        for name in includes(path):
            world = world_of(name)
            assert world is None or world in worlds, f"{relative} includes {name}"
            top = name.split("/")[0]
            if world is None and "/" in name and top in RULES:
                extra = {"passes"} if relative in TOGETHER else set()
                extra |= {"targets"} if relative == "dialects/loom-opt.c" else set()
                assert top in allowed | extra or name in allowed, f"{relative} includes {name}"


def test_only_the_adapter_knows_numpy():
    for path in sources("frontend", ".c", ".h"):
        if path.parent.name != "numpy":
            assert not [n for n in includes(path) if n.startswith("numpy/")], path


def test_mlir_in_cpp_is_one_file():
    for folder in RULES:
        for path in sources(folder, ".c", ".h"):
            assert not [n for n in includes(path) if n.startswith(("mlir/", "llvm/"))], path
        for ending in (".cc", ".cxx", ".hpp", ".cpp"):
            for path in sources(folder, ending):
                assert path == ROOT / "dialects" / "glue.cpp"


def test_the_glue_has_no_logic():
    """It forwards: no loop over IR, no decision about an op. A quarter are the options of a plugin, which are classes of LLVM's."""
    text = (ROOT / "dialects" / "glue.cpp").read_text()
    assert len(text.splitlines()) < 390
    assert not re.search(r"\bwhile\b|\bswitch\b|\.walk\(|isa<|dyn_cast<|RewritePattern", text)


def test_nothing_ends_the_process():
    for folder in RULES:
        for path in sources(folder, ".c"):
            if path.name.startswith("loom-"):
                continue  # mains of tools
            code = re.sub(r"/\*.*?\*/|//[^\n]*|\"(\\.|[^\"\\])*\"", "", path.read_text(), flags=re.S)
            if path.name == "compile.c" and folder == "frontend":
                code = code.replace("_exit(status);", "", 1)  # of a process that is in exit() already
            if path.name == "input.c" and folder == "dialects":
                code = code.replace("_exit(input_convert(", "(", 1)  # a child of the tool
            assert not re.search(r"(?<![\w.>])(abort|exit|_exit)\s*\(", code), path


def test_files_stay_readable():
    for folder in RULES:
        for path in sources(folder, ".c", ".h"):
            lines = path.read_text().splitlines()
            assert len(lines) <= 1000, f"{path.relative_to(ROOT)} has {len(lines)} lines"


def test_code_is_formatted():
    """As `make format` leaves it: by the version that .clang-format is written for."""
    files = subprocess.run(["git", "ls-files", "*.c", "*.h", "dialects/glue.cpp"], cwd=ROOT, capture_output=True, text=True)
    if files.returncode != 0:
        pytest.skip("not a git checkout")
    formatter = shutil.which("clang-format-22")
    if not formatter:
        pytest.skip("clang-format-22 is not installed: scripts/setup.sh test does that")
    done = subprocess.run([formatter, "--dry-run", "-Werror", *files.stdout.split()], cwd=ROOT, capture_output=True, text=True)
    unformatted = sorted(set(re.findall(r"^(.*?):\d+:\d+: error", done.stderr, re.M)))
    assert done.returncode == 0 and not unformatted, f"run `make format`: {unformatted} {done.stderr[:200]}"


def test_comments_stay_short():
    """What takes more words is the essay at a file's head, or a page of docs/."""
    for folder in RULES:
        for path in sources(folder, ".c", ".h", ".cpp", ".def"):
            text = path.read_text()
            for comment in re.finditer(r"/\*.*?\*/|(?:^[ \t]*//.*\n)+", text, re.S | re.M):
                words = [word for word in comment[0].split() if re.search(r"\w", word)]
                line = text.count("\n", 0, comment.start()) + 1
                assert line == 1 or len(words) <= 120, f"{path.relative_to(ROOT)}:{line} has {len(words)} words"


def test_exceptions_are_dropped_in_one_place():
    """PyErr_Clear() would lose an interrupt: error_drop() does not."""
    for path in sources("frontend", ".c", ".h"):
        assert path.name in ("error.c", "base.h") or "PyErr_Clear(" not in path.read_text(), path


def type_tests():
    """{type of values: the file that defines it}, [(file, type) for each comparison with it]"""
    compared = re.compile(r"[!=]=\s*&(\w+)")
    types, found = {}, []
    for path in sources("frontend", ".c"):
        for name in re.findall(r"^(?:static )?const value_type (\w+) = ", path.read_text(), re.M):
            types[name] = path
    for path in sources("frontend", ".c", ".h"):
        found += [(path, name) for name in compared.findall(path.read_text()) if name in types]
    return types, found


def test_types_of_values_are_told_apart_beside_the_types():
    """What a value does is a slot of its type, what types have in common a kind: another type fills in its table, and no
    file has to be searched for the types it names. A type is compared in the file that defines it, and elsewhere by one
    predicate."""
    types, found = type_tests()
    assert len(types) > 30
    assert len(found) <= 30
    elsewhere = [name for path, name in found if path != types[name]]
    assert not [name for name in set(elsewhere) if elsewhere.count(name) > 1]


def test_the_table_of_ops_is_whole():
    """What tests read is what loom.td includes, in the same order."""
    named = re.findall(r'^include "(dialects/\w+\.td)"', OP_TABLE[0].read_text(), re.M)
    assert [str(path.relative_to(ROOT)) for path in OP_TABLE[1:]] == named
    assert {path.name for path in (ROOT / "dialects").glob("*.td")} == {path.name for path in OP_TABLE}


def test_every_table_is_included():
    everything = [(p, includes(p)) for f in RULES for p in sources(f, ".c", ".h", ".cpp")]
    for folder in RULES:
        for table in sources(folder, ".def"):
            name = str(table.relative_to(ROOT))
            assert any(name in names or table.name in names for _, names in everything), f"nothing includes {name}"


# ---- the floors of the frontend ----


def floors():
    """Floor: the floors whose headers its files may include (frontend/floors.txt)."""
    lines = (ROOT / "frontend" / "floors.txt").read_text().splitlines()
    rows = [line.split("|") for line in lines if not line.startswith("#")]
    return {name.strip(): allowed.split() for name, _, allowed in rows}


def floor_of(path):
    return path.relative_to(ROOT / "frontend").parts[0]


def test_floors_are_one_way():
    known = floors()
    assert set(known) == {p.name for p in (ROOT / "frontend").iterdir() if p.is_dir()}
    below = []
    for floor, allowed in known.items():
        assert set(allowed) <= set(below), f"{floor} includes a floor that stands above it"
        below.append(floor)


def test_floors_include_what_they_may():
    known = floors()
    for path in sources("frontend", ".c", ".h"):
        if path == ROOT / "frontend" / "module.c":  # puts all of it together
            continue
        floor = floor_of(path)
        for name in includes(path):
            parts = name.split("/")
            if parts[0] != "frontend" or name.endswith(".def"):
                continue
            assert len(parts) == 3, f"{path} includes {name}"
            assert parts[1] == floor or parts[1] in known[floor], f"{path} includes {name}"
            assert parts[1] == floor or not is_internal(name), f"{path} includes {name}"


def is_internal(name):
    return re.search(r"(^|/|_)internal\.h$", name) is not None


def public_headers():
    """The headers of the frontend that another floor includes, or that such a header includes."""
    included = {str(path.relative_to(ROOT)): [n for n in includes(path) if n.startswith("frontend/") and n.endswith(".h")]
                for path in sources("frontend", ".c", ".h")}
    found = {name for path, names in included.items() for name in names if name.split("/")[1] != path.split("/")[1]}
    todo = list(found)
    while todo:
        for name in included[todo.pop()]:
            if name not in found:
                found.add(name)
                todo.append(name)
    return found


def test_headers_of_one_floor_are_called_internal():
    public = public_headers()
    for path in sources("frontend", ".h"):
        name = str(path.relative_to(ROOT))
        if path.name != "python.h":
            assert is_internal(name) != (name in public), name


def functions_of_one_floor():
    """["header: function()"] of public headers, of functions that only files of the header's own floor call."""
    strip = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/', re.S)
    used, inline = collections.defaultdict(set), set()
    for path in [p for folder in ("frontend", "test", "bench") for p in sources(folder, ".c", ".h", ".def")]:
        text = strip.sub(r"\1", path.read_text())
        floor = floor_of(path) if ROOT / "frontend" in path.parents else "test"
        for word in set(re.findall(r"\w+", text)):
            used[word].add(floor)
        if path.suffix == ".h":  # functions and macros of headers run where they are used
            for body in re.findall(r"^static inline [^;{]*\{[^}]*\}|^#define (?:.|\\\n)*", text, re.M):
                inline |= set(re.findall(r"\w+", body))
    alone = [f"{name}: {function}()" for name in sorted(public_headers()) for function in functions_of((ROOT / name).read_text())
             if used[function] == {name.split("/")[1]} and function not in inline]
    return alone


def test_public_headers_declare_what_other_floors_use():
    """What only the files of its own floor call is declared in internal.h or <subject>_internal.h, unless an inline function or
    a macro of a public header calls it, too."""
    assert not functions_of_one_floor()


def test_floors_call_what_they_may():
    """C functions can be called where they are declared. Those of other files are declared in headers alone, those of a file in
    headers of its own floor: so what may be called follows from what may be included."""
    prototype = re.compile(r"^(?!static|typedef|return|else)[A-Za-z_][\w ]*[ *](\w+)\([^{};]*\)\s*;", re.M)
    declared = {}
    for path in sources("frontend", ".h"):
        for name in prototype.findall(re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)):
            declared.setdefault(name, set()).add(floor_of(path))
    assert len(declared) > 900
    defined = re.compile(r"^(?!static|typedef)[A-Za-z_][\w ]*[ *](\w+)\([^{};]*\)\s*\{", re.M)
    for path in sources("frontend", ".c"):
        text = re.sub(r"/\*.*?\*/|__attribute__\(\(.*?\)\)+", "", path.read_text(), flags=re.S)
        assert not prototype.findall(text), f"{path} declares {prototype.findall(text)}"
        assert not re.search(r"^extern ", text, re.M), path
        for name in defined.findall(text):
            assert name not in declared or path.name == "module.c" or declared[name] == {floor_of(path)}, f"{path}: {name}"


def functions_of(text):
    """The functions that the text of a header declares, inline ones apart."""
    text = re.sub(r"/\*.*?\*/|__attribute__\(\(.*?\)\)+", "", text, flags=re.S)
    text = re.sub(r"^\s*#(.*\\\n)*.*$", "", text, flags=re.M)  # macros: their functions are the rows of tables
    text = re.sub(r"\{[^{}]*\}", "{}", re.sub(r"\{[^{}]*\}", "{}", text))
    names = re.findall(r"^(?!static|typedef|extern|return|else)[A-Za-z_][\w ]*[ *](\w+)\([^{};]*\)\s*;", text, re.M)
    return [name for name in names if name != "_PySet_NextEntry"]  # CPython's own


def declared_functions():
    """(header, function) for each function that a header of the frontend declares."""
    for path in sources("frontend", ".h"):
        for name in functions_of(path.read_text()):
            yield path, name


def test_declared_functions_are_defined_in_their_floor_and_used():
    code = {p: re.sub(r"/\*.*?\*/|__attribute__\(\(.*?\)\)+", "", p.read_text(), flags=re.S)
            for p in sources("frontend", ".c", ".h", ".def")}
    definition = re.compile(r"^(?!static|typedef)[A-Za-z_][\w ]*[ *\n](\w+)\([^{};]*\)\s*\{", re.M)
    defined = {(floor_of(p), name) for p, text in code.items() if p.suffix == ".c" for name in definition.findall(text)}
    words = collections.Counter(word for text in code.values() for word in re.findall(r"\w+", text))
    found = list(declared_functions())
    assert len(found) > 900
    for path, name in found:
        assert (floor_of(path), name) in defined, f"{path.relative_to(ROOT)}: {path.parent.name}/ does not define {name}()"
        assert words[name] > 2, f"{path.relative_to(ROOT)}: nothing calls {name}()"


def test_declarations_of_the_compiler_are_defined_and_used():
    """The same of the other folders: a function that a header declares is defined and called, a field of a struct is read or
    written. loom_tool_*() are mains, which are looked up by name."""
    strip = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*', re.S)
    texts = {p: strip.sub(r"\1", p.read_text()) for folder in [*RULES, "test", "bench"]
             for p in sources(folder, ".c", ".h", ".cpp", ".def", ".td")}
    words = collections.Counter(word for text in texts.values() for word in re.findall(r"\w+", text))
    definition = re.compile(r"^(?!static|typedef)[A-Za-z_][\w ]*[ *\n](\w+)\([^{};]*\)\s*\{", re.M)
    defined = {name for p, text in texts.items() if p.suffix == ".c" for name in definition.findall(text)}
    defined |= set(re.findall(r"\b(loom_\w+)\(", texts[ROOT / "dialects" / "glue.cpp"]))
    headers = [p for folder in RULES if folder != "frontend" for p in sources(folder, ".h")]
    functions = [(p, name) for p in headers for name in functions_of(texts[p])]
    assert len(functions) > 500
    for path, name in functions:
        assert name in defined, f"{path.relative_to(ROOT)}: nothing defines {name}()"
        assert words[name] > 2 or name.startswith("loom_tool_"), f"{path.relative_to(ROOT)}: nothing calls {name}()"
    for path in [p for folder in RULES for p in sources(folder, ".h")]:
        for body in re.findall(r"struct \w* ?\{\n(.*?)\n\}", texts[path], re.S):
            for field in re.findall(r"\b([a-z_]\w*)(?:\[\w+\])?[;,]", body):
                assert words[field] > 1, f"{path.relative_to(ROOT)}: nothing uses the field {field}"


def test_functions_of_one_file_are_static():
    """What a header declares is used by another file than the one that defines it, or by the header itself."""
    strip = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/', re.S)
    texts = {p: strip.sub(r"\1", p.read_text()) for folder in [*RULES, "test", "bench"]
             for p in sources(folder, ".c", ".h", ".cpp", ".def", ".td")}
    used = collections.defaultdict(list)
    for path, text in texts.items():
        for word in re.findall(r"\w+", text):
            used[word].append(path)
    alone = [f"{path.relative_to(ROOT)}: {name}" for path, text in texts.items() if path.suffix == ".h" and path.parts[-2] != "test"
             for name in functions_of(text) if used[name].count(path) == 1 and len({p for p in used[name] if p != path}) == 1]
    # Mains, which are looked up by name, and what stands for the headers of GPUs' vendors.
    assert not [name for name in alone if ": loom_tool_" not in name and not name.startswith("test/targets/inputs/driver/")]


def test_sections_of_headers_name_the_file_that_defines():
    """`/* ---- file.c: what it does ---- */` heads the functions of that file, once a header."""
    definition = re.compile(r"^(?!static|typedef)[A-Za-z_][\w ]*[ *\n](\w+)\([^{};]*\)\s*\{", re.M)
    defined = {}
    for path in sources("frontend", ".c"):
        text = re.sub(r"/\*.*?\*/|__attribute__\(\(.*?\)\)+", "", path.read_text(), flags=re.S)
        for name in definition.findall(text):
            defined.setdefault((floor_of(path), name), set()).add(path.name)
    for path in {path for path, _ in declared_functions()}:
        parts = re.split(r"^/\* ---- (\w+\.c)\b[^*]*\*/$", path.read_text(), flags=re.M)
        names = parts[1::2]
        assert len(set(names)) == len(names), f"{path.relative_to(ROOT)} has sections twice: {names}"
        for name, text in zip(names, parts[2::2]):
            for function in functions_of(text):
                files = defined.get((floor_of(path), function), {name})
                assert name in files, f"{path.relative_to(ROOT)}: {function}() stands under {name}, but is in {files}"


COMMENT = r"/\*(?:[^*]|\*(?!/))*\*/"
STEPS = ("init", "fini", "copy", "reset", "traverse")


def structs_of_the_frontend():
    """{name: (the comment above it, the text of its fields)}"""
    named = re.compile(rf"(?:({COMMENT})\n)?(?:typedef )?struct (\w+) \{{\n(.*?)\n\}}(?: \2)?;", re.S)
    return {name: (comment, body) for path in sources("frontend", ".h") for comment, name, body in named.findall(path.read_text())}


def fields_of(body):
    """[(type, name)]; what is nested has the type of its first field."""
    text = re.sub(r"\{.*?\n  \}", "", re.sub(COMMENT, "", body), flags=re.S)
    return [(field.split()[0], field.split()[-1]) for field in text.split(";") if field.strip()]


def definitions_of_the_frontend(names):
    """{function: names of the files of the frontend that define it}, of those with these names."""
    found = {}
    definition = re.compile(rf"^[A-Za-z_][\w ]*[ *](\w+_(?:{names}))\([^{{}};]*\) ?\{{", re.M)
    for path in sources("frontend", ".c"):
        for name in definition.findall(re.sub(COMMENT, "", path.read_text())):
            found.setdefault(name, set()).add(path.name)
    return found


@pytest.mark.parametrize("whole, parts, own", [("entry", 10, 11), ("callable", 10, 7), ("tracer", 10, 10)])
def test_the_large_structs_are_made_of_parts(whole, parts, own):
    """What belongs together is a struct. The comment above it names the file that sets it up and frees what it owns; few
    fields are the whole's alone."""
    structs, defined = structs_of_the_frontend(), definitions_of_the_frontend("|".join(STEPS))
    fields = fields_of(structs[whole][1])
    of_parts = [kind for kind, name in fields if kind in structs and not name.startswith("*")]
    assert len(of_parts) >= parts and len(set(of_parts)) == len(of_parts)
    assert len(fields) - len(of_parts) <= own, [name for kind, name in fields if kind not in of_parts]
    for part in of_parts:
        comment, body = structs[part]
        home = re.search(r"(\w+\.c)\b", comment)
        assert home, f"the comment above {part} names no file"
        for step in STEPS:
            assert defined.get(f"{part}_{step}", {home[1]}) == {home[1]}, f"{part}_{step}() is not in {home[1]}"
        owns = bool(re.search(r"\bowned\b", body))
        assert owns == (f"{part}_fini" in defined), f"{part}: what has a fini says what is owned, and what owns something has a fini"


def test_headers_are_short():
    for folder in RULES:
        for path in sources(folder, ".h"):
            lines = len(path.read_text().splitlines())
            assert lines <= 300, f"{path} has {lines} lines"


def test_the_drawing_of_the_floors_is_current():
    done = subprocess.run([sys.executable, ROOT / "docs" / "floors.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def pass_rows():
    text = (ROOT / "passes" / "passes.def").read_text()
    return re.findall(r'^LOOM_PASS\((\w+),\s*"([\w-]+)"', text, re.M)


def pass_places(stem, flag):
    """(where something is written, is it there?) for a row of passes.def: docs/add-a-pass.md."""
    def has(path, *words):
        return (ROOT / path).exists() and all(word in (ROOT / path).read_text() for word in words)

    yield f"passes/{stem}.c with loom_make_{stem}_pass(void)", has(f"passes/{stem}.c", f"loom_make_{stem}_pass(void)")
    yield f"test/passes/{stem}.mlir, which runs --{flag}", has(f"test/passes/{stem}.mlir", f"--{flag}", "CHECK")
    # the interpreter, what compares with it, and what capture does itself (derivatives, batches) are for who calls loom-opt
    yield f"the line of passes/pipeline.c that runs {flag}", stem in ("interpret", "check_stages", "grad", "vmap", "partition") or has(
        "passes/pipeline.c", f"loom_make_{stem}_pass()")


def test_every_pass_has_its_file_and_its_test():
    assert pass_rows()
    missing = [where for stem, flag in pass_rows() for where, there in pass_places(stem, flag) if not there]
    assert not missing, "missing: " + "\nmissing: ".join(missing)


def target_places(name):
    """The same for a row of targets.def: docs/add-a-target.md."""
    def found(path, pattern):
        return (ROOT / path).exists() and re.search(pattern, (ROOT / path).read_text()) is not None

    emit = ROOT / "targets" / name / "emit.c"
    bit = re.search(r"\.bit = (\d+)", emit.read_text()) if emit.exists() else None
    yield f"targets/{name}/emit.c with loom_target_{name}", found(
        f"targets/{name}/emit.c", rf"const loom_target loom_target_{name} = ")
    yield f"targets/legal.c: {name.upper()} = <the struct's .bit> in the first enum", bit and found(
        "targets/legal.c", rf"enum \{{.*\b{name.upper()} = {bit.group(1)}\b")
    yield f"targets/loom-compile.c: {name} in the help of --target", found("targets/loom-compile.c", rf'"target",.*\b{name}\b')
    yield f"docs/loom-compile.md: --target={name}", found("docs/loom-compile.md", rf"`{name}`|--target={name}")
    tests = [p for p in (ROOT / "test" / "targets").glob("*") if p.suffix in (".mlir", ".test", ".ll")]
    yield f"a test in test/targets with --target={name}", name == "x86" or any(f"--target={name}" in p.read_text() for p in tests)


def test_every_target_has_its_places():
    names = re.findall(r"^LOOM_TARGET\((\w+)\)", (ROOT / "targets" / "targets.def").read_text(), re.M)
    assert {"x86", "nvptx"} <= set(names)
    missing = [where for name in names for where, there in target_places(name) if not there]
    assert not missing, "missing: " + "\nmissing: ".join(missing)
    bits = re.findall(r"\.bit = (\d+)", "".join((ROOT / "targets" / name / "emit.c").read_text() for name in names))
    every = re.search(r"enum \{.*\bALL = (\d+)", (ROOT / "targets" / "legal.c").read_text()).group(1)
    assert sum(map(int, bits)) == int(every), "targets/legal.c: ALL has to be the sum of the targets' bits"


def test_every_part_of_the_lowering_has_its_test():
    """IR before and after of each form of loop, and cases in which it must not be taken."""
    parts = sorted((ROOT / "passes").glob("lower_*.c"))
    assert len(parts) > 15
    for part in parts:
        test = ROOT / "test" / "passes" / f"{part.stem}.mlir"
        assert test.exists(), f"passes/{part.name} has no {test.relative_to(ROOT)}"
        text = test.read_text()
        assert text.count("CHECK") >= 8 and "CHECK-LABEL" in text, f"{test.relative_to(ROOT)} checks nothing"
        assert text.count("func.func @") + text.count("loom.kernel @") > 1, f"{test.relative_to(ROOT)} has one case"


# ---- the op table ----


def op_records():
    """(op name, shape rule) for every op of a graph, as the classes of loom.td give them."""
    text = op_table()
    for match in re.finditer(r'^def (\w+) : (Loom_\w+)<\s*"(\w+)"(.*?)(?=^def |^class |^// ----|\Z)', text, re.M | re.S):
        base, name, body = match.group(2), match.group(3), match.group(4)
        shape = re.search(r'let shape = "(\w+)"', body)
        if shape:
            yield name, shape.group(1)
        elif base in ("Loom_Unary", "Loom_Binary"):
            yield name, "same"
        elif base in ("Loom_Predicate", "Loom_Part"):
            yield name, base.removeprefix("Loom_").lower()
        elif base == "Loom_View":
            yield name, name


def test_every_op_has_a_shape_rule_and_an_interpreter():
    rules = set(re.findall(r'\{"(\w+)", infer_\w+, (?:true|false)\}', (ROOT / "graph" / "infer.c").read_text()))
    interpreter = (ROOT / "graph" / "interp.c").read_text()
    table = op_table()
    ops, formulas = list(op_records()), set(re.findall(
        r'^def \w+ : Loom_\w+<\s*"(\w+)"(?:(?!^def ).)*?let (?:real|integer|complex) = (?:"|\[)', table, re.M | re.S))
    assert len(ops) > 80
    for name, shape in ops:
        assert shape in rules, f"{name}: no shape rule {shape}"
        assert name in formulas or re.search(rf"\bLOOM_OP_{name.upper()}\b", interpreter), f"{name} has no interpreter"
    assert not rules - {shape for _, shape in ops}, "a shape rule that no op uses"


# What one of the libraries has no function for; `beside` is the compiler's own.
NOT_IN_NUMPY = {"rsqrt", "erf", "logistic", "beside"}
NOT_IN_TORCH = {"cbrt", "popcount", "beside"}


COLUMNS = {"f": ["real"], "i": ["integer"], "u": ["integer"], "b": ["boolean", "integer"], "c": ["complex"]}


def elementwise_records():
    """Op: (letters of its element types, its record in loom.td), of the ops of one or two operands that compute each
    element by itself."""
    text = op_table()
    found = re.findall(r'^def \w+ : Loom_(?:Unary|Binary|Predicate)<\s*"(\w+)",\s*"[^"]*",\s*"(\w+)"'
                       r'(.*?)(?=^def |^class |^// ----|\Z)', text, re.M | re.S)
    return {name: (classes, record) for name, classes, record in found}


def function_texts(path, *functions):
    """What stands in functions of a C file."""
    text = (ROOT / path).read_text()
    return "".join(re.search(rf"^\w[^;{{]*\b{f}\([^{{]*\{{.*?^\}}", text, re.M | re.S).group() for f in functions)


def places(name, classes, record):
    """(what it is for, where it is written, is it there?) of an elementwise op: docs/add-an-op.md."""
    def names(*texts):
        return any(re.search(rf"\b(LOOM_OP_)?{name.upper()}\b", text) for text in texts)

    def texts(*files):
        return [p.read_text() for file in files for p in ROOT.glob(file)]

    lower, math = "passes/lower_scalar.c", (ROOT / "passes" / "math.def").read_text()
    lowered = {
        "f": ("scalar_floating", "or a row in passes/math.def", names(function_texts(lower, "scalar_floating"), math)),
        "i": ("scalar_integer", "for integers", names(function_texts(lower, "scalar_integer"))),
        "b": ("scalar_bool", "for bools", names(function_texts(lower, "scalar_bool"))),
    }
    for letter in classes:
        columns = COLUMNS[letter]
        yield "interpreter", f"a column `{columns[0]}` in dialects/ops_elementwise.td", any(
            re.search(rf'let {column} = (?:"|\[)', record) for column in columns)
    predicate = names(function_texts(lower, "scalar_predicate"))
    for letter in set(classes) & set(lowered):
        function, what, there = lowered[letter]
        yield "lowering", f"a case in {function}() of {lower}, {what}", there or predicate
    yield "formula over parts", "a column `pair` in dialects/ops_elementwise.td", (
        'let parts = "formula"' not in record or "let pair = " in record)
    yield "NumPy", "a row in frontend/numpy/ufuncs.def", name in NOT_IN_NUMPY or names(*texts("frontend/numpy/ufuncs.def"))
    yield "torch", "a row in frontend/torch/aten.def", name in NOT_IN_TORCH or names(
        *texts("frontend/torch/aten.def", "frontend/torch/*.c"))


def test_every_elementwise_op_has_all_of_its_places():
    ops = elementwise_records()
    assert len(ops) > 50
    missing = dict.fromkeys(f"loom.{name} has no {what}: add {where}" for name, (classes, record) in ops.items()
                            for what, where, there in places(name, classes, record) if not there)
    assert not missing, "\n".join(missing)
    assert NOT_IN_NUMPY | NOT_IN_TORCH <= set(ops)


def compiler_sources():
    """(path, text without comments) of the C code that knows the dialect."""
    for folder in ("passes", "dialects", "targets"):
        for path in sources(folder, ".c", ".h"):
            yield path, re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.S)


def test_ops_are_asked_for_by_opcode():
    """`loom_is(op, LOOM_OP_ADD)`, or better a column of the table: a name in a string may be misspelt, and a list of
    names is a column that loom.td lacks."""
    names = re.findall(r'^def \w+ : Loom_\w+<\s*"(\w+)"', op_table(), re.M)
    assert {"add", "fusion", "dot_general", "kernel"} <= set(names)
    found = [f"{path.relative_to(ROOT)}: {name}" for path, text in compiler_sources()
             for name in re.findall(r'"loom\.(\w+)"', text) if name in names]
    assert not found, found


OP_TESTS = re.compile(r"\b(?:loom_is|\w+_def)\([^;{]*?\bLOOM_OP_[A-Z]\w*")
OP_COMPARISONS = re.compile(r"[=!]= LOOM_OP_(?!COUNT)[A-Z]\w*")


def op_tests():
    """(file, text) of each place that asks whether an op is a certain one: cases of a switch, which say what is done for
    each of several ops, and rows of tables are none."""
    for path, text in compiler_sources():
        for place in OP_TESTS.findall(text) + OP_COMPARISONS.findall(text):
            yield path, place


def test_few_places_ask_which_op_it_is():
    """What several ops have in common is a column of loom.td. Left are patterns that are about one op: docs/architecture.md
    says which."""
    places = list(op_tests())
    asked = [place for _, place in places if OP_TESTS.fullmatch(place)]
    assert 30 < len(asked) <= 60, len(asked)
    assert len(places) - len(asked) <= 40, len(places) - len(asked)


def op_groups():
    """Op: its group in loom.td; "compiler" without one."""
    text = op_table()
    classes = dict(re.findall(r'^class (Loom_\w+)<(?:(?!^class |^def ).)*?  let group = "(\w+)";', text, re.M | re.S))
    for base, name, body in re.findall(r'^def \w+ : (Loom_\w+)<\s*"(\w+)"(.*?)(?=^def |^class |^// ----|\Z)', text, re.M | re.S):
        own = re.search(r'^  let group = "(\w+)";', body, re.M)
        yield name, own.group(1) if own else classes.get(base, "compiler")


def test_files_include_the_opcodes_that_they_name():
    """A new op builds anew what names ops of its group: no file includes another group's header, and all of them are for
    who makes a table of ops."""
    groups = dict(op_groups())
    assert len(set(groups.values())) == 8 and groups["add"] == "arithmetic" and groups["exp"] == "functions"
    for path in [p for folder in [*RULES, "test"] for p in sources(folder, ".c", ".h")]:
        text, included = path.read_text(), includes(path)
        if path == ROOT / "graph" / "ops.h":
            continue
        if "graph/ops.h" in included:
            assert "LOOM_OP_##" in text, f"{path} includes all opcodes, and makes no table of ops"
            continue
        named = {groups[name.lower()] for name in re.findall(r"\bLOOM_OP_(\w+)", text) if name.lower() in groups}
        has = {name[len("loom_ops_"):-len(".h")] for name in included if name.startswith("loom_ops_")}
        assert has <= named, f"{path} names no op of {has - named}"
        assert path.suffix == ".h" or named <= has, f"{path} lacks loom_ops_*.h of {named - has}"


def test_every_column_of_the_op_table_is_read():
    text = (ROOT / "graph" / "graph.h").read_text()
    row = text[text.index("typedef struct loom_op_info"):text.index("} loom_op_info;")]
    row = re.sub(r"/\*.*?\*/|struct \{.*?\}", "", row[row.index("{") + 1:], flags=re.S)
    columns = re.findall(r"(\w+)(?:\[\w+\])?\s*[,;]", row)
    assert {"name", "fusion", "cost", "truth", "pure", "attrs"} <= set(columns)
    code = "".join(p.read_text() for folder in RULES for p in sources(folder, ".c"))
    for column in columns:
        assert re.search(rf"(\]\.|->|\binfo\.){column}\b", code), f"nothing asks for {column}"


def test_attribute_names_stand_in_one_table():
    rows = re.findall(r"^LOOM_MARK\((\w+),", (ROOT / "dialects" / "marks.def").read_text(), re.M)
    assert len(rows) > 30 and len(set(rows)) == len(rows)
    everything = list(compiler_sources())
    for path, text in everything:
        left = [name for name in re.findall(r'"loom\.(\w+)"', text)]
        assert not left, f"{path.relative_to(ROOT)} names loom.{left[0]}: use loom_mark_{left[0]} of marks.def"
    for name in rows:
        assert any(re.search(rf"\bloom_mark_{name}\b", text) for _, text in everything), f"nothing uses the mark {name}"


def test_costs_of_functions_are_those_of_their_types():
    """What math.def computes in f64 for f32, too, costs as much as f64's polynomial and two conversions."""
    wide = set(re.findall(r"^LOOM_MATH2?\((\w+), WIDE,", (ROOT / "passes" / "math.def").read_text(), re.M))
    text = op_table()
    costs = {name.upper(): cost for name, cost in re.findall(
        r'^def \w+ : Loom_\w+<"(\w+)"(?:(?!^def ).)*?let cost = (\w+);', text, re.M | re.S)}
    assert {name for name, cost in costs.items() if cost == "CostWideFunction"} == wide - {"POW"}
    assert costs["POW"] == costs["GCD"] == "CostLoop"


def test_every_op_is_on_the_reference_page():
    page = (ROOT / "docs" / "dialect.md").read_text()
    for name, shape in op_records():
        assert f"`loom.{name}`" in page, f"{name}: run `cmake --build --preset dev --target docs`"


def test_names_of_the_makers_of_this_tree_stay_out():
    """The project speaks of itself: no paths of one machine."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    for name in listed.stdout.split():
        path = ROOT / name
        if path.suffix in (".c", ".h", ".cpp", ".td", ".py", ".md", ".mlir", ".test", ".sh", ".txt") and path.exists():
            assert not re.search(r"/(work|home|root)/\w", path.read_text(errors="replace")), name


def test_what_static_analysis_has_on_record_is_there():
    """scripts/analyze.py finds out whether the analyzers still say it."""
    lines = (ROOT / "scripts" / "analyze.txt").read_text().splitlines()
    keys = [line.partition(": ")[0].split() for line in lines if not line.startswith("#")]
    assert keys and len({tuple(key) for key in keys}) == len(keys)
    for checker, file, function in keys:
        assert re.search(rf"\b{function}\(", (ROOT / file).read_text()), f"{file} has no {function}: {checker}"
