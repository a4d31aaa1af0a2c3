"""The page of annotated photographs in a real browser: filter, order, thresholds, new tags, chunks and maps."""

import numpy as np
import pytest
from model_files import model_of
from pages import CONTRAST, HEIGHTS, HOSTILE, opened
from PIL import Image
from scipy import special

from jointsparse.pipeline.datasets.sidecars import confirm
from jointsparse.pipeline.models.annotator import Annotations
from jointsparse.pipeline.page.annotated import write

N = 210
CAT, OTHER = "cat", HOSTILE
# The probabilities of "cat" rise from .3 to .9, and those of the other tag fall from .8 to 0.
PROBABILITIES = np.stack([np.linspace(0.3, 0.9, N), np.linspace(0.8, 0, N)], axis=1).clip(1e-6).round(3)
THRESHOLDS = np.array([0.65, 0.4])
ABOVE = PROBABILITIES >= THRESHOLDS
# The last 10 photographs have the tag "cat" already.
NEW = np.arange(N) < N - 10
NAMES = [f"{N - i} <img src=x onerror=document.title='caught'>.png" for i in range(N)]
WITH_CAT, WITH_NEW = np.flatnonzero(ABOVE[:, 0]), (ABOVE & np.column_stack([NEW, np.ones(N, bool)])).any(axis=1)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    place = tmp_path_factory.mktemp("annotated")
    (place / "in").mkdir()
    rng, alike = np.random.default_rng(0), {str(place / "in" / name): [HOSTILE] for name in NAMES}
    for name in alike:
        Image.fromarray(rng.integers(0, 256, (16, 16), dtype=np.uint8)).save(name)
    confirm({place / "in" / NAMES[i]: ["Cat"] for i in np.flatnonzero(~NEW)}, [place / "in"])
    model = model_of("pictures")
    model[-1].calibration_ = np.array([[1.0, 0.0]] * 2)
    thresholds = special.logit(THRESHOLDS).tolist()
    model.card_ = model.card_.model_copy(update={"words": [CAT, OTHER], "thresholds": thresholds})
    assert (
        write(place / "page", model, Annotations(None, special.logit(PROBABILITIES), alike, {HOSTILE: HOSTILE})) == {}
    )
    return place / "page" / "index.html"


@pytest.fixture(scope="module")
def window(browser, file):
    with opened(browser, file) as page:
        yield page


@pytest.fixture
def page(window, file):
    window.goto(file.as_uri())
    return window


def shown(page):
    names = page.locator("#shown > figure > figcaption > bdi").all_inner_texts()
    return [N - int(name.rpartition("/")[2].partition(" ")[0]) for name in names]


def tags(page):
    return page.locator("#tags button").all_inner_texts()


SHOW_CAT, SHOW_OTHER = ("click", "#tags button:has-text('cat')"), ("click", "#tags button:has-text('onerror')")
BY_PROBABILITY, ONLY_NEW = ("select_option", "#order", "probability"), ("check", "#new")
CONTROLS = {
    "all photographs are shown at first": ([], range(N)),
    "a tag has the photographs above its threshold": ([SHOW_CAT], WITH_CAT),
    "another tag has others": ([SHOW_OTHER], np.flatnonzero(ABOVE[:, 1])),
    "the slider replaces the thresholds": (
        [("fill", "#least", "0.7"), SHOW_CAT],
        np.flatnonzero(PROBABILITIES[:, 0] >= 0.7),
    ),
    "no photograph is above a slider at its end": ([SHOW_CAT, ("fill", "#least", "1")], []),
    "own thresholds replace the slider": ([SHOW_CAT, ("fill", "#least", "1"), ("check", "#own")], WITH_CAT),
    "only photographs with a new tag": ([ONLY_NEW], np.flatnonzero(WITH_NEW)),
    "in the order of names": ([("select_option", "#order", "name")], range(N)[::-1]),
    "in the order of the largest probability above a threshold": (
        [BY_PROBABILITY],
        np.argsort(-np.where(ABOVE, PROBABILITIES, 0).max(axis=1), kind="stable"),
    ),
    "new photographs of a tag in the order of its probability": (
        [BY_PROBABILITY, SHOW_CAT, ONLY_NEW],
        WITH_CAT[NEW[WITH_CAT]][::-1],
    ),
}


@pytest.mark.parametrize(("steps", "expected"), CONTROLS.values(), ids=CONTROLS)
def test_controls_decide_which_photographs_are_shown_in_which_order(page, steps, expected):
    for method, *arguments in steps:
        getattr(page, method)(*arguments)
    n_found = page.locator("#found").inner_text().partition(" ")[0]
    assert (shown(page), n_found) == ([*expected][:200], str(len(expected)))


def test_photographs_are_in_the_page_in_chunks(page):
    page.locator(".chunk button", has_text="next").last.click()
    assert (shown(page), page.locator(".place").first.inner_text()) == ([*range(200, N)], f"201 to {N}")
    assert page.locator("#found").bounding_box()["y"] >= 0
    assert not page.locator(".chunk button", has_text="next").first.is_visible()
    page.locator(".chunk button", has_text="previous").first.click()
    assert shown(page) == [*range(200)]
    page.locator(".chunk button", has_text="next").first.click()
    getattr(page, SHOW_CAT[0])(*SHOW_CAT[1:])  # another choice begins at its first chunk
    assert shown(page) == [*WITH_CAT]


def test_tags_are_counted_above_what_the_slider_says_and_found_by_a_part(page):
    assert tags(page) == [f"{OTHER} {ABOVE[:, 1].sum()}", f"{CAT} {ABOVE[:, 0].sum()}"]
    page.locator("#least").fill("0.7")
    counts = (PROBABILITIES >= 0.7).sum(axis=0)
    assert tags(page) == [f"{CAT} {counts[0]}", f"{OTHER} {counts[1]}"]
    assert not page.is_checked("#own") and page.locator("#probability").inner_text() == "0.70"
    for part, found in (("CA", [CAT, OTHER]), ("cat", [CAT]), ("zebra", [])):  # OTHER has "caught"
        page.fill("#seek", part)
        assert [text.rpartition(" ")[0] for text in tags(page)] == found


def test_a_click_on_a_tag_of_a_photograph_shows_its_map(page):
    page.locator("#least").fill("0.1")
    card = page.locator("#shown > figure").first
    button, sight = card.locator(".chips button").last, card.locator("a img").last
    button.click()
    width = sight.evaluate("image => image.decode().then(() => image.naturalWidth)")
    # Of 16 pixels, the map has a cell for each step of 4.
    assert (sight.get_attribute("alt"), sight.is_visible(), width) == (f"map of “{CAT}”", True, 4)
    button.click()
    assert not sight.is_visible()


@pytest.mark.parametrize(("width", "least", "scheme"), [(420, 44, "dark"), (1280, 24, "light")])
def test_every_text_stands_out_targets_are_large_and_nothing_is_wider_than_the_page(
    browser, file, width, least, scheme
):
    with opened(browser, file, viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        page.locator("#tags button", has_text=CAT).click()
        page.locator("#shown summary").first.click()
        assert page.evaluate(CONTRAST) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        targets = page.locator("summary, select, button, [type=search], .controls label")
        assert min(targets.evaluate_all(HEIGHTS)) >= least
