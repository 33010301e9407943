"""A module without call number N (from 1) of a function: `without.py FILE NAME N`."""
import re
import sys

lines = open(sys.argv[1]).read().split("\n")
calls = [i for i, line in enumerate(lines) if re.search(rf"call @{sys.argv[2]}\(", line)]
del lines[calls[int(sys.argv[3]) - 1]]
print("\n".join(lines))
