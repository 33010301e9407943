"""Exceptions raised and caught."""

import numpy as np

from . import program


class Failure(Exception):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code


@program
def exceptions_raised_and_caught(x, y):
    log = []

    def work(k):
        if k == 0:
            raise Failure(3)
        if k == 1:
            raise KeyError("missing")
        return x * k

    for k in range(3):
        try:
            result = work(k)
        except Failure as error:
            log.append((error.code, str(error)))
        except (KeyError, IndexError) as error:
            log.append(error.args)
        else:
            log.append("fine")
        finally:
            log.append(k)
    return result + y, log


@program
def exceptions_chained(x, y):
    try:
        try:
            {}["a"]
        except KeyError as error:
            raise ValueError("bad") from error
    except ValueError as error:
        return x + y, type(error.__cause__).__name__, str(error), error.__suppress_context__


@program
def finally_returns_and_continues(x, y):
    def f(a):
        try:
            return a * 2
        finally:
            a += 1

    total = 0
    for k in range(4):
        try:
            if k == 2:
                continue
            total += k
        finally:
            total += 10
    return f(x), total + y


@program
def exceptions_of_the_library_caught(x, y):
    try:
        x + np.ones(7)
    except ValueError:
        z = y
    try:
        x[100]
    except IndexError as error:
        text = str(error)
    return z, text


@program
def reraised(x, y):
    def risky():
        try:
            raise LookupError("first")
        except LookupError:
            raise

    try:
        risky()
    except LookupError as error:
        return x - y, error.args
