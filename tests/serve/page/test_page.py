"""The page in real Chromium: draw, see the answer; what is sent are bits, and nothing comes from elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.clients.chromium import chromium
from given import given_classifier, given_regressor
from mixed_table import RECIPE as MIXED
from mixed_table import ROWS as MIXED_ROWS
from mixed_table import mixed_classifier
from serve.page.browser import Visit, needs_chromium, served
from sklearn.datasets import load_digits

import lowtide as lt
from lowtide.tables import Categories, Indicator, Number, Recipe

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = needs_chromium

ONE = [(0.5, 0.12), (0.5, 0.88)]
ZERO = [(0.5, 0.15), (0.3, 0.3), (0.28, 0.6), (0.45, 0.85), (0.62, 0.8), (0.72, 0.5), (0.66, 0.25), (0.5, 0.15)]
KEY = "a-key-of-some-length-0123456789"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Save models of digits, of a table with a category, of a wide table, and of a layout that browsers cannot run."""
    folder = tmp_path_factory.mktemp("models")
    X, y = load_digits(return_X_y=True)
    examples = [{"name": str(label), "row": row.tolist()} for label, row in zip(y[:10], X[:10])]
    digits = given_classifier(n_components=1024, C=1.0, random_state=0).fit(X, y)
    lt.save(digits, folder / "digits.lowtide", metadata={"page": {"examples": examples}})
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((60, 40)).round(2)
    spectra = [{"name": "<b>first</b>", "row": wide[0].tolist()}]
    regressor = given_regressor(n_components=64, bits=2, random_state=0).fit(wide, wide[:, 0])
    lt.save(regressor, folder / "wide.lowtide", metadata={"page": {"examples": spectra}})
    odd = {"image": {"width": 10**9, "height": "x"}, "examples": [{"name": "short", "row": [1]}, None, {"row": "no"}]}
    lt.save(regressor, folder / "odd.lowtide", metadata={"page": odd})
    dense = lt.RandomFeatures(projection="iid", n_components=64, random_state=0)
    lt.save(given_classifier(dense, C=1.0).fit(wide[:, :3], wide[:, 0] > 0), folder / "dense.lowtide")
    numbers = [(Number(0), (("subtract", 50.0), ("divide", 10.0))), (Number(1), (("fill", 1.0), ("divide", 0.5)))]
    value = given_regressor(dense).fit(wide[:, :2], wide[:, 0])
    scaled = Recipe.of_features(("a", "b"), numbers)
    lt.save(value.with_recipe(scaled), folder / "scaled.lowtide", weights="float64")
    cities = Categories(2, ("Bern", "Oslo"))
    spread = Recipe.of_features(("a", "b", "city"), [*numbers, (Indicator(0, 0), ()), (Indicator(0, 1), ())], [cities])
    value = given_regressor(dense).fit(wide[:, :4], wide[:, 0])
    lt.save(value.with_recipe(spread), folder / "spread.lowtide", weights="float64")
    coded = given_regressor(n_components=64, random_state=0).fit(wide[:, :4], wide[:, 0])
    lt.save(coded.with_recipe(spread), folder / "coded.lowtide", weights="float64")
    long = given_regressor(n_components=512, random_state=0).fit(wide[:, :4], wide[:, 0])
    lt.save(long.with_recipe(spread), folder / "long.lowtide")
    lt.save(mixed_classifier(), folder / "houses.lowtide", weights="float64")
    own = rng.standard_normal((60, MIXED.n_features))
    rows = given_classifier(dense).fit(own, np.array(["rent", "buy", "wait"])[np.arange(60) % 3])
    lt.save(rows.with_recipe(MIXED), folder / "rows.lowtide", weights="float64")
    pairs = lt.AsymmetricLSSVC(random_state=0).fit(wide[:, :3], wide[:, 0] > 0)
    lt.save(pairs, folder / "pairs.lowtide")
    return folder


@pytest.fixture(scope="module")
def address(models):
    with served(*(models / f"{name}.lowtide" for name in ("digits", "wide", "dense", "odd"))) as address:
        yield address


@pytest.fixture(scope="module")
def tables(models):
    with served(
        *(models / f"{name}.lowtide" for name in ("scaled", "spread", "coded", "pairs", "long", "houses", "rows"))
    ) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with chromium() as browser:
        yield browser


@pytest.fixture
def visit(browser, address):
    visit = Visit(browser, address)
    yield visit
    assert visit.complaints == []
    visit.close()


def last_codes(visit, model):
    """Return the codes of the last question."""
    return lt.wire.unpack(visit.sent()[-1].post_data_buffer, model.features_)


@pytest.mark.parametrize(("stroke", "digit"), [(ONE, "1"), (ZERO, "0")])
def test_a_drawn_digit_is_answered(visit, models, stroke, digit):
    visit.draw(stroke)
    assert visit.answer() == digit
    model = lt.load(models / "digits.lowtide")
    assert str(model.predict(last_codes(visit, model))[0]) == digit
    assert visit.page.locator("#scores > div").count() == 10
    assert visit.page.locator("#scores .best dt").inner_text() == digit


def test_only_bits_are_sent(visit):
    visit.draw(ONE)
    visit.answer()
    for request in visit.sent():
        assert request.headers["content-type"] == "application/vnd.lowtide.codes; v=2"
        assert len(request.post_data_buffer) == 68 + 128
    assert visit.page.locator("#bytes .value").all_inner_texts() == ["196", "128", "256", "64"]
    assert "but larger than its shortest form" in visit.page.inner_text("#bytes-note")
    assert "Its code of 128 bytes goes" in visit.page.inner_text("#tagline")


def test_codes_made_in_the_browser_are_those_of_python(visit, models):
    model = lt.load(models / "digits.lowtide")
    X = load_digits().data[:10]
    for i in range(10):
        visit.page.click(f"#example-list button:nth-child({i + 1})")
        visit.answer()
        assert last_codes(visit, model) == model.features_.encode(X[i : i + 1])
    assert visit.page.locator('#example-list [aria-pressed="true"]').count() == 1


def test_clear_takes_the_answer_away(visit):
    visit.draw(ONE)
    visit.answer()
    visit.page.click("#clear")
    expect(visit.page.locator("#answer")).to_have_text("")
    assert visit.page.locator("#scores > div").count() == 0


def test_the_page_says_what_is_loaded(visit, models):
    visit.page.wait_for_selector("#models tr")
    lines = visit.page.locator("#models tr").all_inner_texts()
    fingerprint = lt.load(models / "digits.lowtide").features_.fingerprint_.hex()
    assert [line.split("\t")[0] for line in lines] == ["digits", "wide", "dense", "odd"]
    assert lines[0].split("\t")[1:] == [
        "KernelClassifier",
        "RandomFeatures",
        "64",
        "1,024",
        "1",
        "128",
        fingerprint[:16],
    ]


def test_the_page_asks_nobody_but_its_server(visit, address):
    visit.draw(ONE)
    visit.answer()
    assert all(request.url.startswith(address) for request in visit.requests)


def test_pasted_numbers_are_coded_as_python_does(visit, models):
    model = lt.load(models / "wide.lowtide")
    visit.choose("wide")
    row = np.random.default_rng(5).standard_normal(40)
    visit.page.fill("#numbers", "; ".join(map(str, row)))
    visit.page.click("#send")
    shown = float(visit.answer())
    assert last_codes(visit, model) == model.features_.encode(row[None])
    assert shown == pytest.approx(model.predict(row[None])[0], rel=1e-4)


def test_examples_of_spectra_can_be_picked_and_their_names_are_only_text(visit):
    visit.choose("wide")
    button = visit.page.locator("#example-list button")
    assert button.inner_text().strip() == "<b>first</b>"
    button.click()
    visit.answer()


def test_what_a_file_says_wrongly_of_its_page_is_left_out(visit):
    visit.choose("odd")
    assert visit.page.locator("#paste").is_visible()
    assert not visit.page.locator("#examples").is_visible()


def test_wrong_numbers_are_refused_before_anything_is_sent(visit):
    visit.choose("wide")
    for text, words in (("1 2 3", "got 3"), ("1 " * 39 + "x", "no number")):
        visit.page.fill("#numbers", text)
        visit.page.click("#send")
        assert words in visit.page.inner_text("#trouble")
    assert visit.sent() == []


def test_a_model_that_browsers_cannot_encode_for_is_sent_the_row_and_says_so(visit):
    visit.choose("dense")
    visit.page.wait_for_selector("#field-2")
    visit.page.fill("#field-1", "0.25")
    assert visit.answer() in ("true", "false")
    assert "Hadamard" in visit.page.inner_text("#code-note")
    request = visit.sent()[-1]
    assert request.headers["content-type"] == "application/vnd.lowtide.rows; v=2"
    assert len(request.post_data_buffer) == 68 + 12


@pytest.mark.parametrize(
    ("name", "fields", "row"),
    [
        ("scaled", ["62", "0.25"], [62.0, 0.25]),
        ("scaled", ["62", ""], [62.0, None]),
        ("spread", ["62", "0.25", "Oslo"], [62.0, 0.25, "Oslo"]),
        ("coded", ["62", "", "Oslo"], [62.0, None, "Oslo"]),
    ],
)
def test_rows_of_a_table_go_through_its_recipe_once(browser, tables, models, name, fields, row):
    visit = Visit(browser, tables)
    visit.choose(name)
    for i, value in enumerate(fields):
        field = visit.page.locator(f"#field-{i}")
        field.select_option(value) if value.isalpha() else field.fill(value)
    expected = lt.load(models / f"{name}.lowtide").predict([row])[0]
    assert float(visit.answer()) == pytest.approx(expected, rel=1e-3)
    assert visit.complaints == []
    visit.close()


# What a reader puts into the fields of date and time, and of dates, for each row.
SOLD = ["2024-03-31T08:30", "2023-12-01T00:00", "", "2025-06-05T21:59:59.25", ""]
BUILT = ["1974-05-01", "1999-12-31", "2024-02-29", "1969-12-31", "2000-01-01"]


def fill_in(page, row, sold, built):
    """Fill in the fields of a row of every kind of column."""
    known, city = MIXED.categories[0].values, row["city"]
    page.fill("#field-0", "" if row["price"] is None else str(row["price"]))
    page.select_option("#field-1", label=city if city in known else "(nothing)" if city is None else "(another)")
    page.fill("#field-2", str(row["rooms"]))
    page.select_option("#field-3", label={None: "(nothing)", True: "yes", " YES ": "yes"}.get(row["heated"], "no"))
    page.fill("#field-5", sold)
    page.fill("#field-6", built)
    page.set_checked("#field-7", row["garden"] in (True, 1, "true"))


@pytest.mark.parametrize("name", ["houses", "rows"])
def test_every_kind_of_column_has_its_field_and_rows_are_answered_as_python_does(browser, models, tables, name):
    visit = Visit(browser, tables)
    visit.choose(name)
    page, model = visit.page, lt.load(models / f"{name}.lowtide")
    kinds = [page.locator(f"#field-{j}").get_attribute("type") for j in (0, 2, 5, 6, 7)]
    assert kinds == ["number", "number", "datetime-local", "date", "checkbox"]
    assert page.locator("#fields label").all_inner_texts() == [
        "price number or empty",
        "city one of 3",
        "rooms number",
        "heated yes, no or nothing",
        "sold date and time or empty",
        "built date",
        "garden yes or no",
    ]
    for row, sold, built in zip(MIXED_ROWS, SOLD, BUILT, strict=True):
        same = {**row, "built": built}  # no feature is made of its time, so its field has none
        fill_in(page, row, sold, built)
        assert visit.answer() == model.predict([same])[0]
        if name == "houses":
            assert last_codes(visit, model) == model.decision_.encode([same])
        else:
            assert visit.sent()[-1].headers["content-type"] == "application/json"
    page.fill("#field-6", "")
    expect(page.locator("#answer")).to_have_text("")
    assert visit.complaints == []
    visit.close()


def test_a_code_that_is_larger_than_its_row_is_called_so(browser, models, tables):
    visit = Visit(browser, tables)
    visit.choose("coded")
    visit.answer()
    assert not visit.page.locator("#trouble").is_visible()
    assert "no larger than the row in either form" in visit.page.inner_text("#bytes-note")
    visit.choose("long")
    visit.answer()
    note = visit.page.inner_text("#bytes-note")
    assert "The code is larger than the row: 64 bytes against 12." in note
    assert "at most 96 levels instead of 512" in note
    values = visit.page.locator("#bytes .value").all_inner_texts()
    assert values[:3] == ["132", "64", "12"]
    visit.choose("spread")
    visit.answer()
    assert visit.page.inner_text("#bytes-note") == ""
    assert "The row goes to the server." in visit.page.inner_text("#tagline")
    visit.close()


def test_a_classifier_without_probabilities_is_answered(browser, tables):
    visit = Visit(browser, tables)
    visit.choose("pairs")
    assert visit.answer() in ("true", "false")
    assert visit.complaints == []
    visit.close()


def test_the_model_chosen_last_is_the_one_that_is_shown(browser, address):
    visit = Visit(browser, address)
    held = []
    visit.page.route("**/models/wide/encoder", lambda route: held.append(route))
    visit.page.select_option("#model", "wide")
    visit.page.select_option("#model", "dense")
    visit.page.wait_for_selector("#field-2")
    with visit.page.expect_response("**/models/wide/encoder"):
        held[0].continue_()
    visit.page.fill("#field-1", "0.25")
    assert visit.answer() in ("true", "false")
    assert "models/dense/predict" in visit.sent()[-1].url
    assert visit.page.locator("#fields").is_visible()
    visit.close()


def test_a_server_that_is_gone_is_said_in_words(browser, address):
    visit = Visit(browser, address)
    visit.page.route("**/predict*", lambda route: route.abort())
    visit.draw(ONE)
    visit.page.wait_for_selector("#trouble:not([hidden])")
    assert visit.page.inner_text("#trouble") == "The server does not answer."
    visit.close()


def test_a_model_that_has_changed_is_said_in_words(browser, address):
    visit = Visit(browser, address)
    visit.draw(ONE)
    visit.answer()
    tag = visit.page.request.get(f"{address}/v1/models/digits/encoder").headers["etag"]
    assert visit.sent()[-1].headers["lowtide-encoder"] == tag
    visit.page.route("**/predict*", lambda route: route.fulfill(status=409, json={"detail": "another"}))
    visit.draw(ZERO)
    visit.page.wait_for_selector("#trouble:not([hidden])")
    assert visit.page.inner_text("#trouble") == "The model has changed on the server. Reload the page."
    visit.close()


def test_a_row_that_waits_is_not_asked_of_another_model(browser, address):
    visit = Visit(browser, address)
    held = []
    visit.page.route("**/models/digits/predict*", lambda route: held.append(route))
    visit.draw(ONE)  # the first question is under way, the last row waits for its answer
    visit.page.select_option("#model", "wide")
    visit.page.wait_for_selector("#paste:not([hidden])")
    with visit.page.expect_response("**/models/digits/predict*"):
        held[0].continue_()
    assert visit.answer() == ""
    assert not visit.page.locator("#trouble").is_visible()
    assert len(visit.sent()) == 1
    visit.close()


def test_a_key_is_asked_for_and_used(browser, models):
    with served(models / "digits.lowtide", keys=f"page: {KEY}\n") as address:
        visit = Visit(browser, address)
        visit.page.wait_for_selector("#key-form:not([hidden])")
        visit.page.fill("#key", "wrong-key-of-some-length-9876543")
        visit.page.click("#key-form button")
        # The page's policy lets no text be run as a script, so it is looked at from outside.
        expect(visit.page.locator("#trouble")).not_to_have_text("This server wants an API key.")
        assert visit.page.locator("#key-form").is_visible()
        visit.page.fill("#key", KEY)
        visit.page.click("#key-form button")
        visit.page.wait_for_selector("#models tr")
        visit.draw(ONE)
        assert visit.answer() == "1"
        assert not visit.page.locator("#key-form").is_visible()
        visit.close()


def test_every_control_has_a_name_and_dark_is_dark(browser, address):
    visit = Visit(browser, address, color_scheme="dark")
    visit.page.wait_for_selector("#models tr")
    named = "(e) => e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim()"
    controls = "document.querySelectorAll('button, select, input, textarea, canvas:not([aria-hidden])')"
    unnamed = visit.page.evaluate(f"[...{controls}].filter((e) => !({named})(e)).map((e) => e.outerHTML)")
    assert unnamed == []
    background = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(11, 21, 24)"
    assert visit.complaints == []
    visit.close()
