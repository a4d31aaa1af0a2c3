"""The page of a run in a real browser: every control, without a request, an error or a caption that runs."""

import csv
import shutil

import numpy as np
import pandas as pd
import pytest
from pages import CONTRAST, HOSTILE, WORDS, listed, of_classes, written_page

from jointsparse.metrics import STATISTICS
from jointsparse.pipeline.datasets import corrections
from jointsparse.pipeline.page.index import index
from jointsparse.pipeline.papers.page import document

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
    page, findings = written_page(folder / "mine")
    (folder / "index.html").write_text(index([listed(model=findings)], "claims/mine/index.html"), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def claims(tmp_path_factory):
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
    file = tmp_path_factory.mktemp("claims") / "index.html"
    file.write_text(document(pd.DataFrame([row | {"config": "b", "note": HOSTILE}])), encoding="utf-8")
    return file


@pytest.fixture(params=[{}], ids=[""])
def page(browser, file, request):
    """The page, opened from disk, without decisions. At the end nothing has gone wrong. params: see `new_page`."""
    page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}} | request.param)
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


def heading(page):
    return page.locator("#word h3").first.inner_text()


def test_words_are_ordered_as_asked(page):
    assert words(page) == WORDS[::-1]  # the recognised word first
    orders = [*STATISTICS, "name", "positives"]
    shown = {page.select_option("#order", order)[0]: words(page) for order in orders}
    assert (shown["auc"], shown["positives"]) == (WORDS[::-1], WORDS)
    assert shown["name"] == sorted(WORDS) and all(set(order) == set(WORDS) for order in shown.values())


@pytest.mark.parametrize(
    ("part", "found", "said"),
    [
        ("GR", ["grass"], "grass"),
        ("zeb", [], "zebra was not learnt: 3 photographs have it; at least 20 training photographs are needed."),
        (
            "> & </script>s",
            [],
            "was not learnt: 1 photograph has it; only the 2 most frequent are learnt; to learn more,",
        ),
        ("gnu", [], "no tag contains this"),
    ],
)
def test_the_search_finds_tags_and_says_why_others_were_not_learnt(page, part, found, said):
    page.fill("#seek", part)
    assert words(page) == found and said in page.locator("#list").inner_text()


def test_a_tag_shows_all_its_photographs_in_the_order_of_its_probability(page):
    page.locator("#list button", has_text="grass").click()
    assert heading(page) == "“grass”" and page.get_by_text("All 18 photographs with the tag").is_visible()
    assert page.locator("#list button[aria-pressed=true]").all_inner_texts() == ["grass"]
    shown = page.locator("#samples strong").all_inner_texts()
    assert len(shown) == 18 and shown == sorted(shown, key=lambda text: -int(text.strip("<>%\xa0")))
    page.select_option("#sense", "least")
    assert page.locator("#samples strong").all_inner_texts() == shown[::-1]
    pictures = page.locator("#samples .open > img:first-child")
    loaded = "images => Promise.all(images.map((image) => { image.loading = 'eager'; return image.decode(); }))"
    pictures.evaluate_all(loaded)  # raises if one does not
    assert HOSTILE[:50] in page.locator("#samples figcaption").first.inner_text()


def test_a_word_has_an_address(page, file):
    page.locator(".wall a").first.click()
    page.locator("#list button", has_text="grass").click()
    assert page.url == f"{file.as_uri()}#word=grass"
    page.go_back()
    assert heading(page) == f"“{HOSTILE}”" and page.locator("#word h3").first.bounding_box()["y"] >= 0
    for address in ("#word=grass", "#word=%"):
        page.goto(f"{file.as_uri()}{address}")
        assert heading(page) == "“grass”"
    page.goto(f"{file.as_uri()}#word=nobody")
    assert page.locator("#list").inner_text() == "no tag contains this"


# Tags to check

CARD, KINDS = "#cards .card", "#kinds button"
NARROW, DARK = {"viewport": {"width": 420, "height": 800}}, {"color_scheme": "dark"}


def decisions(page):
    """The decisions about the first cards: accepted, rejected or none."""
    return page.locator(CARD).evaluate_all("ones => ones.slice(0, 4).map((one) => one.className.slice('card '.length))")


def saved(page, path):
    with page.expect_download() as download:
        page.locator("#save").click()
    download.value.save_as(path)
    assert download.value.suggested_filename == "corrections.csv"
    with path.open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not any(cell.startswith(tuple("=+-@")) for cell in cells)  # which a spreadsheet would run
    return list(corrections.read(path).itertuples(index=False, name=None))


def counted(page):
    return page.locator("#counted").inner_text()


@pytest.mark.parametrize("page", [{}, NARROW, DARK], indirect=True, ids=["wide", "narrow", "dark"])
def test_decisions_are_counted_undone_kept_when_the_page_is_opened_again_and_saved(page, tmp_path):
    for i, side in enumerate(("accept", "reject", "accept")):
        page.locator(f"{CARD} .{side}").nth(i).click()
    assert decisions(page) == ["accepted", "rejected", "accepted", ""]
    page.locator("#undo").click()
    page.locator(KINDS).nth(1).click()
    page.locator(f"{CARD} .accept").first.click()
    for _ in range(2):
        assert counted(page) == "3 of 70 decided: 2 accepted"
        page.wait_for_timeout(300)  # until Chromium has handed what is stored to the process that stores it
        page.reload()
    assert decisions(page) == ["accepted", "rejected", "", ""]
    rows = saved(page, tmp_path / "corrections.csv")
    assert [row[2] for row in rows] == [False, True, True] and {tag for _, tag, _ in rows} <= {*WORDS}
    assert {name.partition(" ")[2] for name, *_ in rows} == {f"{HOSTILE}.jpg"}
    assert page.get_by_text("jointsparse correct ~/Downloads/corrections.csv --dataset mine").is_visible()
    assert page.locator("#saved").bounding_box()["y"] < page.viewport_size["height"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_keys_decide_undo_and_go_from_card_to_card(page):
    at = "[...document.querySelectorAll('#cards .card')].indexOf(document.activeElement)"
    for key, place, states in (
        ("a", -1, ["", "", "", ""]),  # as long as nobody looks at the cards
        ("j", 0, ["", "", "", ""]),
        ("a", 1, ["accepted", "", "", ""]),
        ("ArrowRight", 2, ["accepted", "", "", ""]),
        ("r", 3, ["accepted", "", "rejected", ""]),
        ("k", 2, ["accepted", "", "rejected", ""]),
        ("ArrowLeft", 1, ["accepted", "", "rejected", ""]),
        ("u", 2, ["accepted", "", "", ""]),
        ("r", 3, ["accepted", "", "rejected", ""]),
    ):
        page.keyboard.press(key)
        assert (page.evaluate(at), decisions(page)) == (place, states), key
    page.keyboard.press("ArrowDown")
    assert page.evaluate(at) > 4
    page.keyboard.press("Enter")
    assert page.locator("#viewer").is_visible()
    page.keyboard.press("a")
    assert counted(page) == "2 of 70 decided: 1 accepted"


def test_cards_are_filtered_by_tag_and_more_are_shown_when_they_are_asked_for(page):
    page.locator(KINDS).nth(1).click()
    assert page.locator(CARD).count() == 30
    page.locator("#more").click()
    assert page.locator(CARD).count() == 40 and not page.locator("#more").is_visible()
    page.select_option("#only", label="grass (17)")
    assert {*page.locator(f"{CARD} .tag strong").all_inner_texts()} == {"grass"} and page.locator(CARD).count() == 17
    page.get_by_role("button", name="Check where it may be wrong").click()
    assert {*page.locator(f"{CARD} .tag strong").all_inner_texts()} == {words(page)[0]}


def test_where_classes_exclude_each_other_the_right_class_is_asked_for(browser, tmp_path):
    values = of_classes(np.random.default_rng(0))
    file, _ = written_page(tmp_path / "page", **values)
    page = browser.new_page()
    page.goto(file.as_uri())
    page.locator(f"{CARD} .accept").first.click()
    page.locator(f"{CARD} select").nth(1).select_option("zebra")
    page.locator(f"{CARD} .accept").nth(1).click()
    page.locator(f"{CARD} .reject").nth(2).click()
    page.locator(KINDS).nth(1).click()  # the same samples, whose other class may be missing
    assert decisions(page) == ["accepted", "rejected", "rejected", ""]
    page.locator(f"{CARD} .accept").nth(3).click()
    tags, names = values["captions"].set_index("image")["caption"], {*values["images"]["image"]}
    rows = saved(page, tmp_path / "corrections.csv")
    assert [has for *_, has in rows] == [False, True, False, True, True, True, False]
    assert {name for name, *_ in rows} <= names and len({name for name, *_ in rows}) == 4
    assert [tag == tags[name] for name, tag, _ in rows] == [True, False, True, False, True, False, True]
    assert rows[3][1] == "zebra"
    page.close()


def test_a_sample_may_have_none_of_several_classes_and_any_name(browser, tmp_path):
    values = of_classes(np.random.default_rng(0))
    values["kept"].labels[10] = 0
    values["images"].loc[10, "image"], values["captions"].loc[10] = "constructor", ["constructor", "zebra"]
    file, _ = written_page(tmp_path / "page", **values)
    page = browser.new_page()
    page.goto(file.as_uri())
    page.locator(KINDS).nth(1).click()
    page.locator("#more").click()
    cards = page.locator(CARD, has=page.locator("[title=constructor]"))
    for i in range(2):
        cards.nth(i).locator(".reject").click()
    assert counted(page) == "2 of 70 decided: 0 accepted"
    rows = saved(page, tmp_path / "corrections.csv")
    assert sorted(rows) == sorted(("constructor", word, False) for word in WORDS)
    page.close()


def test_two_windows_with_the_same_page_share_their_decisions(browser, file):
    context = browser.new_context()
    pages = [context.new_page() for _ in range(2)]
    for page in pages:
        page.goto(file.as_uri())
    for i, page in enumerate(pages):
        page.locator(f"{CARD} .accept").nth(i).click()
        for other in pages:
            sync_api.expect(other.locator("#counted")).to_have_text(f"{i + 1} of 70 decided: {i + 1} accepted")
    context.close()


def test_a_browser_that_keeps_nothing_says_so(browser, file):
    page = browser.new_page()
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error(); } });")
    page.goto(file.as_uri())
    assert page.get_by_text("This browser keeps no decisions").is_visible()
    page.locator(f"{CARD} .accept").first.click()
    assert counted(page) == "1 of 70 decided: 1 accepted"
    page.close()


# One photograph


def test_a_picture_is_enlarged_with_all_that_the_model_says_of_it(page):
    opened, viewer = page.locator("#word .open").first, page.locator("#viewer")
    opened.press("Enter")
    assert HOSTILE in viewer.locator("#viewed").inner_text() and viewer.locator(".sights img").count() == 1 + 2
    assert {text.strip("✓ ") for text in viewer.locator(".said div > :first-child").all_inner_texts()} == {*WORDS}
    shown, rank = (
        page.locator(one).first.inner_text() for one in ("#list [aria-pressed=true]", "#word figcaption strong")
    )
    assert viewer.locator(".said .true", has_text=shown).inner_text().endswith(rank)
    to = {name: viewer.get_by_role("button", name=name).click for name in ("previous", "next", "close")}
    press = {key: lambda key=key: page.keyboard.press(key) for key in ("ArrowRight", "ArrowLeft")}
    for go, place in ((press["ArrowRight"], 2), (to["previous"], 1), (press["ArrowLeft"], 12), (to["next"], 1)):
        go()
        assert viewer.locator("#place").inner_text() == f"{place} of 12"
    for leave in (lambda: page.keyboard.press("Escape"), to["close"], lambda: page.mouse.click(5, 5), page.go_back):
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
    assert viewer.get_by_role("link").get_attribute("href").startswith("../data/")
    page.keyboard.press("Escape")
    page.locator("#map button").first.click()
    assert [image.is_visible() for image in page.locator("#feature img[alt^='map of']").all()] == [True] * 4


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
    copy = page.locator(".command button").first
    copy.click()
    assert (
        page.locator("#command").inner_text()
        == f"jointsparse annotate {file.parent}/model.jointsparse FOLDER --html annotated"
    )
    page.wait_for_function(
        "document.querySelector('.command button').innerText !== 'Copy'"
    )  # the clipboard answers later
    assert copy.inner_text() in ("Copied", "Selected: press Ctrl+C")


def test_the_search_is_one_click_away(page):
    page.locator("#find").click()
    assert page.evaluate("document.activeElement.id") == "seek"


def test_the_page_prints_without_controls_and_with_whole_tables(browser, file):
    page = browser.new_page()
    page.emulate_media(media="print")
    page.goto(file.as_uri())
    assert not page.locator("nav").is_visible() and not page.locator("#seek").is_visible()
    assert page.locator(".list").evaluate("box => box.scrollHeight <= box.clientHeight")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".warnings li li").is_visible()
    page.close()


def test_a_feature_shows_for_which_words_it_speaks(page):
    assert page.locator("#map img").count() == 2 + 2
    page.locator("#map button").first.click()
    assert "most for " in page.locator("#feature h3").first.inner_text()
    assert page.locator("#feature figure").count() == 4


def test_claims_open_on_demand_a_filter_hides_other_claims_and_paper_shows_all(browser, claims):
    page = browser.new_page()
    page.goto(claims.as_uri())
    details = page.locator("details.claim")
    assert not details.locator("table").is_visible()
    page.locator(".claims .chip").click()
    assert details.locator("table").is_visible() and HOSTILE in details.inner_text()
    details.locator("summary").click()
    page.locator(".claims .line").evaluate("line => line.className = 'line has-holds'")
    page.locator(".claims .pick-undecided").check()
    assert not page.locator(".claims .line").is_visible()
    page.emulate_media(media="print")
    assert details.locator("table").is_visible()
    page.close()


def test_everything_is_reached_by_keyboard(page):
    reached = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"find", "order", "seek", "maps", "wipe", "BUTTON", "SUMMARY", "A"} <= reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_what_is_behind_it(browser, file, scheme):
    """Contrast of WCAG AA: 4.5."""
    page = browser.new_page(color_scheme=scheme)
    page.goto(file.as_uri())
    for i, side in enumerate(("accept", "reject")):
        page.locator(f"{CARD} .{side}").nth(i).click()
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
    targets += ", .decide button, .kinds button"
    heights = "ones => ones.map((one) => one.offsetHeight).filter((height) => height && height < 44)"
    assert page.locator(targets).evaluate_all(heights) == []


def test_the_list_of_datasets_leads_there_and_back_and_shows_a_study_on_demand(page):
    page.get_by_text("All results").click()
    figure = page.locator(".dataset figure.plot img")
    assert not figure.is_visible()
    page.locator(".dataset > details > summary").click()
    figure.wait_for()  # until it is visible, because the browser loads it only now
    assert page.get_by_role("link", name="chosen").is_visible()
    page.get_by_role("link", name="mine", exact=True).click()
    assert page.locator("h1").inner_text() == "mine"
