"""Operators say which they are, in place or not; what stands for an object written in C has its words."""


def program(x, y, n, scale, items, table, thing, text):
    queue = collections.deque(items, 3)
    try:
        n += text
    except TypeError as error:
        say(error)
    try:
        scale %= None
    except TypeError as error:
        say(error)
    try:
        n **= "a"
    except TypeError as error:
        say(error)
    try:
        queue = collections.deque(items, "a")
    except TypeError as error:
        say(error)
    try:
        queue = queue + items
    except TypeError as error:
        say(error)
    try:
        queue.rotate(np.float64(1))
    except TypeError as error:
        say(error)
    try:
        queue.remove(77)
    except ValueError as error:
        say(error)
