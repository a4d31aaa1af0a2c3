"""The page of a run in a real browser: every control, without a request, an error or a caption that runs."""

import shutil

import pytest
from pages import HOSTILE, WORDS, written_page

from jointsparse.explorer.frame import index

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here")


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    (folder / "mine").mkdir()
    shown = {"dataset": "mine", "sentence": HOSTILE, "note": HOSTILE, "warnings": 1, "numbers": {HOSTILE: HOSTILE}}
    shown |= {"verdicts": {"holds": 2}, "pictures": [(HOSTILE, "thumbnails/000000.webp")]}
    (folder / "index.html").write_text(index([shown]), encoding="utf-8")
    return written_page(folder / "mine")


@pytest.fixture
def page(browser, file):
    """The page, opened from disk. At the end nothing has gone wrong."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    told, requested = [], []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: requested.append(request.url))
    page.goto(file.as_uri())
    yield page
    assert page.title() != "caught"
    assert told == []
    assert [url for url in requested if not url.startswith(file.parents[1].as_uri())] == []
    page.close()


def words(page):
    return page.locator("#list button").all_inner_texts()


def test_words_are_ordered_as_asked(page):
    by_auc = words(page)
    assert sorted(by_auc) == sorted(WORDS)
    assert page.locator("#list button[aria-pressed=true]").all_inner_texts() == by_auc[:1]
    page.select_option("#order", "lowest")
    assert words(page) == by_auc[::-1]
    page.select_option("#order", "name")
    assert words(page)[1:] == ["grass", "night"]
    page.select_option("#order", "positives")
    assert sorted(words(page)) == sorted(WORDS)


def test_a_word_shows_its_pictures_and_charts(page):
    page.locator("#list button", has_text="night").click()
    assert page.locator("#word h3").first.inner_text() == "“night” by l1,∞"
    assert page.locator("#list button[aria-pressed=true]").all_inner_texts() == ["night"]
    assert page.locator("#word svg").count() == 2
    pictures = page.locator("#word img")
    assert pictures.count() == 8 + 6 + 6
    loaded = "images => Promise.all(images.map((image) => { image.loading = 'eager'; return image.decode(); }))"
    pictures.evaluate_all(loaded)  # raises if one does not
    assert HOSTILE[:80] in page.locator("#word figcaption").first.inner_text()


def test_maps_of_the_kept_model_are_shown_until_they_are_switched_off(page):
    first = page.locator("#kept details[open] figure").first.locator("img")
    assert first.nth(0).bounding_box()["width"] == first.nth(1).bounding_box()["width"]
    of_features = page.locator("#kept img[alt^='where feature']")
    assert of_features.count() == 2 * 4 and of_features.first.is_visible()
    page.uncheck("#maps")
    assert (first.nth(0).is_visible(), first.nth(1).is_visible()) == (True, False)
    assert not of_features.first.is_visible()


def test_methods_switch(page):
    page.get_by_label("linear SVM").check()
    assert page.locator("#word h3").first.inner_text().endswith(" by linear SVM")


def test_the_slider_shows_features_come_and_go(page):
    slider = page.locator("#radius")
    coloured = "[...document.querySelectorAll('#map td')].filter((cell) => cell.style.background).length"
    assert page.locator("#radius-text").inner_text().startswith("2, chosen by validation: 2 of 6 features in use")
    assert page.evaluate(coloured) == 6
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#radius-text").inner_text().startswith("1: 1 of 6 features in use")
    assert page.evaluate(coloured) == 3
    page.keyboard.press("End")
    assert "the map shows 2" in page.locator("#radius-text").inner_text()


def test_a_feature_shows_who_shares_it(page):
    page.locator("#map button").first.click()
    assert page.locator("#feature h3").first.inner_text().endswith("3 of 3 words use it")
    assert page.locator("#feature img").count() == 12


def test_claims_open_on_demand(page):
    details = page.locator("details.claim")
    assert not details.locator("table").is_visible()
    page.get_by_text("Do the papers' findings hold here? 1 undecided.").click()
    details.locator("summary").click()
    assert details.locator("table").is_visible()
    assert HOSTILE in details.inner_text()


def test_everything_is_reached_by_keyboard(page):
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        if page.evaluate("document.activeElement.closest('#list') !== null"):
            page.keyboard.press("Enter")
    assert {"study", "order", "radius", "BUTTON", "INPUT", "SUMMARY", "A"} <= reached


def test_a_small_screen_is_no_wider_than_itself(page):
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_list_of_pages_leads_there_and_back(page):
    page.get_by_text("all datasets").click()
    assert page.locator("main").inner_text().count(HOSTILE) == 5
    assert page.locator(".card .marks li").count() == 2
    page.get_by_role("link", name="mine").click()
    assert page.locator("h1").inner_text() == "mine"
