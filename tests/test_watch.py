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

from jointsparse import JointSparseClassifier, JointSparseClassifierCV, JointSparseRegressor, JointSparseRegressorCV
from jointsparse.estimators import watch
from jointsparse.estimators.watch import INTERRUPT, Watch
from jointsparse.learning.losses import hinge
from jointsparse.learning.problem import Problem
from jointsparse.learning.solvers import SOLVERS
from jointsparse.norms import l1inf

X, Y = problem(n=80, d=12)
OPTIONS = {"labels": "signed", "loss": "hinge", "radius": 3.0, "tol": 1e-10}


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_stops_on_request_and_certifies_its_solution(solver):
    problem_, calls = Problem.from_matrix(X, Y.astype(float)), []
    options = {"eta0": np.ones(1)} if "eta0" in SOLVERS[solver].TAKES else {"tol": 1e-10}
    options["watch"] = lambda *report: calls.append(report) or len(calls) == 4
    fit = SOLVERS[solver].fit(problem_, loss=hinge, norm=l1inf, radius=np.array([2.0]), n_iter=1000, **options)
    assert len(calls) == 4 and fit.n_iter == calls[-1][0] < 1000
    assert fit.objective.shape == (1, fit.n_iter + 1)
    assert fit.value[0] == pytest.approx(hinge.value(X @ fit.W[0] + fit.b[0], Y, np.abs(Y)).sum())
    assert 0 < fit.bound[0] <= fit.value[0] and 0 <= fit.gap[0] < np.inf


@pytest.mark.parametrize("solver", ["working_set", "pdhg"])
def test_a_callback_sees_the_objectives_fall_and_may_end_the_fit_without_a_warning(solver):
    calls = []
    model = JointSparseClassifier(
        solver=solver, callback=lambda *report: calls.append(report), **OPTIONS | {"tol": 1e-3}
    )
    model.fit(X, Y)
    iterations, objectives, gaps = np.array(calls).T
    assert (np.diff(iterations) >= 0).all() and np.nanmin(objectives) == pytest.approx(objectives[-1], rel=1e-2)
    assert gaps[-1] <= 1e-3 * (1 + 1e-6)
    early = JointSparseClassifier(solver=solver, callback=lambda *report: True, **OPTIONS).fit(X, Y)
    assert early.n_iter_ < model.n_iter_ and early.duality_gap_ > 1e-10


def test_verbose_prints_a_line_per_certificate(capsys):
    model = JointSparseClassifier(verbose=True, **OPTIONS | {"tol": 1e-3}).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("iteration     0: objective 220, gap ")
    assert lines[-1].startswith(f"iteration {model.n_iter_:5d}: objective ")


def test_a_fit_ends_after_max_time_with_a_warning():
    with pytest.warns(ConvergenceWarning, match=r"not within tol=1e-10: raise max_time=1e-09 or tol"):
        model = JointSparseClassifier(max_time=1e-9, **OPTIONS).fit(X, Y)
    assert model.n_iter_ <= 10 and np.isfinite(model.coef_).all()
    with pytest.raises(ValueError, match=r"^max_time must be above 0 and finite, got 0"):
        model.set_params(max_time=0).fit(X, Y)


@pytest.mark.parametrize("grid", [{"radii": [0.1, 1.0, 3.0, 10.0, 30.0]}, {"radii": None, "penalties": 5}, {}])
@pytest.mark.parametrize("estimator", [JointSparseClassifierCV, JointSparseRegressorCV])
def test_folds_have_half_of_the_time_and_choose_among_the_most_regularised_fits(estimator, grid, monkeypatch):
    ticks = itertools.count()  # on this clock, each reading is a second later
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=ticks.__next__))
    whole = estimator(cv=2, max_time=1e9, **grid).fit(X, (Y + 1) // 2)
    needed = next(ticks)
    time, said = 9 * needed // 10, r"was long enough for \d (radii|penalties) only, the most"
    with pytest.warns(ConvergenceWarning, match=f"^max_time={time} {said}"):
        model = estimator(cv=2, max_time=time, **grid).fit(X, (Y + 1) // 2)
    n = len(model.grid_)
    part = whole.grid_[-n:] if "penalties" in grid else whole.grid_[:n]
    assert next(ticks) - needed < needed and model.scores_.shape == (n, 2) and n < len(whole.grid_)
    np.testing.assert_array_equal(model.grid_, part)


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


@pytest.mark.parametrize("estimator", [JointSparseClassifier, JointSparseRegressor])
@pytest.mark.parametrize("solver", ["working_set", "pdhg"])
def test_a_warm_start_begins_at_the_last_fit(estimator, solver):
    model = estimator(radius=2.0, solver=solver, tol=1e-6, warm_start=True).fit(X, Y[:, 0])
    cold, coef = model.n_iter_, model.coef_
    assert model.fit(X, Y[:, 0]).n_iter_ <= cold / 4
    np.testing.assert_allclose(model.coef_, coef, atol=1e-3)
    for rows, columns in ((slice(50), slice(12)), (slice(80), slice(5))):  # only the weights can be reused, or nothing
        model.fit(X[rows, columns], Y[rows, 0])
        np.testing.assert_allclose(model.coef_, clone(model).fit(X[rows, columns], Y[rows, 0]).coef_, atol=0.02)
    assert model.set_params(warm_start=False).fit(X, Y[:, 0]).n_iter_ == model.fit(X, Y[:, 0]).n_iter_ == cold


def test_the_subgradient_method_starts_anew_with_warm_start():
    model = JointSparseClassifier(solver="subgradient", eta0=0.1, warm_start=True, n_iter=5)
    first = model.fit(X, Y[:, 0]).objective_
    np.testing.assert_array_equal(model.fit(X, Y[:, 0]).objective_, first)
