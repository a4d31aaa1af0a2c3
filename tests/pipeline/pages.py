"""A page of a made-up study, whose texts are hostile: what the tests of the page and of its script open."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from jointsparse.pipeline.explorer import thumbnails
from jointsparse.pipeline.explorer.answers import Feature
from jointsparse.pipeline.explorer.kept import Fits, Kept, model_answers
from jointsparse.pipeline.explorer.page import page
from jointsparse.pipeline.explorer.study import Study, study_answers
from jointsparse.pipeline.papers.page import section
from jointsparse.pipeline.scores.learnt import words_learnt
from jointsparse.pipeline.scores.runs import means
from jointsparse.pipeline.scores.scored_fits import METRICS, ScoredFits
from jointsparse.pipeline.sweep import Sweep

HOSTILE = "<script>document.title = 'caught'</script><img src=x onerror=\"document.title = 'caught'\"> & </script>"
WORDS = ["grass", HOSTILE, "night"]
METHODS = ["hinge-l1inf", "svm-l2"]
RADII = np.array([1.0, 2.0, 4.0])
SIZES = [10, 20]
N_IMAGES, N_TEST, N_FEATURES = 40, 30, 6


def study(rng, runs=2, names=(), n_unknown=0):
    """A study of three words, of which two share features. n_unknown: images whose label of the first is unknown."""
    X = rng.normal(size=(N_TEST, N_FEATURES))
    labels = X[:, :3] + 0.3 * rng.normal(size=(N_TEST, 3)) > 0
    W = np.zeros((3, N_FEATURES, 3))
    for place, radius in enumerate(RADII):
        W[place, : place + 1] = radius * rng.normal(size=(place + 1, 3))
    rows, by_word, places, scores = [], [], [], []
    for run in range(1, runs + 1):
        for n in SIZES:
            for method in METHODS:
                key = {"run": run, "n": n, "n_samples": 3 * n, "method": method}
                for place, radius in enumerate(RADII):
                    auc = METRICS["auc"](X @ W[place], labels)
                    rows.append(
                        {**key, "radius": radius, "power": 1.0, "features": (place + 1) / 6, "auc": auc.mean()}
                        | {
                            "auc_weighted": auc.mean() + 0.01 * run,
                            "eer": 0.2,
                            "validation": auc.mean(),
                            "chosen": place == 1,
                        }
                    )
                used = {
                    "validation_word": [True, False, False],
                    "positives": labels.sum(axis=0),
                    "n_features": 2,
                    "warning": "",
                }
                by_word.append(pd.DataFrame({**key, "word": WORDS, **used, "auc": METRICS["auc"](X @ W[1], labels)}))
                places.append(key)
                scores.append(X @ W[1])
    sparsity, by_word, places = pd.DataFrame(rows), pd.concat(by_word), pd.DataFrame(places)
    columns = (places[name].to_numpy() for name in ("run", "n", "n_samples", "method"))
    chose = np.tile([True, False, False], (len(places), 1))
    labels = labels.astype(np.int8)
    labels[:n_unknown, 0] = -1
    of_scores = ScoredFits(*columns, chose, np.array(scores), labels)
    nothing = np.full(3, np.nan)
    fits = Sweep(RADII, nothing, np.ones(3), np.ones((3, 2)), nothing, np.zeros(3, int), W, np.array(["", "", ""]))
    chosen = sparsity[sparsity["chosen"]].reset_index(drop=True)
    warned = pd.DataFrame(
        {"table": ["chosen"], "warning": ["certified gap: 7%"], "rows": [1], "of": [4], "first": [""]}
    )
    lead = {"metric": "auc", "words": "test words", "average": "by positives", "n": 20, "against": "svm-l2"}
    tables = {
        "chosen": chosen,
        "means": means(chosen),
        "sparsity": sparsity,
        "by_word": by_word,
        "words_learnt": words_learnt(by_word, N_TEST),
        "warnings": warned,
        "differences": pd.DataFrame([lead | {"difference": -0.0123, "low": -0.02, "high": 0.001}]),
    }
    sweeps = dict.fromkeys(METHODS, fits)
    answers = study_answers("annotation", WORDS, X, range(N_TEST), of_scores, tables, sweeps, names=names)
    return Study("annotation", tables, {"annotation/figures/auc.png": HOSTILE}, answers)


def claims():
    """A row of `verdicts.judge` with texts that are hostile."""
    row = {
        "id": "auc-order",
        "paper": "A paper",
        "place": "sec. 1",
        "claim": HOSTILE,
        "n": 20,
        "number": 0.1,
        "low": 0.0,
    }
    row |= {
        "high": 0.2,
        "least": 0.05,
        "most": np.nan,
        "number_means": HOSTILE,
        "verdict": "undecided",
        "rows": HOSTILE,
    }
    row |= {"table": "chosen", "timed": False, "source": "a", "dataset": "mine", "study": "annotation", "seed": 1}
    return pd.DataFrame([row | {"config": "b", "note": HOSTILE}])


def kept_model(rng):
    """A kept model of two words, whose test images are those from the sixth on."""
    rows = [
        {"features": 5, "auc": auc, "auc_low": auc - 0.1, "auc_high": auc + 0.1}
        | {"average_precision": auc, "precision_of_first": 0.5}
        for auc in (0.55, 0.8, 0.75)
    ]
    card = SimpleNamespace(words=WORDS[:2], norm="l1inf", loss="hinge", radius=2.0, known_images=1234)
    card.n_features, card.table = (5, 6), lambda: pd.DataFrame(rows)
    labels, scores = np.arange(N_TEST)[:, np.newaxis] % [2, 3] == 0, rng.normal(size=(N_TEST, 2))
    X, W = rng.normal(size=(N_TEST, N_FEATURES)), np.zeros((N_FEATURES, 2))
    W[[4, 1]] = [[2.0, 0.5], [-1.0, 0.0]]
    features = [Feature(i, f"feature {i}", np.argsort(-X[:, i])[:4].tolist(), []) for i in (4, 1)]
    answers = model_answers(
        card,
        W=W,
        features=features,
        X=X,
        names=(),
        test_images=range(5, 5 + N_TEST),
        labels=labels,
        scores=scores,
        has_maps=True,
    )
    return Kept(None, answers, np.ones(4), known_scores=rng.normal(size=(5, 2)), known_images=range(5), fits=fits())


def fits():
    """Numbers of the final fits with two norms, of which the first is kept."""
    means = {"auc": [0.75, 0.7], "auc_low": [0.65, 0.6], "auc_high": [0.85, 0.8], "precision_of_first": 0.5}
    norms = {"norm": ["l1inf", "l2"], "kept": [True, False], "validation": 0.72, "features": [5, 6], "of": 6}
    of_precisions = {"precision": [0.5, 0.9], "words": [2, 0], "pictures": [12, 0], "of": 30, "said": [18, 0]}
    return Fits(
        pd.DataFrame(norms | means | {"average_precision": 0.4}),
        pd.DataFrame(of_precisions | {"right": [0.5, np.nan]}),
        n_learnable=374,
        warnings=pd.DataFrame(columns=["table", "warning", "rows", "of", "first"]),
        stability=pd.DataFrame(),
    )


def made(rng, **values):
    """The page, with hostile captions, names of files, note and reasons."""
    images = pd.DataFrame({"image": [f"{i} {HOSTILE}.jpg" for i in range(N_IMAGES)], "split": "test"})
    captions = pd.DataFrame({"image": images["image"], "caption": HOSTILE})
    left_out = pd.DataFrame({"item": [HOSTILE, "b.jpg"], "reason": [HOSTILE, HOSTILE]})
    given = {"images": images, "captions": captions, "left_out": left_out, "note": HOSTILE}
    given |= {"claims": section(claims(), {("mine", "annotation", "chosen"): ["annotation/figures/auc.png"]})}
    given |= {"verdicts": {"undecided": 1}, "thumbnail": thumbnails.file_of}
    given["original"] = lambda row: f"../../data/images/{given['images']['image'][row][0]}"
    return page("mine", **{"studies": [study(rng)]} | given | values)


def written_page(folder):
    """Write the page with its thumbnails and its figure, and return its file."""
    rng = np.random.default_rng(0)
    shown = made(rng, kept=kept_model(rng))
    picture = thumbnails.encoded(rng.integers(255, size=(90, 120, 3)).astype(np.uint8))
    (folder / "thumbnails").mkdir()
    (folder / "annotation" / "figures").mkdir(parents=True)
    for one in [(row,) for row in shown.images] + [(row, k) for row, words in shown.maps.items() for k in words]:
        (folder / thumbnails.file_of(*one)).write_bytes(picture)
    (folder / "annotation" / "figures" / "auc.png").write_bytes(picture)
    (folder / "index.html").write_text(shown.html, encoding="utf-8")
    return folder / "index.html"
