"""A page of a made-up model, whose texts are hostile: what the tests of the page and of its script open."""

from types import SimpleNamespace
from urllib.parse import quote

import numpy as np
import pandas as pd

from jointsparse.metrics import STATISTICS
from jointsparse.pipeline.flag import Kind
from jointsparse.pipeline.page import thumbnails
from jointsparse.pipeline.page.index import StudyResults
from jointsparse.pipeline.page.kept import Feature, Fits, Kept, judged
from jointsparse.pipeline.page.model import Origin, page

HOSTILE = "<script>document.title = 'caught'</script><img src=x onerror=\"document.title = 'caught'\"> & </script>"
WORDS = ["grass", HOSTILE]
N_IMAGES, N_TEST, N_FEATURES = 40, 30, 6
# Texts whose colour has less contrast than 4.5 with the first background behind them.
CONTRAST = """() => {
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, part, i) => {
    const s = c[i] / 255;
    return sum + part * (s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4);
  }, 0);
  const parts = (text) => text.match(/[0-9.]+/g).map(Number);
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const back = parts(getComputedStyle(one).backgroundColor);
      if (back.length < 4 || back[3] === 1) return back;
    }
    return [255, 255, 255];
  };
  const texts = [...document.querySelectorAll("body *")].filter((one) => one.offsetHeight &&
    [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
  return texts.filter((one) => {
    const [a, b] = [parts(getComputedStyle(one).color), behind(one)].map(light).sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05) < 4.5;
  }).map((one) => `${one.tagName}.${one.className}: ${one.textContent.slice(0, 40)}`);
}"""


def kept_model(rng):
    """A kept model of two words, of which the second is recognised. The first five images are those it has learnt from.

    Nothing is known of the next five images, and the others are its test images.
    """
    values = [
        dict.fromkeys(STATISTICS, auc) | {"auc": auc, "auc_low": auc - 0.1, "auc_high": auc + 0.1, "features": 5}
        for auc in (0.55, 0.8, 0.75)
    ]
    rows = [row | {"precision_at_10": 0.5} for row in values]
    card = SimpleNamespace(words=WORDS, norm="l1inf", radius=2.0, known_images=5, table=lambda: pd.DataFrame(rows))
    labels = (np.arange(N_IMAGES)[:, np.newaxis] % [2, 3] == 0).astype(np.int8)
    X, W, p = rng.normal(size=(N_IMAGES, N_FEATURES)), np.zeros((N_FEATURES, 2)), rng.random((N_IMAGES, 2))
    labels[5:10], p[5:10] = -1, np.nan
    W[[4, 1]] = [[2.0, 0.5], [-1.0, 0.0]]
    return Kept(
        SimpleNamespace(card_=card),
        True,
        judged(card, labels[10:]),
        W=W,
        X=X,
        names=(),
        features=[Feature(i, f"feature {i}", (10 + np.argsort(-X[10:, i])[:4]).tolist()) for i in (4, 1)],
        test_images=np.arange(10, N_IMAGES),
        labels=labels,
        probabilities=p,
        spread=np.ones(4),
        fits=fits(),
    )


def of_classes(rng):
    """What `made` needs for samples that have one of two classes each, and names that a table is easily broken by."""
    kept, images = kept_model(rng), [f"={i},\"\n\u202e'=" for i in range(N_IMAGES)]
    has = kept.labels[:, :1]
    labels = np.where(has < 0, -1, np.hstack([has, 1 - has])).astype(np.int8)
    captions = pd.DataFrame({"image": images, "caption": [WORDS[k] for k in labels.argmax(axis=1)]})
    table = pd.DataFrame({"image": images, "split": "test"})
    p = np.hstack([kept.probabilities[:, :1], 1 - kept.probabilities[:, :1]])
    return {
        "kept": kept._replace(labels=labels, probabilities=p),
        "images": table,
        "captions": captions,
        "labels": "classes",
    }


def tags_to_check(kept, images):
    """The labels as they stand that are least probable, as a run lists them."""
    rows, places = np.nonzero(kept.labels >= 0)
    has, p = kept.labels[rows, places] == 1, kept.probabilities[rows, places]
    tags = {"sample": [images[row] for row in rows], "tag": [WORDS[k] for k in places]}
    tags |= {"kind": np.where(has, "wrong", "missing"), "probability": p}
    order = np.argsort(np.where(has, p, 1 - p), kind="stable")
    return pd.DataFrame(tags).iloc[order]


def fits():
    """Numbers of the final fits with two norms, of which the first is kept."""
    means = {"auc": [0.75, 0.7], "auc_low": [0.65, 0.6], "auc_high": [0.85, 0.8]}
    others = {f"{key}{end}": 0.5 for key in STATISTICS for end in ("", "_low", "_high")}
    norms = {"norm": ["l1inf", "l2"], "kept": [True, False], "validation": 0.72, "features": [5, 6], "of": 6}
    of_precisions = {"precision": [0.5, 0.9], "words": [2, 0], "pictures": [12, 0], "of": 30, "said": [18, 0]}
    warned = {"table": ["words"], "warning": ["certified gap: 7%"], "rows": [1], "of": [4], "first": [""]}
    return Fits(
        pd.DataFrame(norms | others | means),
        pd.DataFrame(of_precisions | {"right": [0.5, np.nan]}),
        counted=pd.DataFrame(
            {
                "word": [*WORDS, "zebra", HOSTILE + "s"],
                "images": [20, 13, 3, 1],
                "train": [3, 2, 1, 0],
                "left_out": ["", "", Kind.FEW_TRAINING_WITH, ""],
            }
        ),
        warnings=pd.DataFrame(warned),
        stability=pd.DataFrame(),
    )


def made(rng, kept=None, **values):
    """The page, with hostile captions, names of files, note and reasons."""
    kept = kept or kept_model(rng)
    images = pd.DataFrame({"image": [f"{i} {HOSTILE}.jpg" for i in range(N_IMAGES)], "split": "test"})
    images = values.get("images", images)
    captions = pd.DataFrame({"image": images["image"], "caption": HOSTILE})
    left_out = pd.DataFrame({"item": [HOSTILE, "b.jpg"], "reason": [HOSTILE, HOSTILE]})
    given = {"images": images, "captions": captions, "left_out": left_out, "note": HOSTILE, "corrected": "mine"}
    given |= {"tags": tags_to_check(kept, images["image"]), "digest": "0a", "learnable": {"smallest_size": 20}}
    given |= {"thumbnail": thumbnails.file_of, "original": lambda row: f"../data/{quote(images['image'][row])}"}
    return page(Origin("mine", **given | values), kept)


def means(auc=0.8):
    """The means of a study of two methods."""
    rows = {"method": ["hinge-l1inf", "svm-l2"], "auc_weighted": [0.8, auc], "features": [0.12, 1.0]}
    return pd.concat([pd.DataFrame(rows).assign(n=n) for n in (80, 10)])


def listed(**values):
    """What the list of datasets shows of a dataset, with hostile texts."""
    warned = pd.DataFrame({"table": ["chosen"], "warning": [HOSTILE], "rows": 1, "of": 4, "first": ""})
    figures, tables = {"mine/annotation/figures/auc.png": HOSTILE}, {"chosen": "mine/annotation/tables/chosen.csv"}
    study = StudyResults("annotation", figures, tables, HOSTILE, means(), warned)
    return {"dataset": "mine", "note": HOSTILE, "demonstration": True, "model": None, "studies": [study]} | values


def written_page(folder, **values):
    """Write the page with its thumbnails and original files, and return its file and its findings."""
    rng = np.random.default_rng(0)
    shown = made(rng, **values)
    picture = thumbnails.encoded(rng.integers(255, size=(90, 120, 3)).astype(np.uint8))
    places = [(row,) for row in shown.images] + [(row, k) for row, words in shown.maps.items() for k in words]
    originals = [f"../data/{i} {HOSTILE}.jpg" for i in range(N_IMAGES)]
    for file in ["annotation/figures/auc.png", *originals, *(thumbnails.file_of(*place) for place in places)]:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(picture)
    (folder / "index.html").write_text(shown.html, encoding="utf-8")
    return folder / "index.html", shown.findings
