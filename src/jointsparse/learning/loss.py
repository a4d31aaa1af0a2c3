"""Functions that build the compiled loops and the functions of a loss from its formulas for one sample and task."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointsparse.checks import FLOATING, Floats, require
from jointsparse.compiled import njit

Loop = Callable[..., None]
Function = Callable[..., NDArray[Any]]


def sums_of(term: Any) -> Loop:
    """Compile the loop `column_sums` or `dual_sums` for `functions_of`. term: compiled function (f, y, weight)."""

    @njit
    def sums_of_columns(F, Y, c, sums):  # type: ignore[no-untyped-def]
        one_y, one_c = Y.shape[1] < F.shape[1], c.shape[1] < F.shape[1]
        for i in range(F.shape[0]):
            for l in range(F.shape[1]):
                y, weight = Y[i, 0 if one_y else l], c[i, 0 if one_c else l]
                sums[l] += term(F[i, l], y, weight)

    return sums_of_columns


def derivatives_of(derivative: Any) -> Loop:
    """Compile the loop `derivatives` for `functions_of`.

    derivative: compiled function (f, y, weight), the derivative of the loss with respect to f.
    """

    @njit
    def derivatives(F, Y, c, G):  # type: ignore[no-untyped-def]
        one_y, one_c = Y.shape[1] < F.shape[1], c.shape[1] < F.shape[1]
        for i in range(F.shape[0]):
            for l in range(F.shape[1]):
                G[i, l] = derivative(F[i, l], Y[i, 0 if one_y else l], c[i, 0 if one_c else l])

    return derivatives


def steps_of(step: Any) -> Loop:
    """Compile the loop `dual_steps` for `functions_of`.

    step: compiled function (a, f, y, weight, sigma) that returns the new dual variable.
    """

    @njit
    def dual_steps(A, F, Y, c, sigma, B):  # type: ignore[no-untyped-def]
        one_y, one_c = Y.shape[1] < A.shape[1], c.shape[1] < A.shape[1]
        for i in range(A.shape[0]):
            for l in range(A.shape[1]):
                B[i, l] = step(A[i, l], F[i, l], Y[i, 0 if one_y else l], c[i, 0 if one_c else l], sigma[l])

    return dual_steps


def functions_of(column_sums: Loop, derivatives: Loop, dual_sums: Loop, dual_steps: Loop) -> tuple[Function, ...]:
    """Wrap the compiled loops of a loss in functions that check their input.

    All arrays are (n_samples, n_tasks). Y and c may also be (n_samples, 1), with one column for all tasks. Margins and
    dual variables are float64 or float32, in any memory order. Only shapes and dtypes are checked, because solvers call
    these functions in their inner loops.

    Parameters
    ----------
    column_sums : compiled function (F, Y, c, sums)
        Adds the weighted losses of each column of margins F to `sums`, (n_tasks,).
    derivatives : compiled function (F, Y, c, G)
        Writes the weighted derivatives with respect to F to `G`.
    dual_sums : compiled function (A, Y, c, sums)
        Adds to `sums`, (n_tasks,), the contribution of each column of dual variables A to the dual objective.
    dual_steps : compiled function (A, F, Y, c, sigma, B)
        Writes to `B` the dual variables after a proximal step from A. `sigma`, (n_tasks,), holds the step sizes.

    Returns
    -------
    value, subgradient, dual_value, dual_step : functions
        The functions of the loss. Each of them has a docstring.
    """

    def value(F: ArrayLike, Y: ArrayLike, c: ArrayLike | None = None) -> NDArray[np.float64]:
        """Sum the weighted losses of margins F for each task in double precision. Y: labels. c: weights, 1 by default.

        Returns an array (n_tasks,). A NaN in F gives NaN. Raises ValueError if shapes or dtypes do not fit.
        """
        F, Y, c = _checked(F, Y, c)
        sums = np.zeros(F.shape[1])
        column_sums(F, Y, c, sums)
        return sums

    def subgradient(F: ArrayLike, Y: ArrayLike, c: ArrayLike | None = None) -> Floats:
        """Return the derivative of `value` with respect to the margins F. Y: labels. c: weights, 1 by default.

        The result is an array with the shape and dtype of F. Raises ValueError if shapes or dtypes do not fit.
        """
        F, Y, c = _checked(F, Y, c)
        G = np.empty_like(F)
        derivatives(F, Y, c, G)
        return G

    def dual_value(A: ArrayLike, Y: ArrayLike, c: ArrayLike) -> NDArray[np.float64]:
        """Sum -(c_il loss)*(-A_il) over the samples i of each task l, where * denotes the convex conjugate.

        The sums are in double precision. Dual variables A that lie outside their domain because of rounding are
        clipped. For any margins F,
        value(F, Y, c)_l >= dual_value(A, Y, c)_l - sum_i A_il F_il, with equality for A = -subgradient(F, Y, c).
        Returns an array (n_tasks,). Raises ValueError if shapes or dtypes do not fit. Source: docs/training.md.
        """
        A, Y, c = _checked(A, Y, c)
        sums = np.zeros(A.shape[1])
        dual_sums(A, Y, c, sums)
        return sums

    def dual_step(A: ArrayLike, F: ArrayLike, Y: ArrayLike, c: ArrayLike, sigma: ArrayLike) -> Floats:
        """Maximise dual_value(B, Y, c)_l - sum_i (B_il F_il + (B_il - A_il)^2 / (2 sigma_l)) over B for each task l.

        Source: Chambolle and Pock (2011), algorithm 1.

        Parameters
        ----------
        A : array (n_samples, n_tasks), float64 or float32
            Dual variables.
        F : array (n_samples, n_tasks)
            Margins.
        Y : array (n_samples, n_tasks) or (n_samples, 1)
            Labels.
        c : array (n_samples, n_tasks) or (n_samples, 1), at least 0
            Weights.
        sigma : number or array (n_tasks,), at least 0
            Step sizes. A step of size 0 moves A into its domain.

        Returns
        -------
        B : array (n_samples, n_tasks), with the dtype of A

        Raises
        ------
        ValueError
            If shapes or dtypes do not fit.
        """
        A, Y, c = _checked(A, Y, c)
        require(np.shape(F) == A.shape, f"F must have the shape of A, {A.shape}, got {np.shape(F)}")
        B = np.empty_like(A)
        dual_steps(A, _fitting(F, "F", A), Y, c, np.asarray(sigma, dtype=np.float64) * np.ones(A.shape[1]), B)
        return B

    return value, subgradient, dual_value, dual_step


def _checked(F: ArrayLike, Y: ArrayLike, c: ArrayLike | None) -> tuple[Floats, NDArray[Any], NDArray[Any]]:
    """Check margins or dual variables F, labels Y and weights c, and return all three as arrays."""
    F = np.asarray(F)
    if F.dtype not in FLOATING:
        raise ValueError(f"F must be float64 or float32, got {F.dtype}")
    return _plain(F), _fitting(Y, "Y", F), _fitting(np.ones((len(F), 1), F.dtype) if c is None else c, "c", F)


def _fitting(values: ArrayLike, name: str, F: Floats) -> NDArray[Any]:
    """Return labels or weights as an array. Raises ValueError if their shape does not fit F."""
    array = np.asarray(values)
    fits = F.ndim == array.ndim == 2 and len(array) == len(F) and array.shape[1] in (1, F.shape[1])
    if not fits or array.dtype.kind not in "fi":
        expected = f"{name} must hold real numbers, in the shape {F.shape} of F or with a single column"
        raise ValueError(f"{expected}, got {array.dtype} {array.shape}")
    return _plain(array if array.dtype.kind == "f" else array.astype(np.float64))


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array if it is C-contiguous and writable, else a copy: the loops are compiled only for such arrays."""
    return array if array.flags.carray else array.copy()
