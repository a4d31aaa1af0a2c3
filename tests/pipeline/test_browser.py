"""The page of a run in a real browser: every control, without a request, an error or a caption that runs."""

import csv

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

from jointsparse.pipeline.datasets import corrections
from jointsparse.pipeline.papers.page import document

CARD, KINDS = "#cards .card", "#kinds button"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    page, findings = written_page(tmp_path_factory.mktemp("results") / "mine")
    page.parents[1].joinpath("index.html").write_text(list_of_datasets(findings), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def window(browser, file):
    with opened(browser, file) as page:
        yield page


@pytest.fixture
def page(window, file):
    """The page without decisions, in a window that tests share."""
    window.evaluate("localStorage.clear()")
    do(window, ("goto", "about:blank"), ("goto", file.as_uri()))
    return window


def do(page, *steps):
    """Press keys, or call methods of the page with arguments."""
    for step in steps:
        page.keyboard.press(step) if isinstance(step, str) else getattr(page, step[0])(*step[1:])


def seen(page, selector, kind):
    """What elements say: a list of texts, the number of those that are visible, or the text of the first."""
    found = page.locator(selector)
    if kind is int:
        return found.evaluate_all(
            "ones => ones.filter((one) => one.checkVisibility({ visibilityProperty: true })).length"
        )
    return found.all_inner_texts() if kind is list else found.first.inner_text()


def press(button, i):
    return ("click", f"{CARD}:nth-child({i}) .{button}")


TAG, FIRST_KEYS = "#list button", ["j", "a", "ArrowRight", "r"]
FALLING = [f"{percent}\u00a0%" for percent in (99, 91, 90, 84, 75, 74, 70, 66, 57, 53, 42, 19)]
GRASS, MAPS, OPEN = ("click", f"{TAG}:text('grass')"), ("check", "#maps"), ("click", "#word .open >> nth=0")
# What somebody does (keys, or methods of the page with their arguments), and what elements say then.
CONTROLS = {
    "recognised words are first": ([], {TAG: WORDS[::-1]}),
    "words are ordered by positives": ([("select_option", "#order", "positives")], {TAG: WORDS}),
    "words are ordered by name": ([("select_option", "#order", "name")], {TAG: sorted(WORDS)}),
    "the search is one click away and finds a part": ([("click", "#find"), *"GR"], {TAG: ["grass"]}),
    "the search says why a tag was not learnt": (
        [("fill", "#seek", "zeb")],
        {"#list": "zebra was not learnt: 3 photographs have it; at least 20 training photographs are needed."},
    ),
    "an address that is cut off is ignored": (
        [("evaluate", "location.hash = '#word=%'")],
        {"#word h3": f"“{HOSTILE}”"},
    ),
    "the list says that the tag of an address is not there": (
        [("evaluate", "location.hash = '#word=nobody'")],
        {"#list": "no tag contains this"},
    ),
    "the back button leads to the tag before": (
        [("click", ".wall a"), GRASS, ("go_back",)],
        {"#word h3": f"“{HOSTILE}”", f"{TAG}[aria-pressed=true]": [HOSTILE]},
    ),
    "a tag has a heading, a pressed button and all its photographs": (
        [GRASS],
        {"#word h3": "“grass”", f"{TAG}[aria-pressed=true]": ["grass"], "#samples figure": 18},
    ),
    "photographs of a tag are in the order of its probability": ([], {"#samples strong": FALLING}),
    "the least probable photographs of a tag come first on demand": (
        [("select_option", "#sense", "least")],
        {"#samples strong": FALLING[::-1]},
    ),
    "maps are shown if they are switched on": ([MAPS], {"#word .open >> nth=0 >> img": 2}),
    "a feature shows for which words it speaks, and its maps": (
        [MAPS, ("click", "#map button >> nth=0")],
        {
            "#map img": 2 + 2,
            "#feature h3": f"feature 4: speaks most for grass, {HOSTILE}",
            "#feature img[alt^='map of']": 4,
        },
    ),
    "the map of the first photograph is wiped over it by hand": (
        [("fill", "#wipe", "25")],
        {".wipe span[style*='inset(0px 75% 0px 0px)']": 1},
    ),
    "the command for new photographs names the model beside the page, and is copied": (
        [("click", "text=Annotate new photographs"), ("click", ".command button"), ("wait_for_timeout", 300)],
        {
            ".command button:text-matches('Copied|Selected: press Ctrl.C')": 1,
            "#command:text-matches('^jointsparse annotate /.*/mine/model.jointsparse FOLDER --html annotated$')": 1,
        },
    ),
    # Tags to check
    "more cards are shown when they are asked for": (
        [("click", f"{KINDS} >> nth=1"), ("click", "#more")],
        {CARD: 40, "#more": 0},
    ),
    "cards are those of one tag": (
        [("click", f"{KINDS} >> nth=1"), ("select_option", "#only", "0")],
        {f"{CARD} .tag strong": ["grass"] * 17},
    ),
    "a tag leads to its cards": (
        [GRASS, ("click", "text=Check where it may be wrong")],
        {f"{CARD} .tag strong": ["grass"] * 18},
    ),
    "a key does nothing as long as nobody looks at the cards": ([*"au"], {f"{CARD}.accepted": 0}),
    "keys decide, and go from card to card": (
        [*FIRST_KEYS, "k", "ArrowLeft"],
        {
            f"{CARD}:nth-child(1).accepted": 1,
            f"{CARD}:nth-child(2):focus": 1,
            f"{CARD}:nth-child(3).rejected": 1,
            f"{CARD}:is(.accepted, .rejected)": 2,
        },
    ),
    "the key u undoes and goes to the card": ([*FIRST_KEYS, "u"], {f"{CARD}:nth-child(3):focus:not(.rejected)": 1}),
    "the key Enter enlarges a card, and keys decide nothing then": (
        ["j", "ArrowDown", "Enter", "a"],
        {"#viewer": 1, f"{CARD}.accepted": 0},
    ),
    "undo restores the decision that was replaced": (
        [press("accept", 1), press("reject", 1), ("click", "#undo")],
        {f"{CARD}:nth-child(1).accepted": 1, "#counted": "1 of 70 decided: 1 accepted"},
    ),
    # One photograph
    "buttons and keys go to the neighbours of a photograph": (
        [
            OPEN,
            *["ArrowRight"] * 3,
            ("click", "#before"),
            ("click", "#before"),
            *["ArrowLeft"] * 3,
            ("click", "#after"),
        ],
        {"#place": "12 of 12"},
    ),
    "a photograph is left in several ways": (
        [OPEN, "Escape", OPEN, ("click", "#leave"), OPEN, ("dispatch_event", "#viewer", "click"), OPEN, ("go_back",)],
        {"#viewer": 0, "#word .open:focus": 1},
    ),
    "a photograph is enlarged with its map, its name and the probabilities of all tags": (
        [OPEN],
        {
            "#viewer .sights img": 3,
            "#viewer .said .true": 1,
            "#viewer .said > div": 2,
            "#viewer a[href^='../data/']": 1,
        },
    ),
    "a tag that is asked for has its map": (
        [OPEN, ("click", ".said button:has-text('grass')")],
        {"#viewer .sights img[alt='map of “grass”']": 1, ".said button[aria-pressed=true]": ["grass"]},
    ),
    # The list of datasets
    "the list shows a study on demand and leads to the page": (
        [
            *(("click", "text=All results"), ("click", ".dataset summary >> nth=0")),
            *(("wait_for_selector", "figure.plot img"), ("click", "h2 a")),
        ],
        {"h1": "mine", "a:text('All results')": 1},
    ),
}


@pytest.mark.parametrize(("steps", "expected"), CONTROLS.values(), ids=CONTROLS)
def test_controls_change_what_the_page_shows(page, steps, expected):
    do(page, *steps)
    assert {selector: seen(page, selector, type(value)) for selector, value in expected.items()} == expected


def test_a_sample_whose_other_probabilities_are_not_on_the_page_lists_only_its_own_tags(browser, tmp_path):
    nothing = pd.DataFrame(columns=["sample", "tag", "probability", "kind"])
    with opened(browser, written_page(tmp_path / "mine", tags=nothing)[0]) as page:
        do(page, GRASS, ("click", "#word .open >> nth=10"))
        assert seen(page, "#viewer .said > div", list) == ["✓ grass\n44\u00a0%"]


# Decisions


def saved(page, path):
    """What the page saves. A spreadsheet would run cells that begin with certain signs."""
    with page.expect_download() as download:
        page.click("#save")
    download.value.save_as(path)
    with path.open(encoding="utf-8", newline="") as file:
        assert not any(cell.startswith(tuple("=+-@")) for row in csv.reader(file) for cell in row)
    return list(corrections.read(path).itertuples(index=False, name=None))


RELOAD = [("wait_for_timeout", 300), ("reload",)]  # Chromium needs time to hand what is stored to another process
UNDO, MISSING = ("click", "#undo"), ("click", f"{KINDS} >> nth=1")


def test_decisions_are_kept_when_the_page_is_opened_again_and_saved(browser, file, tmp_path):
    with opened(browser, file, viewport={"width": 420, "height": 800}) as page:
        missing = [press("accept", i) for i in range(1, 13)]  # also of samples that an earlier decision is about
        do(page, press("accept", 1), press("reject", 2), press("accept", 3), UNDO, MISSING, *missing, *RELOAD)
        assert seen(page, "#counted", str) == "14 of 70 decided: 13 accepted"
        rows = saved(page, tmp_path / "corrections.csv")
        assert [row[2] for row in rows] == [False, *13 * [True]] and {tag for _, tag, _ in rows} <= {*WORDS}
        assert {name.partition(" ")[2] for name, *_ in rows} == {f"{HOSTILE}.jpg"}
        assert page.locator("#saved").bounding_box()["y"] < 800
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_decisions_outlast_a_new_page_and_are_saved_with_those_about_it(browser, file, tmp_path):
    kept = kept_model(np.random.default_rng(0))
    tags = tags_to_check(kept, [f"{i} {HOSTILE}.jpg" for i in range(40)])
    new, _ = written_page(file.parent / "new", kept=kept, tags=tags.drop(tags.index[tags["kind"] == "wrong"][0]))
    with opened(browser, file) as page:
        do(page, press("accept", 1), press("reject", 2))
        before = saved(page, tmp_path / "corrections.csv")
        do(page, ("goto", new.as_uri()), UNDO)
        assert page.locator("#undo").is_disabled()
        do(page, press("accept", 3))
        assert seen(page, "#counted", str) == "1 of 69 decided: 1 accepted; kept besides: 1 decision of an earlier page"
        assert saved(page, tmp_path / "corrections.csv")[0] == before[0]


def test_two_windows_with_the_same_page_share_their_decisions(browser, file):
    context = browser.new_context()
    pages = [context.new_page() for _ in range(2)]
    for page in pages:
        page.goto(file.as_uri())
    do(pages[0], press("accept", 1))
    pages[1].get_by_text("1 of 70 decided: 1 accepted").wait_for()
    context.close()


def test_a_browser_that_keeps_nothing_says_so(browser, file):
    with opened(browser, file) as page:
        page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error(); } });")
        do(page, ("reload",), press("accept", 1))
        assert page.is_visible("text=This browser keeps no decisions")
        assert seen(page, "#counted", str) == "1 of 70 decided: 1 accepted"


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    """Values of a page of classes, and its file. The first sample has two classes."""
    values = of_classes(np.random.default_rng(0))
    values["captions"] = pd.concat([values["captions"], values["captions"][:1].assign(caption="zebra")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jointsparse.pipeline.page.check.DOUBLE", 0.1)
        return values, written_page(tmp_path_factory.mktemp("classes") / "page", **values)[0]


@pytest.fixture
def class_page(browser, classes):
    with opened(browser, classes[1]) as page:
        yield page


def test_the_right_class_is_asked_for(class_page, classes, tmp_path):
    zebra = ("select_option", f"{CARD}:nth-child(2) select", "zebra")
    do(
        class_page, press("accept", 1), zebra, press("accept", 2), press("reject", 3), MISSING
    )  # of the same samples another class is missing
    assert (
        seen(class_page, f"{CARD}:is(:nth-child(1).accepted, :nth-child(2).rejected, :nth-child(3).rejected)", int) == 3
    )
    do(class_page, press("accept", 4))
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
    for choice, *step in ((other, press("accept", 1)), ("zebra",), (other,)):
        box.select_option(choice)
        do(class_page, *step)
        assert saved(class_page, tmp_path / "corrections.csv")[1][1:] == (choice, True)
    do(class_page, UNDO, *RELOAD)
    assert box.input_value() == "zebra" and seen(class_page, f"{CARD}.accepted", int) == 1


@pytest.mark.parametrize("kind", [0, 1], ids=["wrong", "missing"])
def test_a_class_that_is_right_replaces_all_classes_of_the_sample(class_page, classes, tmp_path, kind):
    first = f"{CARD}:has([title^='{classes[0]['images']['image'][0][:4]}']) .accept"
    do(class_page, ("click", f"{KINDS} >> nth={kind}"), ("click", "#more"), ("click", first))
    rows = {tag: has for _, tag, has in saved(class_page, tmp_path / "corrections.csv")}
    assert rows == dict.fromkeys(WORDS, True) | {classes[0]["captions"]["caption"].iloc[0]: False, "zebra": False}


# The page as a whole


def test_the_page_prints_without_controls_and_with_whole_tables(browser, file):
    with opened(browser, file) as page:
        page.emulate_media(media="print")
        assert [seen(page, selector, int) for selector in ("nav", "#seek", ".command", "#list")] == [0, 0, 0, 1]
        assert page.locator(".list").evaluate("box => box.scrollHeight <= box.clientHeight")


# Contrast is that of WCAG AA, and target sizes are those of WCAG 2.2 (mouse) and 2.1 AAA (fingers).
BY_MOUSE = "nav a, summary, select, .door, button, input:not([type=radio], [type=checkbox], [type=range])"
BY_FINGER = (
    "nav a, summary, select, .door, .list button, .controls label, .open, #map button, .decide button, #kinds button"
)


@pytest.mark.parametrize(
    ("width", "targets", "least", "scheme"), [(390, BY_FINGER, 44, "dark"), (1400, BY_MOUSE, 24, "light")]
)
def test_the_first_screen_has_a_photograph_texts_stand_out_and_targets_are_large(
    browser, file, width, targets, least, scheme
):
    with opened(browser, file, viewport={"width": width, "height": 800}, color_scheme=scheme) as page:
        assert page.locator(".wipe img").first.bounding_box()["y"] < 400
        assert min(page.locator(targets).evaluate_all(HEIGHTS)) >= least
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        do(page, press("accept", 1), press("reject", 2), OPEN)
        assert page.locator("#viewer").bounding_box()["width"] <= width
        assert page.evaluate(CONTRAST) == []


def test_claims_open_on_demand_a_filter_hides_other_claims_and_paper_shows_all(browser, tmp_path):
    (tmp_path / "index.html").write_text(document(pd.DataFrame([claim_row(claim=HOSTILE)])), encoding="utf-8")
    with opened(browser, tmp_path / "index.html") as page:
        steps = [(), (("click", ".claims .chip"),), (("click", "details.claim summary"),)]
        shown = [do(page, *step) or page.is_visible("details.claim table") for step in steps]
        page.locator(".claims .line").evaluate("line => line.className = 'line has-level'")
        page.check(".claims .pick-holds")
        assert shown == [False, True, False] and not page.is_visible(".claims .line")
        page.emulate_media(media="print")
        assert page.is_visible("details.claim table")
