"""Exceptions raised and caught."""

import unittest

import numpy as np

from . import case, program


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


@case
def frames_cleared_behind_what_was_caught(x, y):
    test = unittest.TestCase()
    with test.assertRaises(KeyError) as caught:
        {}["a"]
    test.assertRaises(ZeroDivisionError, lambda: 1 // 0)
    error = caught.exception
    return x + 1, type(error), error.__traceback__ is None, error.with_traceback(None) is error


class Plain:
    pass


class OnlyNew:
    def __new__(cls, *args):
        return super().__new__(cls, *args)


class OnlyInit:
    def __init__(self, *args):
        self.args = args


@case
def arguments_that_no_constructor_takes(x, y):
    said = []
    for make in (lambda: object.__new__(Plain, 1), lambda: Plain.__new__(Plain, k=1), lambda: OnlyNew(1), lambda: OnlyNew().__class__,
                 lambda: OnlyInit.__new__(OnlyInit, 1), lambda: OnlyInit(1).args):
        try:
            made = make()
            said.append(made if isinstance(made, (tuple, type)) else type(made).__name__)
        except TypeError:
            said.append("refused")
    return x, said
