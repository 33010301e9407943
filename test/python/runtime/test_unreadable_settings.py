"""Settings that cannot be read, and folders of the cache that cannot be used: one warning for each, and what is used
instead computes the same."""

import os
import resource

import pytest
from processes import run_code

PROGRAM = """
import sys, warnings
import numpy as np
caught = []
def show(message, category, filename, lineno, file=None, line=None):
    caught.append(f"{category.__name__} {message}")
warnings.showwarning = show
warnings.simplefilter("always")
import frameloom

def call(i):
    names = {"np": np}
    exec(f"def f(a):\\n    return np.tanh(a * {i}).sum(axis=0) + {i}", names)
    a = np.arange(60000.0).reshape(300, 200) / 7000
    return names["f"](a), frameloom.compile(names["f"])(a)

for i in range(3):
    expected, got = call(i)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
for text in caught:
    print(text)
"""


def with_settings(program=PROGRAM, options=(), before=None, **environment):
    """Runs a program without settings but these."""
    none = {name: None for name in os.environ if name.startswith(("FRAMELOOM_", "OMP_"))}
    return run_code(program, options=options, preexec_fn=before, environment={**none, "FRAMELOOM_CACHE": "0", **environment})


def warnings_of(**arguments):
    done = with_settings(**arguments)
    assert done.returncode == 0 and not done.stderr, done.stderr
    lines = done.stdout.splitlines()
    assert all(line.startswith("RuntimeWarning frameloom: ") for line in lines)
    return lines


VALUES = [
    ("OMP_NUM_THREADS", ["abc", "0", "-3", "4x", "2.5", ",2"], "the CPUs that this process may use"),
    ("FRAMELOOM_CACHE_SIZE", ["abc", "-1", "1.5G", "3GB", "G"], "1G"),
    ("FRAMELOOM_BLOCKS_LIMIT", ["-1", "much", "1 G"], "an eighth of the memory"),
    ("FRAMELOOM_CACHE", ["2", "maybe"], "1"),
    ("FRAMELOOM_DISABLE", ["nope", "2"], "0"),
    ("FRAMELOOM_FASTMATH", ["fast"], "0"),
    ("FRAMELOOM_RECOMPILE_LIMIT", ["-1", "many", "8.0"], "8"),
    ("FRAMELOOM_BACKEND", ["inductor"], "loom"),
    ("FRAMELOOM_CPU", ["z80"], "native"),
    ("FRAMELOOM_LOGS", ["graphs"], "none"),
]


@pytest.mark.parametrize("variable,value,instead", [(n, v, i) for n, values, i in VALUES for v in values])
def test_values_that_cannot_be_read(variable, value, instead):
    folder = {"FRAMELOOM_CACHE": value, "FRAMELOOM_CACHE_DIR": "/nowhere"} if variable == "FRAMELOOM_CACHE" else {}
    lines = [line for line in warnings_of(**{variable: value, **folder}) if "disk cache" not in line]
    assert len(lines) == 1, lines
    assert f"{variable}='{value}'" in lines[0] and instead in lines[0]


@pytest.mark.parametrize("environment", [
    {}, {"OMP_NUM_THREADS": "2"}, {"OMP_NUM_THREADS": "4,2"}, {"OMP_NUM_THREADS": " 3 "}, {"OMP_NUM_THREADS": ""},
    {"FRAMELOOM_UNROLL_LIMIT": "", "FRAMELOOM_BACKEND": "", "FRAMELOOM_CPU": "", "FRAMELOOM_FASTMATH": ""},
    {"FRAMELOOM_CACHE": "OFF"}, {"FRAMELOOM_CACHE": "no"}, {"FRAMELOOM_DISABLE": "False"}, {"FRAMELOOM_DISABLE": "TRUE"},
    {"FRAMELOOM_CACHE_SIZE": "12k"}, {"FRAMELOOM_BLOCKS_LIMIT": "0"}])
def test_values_that_can_be_read_are_not_warned_of(environment):
    assert warnings_of(**environment) == []


def cache(folder, **arguments):
    return warnings_of(FRAMELOOM_CACHE="1", FRAMELOOM_CACHE_DIR=str(folder), **arguments)


def test_folders_that_others_may_only_read_are_used(tmp_path):
    for mode in (0o700, 0o750, 0o755, 0o711):
        folder = tmp_path / f"{mode:o}"
        folder.mkdir()
        folder.chmod(mode)
        assert cache(folder) == []
        files = list(folder.iterdir())
        assert len(files) == 3 and all(file.stat().st_mode & 0o777 == 0o600 for file in files)
    assert cache(tmp_path / "not" / "there") == []
    assert len(list((tmp_path / "not" / "there").iterdir())) == 3


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o702, 0o1777])
def test_folders_that_others_may_write_to_are_not(tmp_path, mode):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    (line,) = cache(folder)
    assert str(folder) in line and f"{mode & 0o777:o}" in line and "chmod 700" in line
    assert "FRAMELOOM_CACHE_DIR" in line and not list(folder.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_folders_of_other_users_are_not_used(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    (line,) = cache(folder)
    assert "another user (12345)" in line and "chown" in line and not list(folder.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write anywhere")
def test_folders_that_cannot_be_written(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o500)
    (line,) = cache(folder)
    assert "cannot be written to" in line and "Permission denied" in line
    (line,) = cache(folder / "below")
    assert "cannot be made" in line


def test_paths_that_are_no_folder(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("text")
    (line,) = cache(file)
    assert "is not a folder" in line
    (line,) = cache(file / "below")
    assert "is not a folder" in line
    link.symlink_to(tmp_path)
    (line,) = cache(link)
    assert "symbolic link" in line
    assert file.read_text() == "text"


def test_a_disk_that_is_full(tmp_path):
    folder = tmp_path / "cache"
    (line,) = cache(folder, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    assert "cannot be written to" in line and str(folder) in line
    assert not list(folder.iterdir())


def test_no_home():
    (line,) = warnings_of(FRAMELOOM_CACHE=None, HOME=None, XDG_CACHE_HOME=None)
    assert "neither HOME nor XDG_CACHE_HOME" in line


def test_a_folder_of_stages_that_cannot_be_made(tmp_path):
    file = tmp_path / "file"
    file.write_text("text")
    (line,) = warnings_of(FRAMELOOM_TRACE=str(file))
    assert "no stages are written" in line and str(file) in line


def test_filters_decide(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    program = """
import numpy as np, frameloom
f = frameloom.compile(lambda a: a * 2 + 1)
try:
    f(np.arange(3.0))
except RuntimeWarning as warning:
    print(warning)
assert f(np.arange(3.0)).tolist() == [1, 3, 5]
"""
    known = {"FRAMELOOM_CACHE": "1", "FRAMELOOM_CACHE_DIR": str(folder)}
    assert "chmod 700" in with_settings(program, ["-W", "error"], **known).stdout
    done = with_settings(program, **known)
    assert "chmod 700" in done.stderr and not done.stdout and "f(np.arange" not in done.stdout
    done = with_settings(program, ["-W", "ignore"], **known)
    assert not done.stderr and not done.stdout
    assert with_settings("import frameloom", ["-W", "error"], OMP_NUM_THREADS="abc").returncode == 1
