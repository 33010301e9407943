"""What has to be an int is one: a bool becomes one, and of others the interpreter says that they are none."""


def program(x, y, n, scale, items, table, thing, text):
    say(list(enumerate(items, True)), list(enumerate(text, np.int64(n))))
    for start in (1.5, None, "a", np.float64(1), np.bool_(True)):
        try:
            say(list(enumerate(items, start)))
        except TypeError as error:
            say(error)
    for reverse in (True, 0, 2, scale, None, "x", np.bool_(True)):
        try:
            say(sorted(items, reverse=reverse))
            items.sort(reverse=reverse)
        except TypeError as error:
            say(error)
