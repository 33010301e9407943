"""What comparisons of random programs over dicts, sets and sequences have in common."""

import sys

import frameloom


def drained(iterator):
    """What comes, what ends it, and what comes then."""
    got = []
    while len(got) < 30:
        try:
            got.append(next(iterator))
        except Exception as error:
            got.append(repr(error))
            if len(got) > 1 and got[-2] == got[-1]:
                break
    return got


@frameloom.config.patch(leave_slower=False)
def check_programs(seeds, differs):
    """differs(seed) is the text of a difference, or None."""
    different = []
    for seed in seeds:
        text = differs(seed)
        if seed % 100 == 99:
            frameloom.reset()
        if text:
            different.append(text)
    assert not different, f"{len(different)} of {len(seeds)}\n" + "\n".join(different[:3])


def main(check):
    """COUNT and FIRST SEED of the command line, 1000 and 0."""
    count, first = [*map(int, sys.argv[1:]), 1000, 0][:2] if len(sys.argv) != 2 else (int(sys.argv[1]), 0)
    check(range(first, first + count))
    print(count, "programs, none differs")
