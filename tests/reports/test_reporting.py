import dataclasses
import json
import re
import sys

import numpy as np
import pytest
from benchmarks.clients.chromium import CHROMIUM, chromium
from outline import Outline
from reports.conftest import CITY, CLASSES, MATH, SCRIPT

import lowtide as lt
from lowtide.errors import LowtideError, MissingExtraError


@pytest.fixture(scope="module")
def pages(classes, numbers):
    return {"classes": classes.html, "numbers": numbers.html}


@pytest.fixture(scope="module", params=["classes", "numbers"])
def page(request, pages):
    return pages[request.param]


def test_report_holds_a_quarter_out_and_learns_from_the_rest(classes):
    assert (classes.n_given, classes.n_rows, classes.n_held, classes.n_learned) == (240, 240, 60, 180)
    assert classes.evaluation.n_rows == 60
    assert classes.evaluation.accuracy == classes.score


def test_report_finds_what_the_classes_depend_on(classes):
    assert classes.score > 0.8
    drops = {each.column: each for each in classes.importances}
    assert drops[SCRIPT].drop > 0.2
    assert drops[CITY].drop > 0.2  # all indicators of the column at once
    assert abs(drops[MATH].drop) < 0.1
    assert [each.drop for each in classes.importances] == sorted((e.drop for e in drops.values()), reverse=True)


def test_bytes_are_those_of_the_codes_and_of_the_raw_columns(classes, numbers):
    assert classes.code_bytes == 16  # 128 bits
    assert numbers.code_bytes == 16  # 64 times 2 bits
    assert classes.row_bytes == 12  # three columns, four bytes each


def test_trials_have_the_model_other_sizes_floats_and_the_two_baselines(classes):
    assert [each.is_model for each in classes.trials].count(True) == 1
    assert classes.own_trial.n_bytes == classes.code_bytes
    assert {each.name for each in classes.trials} >= {"1 bit", "2 bits", "4 bits", "float32"}
    assert any(t.name == "float32" and t.n_components == 128 for t in classes.trials)
    assert (classes.exact.name, classes.constant.name) == ("exact SVC", "most common class")
    # Of so few rows all are compared on, so the model's trial is what the report is about.
    assert classes.own_trial.score == pytest.approx(classes.score)
    keys = [(each.name, each.n_bytes) for each in classes.trials]
    assert len(keys) == len(set(keys))


def test_learning_curve_ends_with_all_rows_to_learn_from(classes, numbers):
    for report in (classes, numbers):
        sizes = [point.n_rows for point in report.learning]
        assert sizes == sorted(set(sizes))
        assert sizes[-1] == report.n_learned
        assert report.learning[-1].score == pytest.approx(report.score)


def test_regression_has_predictions_and_metric_in_place_of_classes(numbers):
    assert numbers.exact.name == "exact kernel ridge"
    assert numbers.predictions.shape == (2, 60)
    assert numbers.score > 0.7
    scales = {each.column: each.scale for each in numbers.importances}
    assert scales[SCRIPT] > scales[MATH]


def test_report_of_seen_rows_does_not_flatter(table):
    """A model that knows its rows by heart is judged by rows that the refitted one has not seen."""
    X = table[0][[SCRIPT, MATH]].to_numpy()
    y = np.random.default_rng(1).integers(0, 2, len(X))
    given = {"gamma": 50.0, "n_components": 2048, "C": 100.0, "loss": "squared", "metric": None}
    model = lt.KernelClassifier(**given, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    found = lt.report(model, X, y)
    assert found.score < 0.75
    assert found.own_score > 0.95
    assert any("has probably learned from these rows" in text for text in found.against)
    assert any("not clearly better than most common class" in text for text in found.against)


def test_unseen_rows_score_the_model_itself_on_all_of_them(model, table):
    found = lt.report(model, *table, unseen=True)
    assert found.evaluation.n_rows == 240
    assert found.score == pytest.approx(model.score(*table))
    assert "which it has not seen" in found.reading[1]
    assert not any("has probably learned" in text for text in found.against)


def test_rows_are_capped(model, table):
    found = lt.report(model, *table, rows=100)
    assert (found.n_given, found.n_rows, found.n_held) == (240, 100, 25)
    assert "100 drawn by chance" in found.html


def test_progress_counts_up_to_the_last_step(model, table):
    steps = []
    lt.report(model, *table, rows=60, progress=lambda *step: steps.append(step))
    assert [done for done, _, _ in steps] == list(range(len(steps)))
    assert steps[-1][1] == len(steps)
    assert all(isinstance(what, str) for _, _, what in steps)


def test_compressed_model_is_judged_by_a_stand_in(table):
    from sklearn.svm import SVC

    X, y = table[0][[SCRIPT, MATH]].to_numpy(), np.asarray(table[1])
    small = lt.compress(SVC(gamma=0.5).fit(X, y), n_components=512, bits=1, random_state=0)
    found = lt.report(small, X, y)
    assert found.stand_in
    assert any("cannot be fitted anew" in text for text in found.against)


@pytest.mark.parametrize(
    "features", [lt.Sketch(64, random_state=0), lt.TernaryFeatures(n_components=64, sparsity="auto")], ids=repr
)
def test_other_encoders_have_their_reports(features, table):
    X, y = table[0][[SCRIPT, MATH]].to_numpy(), np.asarray(table[1])
    model = lt.KernelClassifier(features, C=1.0, loss="squared", random_state=0).fit(X, y)
    found = lt.report(model, X, y)
    assert len(found.codes) >= 3
    assert found.html


def test_pruned_features_have_no_error_bars_and_the_page_says_why(table):
    X, y = table[0][[SCRIPT, MATH]].to_numpy(), np.asarray(table[1])
    given = {"gamma": 0.5, "prune": 2, "metric": None, "loss": "squared", "C": 1.0}
    model = lt.KernelClassifier(n_components=64, **given, random_state=0).fit(X, y)
    found = lt.report(model, X, y)
    assert found.agreement is None
    assert "There are no errors of kernel values" in found.html


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (slice(None), slice(None, -1), "a value a row"),
        (slice(None, 30), slice(None, 30), "at least 40 rows"),
    ],
)
def test_wrong_rows_are_refused(model, table, X, y, words):
    with pytest.raises(LowtideError, match=words):
        lt.report(model, table[0][X], table[1][y])


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.full(240, CLASSES[0]), "at least two classes"),
        (np.zeros(240), "y must be classes as"),
        (np.array([CLASSES[0], None] * 120, dtype=object), "a value in every row"),
        (np.zeros((240, 2)), "a value a row"),
    ],
)
def test_wrong_values_are_refused(model, table, y, words):
    with pytest.raises(LowtideError, match=words):
        lt.report(model, table[0], y)


def test_models_that_cannot_be_reported_on_are_refused(table):
    X = table[0][[SCRIPT, MATH]].to_numpy()
    two = lt.KernelRegressor(gamma=0.5, n_components=64, alpha=1.0, metric=None).fit(X, X)
    with pytest.raises(LowtideError, match="one number a row"):
        lt.report(two, X, X[:, 0])
    with pytest.raises(LowtideError, match="must predict classes or numbers"):
        lt.report(lt.CodePCA(2, features=lt.RandomFeatures(gamma=0.5, n_components=64)).fit(X), X, X[:, 0])
    one = lt.KernelRegressor(gamma=0.5, n_components=64, alpha=1.0, metric=None).fit(X, X[:, 0])
    with pytest.raises(LowtideError, match="different values"):
        lt.report(one, X, np.ones(len(X)))
    with pytest.raises(LowtideError, match="rows must be"):
        lt.report(one, X, X[:, 0], rows=10)


def test_page_needs_nothing_from_outside(page):
    outline = Outline(page)
    style = page[: page.index("</style>")]
    assert not re.search(r"@import|url\(", style)
    assert not outline.tags & {"script", "link", "img", "iframe", "object", "i-frame", "b"} - {"b"}
    assert not {"src", "onerror", "onclick"} & {name for name, _ in outline.attributes}
    assert all(value.startswith("#") for name, value in outline.attributes if name == "href")


def test_names_and_classes_are_escaped(pages):
    for page in pages.values():
        assert "<script" not in page
        assert "<img" not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "\x07" not in page
        assert "&lt;/style&gt;" in page
    assert "a&lt;b&gt;bold&lt;/b&gt;" in pages["classes"]
    assert "{{ 7 * 7 }}" in pages["classes"]
    assert "\U0001f427 penguin" in pages["classes"]
    # No text of the user's is in a drawing.
    drawings = "".join(re.findall(r"<svg.*?</svg>", pages["classes"], flags=re.DOTALL))
    assert not any(word in drawings for word in ("script", "penguin", "7 * 7", "frac"))


def test_ids_are_unique_and_every_reference_has_its_target(page):
    outline = Outline(page)
    assert len(outline.ids) == len(set(outline.ids))
    assert set(outline.references) <= set(outline.ids)


def test_drawings_use_the_colors_of_the_style_sheet_alone_and_say_what_they_show(page):
    assert not re.search(r"#0([1-9a])0\1", page)
    style = page[: page.index("</style>")]
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    for name in set(re.findall(r"var\(--([\w-]+)\)", page)):
        assert f"--{name}:" in light
        assert f"--{name}:" in dark
    assert page.count("<svg") == page.count('role="img" aria-label=') >= 5
    assert len(page.encode()) < 400_000


def test_tables_have_headers_and_a_name(page):
    assert page.count("<table") == page.count('role="region" aria-label=')
    assert page.count("<table") == page.count("<thead>")
    assert all("scope=" in head for head in re.findall(r"<th\b[^>]*>", page))


def test_page_is_the_same_text_for_the_same_rows(model, table, classes, pages):
    again = dataclasses.replace(lt.report(model, *table), date=classes.date)
    assert again.html == pages["classes"]


def test_saved_page_and_frame_hold_the_page(classes, pages, tmp_path):
    classes.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == pages["classes"]
    frame = classes._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    assert "<script" not in frame


def test_numbers_are_plain_json(classes, numbers):
    for report in (classes, numbers):
        content = json.loads(json.dumps(report.to_json(), allow_nan=False))
        assert content["format"] == 1
        assert content["score"] == report.score
        assert len(content["trials"]) == len(report.trials)
        assert content["against"] == report.against


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
def test_missing_extra_is_said_before_anything_is_measured(monkeypatch, model, table, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'lowtide[report]'")):
        lt.report(model, *table, path="page.html")


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (Debian: chromium)")
def test_page_is_silent_in_a_browser_and_no_wider_than_a_phone(pages, tmp_path):
    with chromium() as browser:
        for name, page in pages.items():
            (tmp_path / f"{name}.html").write_text(page, encoding="utf-8")
            view = browser.new_page(viewport={"width": 390, "height": 844})
            heard, asked = [], []
            view.on("console", lambda message, heard=heard: heard.append(message.text))
            view.on("pageerror", lambda error, heard=heard: heard.append(str(error)))
            view.on("request", lambda request, asked=asked: asked.append(request.url))
            view.goto((tmp_path / f"{name}.html").as_uri())
            assert view.evaluate("document.documentElement.scrollWidth") <= 390
            assert heard == []
            assert len(asked) == 1
