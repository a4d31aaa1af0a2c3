"""The page of a run in a real browser: every control, without a request, an error or a caption that runs."""

import shutil

import pytest
from pages import HOSTILE, WORDS, written_page

from jointsparse.pipeline.explorer.frame import index

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here")


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
    shown |= {"verdicts": {"holds": 2, "level": 0}, "pictures": [(HOSTILE, "thumbnails/000000.webp")]}
    shown |= {"point": HOSTILE, "demonstration": ""}
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


@pytest.fixture
def study(page):
    """The page, of which the study of three words is shown."""
    page.select_option("#study", "annotation")
    page.get_by_label("l1,∞").check()
    return page


def words(page):
    return page.locator("#list button").all_inner_texts()


def heading(page):
    return page.locator("#word h3").first.inner_text()


def test_words_are_ordered_as_asked(study):
    shown = {study.select_option("#order", order)[0]: words(study) for order in ("auc", "lowest", "name", "first")}
    assert shown["lowest"] == shown["auc"][::-1]
    assert shown["name"] == sorted(WORDS) and set(shown["first"]) == set(WORDS)


def test_words_are_found_by_a_part(study):
    for part, found in (("GR", ["grass"]), ("zebra", [])):
        study.fill("#seek", part)
        assert words(study) == found
    assert "no word contains this" in study.locator("#list").inner_text()


def test_a_word_shows_its_pictures_and_charts(study):
    study.locator("#list button", has_text="night").click()
    assert heading(study) == "“night” by l1,∞"
    assert study.locator("#list button[aria-pressed=true]").all_inner_texts() == ["night"]
    assert study.locator("#word svg").count() == 2
    pictures = study.locator("#word img")
    assert pictures.count() == 8 + 6 + 6
    loaded = "images => Promise.all(images.map((image) => { image.loading = 'eager'; return image.decode(); }))"
    pictures.evaluate_all(loaded)  # raises if one does not
    assert HOSTILE[:50] in study.locator("#word figcaption").first.inner_text()
    study.get_by_label("linear SVM").check()
    assert heading(study) == "“night” by linear SVM"


def test_a_word_has_an_address(page, file):
    page.locator(".wall a").first.click()
    page.locator("#list button", has_text="grass").click()
    assert page.url == f"{file.as_uri()}#word=grass"
    page.go_back()
    assert heading(page) == f"“{HOSTILE}” by l1,∞" and page.locator("#word h3").first.bounding_box()["y"] >= 0
    for address in ("#word=night", "#word=%"):  # of night only the second study knows
        page.goto(f"{file.as_uri()}{address}")
        assert (heading(page), page.input_value("#study")) == ("“night” by l1,∞", "annotation")
    page.fill("#seek", "nobody")
    page.select_option("#study", index=0)  # which does not know night
    assert heading(page).endswith("by l1,∞") and "night" not in heading(page)
    page.goto(f"{file.as_uri()}#word=nobody")
    assert page.locator("#list").inner_text() == "no word contains this"


def test_keys_go_to_the_next_and_the_last_word(study):
    first, second, third = words(study)
    study.locator("#list button", has_text=first).click()
    for key, expected in (("k", first), ("j", second), ("j", third), ("j", third), ("k", second)):
        study.keyboard.press(key)
        assert heading(study) == f"“{expected}” by l1,∞"
    study.locator("#seek").press("j")
    assert (heading(study), study.input_value("#seek")) == (f"“{second}” by l1,∞", "j")


def test_a_picture_is_enlarged_with_all_that_the_method_says_of_it(study):
    opened, viewer = study.locator("#word .open").first, study.locator("#viewer")
    opened.press("Enter")
    assert HOSTILE in viewer.locator("#viewed").inner_text() and viewer.locator("img").count() == 1
    assert {text.strip("✓ ") for text in viewer.locator(".said div > :first-child").all_inner_texts()} == {*WORDS}
    shown, rank = (
        study.locator(one).first.inner_text() for one in ("#list [aria-pressed=true]", "#word figcaption strong")
    )
    assert viewer.locator(".said .true", has_text=shown).inner_text().endswith(rank)
    to = {name: viewer.get_by_role("button", name=name).click for name in ("previous", "next", "close")}
    press = {key: lambda key=key: study.keyboard.press(key) for key in ("ArrowRight", "ArrowLeft")}
    for go, place in ((press["ArrowRight"], 2), (to["previous"], 1), (press["ArrowLeft"], 8), (to["next"], 1)):
        go()
        assert viewer.locator("#place").inner_text() == f"{place} of 8"
    for leave in (lambda: study.keyboard.press("Escape"), to["close"], lambda: study.mouse.click(5, 5), study.go_back):
        leave()
        assert not viewer.is_visible() and opened.evaluate("button => button === document.activeElement")
        opened.click()


def test_maps_of_the_kept_model_are_shown_when_they_are_switched_on(page):
    first, enlarged = page.locator("#word .open").first, page.locator("#viewer img")
    assert [image.is_visible() for image in first.locator("img").all()] == [True, False]
    page.check("#maps")
    assert len({image.bounding_box()["width"] for image in first.locator("img").all()}) == 1
    first.click()
    buttons = page.locator("#viewer .said button").all()
    shown = {button.click() or enlarged.nth(2).get_attribute("src") for button in buttons}
    assert len(shown) == len(buttons) > 0
    viewer = page.locator("#viewer")
    assert viewer.locator(".gallery figure").count() == 3  # known images, scored alike
    assert viewer.get_by_role("link").get_attribute("href").startswith("../../data/images/")
    page.keyboard.press("Escape")
    page.locator("#map button").first.click()
    assert [image.is_visible() for image in page.locator("#feature img[alt^='map of']").all()] == [True] * 4
    assert not page.locator("#radius").is_visible()  # a kept model has one


def test_the_map_of_the_first_photograph_is_wiped_over_it_by_hand(page):
    for part, clip in (
        ("0", "inset(0px 100% 0px 0px)"),
        ("25", "inset(0px 75% 0px 0px)"),
        ("100", "inset(0px 0% 0px 0px)"),
    ):
        page.locator("#wipe").fill(part)
        assert page.locator(".wipe span").evaluate("span => getComputedStyle(span).clipPath") == clip


def test_the_command_for_new_photographs_names_the_model_beside_the_page(page, file):
    page.get_by_text("Annotate new photographs").click()
    page.locator("#copy").click()
    assert page.locator("#command").inner_text() == f"jointsparse annotate {file.parent}/model.jointsparse FOLDER"
    page.wait_for_function("document.getElementById('copy').innerText !== 'Copy'")  # the clipboard answers later
    assert page.locator("#copy").inner_text() in ("Copied", "Selected: press Ctrl+C")


def test_tags_to_check_are_listed_by_word_with_the_images_that_lack_it_or_have_it(page):
    assert page.locator("#tags summary").count() == page.locator(".wall li").count() == 1  # of two words one is known
    titles = page.locator("#tags h3").all_inner_texts()
    assert [title.rpartition("”")[2] for title in titles] == [
        " may be missing on these images",
        " may be wrong on these images",
    ]
    page.locator("#tags .open").first.click()
    assert page.locator("#viewer").is_visible()
    page.keyboard.press("Escape")


def test_the_search_is_one_click_away(page):
    page.locator("#find").click()
    assert page.evaluate("document.activeElement.id") == "seek"


def test_the_curve_says_what_each_method_reaches_with_how_many_features(study):
    texts = study.locator("#curve .legend span").all_inner_texts()
    assert [text.partition(":")[0] for text in texts] == [
        "l1,∞ with 33 % of the features",
        "linear SVM with 33 % of the features",
    ]
    assert study.locator("#curve circle").count() == 2


def test_the_page_prints_without_controls_and_with_whole_tables(browser, file):
    page = browser.new_page()
    page.emulate_media(media="print")
    page.goto(file.as_uri())
    assert not page.locator("nav").is_visible() and not page.locator("#seek").is_visible()
    assert page.locator(".list").evaluate("box => box.scrollHeight <= box.clientHeight")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.claim table").is_visible()
    page.close()


def test_the_slider_shows_features_come_and_go(study):
    slider = study.locator("#radius")
    coloured = "[...document.querySelectorAll('#map td')].filter((cell) => cell.style.background).length"
    assert study.locator("#radius-text").inner_text().startswith("2 (chosen by validation): 2 of 6 features in use")
    assert study.evaluate(coloured) == 6
    slider.focus()
    study.keyboard.press("ArrowLeft")
    assert study.locator("#radius-text").inner_text().startswith("1: 1 of 6 features in use")
    assert study.evaluate(coloured) == 3
    study.keyboard.press("End")
    assert "the map shows 2" in study.locator("#radius-text").inner_text()


def test_a_feature_shows_for_which_words_it_speaks(study):
    assert study.locator("#map img").count() == 3 + 2
    study.locator("#map button").first.click()
    assert "most for " in study.locator("#feature h3").first.inner_text()
    assert study.locator("#feature img").count() == 12


def test_claims_open_on_demand(page):
    details = page.locator("details.claim")
    assert not details.locator("table").is_visible()
    page.get_by_text("Of 1 number that the papers' claims are about, 1 is undecided.").click()
    details.locator("summary").click()
    assert details.locator("table").is_visible()
    assert HOSTILE in details.inner_text()


def test_a_count_opens_its_numbers_a_filter_hides_other_claims_and_paper_shows_all(page):
    page.locator("#claims summary").first.click()
    assert not page.locator("details.claim table").is_visible()
    page.locator(".claims .chip").click()
    assert page.locator("details.claim table").is_visible()
    page.locator("details.claim summary").click()
    page.locator(".claims .line").evaluate("line => line.className = 'line has-holds'")
    page.locator(".claims .pick-undecided").check()
    assert not page.locator(".claims .line").is_visible()
    page.emulate_media(media="print")
    assert page.locator("details.claim table").is_visible()


def test_everything_is_reached_by_keyboard(study):
    reached = set()
    for _ in range(90):
        study.keyboard.press("Tab")
        reached.add(study.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"find", "study", "order", "seek", "maps", "radius", "BUTTON", "INPUT", "SUMMARY", "A"} <= reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_what_is_behind_it(browser, file, scheme):
    """Contrast of WCAG AA: 4.5."""
    page = browser.new_page(color_scheme=scheme)
    page.goto(file.as_uri())
    page.locator("#word .open").first.click()
    assert page.evaluate(CONTRAST) == []
    page.close()


@pytest.mark.parametrize("width", [390, 1400])
def test_the_first_screen_has_a_photograph_and_is_no_wider_than_itself(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    assert page.locator(".wipe img").first.bounding_box()["y"] < 400
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#word .open").first.click()
    assert page.locator("#viewer").bounding_box()["width"] <= width


def test_a_mouse_hits_what_it_points_at(page):
    """WCAG 2.2, target size: 24 pixels."""
    targets = page.locator(
        "nav a, summary, select, button, input:not([type=radio], [type=checkbox], [type=range]), .door"
    )
    assert (
        targets.evaluate_all("ones => ones.map((one) => one.offsetHeight).filter((height) => height && height < 24)")
        == []
    )


def test_fingers_hit_what_they_point_at(page):
    page.set_viewport_size({"width": 390, "height": 800})
    targets = "nav a, summary, select, .list button, .controls label, .open, #map button, .door"
    heights = "ones => ones.map((one) => one.offsetHeight).filter((height) => height && height < 44)"
    assert page.locator(targets).evaluate_all(heights) == []


def test_the_list_of_pages_leads_there_and_back(page):
    page.get_by_text("All datasets").click()
    assert page.locator("main").inner_text().count(HOSTILE) == 6
    assert page.locator(".card .marks li").count() == 1  # of one verdict
    page.get_by_role("link", name="mine").click()
    assert page.locator("h1").inner_text() == "mine"
