"""Datasets that are drawn: what all of them promise, and what collages, documents and synthetic tasks follow."""

import re
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from jointsparse.pipeline.datasets import collage, documents, synthetic
from jointsparse.pipeline.datasets.collage import materials, plans

TOPICS = {"n_documents": 300, "n_features": 1000, "n_topics": 8, "n_telling": 30, "length": 40}
TASKS = {"n_features": 50, "n_tasks": 8, "relevant": 0.2, "n_train": 12, "n_validation": 5, "n_test": 7}


def draw(seed=0, **options):
    return synthetic.draw(**TASKS | options, rng=np.random.default_rng(seed))


# All of them

DRAW = {
    "photograph": lambda image="collage_01799", **options: [
        collage.photograph(image, **options),
        collage.picture(image, **options),
        collage.thumbnail(image, longest_side=320, **options),
    ],
    "captions": partial(collage.read, n_images=50),
    "documents": partial(documents.read, **TOPICS),
    "tasks": draw,
}


def values_of(drawn):
    parts = [part.toarray() if sparse.issparse(part) else part for part in drawn if part is not None]
    return [np.asarray(part).tolist() for part in parts if np.size(part)]


@pytest.mark.parametrize("name", DRAW)
def test_everything_depends_only_on_the_seed(name):
    first, other, again = (values_of(DRAW[name](seed=seed)) for seed in (3, 4, 3))
    assert first == again and not any(one == two for one, two in zip(first, other, strict=True))


REFUSED = {
    "photograph": [
        ({"image": image}, "image must be a name such as 'collage_00042', got")
        for image in ("collage_1", "collage_00042.png", "collage_000042", "")
    ],
    "captions": [
        ({"n_images": 0}, "must have at least one usable training image or sample, got 0 usable images or samples"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ],
    "documents": [
        ({"n_documents": 0}, "n_documents must be a whole number of at least 1, got 0"),
        ({"n_features": 2**31}, "n_features must be a whole number from 1 to 2147483647, got 2147483648"),
        ({"n_topics": 1.5}, "n_topics must be a whole number of at least 1, got 1.5"),
        ({"n_telling": 1001}, "n_telling must be a whole number from 1 to 1000, got 1001"),
        ({"length": 0}, "length must be above 0 and finite, got 0.0"),
        ({"telling": -0.1}, "telling and noise must be at least 0, and their sum at most 1, got -0.1 and 0.05"),
        ({"noise": 0.9}, "their sum at most 1, got 0.15 and 0.9"),
        ({"noise": float("nan")}, "their sum at most 1, got 0.15 and nan"),
    ],
    "tasks": [
        ({"weights": "equal"}, "weights must be one of normal, uniform, sign, got 'equal'"),
        ({"support": "some"}, "support must be one of random, all, got 'some'"),
        ({"relevant": 0.001}, "at least one of 50 features relevant, got 0.001"),
        ({"relevant": 1.5}, "a fraction of at most 1"),
        ({"relevant": float("nan")}, "got nan"),
        ({"n_train": 0}, "n_train must be at least 1, got 0"),
        ({"n_test": -1}, "n_test must be at least 0, got -1"),
    ],
}


@pytest.mark.parametrize(("name", "options", "said"), [(name, *row) for name, rows in REFUSED.items() for row in rows])
def test_options_outside_their_range_are_refused(name, options, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        DRAW[name](**options)


# Collages


def test_photographs_are_in_colour_around_320_by_240_and_pictures_are_grey_and_shrunk():
    photographs = {f"collage_{i:05}": collage.photograph(f"collage_{i:05}", seed=1) for i in range(12)}
    for name, pixels in photographs.items():
        short, long = sorted(pixels.shape[:2])
        assert pixels.dtype == np.uint8 and pixels.shape[2] == 3 and 224 <= short <= 248 and 300 <= long <= 320
        grey = collage.picture(name, longest_side=161, seed=1)
        assert (grey.dtype, max(grey.shape), grey.ndim) == (np.float32, 161, 2) and 0 <= grey.min() < grey.max() <= 1
        assert grey.mean() == pytest.approx(pixels.mean() / 255, abs=0.1) and pixels.std() > 8
        assert collage.picture(name, longest_side=400, seed=1).shape == pixels.shape[:2]
    assert {pixels.shape[0] > pixels.shape[1] for pixels in photographs.values()} == {True, False}


def test_captions_depend_only_on_the_number_and_are_three_to_five_sentences():
    captioned = collage.read()
    names = [f"collage_{i:05}" for i in range(1800)]
    assert captioned.images["image"].tolist() == names
    assert captioned.images["split"].value_counts().to_dict() == {"train": 1080, "validation": 360, "test": 360}
    of_image = captioned.captions.groupby("image")["caption"].agg(list)
    assert of_image.index.tolist() == names and set(of_image.map(len)) == {3, 4, 5}
    assert collage.read(n_images=20).captions["caption"].tolist() == of_image[:20].sum()
    assert not captioned.captions.duplicated().any()
    for caption in captioned.captions["caption"]:
        assert re.fullmatch(r"[A-Z][A-Za-z ,\"]*\.", caption), caption
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]|  | ,", caption), caption
    assert all(
        captioned.captions["caption"].str.contains(part).any() for part in (",", '"', "a horse\\b", "two horses")
    )


def test_objects_ground_and_background_are_independent():
    every = [plans.plan_of(number, 0) for number in range(1800)]
    assert all({spot.name for spot in plan.placed} == {*plan.things} for plan in every)
    causes = sorted(set().union(*(plan.causes for plan in every)))
    shown = {cause: np.array([cause in plan.causes for plan in every]) for cause in causes}
    for cause, other in product(plans.THINGS, [f"on {ground}" for ground in plans.GROUNDS] + list(plans.BACKS)):
        expected = shown[other].mean()
        assert abs(shown[other][shown[cause]].mean() - expected) < 4 * np.sqrt(expected / shown[cause].sum())
    assert all(
        0.45 * spot.height == pytest.approx(min(spot.x, plan.width - spot.x))  # cut off at a side
        for plan in every
        for spot in plan.placed
        if spot.name == "cat"
    )


@pytest.mark.parametrize("name", plans.THINGS)
def test_objects_are_cut_out_of_their_pictures(name):
    opacity = np.asarray(materials.thing(name).resize((50, 50)).getchannel("A")) / 255
    assert opacity[20:30, 20:30].mean() > 0.8 and (name == "page" or opacity[0, 0] == 0)


# Documents


def test_shapes_names_splits_and_sizes_of_topics():
    drawn = documents.read()
    assert (drawn.X.shape, drawn.X.dtype, drawn.X.has_canonical_format) == ((6000, 20000), np.float32, True)
    np.testing.assert_allclose(sparse.linalg.norm(drawn.X, axis=1), 1, rtol=1e-5)
    assert drawn.X.data.min() > 0 and drawn.images["image"].iloc[[0, -1]].tolist() == ["document 1", "document 6000"]
    assert drawn.images["split"].value_counts().to_dict() == {"train": 3600, "validation": 1200, "test": 1200}
    sizes = drawn.captions.drop_duplicates()["caption"].value_counts().to_dict()
    assert sizes == {f"topic {k}": round(1500 / k**0.75) for k in range(1, 41)}
    assert {0, 1, 2, 3, 4} <= set(drawn.captions["image"].value_counts().reindex(drawn.images["image"], fill_value=0))


def test_the_weights_of_words_depend_only_on_training_documents(monkeypatch):
    counts = sparse.random(40, 30, density=0.1, rng=0, format="csr", data_rvs=lambda n: np.arange(n) % 3 + 1.0)
    dense, n_with = counts.toarray(), (counts.toarray()[:25] > 0).sum(axis=0)
    expected = dense * np.where(n_with, np.log(25 / np.maximum(n_with, 1)) + 1, 0)
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    got = documents._weigh(counts, np.arange(40) < 25).toarray()
    np.testing.assert_allclose(got, expected / np.where(lengths, lengths, 1), rtol=1e-6)
    seen = []
    monkeypatch.setattr(documents, "_weigh", lambda X, of_split: seen.append(of_split) or X)
    assert (seen == (documents.read(**TOPICS).images["split"] == "train").to_numpy()).all()


def test_words_of_topics_follow_their_preferences_and_other_words_zipfs_law(rng):
    n, pool = 1000, rng.choice(1000, 20, replace=False)
    topics_of = np.repeat([[1, 0, 0], [0, 1, 1], [0, 0, 0]], 2000, 0)
    features, cumulative = topics = documents._draw_topics(pool, n, 3, rng)
    counts = documents._draw_words(sparse.csr_matrix(topics_of), topics, pool, n, 100, (1.0, 0.0), rng)
    assert counts.sum() == pytest.approx(600_000, rel=0.05)
    shares = np.zeros((3, n))
    for own, of_topic, ends in zip(shares, features, cumulative, strict=True):
        np.add.at(own, of_topic, np.diff(ends, prepend=0))
    zipf = np.log1p(1 / np.arange(1, n + 1)) / np.log(n + 1)
    for start, expected in ((0, shares[0]), (2000, shares[1:].mean(axis=0)), (4000, zipf)):
        own = counts[start : start + 2000].sum(axis=0).A1
        np.testing.assert_allclose(own / own.sum(), expected, atol=0.005)


def test_each_topic_has_a_document_and_uses_a_third_to_two_thirds_of_the_pool():
    assert documents.read(**TOPICS | {"n_documents": 5}).captions["caption"].nunique() == 8
    _, cumulative = documents._draw_topics(np.arange(90), 1000, 50, np.random.default_rng(0))
    used = (np.diff(cumulative[:, :90], prepend=0, axis=1) > 0).sum(axis=1)
    assert 30 <= used.min() < 36 and 54 < used.max() <= 60 and (cumulative[:, -1] == 1).all()


# Synthetic tasks, see Quattoni et al. (2009), sec. 5


def test_sizes_are_those_of_the_paper_and_each_task_has_its_own_samples():
    samples = [shape for n in (12, 5, 7) for shape in ((8, n, 50), (8, n))]
    assert [array.shape for array in draw()] == [(50, 8), (50,), *samples]
    data = synthetic.draw(n_validation=1, n_test=1, rng=np.random.default_rng(0))
    assert (data.X_train.shape, data.relevant.sum()) == ((60, 640, 200), 20)
    assert len(np.unique(draw().X_train.reshape(-1, 50), axis=0)) == 8 * 12


@pytest.mark.parametrize(("relevant", "sizes"), [(0.2, {5, 6, 7, 8, 9, 10}), (0.06, {2, 3}), (0.02, {1})])
def test_each_task_uses_half_to_all_of_the_relevant_features(relevant, sizes):
    data = draw(relevant=relevant, n_tasks=200)
    assert data.relevant.sum() == max(sizes) and not data.W[~data.relevant].any()
    assert set(np.count_nonzero(data.W, axis=0)) == sizes


@pytest.mark.parametrize(
    ("weights", "support", "largest", "mean", "deviation"),
    [
        ("normal", "random", None, (2 / np.pi) ** 0.5, (1 - 2 / np.pi) ** 0.5),
        ("uniform", "all", 1, 0.5, 12**-0.5),
        ("sign", "all", 1, 1, 0),
    ],
)
def test_weights_follow_their_distribution_and_tasks_may_share_their_support(
    weights, support, largest, mean, deviation
):
    data = draw(n_features=400, n_tasks=100, weights=weights, support=support)
    used, sizes = data.W != 0, np.abs(data.W[data.W != 0])
    assert used[data.relevant].all() == (support == "all") and not used[~data.relevant].any()
    got = [sizes.mean(), sizes.std(), np.sign(data.W[used]).mean()]
    np.testing.assert_allclose(got, [mean, deviation, 0], atol=0.04)
    assert largest is None or sizes.max() == pytest.approx(largest, abs=0.01)


def test_samples_are_uniform_on_the_unit_sphere_and_a_label_is_the_sign_of_the_score():
    data = draw(n_train=2000, n_tasks=2)
    for X, y in zip(data[2::2], data[3::2], strict=True):
        np.testing.assert_array_equal(y, np.where(np.einsum("knd,dk->kn", X.astype(float), data.W) >= 0, 1, -1))
    X = data.X_train.reshape(-1, 50)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(50 * X.T @ X / 4000, np.eye(50), atol=0.2)


def test_test_and_validation_samples_do_not_depend_on_n_train():
    few, many = draw(n_train=3), draw(n_train=30)
    for name in ("W", "relevant", "X_validation", "y_validation", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name))
