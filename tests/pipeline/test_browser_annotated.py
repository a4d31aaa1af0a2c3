"""The page of annotated photographs in a real browser: filter, order, thresholds, new tags, chunks and maps."""

import shutil

import numpy as np
import pytest
from model_files import model_of
from pages import CONTRAST, HOSTILE
from PIL import Image
from scipy import special

from jointsparse.pipeline.datasets.sidecars import confirm
from jointsparse.pipeline.models.annotator import Annotations
from jointsparse.pipeline.page.annotated import write

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here")

N = 250
CAT, OTHER = "cat", HOSTILE
# The probabilities of "cat" rise from .3 to .9, and those of the other tag fall from .8 to 0.
PROBABILITIES = np.stack([np.linspace(0.3, 0.9, N), np.linspace(0.8, 0, N)], axis=1).clip(1e-6).round(3)
THRESHOLDS = np.array([0.6, 0.4])
# The last 10 photographs have the tag "cat" already.
NEW = np.arange(N) < N - 10
NAMES = [f"{N - i} <img src=x onerror=document.title='caught'>.png" for i in range(N)]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    place = tmp_path_factory.mktemp("annotated")
    pictures = place / "in"
    pictures.mkdir()
    rng = np.random.default_rng(0)
    for name in NAMES:
        Image.fromarray(rng.integers(0, 256, (16, 16), dtype=np.uint8)).save(pictures / name)
    confirm({pictures / NAMES[i]: ["Cat"] for i in np.flatnonzero(~NEW)}, [pictures])
    model = model_of("pictures")
    model[-1].calibration_ = np.array([[1.0, 0.0]] * 2)
    thresholds = special.logit(THRESHOLDS).tolist()
    model.card_ = model.card_.model_copy(update={"words": [CAT, OTHER], "thresholds": thresholds})
    alike = {str(pictures / name): [HOSTILE] for name in NAMES}
    scores = special.logit(PROBABILITIES)
    assert write(place / "page", model, Annotations(None, scores, alike, {HOSTILE: HOSTILE})) == {}
    return place / "page" / "index.html"


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=[1280, 420])
def page(browser, file, request):
    """The page, opened from disk. At the end nothing has gone wrong."""
    page = browser.new_page(viewport={"width": request.param, "height": 900})
    errors, requested = [], []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requested.append(request.url))
    page.goto(file.as_uri())
    yield page
    assert page.title() == "jointsparse: annotated photographs"
    assert errors == []
    assert [url for url in requested if not url.startswith(file.parent.as_uri())] == []
    page.close()


def select(page, tag):
    page.locator("#tags button", has_text=tag).click()


def shown(page):
    """The numbers of the photographs in the page."""
    names = page.locator("#shown > figure > figcaption > bdi").all_inner_texts()
    return [N - int(name.rpartition("/")[2].partition(" ")[0]) for name in names]


def count(page):
    return int(page.locator("#found").inner_text().partition(" ")[0])


def test_photographs_are_in_the_page_in_chunks(page):
    assert (shown(page), count(page)) == ([*range(200)], N)
    page.locator(".chunk button", has_text="next").last.click()
    assert (shown(page), page.locator(".place").first.inner_text()) == ([*range(200, N)], f"201 to {N}")
    assert page.locator("#found").bounding_box()["y"] >= 0
    assert not page.locator(".chunk button", has_text="next").first.is_visible()
    page.locator(".chunk button", has_text="previous").first.click()
    assert shown(page) == [*range(200)]


def test_by_default_a_tag_is_shown_if_it_reaches_its_own_threshold(page):
    for tag, above in zip((CAT, OTHER), (PROBABILITIES >= THRESHOLDS).T, strict=True):
        assert page.locator("#tags button", has_text=tag).inner_text() == f"{tag} {above.sum()}"
        select(page, tag)
        assert (shown(page), count(page)) == (np.flatnonzero(above).tolist(), above.sum())
        select(page, tag)
    assert count(page) == N


def test_the_slider_shows_the_tags_whose_probability_reaches_it(page):
    page.locator("#least").fill("0.7")
    assert not page.is_checked("#own") and page.locator("#probability").inner_text() == "0.70"
    above = PROBABILITIES >= 0.7
    assert page.locator("#tags button").all_inner_texts() == [
        f"{CAT} {above[:, 0].sum()}",
        f"{OTHER} {above[:, 1].sum()}",
    ]
    select(page, CAT)
    assert shown(page) == np.flatnonzero(above[:, 0]).tolist()
    page.locator("#least").fill("1")
    assert (shown(page), page.locator("#tags button").all_inner_texts()) == ([], [f"{CAT} 0"])
    page.check("#own")
    assert count(page) == (PROBABILITIES[:, 0] >= THRESHOLDS[0]).sum()


def test_new_tags_only_hides_the_tags_that_a_photograph_has(page):
    select(page, CAT)
    page.select_option("#order", "probability")
    assert page.locator("#shown .chips").first.inner_text().startswith("✓ cat")
    page.check("#new")
    assert shown(page) == np.flatnonzero(NEW & (PROBABILITIES[:, 0] >= THRESHOLDS[0]))[::-1].tolist()
    select(page, CAT)
    assert count(page) == (NEW[:, np.newaxis] & (PROBABILITIES >= THRESHOLDS)).any(axis=1).sum()


def test_photographs_are_ordered_as_asked(page):
    page.select_option("#order", "name")
    assert shown(page) == [*range(N)][::-1][:200]
    page.select_option("#order", "probability")
    highest = np.where(PROBABILITIES >= THRESHOLDS, PROBABILITIES, 0).max(axis=1)
    assert shown(page) == np.argsort(-highest, kind="stable")[:200].tolist()
    select(page, CAT)
    assert shown(page) == np.flatnonzero(PROBABILITIES[:, 0] >= THRESHOLDS[0])[::-1].tolist()


def test_tags_are_found_by_a_part(page):
    for part, found in (("CA", [CAT, OTHER]), ("cat", [CAT]), ("zebra", [])):
        page.fill("#seek", part)
        assert [text.rpartition(" ")[0] for text in page.locator("#tags button").all_inner_texts()] == found
    assert page.locator("#tags").inner_text() == "no tag"


def test_a_click_on_a_tag_shows_its_map(page):
    page.locator("#least").fill("0.1")
    card = page.locator("#shown > figure").first
    sights, maps = card.locator("a img"), set()
    assert [image.is_visible() for image in sights.all()] == [True, False]
    for button in card.locator(".chips button").all():
        button.click()
        assert [image.is_visible() for image in sights.all()] == [True, True]
        assert sights.last.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
        maps.add(sights.last.get_attribute("alt"))
    assert maps == {f"map of “{CAT}”", f"map of “{OTHER}”"}
    button.click()
    assert [image.is_visible() for image in sights.all()] == [True, False]
    page.check("#maps")
    assert page.locator("#shown a img").nth(3).is_visible()


def test_controls_are_reached_by_keyboard_and_a_tag_keeps_the_focus(page):
    page.locator("#order").focus()
    reached = set()
    for _ in range(8):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
    assert {"own", "least", "new", "seek", "maps", "next"} <= reached
    button = page.locator("#tags button", has_text=CAT)
    button.press("Enter")
    assert button.evaluate("button => button === document.activeElement && button.ariaPressed") == "true"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_fingers_hit_their_targets_and_nothing_is_wider_than_the_page(page, scheme):
    page.emulate_media(color_scheme=scheme)
    select(page, CAT)
    page.locator("#shown summary").first.click()
    assert page.evaluate(CONTRAST) == []
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    heights = "ones => ones.map((one) => one.offsetHeight).filter((height) => height)"
    targets = page.locator("summary, select, button, [type=search], .controls label")
    assert min(targets.evaluate_all(heights)) >= (44 if width < 760 else 24)


def test_a_link_leads_to_the_photograph(page, file):
    address = page.locator("#shown a").first.evaluate("link => link.href")
    assert address.startswith((file.parents[1] / "in").as_uri())
