"""The commands that measure run, and write pages of the facts they keep; bounds are none that a program can beat."""

import json

import pytest
from paths import BENCH
from processes import printed, run_python


def measured(script, folder, *arguments):
    """The facts and the page that a script of bench/ has written."""
    done = run_python(BENCH / f"{script}.py", "--out", folder, *arguments, environment={"FRAMELOOM_CACHE_DIR": str(folder)})
    assert done.returncode == 0, done.stderr
    return json.loads((folder / f"{script}.json").read_text()), (folder / f"{script}.md").read_text()


def evaluate(code):
    """What a program prints that knows bench/bench.py: in a process of its own, for it writes to modules that others read."""
    return json.loads(printed("import bench, json\n" + code, cwd=BENCH))


def test_bench(tmp_path):
    facts, page = measured("bench", tmp_path, "--only", "tiny,gelu", "--no-peers", "--seconds", "0.01", "--quick")
    tiny, gelu = facts["rows"]
    for row in gelu["results"].values():
        assert {"time", "new", "faults", "new_faults"} <= row.keys() and row["result_bytes"] == 4 << 20
    assert all("new" not in row for row in tiny["results"].values())  # a result of 64 bytes has no page of its own
    assert gelu["bytes"] == 8 << 20 and {"cold", "cached"} <= gelu.keys() and not gelu["plain_python"]
    assert set(facts["of_results"]) == {"NumPy", "frameloom"}
    assert "| of bound |" in page and "result in new memory" in page and "memory of results" in page
    # Kept results are in new memory; blocks of dropped ones are used again.
    assert gelu["results"]["frameloom"]["faults"] <= gelu["results"]["frameloom"]["new_faults"]


def test_time_that_a_first_call_adds():
    # Of the best first and the best later call, and never less than none: on a busy machine a later call may be the slower.
    runs = [{"first": 9.0, "fresh": 2.0}, {"first": 5.0, "fresh": 4.0}]
    assert evaluate(f"print(json.dumps([bench.added_time({runs}), bench.added_time({runs[1:]}), bench.added_time([{{'first': 1, 'fresh': 2}}])]))") \
        == [3.0, 1.0, 0.0]


def test_overhead(tmp_path):
    facts, page = measured("overhead", tmp_path, "--quick")
    assert set(facts["calls"]) == {"one array", "four arrays", "ten globals, two cells, four arrays"}
    assert not any(row["plain_python"] for row in facts["calls"].values())
    assert "GELU, 1M" in page and "not measured" in page  # the programs that --quick leaves out


def test_slow(tmp_path):
    facts, page = measured("slow", tmp_path, "--count", "12", "--seconds", "0")
    assert len(facts["ratios"]) == 12 and len(facts["rows"]) == 10
    assert page.count("| numpy 1 ") == 10


def test_time_steps(tmp_path):
    facts, page = measured("time_steps", tmp_path, "--only", "heat")
    assert facts["rows"][0]["right"] and "| heat" in page


PEAK = {"float32": 100.0, "float64": 50.0, "rates": {"16": {"read": 8.0, "copy": 9.0}, "32": {"read": 4.0, "copy": 3.0},
                                                     "64": {"read": 5.0, "copy": 1.0}, "128": {"read": 2.0, "copy": 1.0}}}


def bounds(*programs):
    rows = [{"bytes": size, "flops": flops, "dtype": "float32"} for size, flops in programs]
    return evaluate(f"print(json.dumps([bench.bound(row, {PEAK}) for row in {rows}]))")


def test_bounds_hold():
    # The rate of what is not larger; one that was measured too low is that of what is larger; what is smaller than all.
    assert bounds((16, 0), (31, 0), (128, 0), (1000, 0)) == [16 / 9, 31 / 9, 128 / 2, 1000 / 2]
    assert bounds((32, 0), (63, 0), (64, 0)) == [32 / 5, 63 / 5, 64 / 5]
    assert bounds((1, 0)) == [1 / 9]
    assert bounds((16, 1000)) == [10]


def test_limits_of_several_measurements():
    one, other = {"a": 1.0, "rates": {"16": {"read": 5.0}}}, {"a": 2.0, "rates": {"16": {"read": 4.0}, "32": {"read": 1.0}}}
    assert evaluate(f"print(json.dumps(bench.highest({one}, {other})))") == {"a": 2.0, "rates": {"16": {"read": 5.0}, "32": {"read": 1.0}}}


def test_share_beyond_the_bound_is_not_shown():
    assert evaluate("print(json.dumps([bench.show_share(s) for s in (None, 0.5, 1, 1.1)]))") == ["-", "50%", "100%", "-"]


@pytest.mark.parametrize("path", ["call", "cached", "capture", "cold"])
def test_what_is_counted_in_instructions_runs(path, tmp_path):
    done = run_python(BENCH / "instructions.py", "--repeat", "1", path, environment={"FRAMELOOM_CACHE_DIR": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
