"""The changelog's section is made of the fragments, and only written when asked to."""

import pytest
from architecture.surface import ROOT
from release.changelog import fragments, main

BEFORE = "# Changelog\n\nText.\n\n## Unreleased\n\nSee.\n\n## 0.0.1, 2020-01-01\n\nOld.\n"


@pytest.fixture
def tree(tmp_path):
    """A tree with two kinds of fragments and an older version."""
    (tmp_path / "changes").mkdir()
    for name, text in {
        "README.md": "Rules.",
        "10.b.fix.md": "Ten.\nMore.\n",
        "9.a.fix.md": "Nine.",
        "3.feature.md": "N.",
    }.items():
        (tmp_path / "changes" / name).write_text(text)
    (tmp_path / "CHANGELOG.md").write_text(BEFORE)
    return tmp_path


def test_the_section_is_shown_by_kind_and_number_and_nothing_is_written(tree, capsys):
    main([], tree)
    shown = "## Next version, not yet released\n\n### New\n\n- N.\n\n### Fixed\n\n- Nine.\n- Ten.\n  More.\n"
    assert capsys.readouterr().out == shown
    assert (tree / "CHANGELOG.md").read_text() == BEFORE
    assert len(list((tree / "changes").iterdir())) == 4


def test_writing_puts_the_version_first_and_deletes_the_fragments(tree):
    main(["--write", "0.1.0"], tree)
    text = (tree / "CHANGELOG.md").read_text()
    assert text.index("## Unreleased") < text.index("## 0.1.0, ") < text.index("- Ten.") < text.index("## 0.0.1, ")
    assert [path.name for path in (tree / "changes").iterdir()] == ["README.md"]
    with pytest.raises(SystemExit, match="must have fragments"):
        main(["--write", "0.2.0"], tree)


@pytest.mark.parametrize("version", ["one", "0.1", "v0.1.0", ""])
def test_a_version_that_is_none_is_refused(tree, version):
    with pytest.raises(SystemExit, match="spelled like 0.1.0"):
        main(["--write", version], tree)
    assert (tree / "CHANGELOG.md").read_text() == BEFORE


@pytest.mark.parametrize(
    ("name", "text"), [("x.feature.md", "A."), ("3.a.news.md", "A."), ("3.a.fix.txt", "A."), ("3.a.fix.md", " ")]
)
def test_a_fragment_of_another_name_or_without_text_is_refused_by_name(tree, name, text):
    (tree / "changes" / name).write_text(text)
    with pytest.raises(SystemExit, match=name):
        main([], tree)


def test_the_fragments_of_this_tree_are_well_formed():
    assert fragments(ROOT / "changes")[1] == []
