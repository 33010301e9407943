"""Code objects of the linker in the compiler and of ld.lld, from the same object: `code_objects.py BIN FILE ...`.

For each function of the files and each architecture both have the same machine and the same dynamic symbols, notes, code and
constants, and in both each descriptor leads to its kernel. Both hash tables of ours find every symbol, and llvm-readelf has no
warning. Prints how many code objects and kernels there were.
"""
import struct
import sys
import tempfile
from pathlib import Path

from accept import AMD, NotYet, compile, functions, run

PT_LOAD, PT_DYNAMIC, PT_NOTE, EXECUTABLE = 1, 2, 4, 1
DT_HASH, DT_STRTAB, DT_SYMTAB, DT_GNU_HASH = 4, 5, 6, 0x6FFFFEF5


class Code:
    """A code object as a loader reads it: by its segments and the dynamic section."""

    def __init__(self, path):
        self.data = path.read_bytes()
        self.ident, self.flags = self.data[:16], self.read("<I", 48)[0]
        at, size, count = self.read("<Q", 32)[0], *self.read("<HH", 54)
        fields = ("type", "flags", "offset", "address", "_", "file", "memory", "align")
        self.segments = [dict(zip(fields, self.read("<IIQQQQQQ", at + i * size), strict=True)) for i in range(count)]
        (dynamic,) = (s for s in self.segments if s["type"] == PT_DYNAMIC)
        self.tags = dict(self.read("<qQ", dynamic["offset"] + i) for i in range(0, dynamic["file"], 16))
        for s in self.segments:
            assert s["type"] != PT_LOAD or (s["address"] - s["offset"]) % s["align"] == 0

    def read(self, form, at):
        return struct.unpack_from(form, self.data, at)

    def at(self, address, flags=0):
        (s,) = (s for s in self.segments
                if s["type"] == PT_LOAD and s["flags"] & flags == flags and s["address"] <= address < s["address"] + s["file"])
        return s["offset"] + address - s["address"]

    def words(self, address, count):
        return self.read(f"<{count}I", self.at(address))

    def symbol(self, index):
        name, info, other, _, value, size = self.read("<IBBHQQ", self.at(self.tags[DT_SYMTAB]) + 24 * index)
        start = self.at(self.tags[DT_STRTAB]) + name
        return self.data[start:self.data.index(0, start)].decode(), info, other, value, size

    def symbols(self):
        return [self.symbol(i) for i in range(1, self.words(self.tags[DT_HASH], 2)[1])]

    def find_sysv(self, name):
        hash = 0
        for c in name.encode():
            hash = (hash << 4) + c
            hash = (hash ^ (hash >> 24 & 0xF0)) & 0x0FFFFFFF
        table = self.tags[DT_HASH]
        buckets = self.words(table, 1)[0]
        index = self.words(table + 8 + hash % buckets * 4, 1)[0]
        while index and self.symbol(index)[0] != name:
            index = self.words(table + 8 + (buckets + index) * 4, 1)[0]
        return index

    def find_gnu(self, name):
        hash = 5381
        for c in name.encode():
            hash = (hash * 33 + c) & 0xFFFFFFFF
        table = self.tags[DT_GNU_HASH]
        buckets, first, masks, shift = self.words(table, 4)
        (mask,) = self.read("<Q", self.at(table + 16 + hash // 64 % masks * 8))
        if not mask >> hash % 64 & mask >> (hash >> shift) % 64 & 1:
            return 0
        rows = table + 16 + masks * 8
        index = self.words(rows + hash % buckets * 4, 1)[0]
        while index:
            there = self.words(rows + (buckets + index - first) * 4, 1)[0]
            if there | 1 == hash | 1 and self.symbol(index)[0] == name:
                return index
            index = 0 if there & 1 else index + 1
        return 0

    def kernels(self):
        """Each kernel's code, and its descriptor without the way to the code."""
        all, made = {s[0]: s for s in self.symbols()}, {}
        for name, info, other, value, size in self.symbols():
            if name.endswith(".kd"):
                descriptor = self.at(value)
                (way,) = self.read("<q", descriptor + 16)
                code = all[name[:-3]]
                assert value % 64 == 0 and code[3] % 256 == 0 and value + way == code[3], name
                start = self.at(code[3], EXECUTABLE)
                kept = self.data[descriptor:descriptor + 16] + self.data[descriptor + 24:descriptor + 64]
                made[name] = info, other, size, kept, code[1], code[2], code[4], self.data[start:start + code[4]]
        return made

    def notes(self):
        return [self.data[s["offset"]:s["offset"] + s["file"]] for s in self.segments if s["type"] == PT_NOTE]


def check(name, folder, arch):
    ours, theirs = Code(folder / "ours"), Code(folder / "theirs")
    assert (ours.ident, ours.flags) == (theirs.ident, theirs.flags), name
    assert sorted(s[:3] + s[4:] for s in ours.symbols()) == sorted(s[:3] + s[4:] for s in theirs.symbols()), name
    assert ours.notes() == theirs.notes() and ours.kernels() == theirs.kernels(), f"{name} for {arch}"
    for i, symbol in enumerate(ours.symbols(), 1):
        assert ours.find_sysv(symbol[0]) == ours.find_gnu(symbol[0]) == i, symbol
    assert ours.find_sysv("none") == ours.find_gnu("none") == 0
    told = run("llvm-readelf", "--all", folder / "ours")
    assert "warning" not in told, told
    return len(ours.kernels())


def main():
    bin, made, kernels = Path(sys.argv[1]), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "x.mlir"
        for path in map(Path, sys.argv[2:]):
            for function, module in functions(path):
                source.write_text(module)
                for arch in AMD:
                    try:
                        compile(bin, "--target=amdgpu", f"--mcpu={arch}", source, "-o", folder / "object")
                    except NotYet:
                        break
                    compile(bin, "--target=amdgpu", f"--mcpu={arch}", "--emit=hsaco", source, "-o", folder / "ours")
                    run("ld.lld", "-shared", folder / "object", "-o", folder / "theirs")
                    kernels += check(f"{path.name}: {function}", folder, arch)
                    made += 1
    print(f"{made} code objects, {kernels} kernels")


main()
