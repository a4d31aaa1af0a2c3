"""Synthetic tasks follow the description in Quattoni et al. (2009), sec. 5."""

import numpy as np
import pytest

from jointsparse.pipeline.datasets import synthetic


def draw(seed=0, **options):
    small = {"n_features": 50, "n_tasks": 8, "relevant": 0.2, "n_train": 12, "n_validation": 5, "n_test": 7}
    return synthetic.draw(**small | options, rng=np.random.default_rng(seed))


def test_shapes_and_the_sizes_in_the_paper():
    samples = [shape for n in (12, 5, 7) for shape in ((8, n, 50), (8, n))]
    assert [array.shape for array in draw()] == [(50, 8), (50,), *samples]
    data = synthetic.draw(n_validation=1, n_test=1, rng=np.random.default_rng(0))
    assert (data.X_train.shape, data.relevant.sum()) == ((60, 640, 200), 20)


@pytest.mark.parametrize(
    ("n_features", "relevant", "sizes"),
    [(50, 0.2, {5, 6, 7, 8, 9, 10}), (30, 0.1, {2, 3}), (50, 0.02, {1})],
)
def test_each_task_uses_half_to_all_of_the_relevant_features(n_features, relevant, sizes):
    data = draw(n_features=n_features, relevant=relevant, n_tasks=200)
    assert data.relevant.sum() == max(sizes)
    assert not data.W[~data.relevant].any()
    assert set(np.count_nonzero(data.W, axis=0)) == sizes


@pytest.mark.parametrize("support", ["random", "all"])
@pytest.mark.parametrize(
    ("weights", "largest", "mean", "deviation"),
    [("normal", None, (2 / np.pi) ** 0.5, (1 - 2 / np.pi) ** 0.5), ("uniform", 1, 0.5, 12**-0.5), ("sign", 1, 1, 0)],
)
def test_weights_follow_their_distribution_and_tasks_may_share_their_support(
    support, weights, largest, mean, deviation
):
    data = draw(n_features=400, n_tasks=100, weights=weights, support=support)
    used = data.W != 0
    assert (used[data.relevant].all() == (support == "all")) and not used[~data.relevant].any()
    sizes = np.abs(data.W[used])
    np.testing.assert_allclose([sizes.mean(), sizes.std()], [mean, deviation], atol=0.02)
    np.testing.assert_allclose(np.sign(data.W[used]).mean(), 0, atol=0.05)
    assert largest is None or sizes.max() == pytest.approx(largest, abs=0.01)


def test_samples_are_uniform_on_the_unit_sphere():
    X = draw(n_train=2000, n_tasks=2).X_train
    np.testing.assert_allclose(np.linalg.norm(X, axis=2), 1, rtol=1e-6)
    np.testing.assert_allclose(X.mean(axis=(0, 1)), 0, atol=0.02)
    np.testing.assert_allclose(50 * X.reshape(-1, 50).T @ X.reshape(-1, 50) / 4000, np.eye(50), atol=0.2)


def test_a_label_is_the_sign_of_the_score():
    data = draw()
    for X, y in zip(data[2::2], data[3::2], strict=True):
        np.testing.assert_array_equal(y, np.where(np.einsum("knd,dk->kn", X.astype(float), data.W) >= 0, 1, -1))


def test_the_same_seed_gives_the_same_data_and_another_seed_other_data():
    first, again, other = draw(), draw(), draw(seed=1)
    assert all(map(np.array_equal, first, again))
    assert (first.W != other.W).any() and (first.X_test != other.X_test).any()
    assert len(np.unique(first.X_train.reshape(-1, 50), axis=0)) == 8 * 12  # no two tasks share a sample


def test_test_and_validation_samples_do_not_depend_on_n_train():
    few, many = draw(n_train=3), draw(n_train=30)
    for name in ("W", "relevant", "X_validation", "y_validation", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name))


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"weights": "equal"}, "weights must be one of normal, uniform, sign, got 'equal'"),
        ({"support": "some"}, "support must be one of random, all, got 'some'"),
        ({"relevant": 0.001}, "at least one of 50 features relevant, got 0.001"),
        ({"relevant": 1.5}, "a fraction of at most 1"),
        ({"relevant": float("nan")}, "got nan"),
        ({"n_train": 0}, "n_train must be at least 1, got 0"),
        ({"n_tasks": 0}, "n_tasks must be at least 1, got 0"),
        ({"n_test": -1}, "n_test must be at least 0, got -1"),
    ],
)
def test_wrong_sizes_are_refused(option, said):
    with pytest.raises(ValueError, match=said):
        draw(**option)
