"""Pages of made-up models, whose texts are hostile: what the tests of the page and of its script open.

`python tests/pipeline/pages.py` writes `pages.json`, with which the tests compare the pages.
"""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import numpy as np
import pandas as pd
from scipy import sparse

from jointsparse.metrics import STATISTICS
from jointsparse.pipeline.flag import Kind
from jointsparse.pipeline.page import thumbnails
from jointsparse.pipeline.page.index import StudyResults, index
from jointsparse.pipeline.page.kept import Feature, Fits, Kept, judged
from jointsparse.pipeline.page.model import Origin, page
from jointsparse.pipeline.papers.page import document

HOSTILE = "<script>document.title = 'caught'</script><img src=x onerror=\"document.title = 'caught'\"> & </script>"
WORDS = ["grass", HOSTILE]
N_IMAGES, N_FEATURES = 40, 6
NAMES = [f"name {i}" for i in range(N_FEATURES)]
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

# Heights in pixels of what is shown.
HEIGHTS = "ones => ones.map((one) => one.offsetHeight).filter((height) => height)"


@contextmanager
def opened(browser, file, **options) -> Iterator:
    """Open a page from disk. At the end nothing has gone wrong, and nothing beyond its folder was requested."""
    page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}} | options)
    errors, requested = [], []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requested.append(request.url))
    page.goto(file.as_uri())
    yield page
    assert page.title() != "caught" and errors == []
    assert [url for url in requested if not url.startswith(file.parents[1].as_uri())] == []
    page.close()


def kept_model(rng, norm="l1inf"):
    """A kept model of two words, of which the second is recognised. The first five images are those it has learnt from.

    Nothing is known of the next five images, and the others are its test images.
    """
    values = [
        dict.fromkeys(STATISTICS, auc) | {"auc": auc, "auc_low": auc - 0.1, "auc_high": auc + 0.1, "features": 5}
        for auc in (0.55, 0.8, 0.75)
    ]
    table = pd.DataFrame([row | {"precision_at_10": 0.5} for row in values])
    card = SimpleNamespace(words=WORDS, norm=norm, radius=2.0, known_images=5, table=lambda: table)
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
        scores=p,
        probabilities=p,
        exclusive=False,
        spread=np.ones(4),
        fits=FITS,
    )


def photographs(rng):
    """Values for `made`: a photograph that is wrong is the most probable one of the recognised word."""
    kept = kept_model(rng)
    kept.labels[10 + kept.probabilities[10:, 1].argmax(), 1] = 0
    return {"kept": kept, "network": "private/my network.onnx"}


def documents(rng):
    """Values for `made`: documents with named features, of which some have a picture, and labels that are unknown."""
    kept = kept_model(rng, "l1")
    kept.labels[::2, 1], X = -1, kept.X * [1, 0, 1, 1, 1, 1]
    names, files = [f"row {i}" for i in range(N_IMAGES)], [f"../{i}.jpg" for i in range(N_IMAGES)]
    files[11], notes = None, [kept.features[0]._replace(note="chosen in 3 of 4 halves"), kept.features[1]]
    words, given = judged(kept.model.card_, kept.labels[10:]), {"X": sparse.csr_matrix(X), "names": NAMES}
    stable = {"used": [True, False], "halves": [9, 1], "of": 10, "threshold": 0.9, "bound": 0.5}
    fits = kept.fits._replace(stability=pd.DataFrame(stable), warnings=kept.fits.warnings[:0])
    return {
        "kept": kept._replace(**given, words=words, features=notes, fits=fits, with_maps=False),
        "images": pd.DataFrame({"image": names, "split": "test", "text": "said"}),
        "captions": pd.DataFrame({"image": names[11:13], "caption": "cat", "known": [False, True]}),
        "left_out": pd.DataFrame({"item": [], "reason": []}),
        "thumbnail": lambda row: None if row == 11 else f"{row}.webp",
        "original": files.__getitem__,
    }


def of_classes(rng):
    """Values for `made`: samples that have one of two classes each, and names that a table is easily broken by."""
    kept, images = kept_model(rng), [f"={i},\"\n\u202e'=" for i in range(N_IMAGES)]
    has = kept.labels[:, :1]
    labels = np.where(has < 0, -1, np.hstack([has, 1 - has])).astype(np.int8)
    p = np.hstack([kept.probabilities[:, :1], 1 - kept.probabilities[:, :1]])
    return {
        "kept": kept._replace(labels=labels, probabilities=p, exclusive=True),
        "images": pd.DataFrame({"image": images, "split": "test"}),
        "captions": pd.DataFrame({"image": images, "caption": [WORDS[k] for k in labels.argmax(axis=1)]}),
        "labels": "classes",
    }


def of_rows(rng):
    """Values for `made`: rows of a table that have classes and no pictures. A class not learnt has a strange name."""
    values = of_classes(rng)
    fits = FITS._replace(counted=FITS.counted.replace("zebra", "z\u202e"))
    kept = values["kept"]._replace(names=NAMES, with_maps=False, fits=fits)
    return values | {"kept": kept, "thumbnail": None, "original": None, "note": ""}


def tags_to_check(kept, images):
    rows, places = np.nonzero(kept.labels >= 0)
    has, p = kept.labels[rows, places] == 1, kept.probabilities[rows, places]
    tags = {"sample": [images[row] for row in rows], "tag": [WORDS[k] for k in places], "probability": p}
    table = pd.DataFrame(tags | {"kind": np.where(has, "wrong", "missing")})
    return table.iloc[np.argsort(np.where(has, p, 1 - p), kind="stable")]


# Numbers of the final fits with two norms, of which the first is kept.
FITS = Fits(
    pd.DataFrame(
        {"norm": ["l1inf", "l2"], "kept": [True, False], "validation": 0.72, "features": [5, 6], "of": 6}
        | {f"{key}{end}": 0.5 for key in STATISTICS for end in ("", "_low", "_high")}
        | {"auc": [0.75, 0.7], "auc_low": [0.65, 0.6], "auc_high": [0.85, 0.8]}
    ),
    pd.DataFrame(
        {"precision": [0.5, 0.9], "words": [2, 0], "pictures": [12, 0], "of": 30, "said": [18, 0]}
        | {"right": [0.5, np.nan]}
    ),
    counted=pd.DataFrame(
        {"word": [*WORDS, "zebra", HOSTILE + "s", "elk", "cow"], "images": [20, 13, 3, 1, 8, 2]}
        | {"train": [3, 2, 1, 0, 8, 2]}
        | {"left_out": ["", "", Kind.FEW_TRAINING_WITH, "", Kind.ONE_GROUP, Kind.FEW_TEST_WITH]}
    ),
    warnings=pd.DataFrame(
        {"table": ["words"], "warning": ["certified gap: 7%"], "rows": [1], "of": [4], "first": [""]}
    ),
    stability=pd.DataFrame(),
)


def made(rng, kept=None, **values):
    kept = kept or kept_model(rng)
    images = pd.DataFrame({"image": [f"{i} {HOSTILE}.jpg" for i in range(N_IMAGES)], "split": "test"})
    images = values.get("images", images)
    given = {
        "images": images,
        "captions": pd.DataFrame({"image": images["image"], "caption": HOSTILE}),
        "note": HOSTILE,
        "corrected": "mine",
        "learnable": {"smallest_size": 20},
        "left_out": pd.DataFrame({"item": [HOSTILE, "b.jpg", "c.jpg"], "reason": ["broken", HOSTILE, HOSTILE]}),
        "tags": tags_to_check(kept, images["image"]),
        "thumbnail": thumbnails.file_of,
        "original": lambda row: f"../data/{quote(images['image'][row])}",
    }
    return page(Origin("mine", **given | values), kept)


STUDY = StudyResults(
    "a",
    {"mine/annotation/figures/auc.png": HOSTILE},
    {"chosen": "mine/annotation/tables/chosen.csv"},
    HOSTILE,
    pd.DataFrame(
        {"method": ["hinge-l1inf", "svm-l2"] * 2, "n": [80, 80, 10, 10], "auc_weighted": 0.8}
        | {"features": [0.12, 1.0] * 2}
    ),
    pd.DataFrame({"table": ["chosen"], "warning": [HOSTILE], "rows": 1, "of": 4, "first": ""}),
)


def list_of_datasets(findings):
    shared = {"note": HOSTILE, "demonstration": True, "studies": [STUDY]}
    other = {"dataset": "other", "model": None, "studies": [STUDY._replace(means=None, warned=None)]}
    return index([shared | {"dataset": "mine", "model": findings}, shared | other], "claims/mine/index.html")


def written_page(folder, **values):
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


def claim_row(**values):
    return {
        "id": "a-claim",
        "paper": "A paper",
        "place": "sec. 1",
        "claim": "It is so.",
        "n": 40,
        "number": 0.125,
        "low": 0.1,
        "high": 0.15,
        "number_means": "a number (fraction)",
        "least": 0.05,
        "most": np.inf,
        "verdict": "holds",
        "table": "chosen",
        "rows": "n=40",
        "timed": False,
        "dataset": "one",
        "study": "a",
        "source": "chosen.csv",
        "seed": 20_090_614,
        "config": "a.yaml",
        "note": None,
    } | values


NONE = {"verdict": "not tested", "number": np.nan, "low": np.nan, "high": np.nan}
MEANS, ROWS = "over {0}; mean", "metric=auc, n={1}, against={0}"
SHOWN = [
    claim_row(
        id="b", claim="Another.", verdict="demonstration", number=2.0, low=1.0, high=3.0, most=0.5, least=-np.inf
    ),
    claim_row(number_means=MEANS.format("hinge-l1") + "; plain", rows=ROWS.format("hinge-l1", 40), note="made\nup"),
    claim_row(n=80, number_means=MEANS.format("svm-l2"), rows=ROWS.format("svm-l2", 80), note="made\nup", low=-0.05),
    claim_row(**NONE, n=None, rows=None, number_means="there is no row", note="made\nup"),
    claim_row(
        dataset="two", verdict="does not hold", number_means=MEANS.format("svm-l2"), rows="metric=auc", timed=True
    ),
    claim_row(
        id="c",
        paper="B",
        dataset="two",
        claim="a|b\nc <script>x</script> & `d` \\| [e](f) *g* _h_",
        low=np.nan,
        high=np.nan,
        n=8.0,
        note=" ",
    ),
]
RATIO = {"id": "d", "number": 10.0, "low": 1.0, "high": 100.0, "least": 10.0}  # on a logarithmic scale
MORE = [
    claim_row(id="d", number=0.5, low=0.0, high=1.0, least=0.5, verdict="undecided"),
    claim_row(id="d", number=0.25, low=np.nan, high=np.nan, least=0.5, verdict="does not hold"),
    *[claim_row(**NONE, id="d", least=-np.inf)] * 3,
    *[claim_row(**RATIO, most=20.0, verdict="level")] * 2,
    claim_row(**RATIO | {"low": -1.0}, dataset="two"),
    claim_row(id="d", dataset="two", least=np.nextafter(0.0, 1.0), verdict="does not hold"),
    *[claim_row(**NONE, id="d", dataset="three")] * 2,
]


# What the pages say

PAGES = {"photographs": photographs, "documents": documents, "rows of classes": of_rows}
GOLDEN = Path(__file__).with_name("pages.json")


def data_of(text):
    return json.loads(re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[0])


def body_of(text):
    lines = re.sub(r"(?s)^.*<body>|<(script|style).*?</\1>", "", text).splitlines()
    return [line.strip() for line in lines if line.strip()]


def unpacked(text, dtype=np.uint8):
    return np.frombuffer(base64.b64decode(text), dtype).tolist()


def content_of(shown):
    """All that a page shows, with its packed numbers as lists."""
    data = data_of(shown.html)
    packed = [(data["having"], "rows", np.uint16), (data["having"], "probabilities", np.uint8)]
    packed += [(data, "probabilities", np.uint8), (data["weights"], "weights", np.int8)]
    for block, name, dtype in packed + [(data["reasons"], "weights", np.int8)] * bool(data["reasons"]):
        block[name] = unpacked(block[name], dtype)
    maps = {row: sorted(places) for row, places in shown.maps.items()}
    return shown._asdict() | {"html": body_of(shown.html), "maps": maps, "data": data}


def all_content():
    """The content of all pages. Of pages after the first, only the lines that the first does not have."""
    pages = {name: made(rng := np.random.default_rng(0), **values(rng)) for name, values in PAGES.items()}
    content = {name: content_of(shown) for name, shown in pages.items()}
    first, *others = content.values()
    for one in others:
        one["html"] = [line for line in one["html"] if line not in first["html"]]
    claims = body_of(document(pd.DataFrame(SHOWN + MORE)))
    return content | {"list of datasets": body_of(list_of_datasets(pages["photographs"].findings)), "claims": claims}


if __name__ == "__main__":
    content = json.dumps(all_content(), indent=1, ensure_ascii=False)
    GOLDEN.write_text(re.sub(r'\[[^][{}"]*\]', lambda numbers: " ".join(numbers[0].split()), content) + "\n", "utf-8")
