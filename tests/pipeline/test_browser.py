"""The page of a run in a real browser: every control, without a request, an error or a caption that runs."""

import csv
from functools import partial

import numpy as np
import pandas as pd
import pytest
from pages import (
    CONTRAST,
    HEIGHTS,
    HOSTILE,
    WORDS,
    claim_row,
    kept_model,
    list_of_datasets,
    of_classes,
    opened,
    tags_to_check,
    written_page,
)

from jointsparse.metrics import STATISTICS
from jointsparse.pipeline.datasets import corrections
from jointsparse.pipeline.page import check
from jointsparse.pipeline.papers.page import document

CARD, KINDS = "#cards .card", "#kinds button"
NARROW = {"viewport": {"width": 420, "height": 800}}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    page, findings = written_page(folder / "mine")
    (folder / "index.html").write_text(list_of_datasets(findings), encoding="utf-8")
    return page


@pytest.fixture(params=[{}], ids=[""])
def page(browser, file, request):
    """The page without decisions. params: options of the browser."""
    with opened(browser, file, **request.param) as page:
        yield page


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    """Values of a page of classes, and its file. The first sample has two classes, another none that was learnt."""
    values = of_classes(np.random.default_rng(0))
    values["kept"].labels[10] = 0
    values["images"].loc[10, "image"], values["captions"].loc[10] = "constructor", ["constructor", "zebra"]
    values["captions"] = pd.concat([values["captions"], values["captions"][:1].assign(caption="zebra")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "DOUBLE", 0.1)
        return values, written_page(tmp_path_factory.mktemp("classes") / "page", **values)[0]


@pytest.fixture
def class_page(browser, classes):
    with opened(browser, classes[1]) as page:
        yield page


def words(page):
    return page.locator("#list button").all_inner_texts()


def heading(page):
    return page.locator("#word h3").first.inner_text()


def counted(page):
    return page.locator("#counted").inner_text()


def decisions(page):
    """The decisions about the first cards: accepted, rejected or none."""
    return page.locator(CARD).evaluate_all("ones => ones.slice(0, 4).map((one) => one.className.slice('card '.length))")


def choose(page, side, *places):
    for i in places:
        page.locator(f"{CARD} .{side}").nth(i).click()


def saved(page, path):
    with page.expect_download() as download:
        page.locator("#save").click()
    download.value.save_as(path)
    with path.open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not any(cell.startswith(tuple("=+-@")) for cell in cells)  # which a spreadsheet would run
    return list(corrections.read(path).itertuples(index=False, name=None))


def reload(page):
    page.wait_for_timeout(300)  # until Chromium has handed what is stored to the process that stores it
    page.reload()


# Words


def test_words_are_ordered_as_asked(page):
    assert words(page) == WORDS[::-1]  # the recognised word first
    orders = [*STATISTICS, "name", "positives"]
    shown = {page.select_option("#order", order)[0]: words(page) for order in orders}
    assert [shown[order] for order in ("auc", "positives", "name")] == [WORDS[::-1], WORDS, sorted(WORDS)]


@pytest.mark.parametrize(
    ("part", "found", "said"),
    [
        ("GR", ["grass"], "grass"),
        ("zeb", [], "zebra was not learnt: 3 photographs have it; at least 20 training photographs are needed."),
        ("gnu", [], "no tag contains this"),
    ],
)
def test_the_search_finds_tags_and_says_why_others_were_not_learnt(page, part, found, said):
    page.locator("#find").click()
    page.keyboard.type(part)
    assert words(page) == found and said in page.locator("#list").inner_text()


def test_a_tag_shows_all_its_photographs_in_the_order_of_its_probability(page):
    page.locator("#list button", has_text="grass").click()
    assert heading(page) == "“grass”" and page.get_by_text("All 18 photographs with the tag").is_visible()
    assert page.locator("#list button[aria-pressed=true]").all_inner_texts() == ["grass"]
    shown = page.locator("#samples strong").all_inner_texts()
    assert len(shown) == 18 and shown == sorted(shown, key=lambda text: -int(text.strip("<>%\xa0")))
    page.select_option("#sense", "least")
    assert page.locator("#samples strong").all_inner_texts() == shown[::-1]
    assert HOSTILE[:50] in page.locator("#samples figcaption").first.inner_text()


def test_a_word_has_an_address(page, file):
    page.locator(".wall a").first.click()
    page.locator("#list button", has_text="grass").click()
    assert page.url == f"{file.as_uri()}#word=grass"
    page.go_back()
    assert heading(page) == f"“{HOSTILE}”" and page.locator("#word h3").first.bounding_box()["y"] >= 0
    for address in ("#word=%", "#word=nobody"):
        page.goto(f"{file.as_uri()}{address}")
    assert page.locator("#list").inner_text() == "no tag contains this"


def test_a_feature_shows_for_which_words_it_speaks_and_its_maps(page):
    assert page.locator("#map img").count() == 2 + 2
    page.check("#maps")
    page.locator("#map button").first.click()
    assert "most for " in page.locator("#feature h3").first.inner_text()
    assert [image.is_visible() for image in page.locator("#feature img[alt^='map of']").all()] == [True] * 4


# Tags to check


@pytest.mark.parametrize("page", [NARROW], indirect=True, ids=["narrow"])
def test_decisions_are_counted_undone_kept_when_the_page_is_opened_again_and_saved(page, tmp_path):
    for i, side in enumerate(("accept", "reject", "accept")):
        choose(page, side, i)
    page.locator("#undo").click()
    page.locator(KINDS).nth(1).click()
    choose(page, "accept", 0)
    assert counted(page) == "3 of 70 decided: 2 accepted"
    reload(page)
    assert counted(page) == "3 of 70 decided: 2 accepted" and decisions(page) == ["accepted", "rejected", "", ""]
    rows = saved(page, tmp_path / "corrections.csv")
    assert [row[2] for row in rows] == [False, True, True] and {tag for _, tag, _ in rows} <= {*WORDS}
    assert {name.partition(" ")[2] for name, *_ in rows} == {f"{HOSTILE}.jpg"}
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
    page.keyboard.press("a")
    assert page.locator("#viewer").is_visible() and counted(page) == "2 of 70 decided: 1 accepted"


def test_cards_are_filtered_by_tag_and_more_are_shown_when_they_are_asked_for(page):
    page.locator(KINDS).nth(1).click()
    assert page.locator(CARD).count() == 30
    page.locator("#more").click()
    assert page.locator(CARD).count() == 40 and not page.locator("#more").is_visible()
    page.select_option("#only", label="grass (17)")
    assert page.locator(f"{CARD} .tag strong").all_inner_texts() == ["grass"] * 17
    page.get_by_role("button", name="Check where it may be wrong").click()
    assert {*page.locator(f"{CARD} .tag strong").all_inner_texts()} == {words(page)[0]}


def test_decisions_outlast_a_new_page_and_are_saved_with_those_about_it(browser, file, tmp_path):
    kept = kept_model(np.random.default_rng(0))
    tags = tags_to_check(kept, [f"{i} {HOSTILE}.jpg" for i in range(40)])
    new, _ = written_page(file.with_name("new"), kept=kept, tags=tags.drop(tags.index[tags["kind"] == "wrong"][0]))
    with opened(browser, file) as page:
        choose(page, "accept", 0)
        choose(page, "reject", 1)
        before = saved(page, tmp_path / "corrections.csv")
        page.goto(new.as_uri())
        page.locator("#undo").click()
        assert page.locator("#undo").is_disabled()
        choose(page, "accept", 2)
        assert counted(page) == "1 of 69 decided: 1 accepted; kept besides: 1 decision of an earlier page"
        assert saved(page, tmp_path / "corrections.csv")[0] == before[0]


def test_two_windows_with_the_same_page_share_their_decisions(browser, file):
    context = browser.new_context()
    pages = [context.new_page() for _ in range(2)]
    for page in pages:
        page.goto(file.as_uri())
    choose(pages[0], "accept", 0)
    pages[1].get_by_text("1 of 70 decided: 1 accepted").wait_for()
    context.close()


def test_a_browser_that_keeps_nothing_says_so(browser, file):
    page = browser.new_page()
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error(); } });")
    page.goto(file.as_uri())
    assert page.get_by_text("This browser keeps no decisions").is_visible()
    choose(page, "accept", 0)
    assert counted(page) == "1 of 70 decided: 1 accepted"
    page.close()


# Classes that exclude each other


def test_the_right_class_is_asked_for(class_page, classes, tmp_path):
    choose(class_page, "accept", 0)
    class_page.locator(f"{CARD} select").nth(1).select_option("zebra")
    choose(class_page, "accept", 1)
    choose(class_page, "reject", 2)
    class_page.locator(KINDS).nth(1).click()  # the same samples, whose other class may be missing
    assert decisions(class_page) == ["accepted", "rejected", "rejected", ""]
    choose(class_page, "accept", 3)
    own = classes[0]["captions"].drop_duplicates("image").set_index("image")["caption"]
    rows = saved(class_page, tmp_path / "corrections.csv")
    assert [(tag == own[name], has) for name, tag, has in rows] == [
        *((True, False), (False, True)),  # the most probable class is right
        *((True, False), (False, True)),  # another class is
        (True, True),  # the class is right
        *((False, True), (True, False)),  # the missing class is right
    ]


def test_the_box_shows_the_class_that_is_saved(class_page, tmp_path):
    box = class_page.locator(f"{CARD} select").first
    other = box.input_value()
    for choice in (other, "zebra", other):
        box.select_option(choice)
        choose(class_page, "accept", *([] if decisions(class_page)[0] else [0]))
        assert saved(class_page, tmp_path / "corrections.csv")[1][1:] == (choice, True)
    class_page.locator("#undo").click()
    reload(class_page)
    assert box.input_value() == "zebra" and decisions(class_page)[0] == "accepted"


@pytest.mark.parametrize("kind", [0, 1], ids=["wrong", "missing"])
def test_a_class_that_is_right_replaces_all_classes_of_the_sample(class_page, classes, tmp_path, kind):
    class_page.locator(KINDS).nth(kind).click()
    class_page.locator("#more").click()
    card = class_page.locator(CARD, has=class_page.locator(f"[title^='{classes[0]['images']['image'][0][:4]}']"))
    card.first.locator(".accept").click()
    rows = {tag: has for _, tag, has in saved(class_page, tmp_path / "corrections.csv")}
    own = classes[0]["captions"]["caption"].iloc[0]
    assert rows == dict.fromkeys(WORDS, True) | {own: False, "zebra": False}


def test_a_sample_may_have_none_of_several_classes_and_any_name(class_page, tmp_path):
    class_page.locator(KINDS).nth(1).click()
    class_page.locator("#more").click()
    cards = class_page.locator(CARD, has=class_page.locator("[title=constructor]"))
    for i in range(2):
        cards.nth(i).locator(".reject").click()
    assert counted(class_page) == "2 of 70 decided: 0 accepted"
    rows = saved(class_page, tmp_path / "corrections.csv")
    assert sorted(rows) == sorted(("constructor", word, False) for word in WORDS)


# One photograph


def test_a_picture_is_enlarged_with_all_that_the_model_says_of_it(page):
    opener, viewer = page.locator("#word .open").first, page.locator("#viewer")
    opener.press("Enter")
    assert HOSTILE in viewer.locator("#viewed").inner_text() and viewer.locator(".sights img").count() == 1 + 2
    assert {text.strip("✓ ") for text in viewer.locator(".said div > :first-child").all_inner_texts()} == {*WORDS}
    p = page.locator("#word figcaption strong").first.inner_text()
    assert viewer.locator(".said .true", has_text=heading(page).strip("“”")).inner_text().endswith(p)
    assert viewer.get_by_role("link").get_attribute("href").startswith("../data/")
    said = viewer.locator(".said button").all()
    maps = {button.click() or viewer.locator("img").nth(2).get_attribute("src") for button in said}
    assert len(maps) == 2


def test_the_viewer_goes_to_the_neighbours_of_a_picture_and_is_left_in_several_ways(page):
    opener, viewer = page.locator("#word .open").first, page.locator("#viewer")
    opener.click()
    to = {name: viewer.get_by_role("button", name=name).click for name in ("previous", "next", "close")}
    press = {key: partial(page.keyboard.press, key) for key in ("ArrowRight", "ArrowLeft", "Escape")}
    for go, place in ((press["ArrowRight"], 2), (to["previous"], 1), (press["ArrowLeft"], 12), (to["next"], 1)):
        go()
        assert viewer.locator("#place").inner_text() == f"{place} of 12"
    for leave in (press["Escape"], to["close"], partial(page.mouse.click, 5, 5), page.go_back):
        leave()
        assert not viewer.is_visible() and opener.evaluate("button => button === document.activeElement")
        opener.click()


def test_maps_of_the_kept_model_are_shown_when_they_are_switched_on(page):
    pictures = page.locator("#word .open").first.locator("img")
    assert [image.is_visible() for image in pictures.all()] == [True, False]
    page.check("#maps")
    assert len({image.bounding_box()["width"] for image in pictures.all()}) == 1


@pytest.mark.parametrize(("part", "hidden"), [("25", "75%"), ("100", "0%")])
def test_the_map_of_the_first_photograph_is_wiped_over_it_by_hand(page, part, hidden):
    page.locator("#wipe").fill(part)
    clip = page.locator(".wipe span").evaluate("span => getComputedStyle(span).clipPath")
    assert clip == f"inset(0px {hidden} 0px 0px)"


# The page as a whole


def test_the_command_for_new_photographs_names_the_model_beside_the_page(page, file):
    page.get_by_text("Annotate new photographs").click()
    expected = f"jointsparse annotate {file.parent}/model.jointsparse FOLDER --html annotated"
    assert page.locator("#command").inner_text() == expected
    page.locator(".command button").first.click()
    page.get_by_text("Copied").or_(page.get_by_text("Selected: press Ctrl+C")).wait_for()


def test_the_page_prints_without_controls_and_with_whole_tables(page):
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible() and not page.locator("#seek").is_visible()
    assert page.locator(".list").evaluate("box => box.scrollHeight <= box.clientHeight")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".warnings li li").is_visible()


BY_MOUSE = "nav a, summary, select, .door, button, input:not([type=radio], [type=checkbox], [type=range])"
BY_FINGER = "nav a, summary, select, .door, .list button, .controls label, .open, #map button, .decide button, .kinds "
BY_FINGER += "button"


@pytest.mark.parametrize(
    ("width", "targets", "least", "scheme"), [(390, BY_FINGER, 44, "dark"), (1400, BY_MOUSE, 24, "light")]
)
def test_the_first_screen_has_a_photograph_texts_stand_out_and_targets_are_large(
    browser, file, width, targets, least, scheme
):
    """Contrast of WCAG AA, target sizes of WCAG 2.2 (mouse) and 2.1 AAA (fingers)."""
    with opened(browser, file, viewport={"width": width, "height": 800}, color_scheme=scheme) as page:
        assert page.locator(".wipe img").first.bounding_box()["y"] < 400
        assert min(page.locator(targets).evaluate_all(HEIGHTS)) >= least
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        choose(page, "accept", 0)
        choose(page, "reject", 1)
        page.locator("#word .open").first.click()
        assert page.locator("#viewer").bounding_box()["width"] <= width
        assert page.evaluate(CONTRAST) == []


def test_the_list_of_datasets_leads_there_and_back_and_shows_a_study_on_demand(page):
    page.get_by_text("All results").click()
    page.locator(".dataset > details > summary").first.click()
    page.locator(".dataset figure.plot img").first.wait_for()  # until it is visible; the browser loads it only now
    page.get_by_role("link", name="mine", exact=True).click()
    assert page.locator("h1").inner_text() == "mine"


def test_claims_open_on_demand_a_filter_hides_other_claims_and_paper_shows_all(browser, tmp_path):
    (tmp_path / "index.html").write_text(document(pd.DataFrame([claim_row(claim=HOSTILE)])), encoding="utf-8")
    with opened(browser, tmp_path / "index.html") as page:
        details = page.locator("details.claim")
        assert not details.locator("table").is_visible() and HOSTILE in page.locator(".claims").inner_text()
        page.locator(".claims .chip").click()
        assert details.locator("table").is_visible()
        details.locator("summary").click()
        page.locator(".claims .line").evaluate("line => line.className = 'line has-level'")
        page.locator(".claims .pick-holds").check()
        assert not page.locator(".claims .line").is_visible()
        page.emulate_media(media="print")
        assert details.locator("table").is_visible()
