"""Writes the measured figures of README.md and docs/*.md from the files of results (`make figures`).

    python docs/figures.py [--check] [PAGE ...]

A figure is a link to the file that it is from, whose title names it:

    A call costs [73 ns](bench/results/overhead.md "call, one array").

The text in brackets is written by this script. So is a table of a page that a command does not make as a whole:

    <!-- table: bench/results/overhead.md "missed" -->
    <!-- end -->

A limit that the code sets is one as well: the link goes to the source file, its title is the name of the constant, divided by
a number where the page has another unit (`[0.2 ms](../frontend/dispatch/trial.c "TRIAL_SHORT_NS / 1e6")`).

Pages of results (`bench/results/*.md`, `docs/benchmarks.md`) are made again of the JSON beside them, with the function that the
measuring command uses. Then each page is searched for what reads like a measured figure and is none of these: times, shares,
"n times as fast". --check writes nothing; it lists what would change or has no source, and the status is 1 if there is any.
"""

import argparse
import importlib
import json
import math
import os
import re
import sys
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
RESULTS = "bench/results"
sys.path.insert(0, str(ROOT / "bench"))

import bench  # noqa: E402
import gpu_table  # noqa: E402
import model_table  # noqa: E402

# Pages of results: (module, JSON) that each is made of; what other commands write as a whole is only read here.
MADE = {f"{RESULTS}/bench.md": ("bench", "bench"), f"{RESULTS}/overhead.md": ("overhead", "overhead"),
        f"{RESULTS}/library.md": ("library", "library"), f"{RESULTS}/time_steps.md": ("time_steps", "time_steps"),
        f"{RESULTS}/gradients.md": ("gradients", "gradients"), f"{RESULTS}/tensors.md": ("tensors", "tensors"),
        f"{RESULTS}/training.md": ("training", "training"),
        f"{RESULTS}/slow.md": ("slow", "slow"), f"{RESULTS}/instructions.md": ("instructions", "instructions"), "docs/benchmarks.md": ("model_table", "models")}

GPU = "gpu-h200"  # the GPU of docs/gpu.md
MADE |= {f"{RESULTS}/{path.stem}.md": ("gpu_table", path.stem) for path in (ROOT / RESULTS).glob("gpu-*.json")}


@cache
def facts(name):
    return json.loads((ROOT / RESULTS / f"{name}.json").read_text())


def made(page):
    module, name = MADE[page]
    text = importlib.import_module(module).page(facts(name))
    return text if isinstance(text, str) else "\n".join(text) + "\n"


# ---- figures by file: {name: text} ----

SOURCES = {}


def source(page):
    def add(function):
        SOURCES[page] = cache(lambda: dict(function()))
        return function
    return add


def span(values, show):
    """`least to largest`, with the unit once where it is the same."""
    low, high = show(min(values)), show(max(values))
    (a, _, unit), (b, _, other) = low.partition(" "), high.partition(" ")
    return low if low == high else f"{a} to {b} {unit}".strip() if unit == other else f"{low} to {high}"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


@source(f"{RESULTS}/bench.md")
def programs():
    rows = facts("bench")["rows"]
    yield "cold compile", span([row["cold"] for row in rows if "cold" in row], bench.show_time)
    yield "from the cache", span([row["cached"] for row in rows if "cached" in row], bench.show_time)
    yield "slower than a peer", str(sum(row["ratio"] < 1 for row in rows if "ratio" in row))
    yield "programs", str(len(rows))
    yield "machine", f"{facts('bench')['threads']} threads of a shared {facts('bench')['cpu']}"
    new = "of_results" in facts("bench")
    heading = ["program", "NumPy", "best peer but NumPy", "frameloom", "best of all / frameloom",
               *(["frameloom, result in new memory", "best of all / frameloom"] if new else []), "cold compile", "from the cache"]
    yield "summary", "\n".join(bench.table(heading, [summary_cells(row, new) for row in rows]))


def summary_cells(row, new):
    def show(name, key="time"):
        return bench.show_time(row["results"].get(name, {}).get(key))

    def ratio(key):
        value = bench.best_other(row, key)[1]
        return f"{value:.2f}" if value else "-"
    peers = {name: r["time"] for name, r in row["results"].items() if "time" in r and name not in ("NumPy", "frameloom")}
    best = min(peers, key=peers.get, default=None)
    return [row["title"].replace("^2", "²"), show("NumPy"), f"{show(best)} ({best})" if best else "-", show("frameloom"),
            ratio("time"), *([show("frameloom", "new"), ratio("new")] if new else []),
            bench.show_time(row.get("cold")), bench.show_time(row.get("cached"))]


@source(f"{RESULTS}/overhead.md")
def overhead():
    module = importlib.import_module("overhead")
    rows = list(module.measured(facts("overhead")))
    for what, value, unit, *_ in rows:
        yield what, module.show(value, unit)
    missed = [row for row in rows if module.verdict(row[1], row[3]) == module.MISSED]
    yield "number missed", str(len(missed))
    yield "missed", "\n".join(bench.table(["missed", "measured", "to reach"], [
        [what, module.show(value, unit), f"at most {limit:g} {unit}"] for what, value, unit, limit, _ in missed]))


@source(f"{RESULTS}/library.md")
def library():
    yield "open", f"{facts('library')['static']['open_ms']:.1f} ms"
    yield "size, stripped", f"{facts('library')['static']['size_mib']:.0f} MiB"


@source(f"{RESULTS}/time_steps.md")
def time_steps():
    rows = facts("time_steps")["rows"]
    yield "ratio", span([row["ratio"] for row in rows], lambda x: f"{x:.0f}")
    yield "programs", str(len(rows))
    yield "a step", span([row["step_1000_us"] / 1e6 for row in rows], bench.show_time)
    yield "compiling", span([row[f"compile_{n}_ms"] for row in rows for n in (1000, 100000)], lambda x: f"{x:.0f} ms")


@source(f"{RESULTS}/instructions.md")
def instructions():
    module = importlib.import_module("instructions")
    yield "paths", "\n".join(bench.table(["path", "instructions"], module.rows(facts("instructions"))))
    for path, count in facts("instructions")["counts"].items():
        yield path, f"{count / 1e6:,.1f} million" if count >= 1e6 else f"{count:,}"


@source(f"{RESULTS}/slow.md")
def slow():
    module = importlib.import_module("slow")
    ratios = sorted(facts("slow")["ratios"])
    yield "programs", str(len(ratios))
    yield "median", f"{ratios[len(ratios) // 2]:.2f} times"
    yield "least", f"{ratios[0]:.2f} times"
    yield "missed", str(sum(ratio < 1 / module.LIMIT for ratio in ratios))


@source(f"{RESULTS}/{GPU}.md")
def gpu():
    """Until a GPU has been measured, the targets alone."""
    known = (ROOT / RESULTS / f"{GPU}.json").exists()
    rows = gpu_table.reached(facts(GPU) if known else gpu_table.NOTHING)
    yield "targets", "\n".join(bench.table(gpu_table.HEADING, list(rows)))


@source("docs/benchmarks.md")
def models():
    rows = facts("models")["rows"]
    yield "models", str(len(rows))
    for step in ("forward", "training"):
        of_step = [f for _, f in model_table.all_facts(rows, step)]
        for name, key in (("eager : ours", "of_eager"), ("Inductor : ours", "of_inductor")):
            yield f"{step}, {name}", f"{model_table.mean(f[key] for f in of_step):.2f} times"
            slower = sum(f[key] < 1 for f in of_step if f[key])
            yield f"{step}, {name}, slower", str(slower)
    cold = [model_table.mean(f["cold_ratio"] for _, f in model_table.all_facts(rows, step)) for step in ("forward", "training")]
    yield "compiling, Inductor : ours", span(cold, lambda x: f"{x:.0f}") + " times"
    missed = [line for line in model_table.limits(facts("models")) if "**held**" not in line]
    yield "limits missed", str(len(missed))


@source("docs/torch-ops.md")
def torch_ops():
    ops, samples = tables("docs/torch-ops.md")[:2]
    yield "compiled whole", span([int(re.search(r"\((\d+) %\)", row["compiled whole"])[1]) for row in ops], lambda x: f"{x} %")
    total = samples[-1]
    yield "samples", total["samples"]
    for name, text in total.items():
        if name not in ("dtype", "samples"):
            yield name, text
    yield "dtypes", str(len(ops))


@source("docs/numpy-coverage.md")
def numpy_functions():
    rows = {title: int(number) for title, number in (row.values() for row in tables("docs/numpy-coverage.md")[0])}
    known, compiled, partly, library, breaks, untried, count = rows.values()
    yield "all", str(count)
    yield "whole", str(known + compiled + partly + library)
    yield "compiled", str(compiled)
    yield "known", str(known)
    yield "calls", str(partly + library)
    yield "calls alone", str(library)
    yield "breaks", str(breaks)
    yield "not tried", str(untried)


# ---- Markdown ----

MARKDOWN = MarkdownIt("commonmark").enable("table")


def tables(page):
    """Each table of a page, as rows of {heading: cell}."""
    found, cells = [], []
    for token in MARKDOWN.parse((ROOT / page).read_text()):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            cells = []
        elif token.type == "inline" and token.level and found:
            cells.append(token.content)
        elif token.type == "tr_close":
            found[-1].append(cells)
    return [[dict(zip(heading, row)) for row in rows] for heading, *rows in found]


def constant(path, formula):
    """A number that the code sets; the formula is a name, divided by a number or not."""
    name, _, divisor = formula.partition("/")
    found = re.search(rf"^\s*(?:#define\s+)?{re.escape(name.strip())}\b(?:\s*:[^=\n]*)?\s*=?\s*([^/#\n]+)", path.read_text(), re.M)
    if not found:
        raise KeyError(f"no constant {name.strip()}")
    value = re.sub(r"(?<=\d)[uUlLfF]+\b", "", found[1]).rstrip(" ,;")
    if not re.fullmatch(r"[\d.eE()+*<>\s-]+", value):
        raise KeyError(f"{name.strip()} is not a number: {value}")
    return eval(value, {"__builtins__": {}}) / float(divisor or 1)


WORDS = "zero one two three four five six seven eight nine ten".split()


def target_of(page, link):
    """The file of results or of code that a link of a page goes to, from the root; None where it goes elsewhere."""
    path = (page.parent / link).resolve()
    inside = path.is_relative_to(ROOT) and str(path.relative_to(ROOT))
    return inside if inside and (inside in SOURCES or path.suffix in (".c", ".h", ".def", ".py", ".sh")) else None


def figure(page, link, name, old):
    """The text of a figure, or None where the link is none. KeyError: there is no such figure."""
    path = target_of(page, link)
    if path in SOURCES:
        return SOURCES[path]()[name]
    if path:
        value = constant(ROOT / path, name)
        first = re.match(r"[\d.,]+|\w+", old)[0]
        word = WORDS[int(value)] if first.lower() in WORDS and value in range(len(WORDS)) else f"{value:,.10g}"
        return word + old[len(first):]
    return None


LINK = re.compile(r'\[([^][]*)\]\(([^()\s]+) "([^"]+)"\)')
TABLE = re.compile(r'(<!-- table: (\S+) "([^"]+)" -->\n).*?(<!-- end -->)', re.S)


def rewritten(page, text):
    """The page with its figures as they are; KeyError names one that no file has."""
    def link(match):
        old, target, name = match.groups()
        new = figure(page, target, name, old)
        return match[0] if new is None else f'[{new}]({target} "{name}")'

    def table(match):
        start, target, name, end = match.groups()
        return f"{start}\n{figure(page, target, name, '')}\n\n{end}"
    return LINK.sub(link, TABLE.sub(table, text))


# ---- what has no source ----

NUMBER = r"(?:\d[\d.,]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|fifty|hundred))"
UNIT = r"(?:ns|us|µs|ms|s|KiB|MiB|GiB|KB|MB|GB|[GT]B/s|[GT]?FLOP/s|percent|minutes?|hours?|seconds?)"
PART = r"(?:half|third|quarter|fifth|sixth|seventh|eighth|ninth|tenth|twentieth|fiftieth|hundredth|thousandth)"
MEASURED = re.compile(rf"""
  \d[\d.,]*\s?(?:{UNIT}(?![\w-])|%)|\dx(?!\w)                     # 73 ns, 5 %, 3x
| {NUMBER}\s(?:{UNIT}(?![\w-]))                                   # two seconds
| (?<!\bthe\s)(?:nano|micro|milli)seconds?\b                                  # tens of nanoseconds
| {NUMBER}\s(?:times|fold)\s(?!(?:plainly|by|in|with|over|each)\b)  # 1.4 times as fast
| \b(?:twice|half)\sas\s(?:fast|slow|long|much\stime)
| \b(?:an?|one|two|three|four|nine)\s{PART}s?\s(?:of\s(?:\w+'s|(?:the|its)\stime)|more|less|faster|slower)\b
| \b\d[\d,]*\sof\s(?:the\s|its\s|[A-Z]\w*'s\s)?\d[\d,]*\b           # 394 of NumPy's 441
""", re.X)


def prose(page, tokens, whole):
    """(line, text without figures) of each paragraph, item and heading; of cells of tables, where the page is written by
    hand and the table is none of those that are filled in."""
    in_table = in_figures = 0
    for token in tokens:
        in_table += {"table_open": 1, "table_close": -1}.get(token.type, 0)
        if token.type == "html_block":
            in_figures = token.content.startswith("<!-- table:") or in_figures and not token.content.startswith("<!-- end")
        if token.type != "inline" or in_table and (in_figures or whole):
            continue
        if whole and token.content.startswith(("Made by ", "Written by ")):
            continue  # the command says what it ran
        text, inside = "", False
        for part in token.children:
            if part.type == "link_open":
                inside = "title" in part.attrs and target_of(page, part.attrs["href"]) is not None
            elif part.type == "link_close":
                inside = False
            elif not inside:
                text += part.content if part.type == "text" else " " if part.type.endswith("break") else "`"
        yield token.map[0] + 1, text


def unsourced(page, text):
    """(line, phrase) of what reads like a measured figure and has no source."""
    if name_of(page) in MADE:
        return
    whole = bool(re.search(r"^(Made|Written) by ", text, re.M))
    for line, words in prose(page, MARKDOWN.parse(text), whole):
        for match in MEASURED.finditer(words):
            yield line, words[max(0, match.start() - 40):match.end() + 30].strip()


def name_of(page):
    return os.path.relpath(page, ROOT)


def problems(page, write):
    """Texts of what is wrong with one page; what can be written is."""
    text = page.read_text()
    try:
        new = rewritten(page, text)
    except KeyError as missing:
        yield f"no file of results has the figure {missing}"
        return
    if new != text and write:
        page.write_text(new)
    elif new != text:
        for number, (a, b) in enumerate(zip(text.splitlines(), new.splitlines()), 1):
            if a != b:
                yield f"{number}: not what the results say, which is: {b}"
                break
        else:
            yield "not as long as the results make it"
    for line, words in unsourced(page, new):
        yield f"{line}: a figure without a source: ... {words} ..."


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("pages", nargs="*", type=Path)
    options = parser.parse_args()
    found = []
    for name in MADE if not options.pages else ():
        if not (ROOT / RESULTS / f"{MADE[name][1]}.json").exists():
            continue  # not measured yet
        if (text := made(name)) != (ROOT / name).read_text():
            if options.check:
                found.append(f"{name}: not what its JSON says")
            else:
                (ROOT / name).write_text(text)
    pages = options.pages or [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        found += [f"{name_of(page.resolve())}: {text}" for text in problems(page.resolve(), not options.check)]
    print("\n".join(found or ["every figure is what the results say"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
