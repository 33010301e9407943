"""A sort that raises has sorted the list in part."""


def program(x, y, n, scale, items, table, thing, text):
    mixed = [1, 3, 0, "a", 2]
    try:
        mixed.sort()
    except TypeError as error:
        say(error)
    say(mixed)
    try:
        items.sort(key=lambda p: 1 // p)
    except ZeroDivisionError:
        say(items)
    return mixed
