"""Facts of the l1,inf ball for any matrix, many rows and many callers; what every norm must do is in test_norms.py."""

import hashlib
import inspect
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from jointsparse.norms import l1, l1inf

EPS = np.finfo(float).eps
METHODS = ["newton", "sort"]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def size(A):
    return np.abs(A).max(initial=0)


def check(W, radius, expected=None, **options):
    """The projection, after a look at its accuracy and at what must hold bit for bit."""
    got = l1inf.project(W, radius, **options)
    expected = oracles.project_l1inf_at_once(W, radius) if expected is None else expected
    error, digits = size(got - expected), np.finfo(W.dtype).eps / EPS
    assert error <= 4e-15 * digits * size(W)
    if radius >= 1e-2 * l1inf.norm(W):
        assert error <= 1e-13 * digits * size(expected)
    assert l1inf.norm(got) <= radius
    assert l1inf.project(got, radius, **options | {"warm": None}).tobytes() == got.tobytes()
    assert np.all((np.sign(got) == np.sign(W)) | (got == 0))
    return got


def memory_of(W, fraction):
    """What a projection of W remembers."""
    warm = l1inf.Warm()
    l1inf.project(W, fraction * l1inf.norm(W), warm=warm)
    return warm


# Any matrix

fractions = st.floats(0, 1) | st.sampled_from([1e-300, 1e-17, 1e-12, 1e-2, 0.5, 1 - EPS / 2, 1.0])


@st.composite
def matrices(draw):
    dtype, most = draw(st.sampled_from([(np.float64, 300), (np.float64, 0), (np.float32, 30)]))
    shape = draw(array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=50))
    if draw(st.booleans()):
        ties = st.integers(-3, 3).map(float)
        scales = st.sampled_from([s * 10.0**p for s in (-1, 1) for p in (-most, -most // 2, -9, 9, most // 2, most)])
        W = draw(arrays(np.float64, shape, elements=ties | st.floats(-1e6, 1e6) | scales))
    else:
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        W = rng.standard_t(draw(st.sampled_from([0.5, 1.5, 100.0])), size=shape)
        if most:
            W = W / np.abs(W).max(initial=1e-9) * 10.0 ** draw(st.floats(9 - most, most))
    if len(W) and draw(st.booleans()):
        W = W[draw(st.lists(st.integers(0, len(W) - 1), min_size=1, max_size=50))]  # repeated rows
    return W.astype(dtype)


@settings(deadline=None, max_examples=200)
@given(W=matrices(), fraction=fractions, power=st.integers(-100, 100), seed=st.integers(0, 2**32))
def test_any_matrix_any_method_any_memory(W, fraction, power, seed):
    radius = l1inf.norm(W) * fraction
    expected = oracles.project_l1inf_at_once(W, radius)
    unrelated = np.random.default_rng(seed).standard_t(1.5, size=(len(W), 3)) * 10.0**power
    check(W, radius, expected)
    check(W, radius, expected, method="sort")
    check(W, radius, expected, warm=memory_of(unrelated, 0.1))
    check(W, radius, expected, warm=memory_of(W * W.dtype.type(0.75), 0.5))


@settings(deadline=None, max_examples=60)
@given(W=matrices(), share=st.floats(0, 1.5))
def test_prox_takes_off_the_projection_of_each_row_onto_an_l1_ball(W, share):
    step = share * np.abs(W).sum(axis=1, dtype=float).max(initial=0)
    taken = W - l1inf.prox(W, step)
    expected = np.array([oracles.project_l1_vector(row, step) for row in W]).reshape(W.shape)
    assert np.abs(taken - expected).max(initial=0) <= 20 * np.finfo(W.dtype).eps * np.abs(W).max(initial=0)


# Many rows: from 256 on, theta is guessed from some of them


def many_rows(rng, d, m):
    normal = rng.normal(size=(d, m))
    yield "normal", normal
    yield "heavy tails", rng.standard_t(0.5, size=(d, m))
    yield "rows of all scales", normal * 10.0 ** rng.uniform(-12, 12, size=(d, 1))
    yield "1e-150 beside 1e150", normal * rng.choice([1e-150, 1e150], size=(d, 1))
    yield "mostly small rows", normal * np.where(rng.random((d, 1)) < 0.02, 1.0, 1e-6)
    yield "identical rows", np.where(rng.random((d, 1)) < 0.9, normal[:1], normal)
    yield "zero rows", normal * (rng.random((d, 1)) < 0.1)
    yield "a giant row", np.vstack([normal[:-1], 1e9 * normal[-1:]])
    yield "sorted rows", np.sort(normal, axis=0)
    yield "ties", rng.integers(-3, 4, size=(d, m)).astype(float)
    yield "nearly equal", 1 + rng.integers(-3, 4, size=(d, m)) * EPS


@pytest.mark.parametrize("d, m", [(256, 1), (300, 40), (700, 6), (2000, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_rows_agree_with_extended_precision(rng, dtype, d, m):
    for what, W in many_rows(rng, d, m):
        if dtype == np.float32 and what == "1e-150 beside 1e150":
            continue
        W = W.astype(dtype)
        norm = l1inf.norm(W)
        for radius in (np.nextafter(norm, 0), norm * 10 ** rng.uniform(-3, 0), norm * 10 ** rng.uniform(-12, -3)):
            expected = oracles.project_l1inf_at_once(W, radius)
            check(W, radius, expected)
            check(W, radius, expected, method="sort")
            check(W, radius, expected, warm=memory_of(rng.standard_t(1.5, size=(d, 2)), 0.1))
            check(W, radius, expected, warm=memory_of(dtype(1.01) * W, 0.999 * radius / norm))


@pytest.mark.parametrize("fraction", [0.001, 0.1])
def test_few_surviving_rows_of_a_large_matrix(rng, fraction):
    """Beyond 2**20 entries the surviving rows are gathered first."""
    W = rng.normal(size=(27_000, 40)) * rng.gamma(0.5, size=(27_000, 1))
    radius = fraction * l1inf.norm(W)
    B, theta, mu = l1inf.project(W, radius, return_theta=True)
    assert 0 < np.count_nonzero(mu) < len(W) / 2
    kept = np.abs(W).sum(axis=1) > 0.99 * theta  # the oracle need not see the others: they are zero
    assert not B[~kept].any()
    check(W[kept], radius)
    np.testing.assert_array_less(np.abs(B[kept] - oracles.project_l1inf_at_once(W[kept], radius)), 4e-15 * W.max())
    again = l1inf.project(W, radius, warm=memory_of(W, 1.01 * fraction))
    np.testing.assert_allclose(again, B, rtol=0, atol=4e-15 * W.max())


def test_projection_of_many_rows_is_the_prox_with_step_theta(rng):
    for what, W in many_rows(rng, 600, 8):
        for fraction in (1e-4, 0.1, 0.9):
            B, theta, _ = l1inf.project(W, fraction * l1inf.norm(W), return_theta=True)
            np.testing.assert_allclose(l1inf.prox(W, theta), B, rtol=0, atol=8e-15 * np.abs(W).max(), err_msg=what)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype, power", [(np.float64, -60), (np.float64, 333), (np.float32, -20), (np.float32, 25)])
def test_powers_of_two_scale_many_rows_exactly(rng, method, dtype, power):
    for what, W in many_rows(rng, 400, 7):
        if what in ("1e-150 beside 1e150", "rows of all scales"):
            continue  # some results are below the smallest normal number
        W = W.astype(dtype)
        for fraction in (0.01, 0.3, 1 - EPS):
            radius = fraction * l1inf.norm(W)
            got = l1inf.project(np.ldexp(W, power), np.ldexp(radius, power), method=method)
            expected = np.ldexp(l1inf.project(W, radius, method=method), power)
            np.testing.assert_array_equal(got, expected, err_msg=what)


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_many_rows_does_not_matter(rng, method):
    for what, W in many_rows(rng, 600, 8):
        rows, columns = rng.permutation(600), rng.permutation(8)
        radius = 10 ** rng.uniform(-3, 0) * l1inf.norm(W)
        got = l1inf.project(W[rows][:, columns], radius, method=method)
        expected = l1inf.project(W, radius, method=method)[rows][:, columns]
        np.testing.assert_allclose(got, expected, rtol=0, atol=8e-15 * np.abs(W).max(), err_msg=what)


def test_pairs_of_many_rows_come_no_further_apart(rng):
    for what, V in many_rows(rng, 600, 8):
        top = np.abs(V).max()
        for distance in (1e-12, 1e-3, 1.0):
            W = V + distance * top * rng.standard_t(1.5, size=V.shape)
            radius = 10 ** rng.uniform(-3, 0) * l1inf.norm(V)
            got = np.linalg.norm((l1inf.project(V, radius) - l1inf.project(W, radius)) / top)
            assert got <= np.linalg.norm((V - W) / top) + 4e-15 * np.sqrt(V.size), what


@pytest.mark.parametrize("method", METHODS)
def test_a_single_task_or_feature_of_any_length(rng, method):
    for n in (2, 300, 2000):
        w = rng.standard_t(1.5, size=(n, 1))
        for fraction in (1e-6, 0.1, 0.9):
            radius = fraction * l1inf.norm(w)
            atol = 8e-15 * np.abs(w).max()
            got, expected = l1inf.project(w, radius, method=method), l1.project(w, radius)
            np.testing.assert_allclose(got, expected, rtol=0, atol=atol)
            radius = fraction * np.abs(w).max()
            got, expected = l1inf.project(w.T, radius, method=method), np.clip(w.T, -radius, radius)
            np.testing.assert_allclose(got, expected, rtol=0, atol=atol)


# Where rounding decides


@pytest.mark.parametrize("method", METHODS)
def test_one_digit_outside_the_ball_still_counts(rng, method):
    """theta is then too small to be seen, and yet the matrix must not come back as it is."""
    for shape in [(1, 1), (7, 24), (25, 34), (500, 3)] * 20:
        W = rng.choice([1.0, 1 / 3, 0.1], size=shape) * (1 + EPS * rng.integers(-3, 4, size=shape))
        radius = np.nextafter(l1inf.norm(W), 0)
        B, theta, _ = l1inf.project(W, radius, method=method, return_theta=True)
        assert l1inf.norm(B) <= radius and theta > 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit, dtype", [(5e-324, np.float64), (1e-45, np.float32)])
def test_the_smallest_numbers_stay_inside(rng, method, unit, dtype):
    for high in (2, 5, 1000):
        W = (rng.integers(0, high, size=(9, 3)) * dtype(unit)).astype(dtype)
        for radius in l1inf.norm(W) * np.array([0.3, 0.9]), np.nextafter(l1inf.norm(W), 0)[np.newaxis]:
            for C in radius:
                got = l1inf.project(W, C, method=method)
                assert l1inf.norm(got) <= C
                assert np.abs(got - oracles.project_l1inf_at_once(W, C)).max() <= 2 * unit


@pytest.mark.parametrize("method", METHODS)
def test_row_sums_that_overflow_only_together(method):
    W = np.full((4, 1), 1e308)
    assert l1inf.norm(W) == np.inf
    np.testing.assert_array_equal(l1inf.project(W, np.inf, method=method), W)
    np.testing.assert_allclose(l1inf.project(W, 1e308, method=method), 2.5e307)


@pytest.mark.parametrize("dtype, huge, tiny", [(np.float64, 1e308, 1e-300), (np.float32, 3e38, 1e-30)])
def test_prox_of_a_row_whose_sum_overflows_leaves_the_others_their_digits(dtype, huge, tiny):
    W = np.array([[huge, huge, tiny], [tiny, 2 * tiny, 0]], dtype)
    expected = np.array([[huge, huge, tiny], [tiny, 1.9 * tiny, 0]], dtype)
    np.testing.assert_allclose(l1inf.prox(W, 0.1 * tiny), expected, rtol=4 * np.finfo(dtype).eps)


def test_sort_keeps_a_small_radius_beside_many_pieces(rng):
    """A running sum from the norm downwards would have lost this radius among its rounding errors."""
    W = np.vstack([np.ones((1, 19)), 10.0 ** rng.uniform(-20, -2, size=(400, 19))])
    radius = 1e-12
    got, expected = l1inf.project(W, radius, method="sort"), oracles.project_l1inf_at_once(W, radius)
    assert np.abs(got - expected).max() <= 4e-15


@pytest.mark.parametrize("method", METHODS)
def test_many_rows_that_die_within_rounding(rng, method):
    """Their last bits together weigh on the two rows that live on: no row may be taken for dead too early."""
    for d, m in [(828, 29), (1007, 7), (738, 12)] * 5 + [(20_000, 5)]:
        W = 1 + rng.integers(-3, 4, size=(d, m)) * EPS
        W[:2] *= 1.1
        theta = rng.choice(W[2:].sum(axis=1))  # one of them dies just here
        radius = float(sum(oracles.h(row.astype(np.longdouble), theta) for row in W))
        got, expected = l1inf.project(W, radius, method=method), oracles.project_l1inf_at_once(W, radius)
        assert np.abs(got - expected).max() <= 4e-15


@pytest.mark.parametrize("dtype, huge", [(np.float64, 1e308), (np.float32, 3e38)])
@pytest.mark.parametrize("method", ["newton", "sort"])
def test_a_row_sum_that_overflows(rng, method, dtype, huge):
    W = rng.normal(size=(300, 20)).astype(dtype)
    W[3, :2] = huge
    radius = float(dtype(huge / 4))
    check(W, radius, method=method, expected=np.clip(W, *(sign * np.eye(1, 300, 3).T * radius for sign in (-1, 1))))
    assert l1inf.dual_norm(W) == (np.inf if dtype == np.float64 else np.abs(W).sum(axis=1, dtype=float).max())


def test_long_rows_of_float32_are_added_up_in_double_precision(rng):
    W = rng.uniform(size=(1, 3_000_000)).astype(np.float32)
    np.testing.assert_allclose(l1inf.dual_norm(W), W.sum(dtype=float), rtol=1e-7)


def test_other_byte_orders_keep_their_precision(rng):
    W = rng.normal(size=(3, 4)).astype(np.float32)
    assert l1inf.project(W.astype(">f4"), 1.0).tobytes() == l1inf.project(W, 1.0).tobytes()


def test_numbers_beyond_floats_are_refused():
    with pytest.raises(ValueError, match="radius must be a number, got 1000"):
        l1inf.project(np.ones((2, 2)), 10**400)
    with pytest.raises(ValueError, match="W must hold real numbers"):
        l1inf.project([[10**400]], 1.0)


def test_a_memory_must_be_one():
    with pytest.raises(ValueError, match="warm must be a Warm object or None, got 3"):
        l1inf.project(np.ones((2, 2)), 1.0, warm=3)


# Other layouts, several threads


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("method", ["newton", "sort"])
def test_tasks_may_stand_in_rows(rng, method, order):
    W = rng.normal(size=(30, 4))
    rows = np.array(W.T, order=order)
    radius = 0.3 * l1inf.norm(W)
    expected, theta, mu = l1inf.project(W, radius, method=method, return_theta=True)
    got, got_theta, got_mu = l1inf.project(rows, radius, axis=0, method=method, return_theta=True)
    assert got.shape == (4, 30) and np.array_equal(got.T, expected)
    assert got_theta == theta and np.array_equal(got_mu, mu)
    assert l1inf.project(rows, radius, axis=0, method=method, out=rows) is rows
    assert np.array_equal(rows.T, expected)
    assert l1inf.norm(W.T, axis=0) == l1inf.norm(W) and l1inf.dual_norm(W.T, axis=0) == l1inf.dual_norm(W)
    assert np.array_equal(l1inf.prox(W.T, 0.5, axis=0).T, l1inf.prox(W, 0.5))


@pytest.mark.parametrize("bad", [2, -1, None, "tasks"])
def test_unknown_axis_is_refused(bad):
    with pytest.raises(ValueError, match=f"axis must be 0 or 1, got {bad!r}"):
        l1inf.project(np.ones((2, 2)), 1.0, axis=bad)


@pytest.mark.parametrize("bad", [0, -1, 1.5, None])
def test_threads_must_be_a_number(bad):
    with pytest.raises(ValueError, match=f"threads must be a whole number of at least 1, got {bad!r}"):
        l1inf.project(np.ones((2, 2)), 1.0, threads=bad)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_alter_no_bit(rng, dtype):
    W = rng.normal(size=(30_000, 40)).astype(dtype)  # large enough for several threads to be used
    radius = 0.1 * l1inf.norm(W)
    expected = l1inf.project(W, radius, return_theta=True)
    for threads in (2, np.int64(3), 64):
        got = l1inf.project(W, radius, threads=threads, return_theta=True)
        assert [np.asarray(part).tobytes() for part in got] == [np.asarray(part).tobytes() for part in expected]
    assert l1inf.project(W, np.inf, threads=2).tobytes() == W.tobytes()
    W[-1, -1] = np.nan
    with pytest.raises(ValueError, match="W must be finite"):
        l1inf.project(W, radius, threads=2)
    W[-1, -1] = np.finfo(dtype).max
    W[-2] = np.finfo(dtype).max
    check(W, radius, threads=2)


# Many callers


def work(seed):
    """A digest of what a caller gets who projects a moving matrix warm, cold, in place and in float32."""
    rng = np.random.default_rng(seed)
    warm, digest = l1inf.Warm(), hashlib.sha256()
    W = rng.normal(size=(600, 9))
    for _ in range(20):
        W += 0.05 * rng.normal(size=W.shape)
        radius = rng.uniform(0.01, 1) * l1inf.norm(W)
        out = W.copy()
        digest.update(l1inf.project(W, radius, warm=warm))
        digest.update(l1inf.project(out, radius, out=out))
        digest.update(l1inf.project(W.astype(np.float32), radius))
        digest.update(l1inf.project(W, radius, method="sort"))
        digest.update(l1inf.prox(W, warm.theta))
    return digest.hexdigest()


def test_eight_threads_get_what_each_gets_alone():
    expected = [work(seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(work, range(8)))
    assert got == expected


def test_eight_threads_may_share_their_input(rng):
    W = rng.normal(size=(3000, 40))
    radii = np.linspace(0.01, 0.9, 8) * l1inf.norm(W)
    expected = [l1inf.project(W, radius).tobytes() for radius in radii]
    outs = [np.empty_like(W) for _ in radii]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            got = pool.map(lambda radius, out: l1inf.project(W, radius, out=out).tobytes(), radii, outs)
            assert list(got) == expected


def start(code):
    return subprocess.Popen([sys.executable, "-W", "error", "-c", code], stdout=subprocess.PIPE, text=True)


def test_eight_processes_get_what_each_gets_alone():
    code = f"import hashlib\nimport numpy as np\nfrom jointsparse.norms import l1inf\n{inspect.getsource(work)}"
    processes = [start(f"{code}\nprint(work({seed}))") for seed in range(8)]
    got = [process.communicate(timeout=60)[0].strip() for process in processes]
    expected = [work(seed) for seed in range(8)]
    assert got == expected


def test_the_room_of_norms_comes_alone():
    """Whoever imports a projection pays for NumPy and Numba only. The CPU times are printed, for pytest -s."""
    code = """
import sys, time
start = time.process_time()
import numpy
numpy_there = time.process_time()
import jointsparse.norms
imported = time.process_time()
W = numpy.random.default_rng(0).normal(size=(300, 7))
ready = time.process_time()
jointsparse.norms.l1inf.project(W, 1.0)
called = time.process_time()
print(sorted({name.partition(".")[0] for name in sys.modules}))
print(f"importing numpy {numpy_there - start:.3f} s, jointsparse.norms {imported - numpy_there:.3f} s more,")
print(f"the first projection {called - ready:.3f} s of CPU")
"""
    with start(code) as process:
        modules, *times = process.stdout.read().splitlines()
    print(*times)
    assert process.returncode == 0
    for heavy in ("sklearn", "skimage", "snakemake", "pandas", "matplotlib", "PIL"):
        assert f"'{heavy}'" not in modules
