"""Objectives of linear models the slow way: formulas on dense float64 features, minimized by Newton's method."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax


def ridge(D, T, s, alpha, fit_intercept=True):
    """min sum_i s_i |t_i - D_i w - b|^2 + alpha |w|^2: weights (m, k) and intercept (k,)."""
    A = np.column_stack([D, np.ones(len(D))]) if fit_intercept else D
    penalty = np.full(A.shape[1], alpha)
    penalty[D.shape[1] :] = 0.0
    solution = np.linalg.solve(A.T @ (s[:, None] * A) + np.diag(penalty), A.T @ (s[:, None] * T))
    return (solution[:-1], solution[-1]) if fit_intercept else (solution, np.zeros(T.shape[1]))


def logistic(F, T):
    """Loss, slope and curvature (n, k, k) of log(1 + e^{-t f})."""
    p = 1.0 / (1.0 + np.exp(T * F))
    return np.log1p(np.exp(-T * F)).sum(axis=1), -T * p, _diagonal(p * (1.0 - p))


def multinomial(F, T):
    """Loss, slope and curvature of log sum_c e^{f_c} - f_t, T one-hot."""
    p = softmax(F, axis=1)
    return -(T * log_softmax(F, axis=1)).sum(axis=1), p - T, _diagonal(p) - p[:, :, None] * p[:, None, :]


def squared_hinge(F, T):
    """Loss, slope and curvature of max(0, 1 - t f)^2."""
    slack = np.maximum(1.0 - T * F, 0.0)
    return (slack**2).sum(axis=1), -2.0 * T * slack, _diagonal(2.0 * (slack > 0))


def _diagonal(values):
    return values[:, :, None] * np.eye(values.shape[1])


class Objective:
    """|w|^2 / 2 + C sum_i s_i loss_i(D_i w + b), at stacked (w, b)."""

    def __init__(self, loss, D, T, s, C, fit_intercept=True):
        self.loss, self.T, self.s, self.C = loss, T, s, C
        self.A = np.column_stack([D, np.full(len(D), 1.0 if fit_intercept else 0.0)])
        self.penalized = np.ones((self.A.shape[1], T.shape[1]))
        self.penalized[-1] = 0.0

    def value(self, theta):
        W = theta.reshape(self.penalized.shape)
        return 0.5 * np.sum(self.penalized * W**2) + self.C * self.s @ self.loss(self.A @ W, self.T)[0]

    def gradient(self, theta):
        W = theta.reshape(self.penalized.shape)
        slope = self.loss(self.A @ W, self.T)[1]
        return (self.penalized * W + self.C * self.A.T @ (self.s[:, None] * slope)).ravel()

    def hessian(self, theta):
        W = theta.reshape(self.penalized.shape)
        curvature = self.loss(self.A @ W, self.T)[2]
        blocks = np.einsum("n,ni,nj,nab->iajb", self.C * self.s, self.A, self.A, curvature)
        return blocks.reshape(theta.size, theta.size) + np.diag(self.penalized.ravel())

    def minimum(self):
        """Weights (m, k) and intercept (k,) where no entry of the gradient exceeds 1e-9."""
        start = np.zeros(self.penalized.size)
        options = {"gtol": 1e-9, "maxiter": 1000}
        found = minimize(self.value, start, jac=self.gradient, hess=self.hessian, method="trust-exact", options=options)
        W = found.x.reshape(self.penalized.shape)
        return W[:-1], W[-1]
