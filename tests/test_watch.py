"""Watched fits: certificates are reported, and a fit that ends early has a valid result."""

import itertools
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from common import problem
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from jointsparse import JointSparseClassifier, JointSparseClassifierCV, JointSparseRegressor
from jointsparse.estimators import watch
from jointsparse.estimators.watch import INTERRUPT, Watch
from jointsparse.learning.losses import hinge
from jointsparse.learning.solvers import SOLVERS

X, Y = problem(n=80, d=12)
OPTIONS = {"labels": "signed", "loss": "hinge", "radius": 3.0, "tol": 1e-10}


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_callback_sees_certificates_and_may_end_the_fit_without_a_warning(solver):
    calls = []

    def fourth(*report):
        calls.append(report)
        return len(calls) == 4

    # Memory for the objectives of all iterations would be 8 PB.
    model = JointSparseClassifier(solver=solver, callback=fourth, **OPTIONS | {"n_iter": 10**15}).fit(X, Y)
    W, b = model.coef_.T, model.intercept_
    assert len(calls) == 4 and model.n_iter_ == calls[-1][0] and model.objective_.shape == (model.n_iter_ + 1,)
    assert model.objective_[-1] == pytest.approx(hinge.value(X @ W + b, Y, np.abs(Y)).sum())
    assert OPTIONS["tol"] < model.duality_gap_ < np.inf


def test_verbose_prints_the_certificates_that_a_callback_sees(capsys):
    calls = []
    JointSparseClassifier(verbose=True, callback=lambda *at: calls.append(at), **OPTIONS | {"tol": 1e-3}).fit(X, Y)
    proven = [f"iteration {t:5d}: objective {value:.6g}, gap {gap:.2g}" for t, value, gap in calls if gap == gap]
    assert capsys.readouterr().out.splitlines() == proven and calls[-1][2] <= 1e-3 * (1 + 1e-6)


def test_a_fit_ends_after_max_time_with_a_warning():
    with pytest.warns(ConvergenceWarning, match=r"not within tol=1e-10: raise max_time=1e-09 or tol"):
        model = JointSparseClassifier(max_time=1e-9, **OPTIONS).fit(X, Y)
    assert model.n_iter_ <= 10


@pytest.mark.parametrize("grid", [{"radii": [0.1, 1.0, 3.0, 10.0, 30.0]}, {"radii": None, "penalties": 5}, {}])
def test_folds_have_half_of_the_time_and_choose_among_the_most_regularised_fits(grid, monkeypatch):
    ticks = itertools.count()  # on this clock, each reading is a second later
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=ticks.__next__))
    whole = JointSparseClassifierCV(cv=2, max_time=1e9, **grid).fit(X, (Y + 1) // 2)
    needed = next(ticks)
    time, said = 9 * needed // 10, r"was long enough for \d (radii|penalties) only, the most"
    with pytest.warns(ConvergenceWarning, match=f"^max_time={time} {said}"):
        model = JointSparseClassifierCV(cv=2, max_time=time, **grid).fit(X, (Y + 1) // 2)
    assert next(ticks) - needed < needed and model.scores_.shape == (len(model.grid_), 2)
    assert 0 < len(model.grid_) < len(whole.grid_)
    part = slice(-len(model.grid_), None) if "penalties" in grid else slice(len(model.grid_))
    np.testing.assert_array_equal(model.grid_, whole.grid_[part])


@pytest.fixture
def listening():
    """Let Python handle interrupts, which the process that runs the tests may ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def raise_interrupt(iteration, objective, gap):
    raise KeyboardInterrupt


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize(
    ("solver", "interrupt"),
    [
        *((solver, raise_interrupt) for solver in SOLVERS),
        ("working_set", lambda *report: signal.raise_signal(signal.SIGINT)),
    ],
)
def test_an_interrupted_fit_keeps_its_solution_and_raises_afterwards(solver, interrupt):
    model = JointSparseClassifier(solver=solver, callback=interrupt, **OPTIONS)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert model.predict(X).shape == Y.shape and model.duality_gap_ > 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("listening")
def test_a_second_interrupt_ends_at_once():
    with pytest.raises(KeyboardInterrupt), Watch(None, None, False) as watch:
        os.kill(os.getpid(), signal.SIGINT)
        assert watch.ended_by == INTERRUPT
        os.kill(os.getpid(), signal.SIGINT)


def test_a_fit_in_another_thread_does_not_handle_interrupts():
    with ThreadPoolExecutor() as pool:
        assert pool.submit(JointSparseClassifier().fit, X, (Y + 1) // 2).result().n_iter_ > 0


@pytest.mark.parametrize(
    ("estimator", "solver"), [(JointSparseClassifier, "working_set"), (JointSparseRegressor, "pdhg")]
)
def test_a_warm_start_begins_at_the_last_fit(estimator, solver):
    model = estimator(radius=2.0, solver=solver, tol=1e-6, warm_start=True).fit(X, Y[:, 0])
    cold, coef = model.n_iter_, model.coef_
    assert model.fit(X, Y[:, 0]).n_iter_ <= cold / 4
    np.testing.assert_allclose(model.coef_, coef, atol=1e-3)
    for rows, columns in ((slice(50), slice(12)), (slice(80), slice(5))):  # only the weights can be reused, or nothing
        model.fit(X[rows, columns], Y[rows, 0])
        np.testing.assert_allclose(model.coef_, clone(model).fit(X[rows, columns], Y[rows, 0]).coef_, atol=0.02)
    assert model.set_params(warm_start=False).fit(X, Y[:, 0]).n_iter_ == cold


def test_the_subgradient_method_starts_anew_with_warm_start():
    model = JointSparseClassifier(solver="subgradient", eta0=0.1, warm_start=True, n_iter=5).fit(X, Y[:, 0])
    np.testing.assert_array_equal(model.objective_, model.fit(X, Y[:, 0]).objective_)
