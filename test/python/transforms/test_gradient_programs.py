"""Whole programs: their gradients against those that torch's autograd computes of the same programs."""

import frameloom
import numpy as np
import pytest
import torch
from differences import assert_near

rng = np.random.default_rng(7)


class Torch:
    """The names of NumPy that the programs use, for torch."""

    exp, log, sqrt, tanh, sin, maximum, where, stack = (
        torch.exp, torch.log, torch.sqrt, torch.tanh, torch.sin, torch.maximum, torch.where, torch.stack)
    sum, mean, square, concatenate, linalg, max, minimum = (
        torch.sum, torch.mean, torch.square, torch.cat, torch.linalg, torch.amax, torch.minimum)


def normal(*shape):
    return rng.normal(size=shape)


def regression(xp, w, b, x, y):
    return xp.mean(xp.log(1 + xp.exp(-y * (x @ w + b)))) + 0.1 * xp.sum(w * w)


def perceptron(xp, w1, b1, w2, b2, x, y):
    h = xp.maximum(x @ w1 + b1, 0 * b1)
    out = h @ w2 + b2
    out = out - xp.max(out, axis=1)[:, None]
    return -xp.mean(xp.sum(y * (out - xp.log(xp.sum(xp.exp(out), axis=1))[:, None]), axis=1))


def runge_kutta(xp, y, k):
    def f(y):
        return xp.stack([y[1], -k[0] * xp.sin(y[0]) - k[1] * y[1]])

    h = 0.05
    for _ in range(30):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return xp.sum(y * y)


def kalman(xp, a, q, observed):
    x, p, loss = 0 * q, q * 1.0, 0.0
    for i in range(8):
        x, p = a @ x, a @ p @ a.T + q
        gain = xp.linalg.solve(p + 0.5 * q, p).T
        error = observed[i] - x
        loss = loss + xp.sum(error * xp.linalg.solve(p + q, error))
        x, p = x + gain @ error, p - gain @ p
    return loss


def black_scholes(xp, s, k, sigma):
    def normal_cdf(x):
        return 0.5 * (1 + xp.tanh(0.79788456 * (x + 0.044715 * x**3)))

    d1 = (xp.log(s / k) + (0.01 + sigma * sigma / 2)) / sigma
    return xp.sum(s * normal_cdf(d1) - k * 0.99 * normal_cdf(d1 - sigma))


def gaussian_process(xp, x, y, scale, noise):
    d = x[:, None] - x[None, :]
    k = xp.exp(-d * d / (2 * scale * scale)) + noise * noise * np_eye(xp, 6)
    lower = xp.linalg.cholesky(k)
    return 0.5 * xp.sum(y * xp.linalg.solve(k, y)) + xp.sum(xp.log((lower * np_eye(xp, 6)).sum(1)))


def np_eye(xp, n):
    return np.eye(n) if xp is np else torch.eye(n, dtype=torch.float64)


def k_means(xp, centers, points):
    d = xp.sum(xp.square(points[:, None, :] - centers[None]), axis=2)
    return -xp.sum(xp.max(-d, axis=1))


def heat_fit(xp, source, observed):
    u = source * 0
    for _ in range(12):
        inner = u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = xp.concatenate([u[:1], inner, u[-1:]]) + 0.1 * source
    return xp.sum(xp.square(u - observed))


def lstm(xp, w, u, b, x):
    def logistic(v):
        return 1 / (1 + xp.exp(-v))

    h = c = x[0, :, :1] * 0 + b[:4] * 0
    for i in range(5):
        gates = x[i] @ w + h @ u + b
        c = logistic(gates[:, 4:8]) * c + logistic(gates[:, :4]) * xp.tanh(gates[:, 8:12])
        h = logistic(gates[:, 12:]) * xp.tanh(c)
    return xp.sum(h * h)


def attention(xp, x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    scores = xp.exp(q @ k.T / 2.0)
    return xp.sum(xp.square((scores / xp.sum(scores, axis=1)[:, None]) @ v))


definite = normal(3, 3)
PROGRAMS = {
    regression: (normal(4), normal(1), normal(20, 4), np.sign(normal(20))),
    perceptron: (normal(5, 8), normal(8), normal(8, 3), normal(3), normal(12, 5), np.eye(3)[rng.integers(0, 3, 12)]),
    runge_kutta: (np.array([1.0, 0.0]), np.array([2.0, 0.1])),
    kalman: (normal(3, 3) * 0.4, definite @ definite.T + np.eye(3), normal(8, 3)),
    black_scholes: (rng.uniform(80, 120, 9), rng.uniform(80, 120, 9), rng.uniform(0.1, 0.4, 9)),
    gaussian_process: (normal(6), normal(6), np.array(0.9), np.array(0.7)),
    k_means: (normal(3, 2), normal(30, 2)),
    heat_fit: (normal(15), normal(15)),
    lstm: (normal(3, 16) * 0.5, normal(4, 16) * 0.5, normal(16) * 0.1, normal(5, 2, 3)),
    attention: (normal(6, 4), normal(4, 4) * 0.5, normal(4, 4) * 0.5, normal(4, 4) * 0.5),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_gradient_is_torchs(program, dtype):
    arguments = [a.astype(dtype) for a in PROGRAMS[program]]
    tensors = [torch.tensor(a.astype(np.float64), requires_grad=True) for a in arguments]
    program(Torch, *tensors).backward()
    gradient = frameloom.value_and_grad(lambda *args: program(np, *args), tuple(range(len(arguments))))
    for _ in range(2):
        value, found = gradient(*arguments)
        for mine, tensor in zip(found, tensors):
            assert mine.dtype == dtype
            assert_near(mine, tensor.grad.numpy(), 1e-9 if dtype is np.float64 else 2e-4)
    assert_near(value, program(np, *arguments), 1e-9 if dtype is np.float64 else 1e-4)


@pytest.mark.parametrize("program", [regression, runge_kutta, kalman, gaussian_process, heat_fit], ids=lambda f: f.__name__)
def test_a_second_derivative_is_torchs(program):
    arguments = PROGRAMS[program]
    tensors = [torch.tensor(a, requires_grad=True) for a in arguments]
    first = torch.autograd.grad(program(Torch, *tensors), tensors, create_graph=True)
    torch.autograd.backward(sum((g * torch.cos(g)).sum() for g in first))
    gradient = frameloom.grad(lambda *args: program(np, *args), tuple(range(len(arguments))))

    def again(*args):
        total = 0.0
        for g in gradient(*args):
            total = total + np.sum(g * np.cos(g))
        return total

    found = frameloom.grad(again, tuple(range(len(arguments))))(*arguments)
    for mine, tensor in zip(found, tensors):
        assert_near(mine, tensor.grad.numpy(), 1e-8)
