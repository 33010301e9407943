"""Strings and their formatting."""

from . import case, given


@case
def f_string(x, y):
    return f"{len(x)} items", x


@case
def f_string_formats(x, y):
    return f"{3.14159:.2f} {42:>6} {255:#x} {1000000:,} {0.5:%}", x


@case
def f_string_conversions(x, y):
    s = "é"
    return f"{s!r} {s!s} {s!a} {s=} {s=!a:>10}", x


@case
def f_string_nested(x, y):
    w = 8
    return f"{'a':>{w}}|{f'{w}':0<3}", x


@case
def percent(x, y):
    return "%d %s %r %5.1f %%" % (3, "a", "b", 2.5), x


@case
def percent_of_names(x, y):
    return "%(a)s-%(b)d" % {"a": 1, "b": 2}, x


@case
def format_method(x, y):
    return "{} {1} {k!r:>5}".format(1, 2, k="z") if False else "{0} {1} {k!r:>5}".format(1, 2, k="z"), x


@case
def format_function(x, y):
    return format(3.5, "8.3f"), format("a", "<4"), x


@case
def methods(x, y):
    return "a,b".split(","), " a ".strip(), "abc".upper(), "aXb".swapcase(), "abc".find("c"), x


@case
def joins(x, y):
    return "-".join(["a", "b"]), "".join(map(str, range(3))), x


@case
def slices(x, y):
    s = "hello"
    return s[1:3], s[::-1], s[-1], s * 2, s + "!", x


@case
def tests(x, y):
    return "a" in "abc", "abc".startswith(("a", "b")), "1".isdigit(), "abc" < "abd", x


@case
def replaced(x, y):
    return "aaa".replace("a", "b", 2), "a b".title(), "abc".translate({97: "z"}), x


@case
def partitioned(x, y):
    return "a=b=c".partition("="), "a=b=c".rpartition("="), "a\nb".splitlines(), x


@case
def encoded(x, y):
    return "é".encode(), b"\xc3\xa9".decode(), "a".encode("utf-16-le"), x


@case
def characters(x, y):
    return ord("a"), chr(98), [c for c in "abc"], list(enumerate("ab")), x


@case
def representations(x, y):
    return repr([1, "a", None, 2.5]), str({"a": (1,)}), repr("it's"), ascii("é"), x


@case
def of_numbers(x, y):
    return str(1.0), repr(0.1 + 0.2), str(10**20), bin(5), hex(255), oct(8), str(1e300 * 1e10), x


@case
def parsed(x, y):
    return int("12"), float("1.5"), int("ff", 16), complex("1+2j"), x * int("3")


@case
def not_parsed(x, y):
    try:
        return int("a")
    except ValueError as error:
        return str(error), x


@case
def bytes_and_arrays_of_them(x, y):
    b = b"abc"
    return b[0], b[1:], b.hex(), bytes([1, 2]), bytes.fromhex("0a"), x


@case
def keys_by_string(x, y):
    return {f"k{i}": x * i for i in range(3)}


@case
def compared_by_case(x, y):
    return sorted(["b", "A", "c"], key=str.lower), "ß".casefold(), x


@case
def padded(x, y):
    return "a".center(5, "*"), "7".zfill(3), "a".ljust(3) + "|", x


@given(lambda: "abc")
def of_an_argument(x, y, s):
    return s.upper() + f"<{s}>", x * len(s)


@given(lambda: 2.5)
def of_a_number_argument(x, y, k):
    return f"{k:.3f}", x * k


class Named(str):
    def __str__(self):
        return "own"

    def __repr__(self):
        return "told"


class Counted(int):
    def __str__(self):
        return "counted"


@given(lambda: Named("x"), lambda: Counted(3))
def classes_over_text_and_numbers(x, y, s, n):
    return (x, f"{s}", "%s" % s, "%r" % s, "%s %s" % (s, n), f"{s!r:>6}", f"{s:>5}", f"{n}", "%s" % n, "%d" % n, f"{n:03d}", f"{n!s}",
            "{} {}".format(s, n), str(n), b"%d" % n, "%x" % n)
