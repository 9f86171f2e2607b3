import pytest

from lowtide.tables import Dialect, TableError, check_encoding, open_table
from lowtide.tables.cells import Marks


def dialect(tmp_path, text):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    return open_table(tmp_path / "t.csv").dialect


@pytest.mark.parametrize(
    ("text", "separator", "marks"),
    [
        ("a,b\n1.5,2\n", ",", Marks()),
        ("a;b\n1,5;2\n", ";", Marks(",", ".")),
        ("a;b\n1.234,5;2\n", ";", Marks(",", ".")),
        ("a;b\n1 234,5;2\n", ";", Marks(",", " ")),
        ("a;b\n1\u202f234,5;2\n", ";", Marks(",", "\u202f")),
        ("a;b\n1'234.5;2\n", ";", Marks(".", "'")),
        ('a,b\n"1,234.5",2\n', ",", Marks(".", ",")),
        ('a,b\n"1,234",2\n', ",", Marks(".", ",")),
        # Commas beside semicolons are of decimals, unless one number has several.
        ("a;b\n1,234;2\n", ";", Marks(",", ".")),
        ("a;b\n1,234,567;2\n", ";", Marks(".", ",")),
        ("a,b\n1.234,2.345\n", ",", Marks()),
        ("a\tb\n1,5\t2\n", "\t", Marks(",", ".")),
        ("a|b\n1|31.12.2024\n", "|", Marks()),
        ("day;amount, in kg\n2024-01-01;3\n", ";", Marks()),
        ('a,b\n"x;y;z",1\n"u;v;w",2\n', ",", Marks()),
    ],
)
def test_separator_and_marks_are_told_by_the_first_rows(tmp_path, text, separator, marks):
    found = dialect(tmp_path, text)
    assert (found.separator, found.marks) == (separator, marks)


def test_a_dialect_says_what_is_special_about_it():
    assert Dialect(separator=",").in_words() == ""
    german = Dialect("utf-16", ";", Marks(",", "."))
    assert german.in_words() == "separated by semicolon, decimal comma, UTF-16"
    assert Dialect(separator=",", marks=Marks(".", ",")).in_words() == "thousands marked by ','"


def test_an_encoding_that_python_does_not_know_is_refused():
    assert check_encoding("Latin-1") == "iso8859-1"
    for name in ("latin-99", "base64", ""):
        with pytest.raises(TableError, match="'windows-1252', say"):
            check_encoding(name)


def test_marks_leave_other_texts_as_they_are():
    marks = Marks(",", ".")
    assert [marks.plain(text) for text in ("-1,5", "1.234.567", "1,5e3", "1.5", "3,x", "", "a,b")] == [
        "-1.5",
        "1234567",
        "1.5e3",
        "1.5",
        "3,x",
        "",
        "a,b",
    ]
