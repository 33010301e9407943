"""What is sent to a generator that has not begun is an error, unless it is None."""


def values(given):
    for item in given:
        got = yield item
        say(got)


def program(x, y, n, scale, items, table, thing, text):
    fresh = values(items)
    try:
        fresh.send(n)
    except TypeError as error:
        say(error)
    say(fresh.send(None), next(fresh))
    ended = values([])
    say(next(ended, "end"))
    try:
        ended.send(1)
    except StopIteration as error:
        say("ended", error.value)
    values(items).send(y)
