"""Plain Python that is long or large is captured in little memory, or left to Python."""

import re
from pathlib import Path

import pytest

import frameloom


def repunit(divisor):
    """Each number is an expression of the divisor that is twice as long as the one before."""
    number, index = 1, 1
    while number:
        number = (10 * number + 1) % divisor
        index += 1
    return index


def squares(number, divisor):
    for _ in range(40):
        number = (number * number + 1) % divisor
    return number


def partitions(size):
    table = [[0 for _ in range(size)] for _ in range(size + 1)]
    for i in range(size + 1):
        table[i][0] = 1
    for n in range(size + 1):
        for k in range(1, size):
            table[n][k] += table[n][k - 1]
            if n - k > 0:
                table[n][k] += table[n - k - 1][k]
    return table[size][size - 1]


def powers(limit):
    known, found = {}, []

    def power(digit, exponent):
        if (digit, exponent) not in known:
            known[digit, exponent] = digit**exponent
        return known[digit, exponent]

    for number in range(limit):
        left, total = number, 0
        while left > 0:
            total += power(left % 10, len(str(number)))
            left //= 10
        if total == number:
            found.append(number)
    return found


def rebuilt(size):
    table = [[0 for _ in range(size)] for _ in range(size)]
    print(end="")
    return table


CALLS = [(repunit, [(7,), (41,), (1234567,)]), (squares, [(3, 1001), (5, 1003), (7, 1007)]), (partitions, [(5,), (7,), (100,), (300,), (900,)]),
         (powers, [(10,), (500,), (10000,)]), (rebuilt, [(100,), (100,), (400,)])]


def memory(name):
    """A size of this process in MB, of /proc/self/status."""
    return int(re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) >> 10


@pytest.mark.parametrize("function, calls", CALLS, ids=lambda item: getattr(item, "__name__", ""))
def test_in_little_memory(function, calls):
    """Where the work of capturing grew with the square of what a call does, it left behind gigabytes of values, in seconds. A
    capture that ends sooner holds a hundred megabytes at its highest point."""
    compiled = frameloom.compile(function)
    for given in calls:
        want = function(*given)
        Path("/proc/self/clear_refs").write_text("5")  # the highest point is the one from here on
        before = memory("VmRSS")
        assert compiled(*given) == want
        assert memory("VmHWM") - before < 400
