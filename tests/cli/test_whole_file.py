import os
from pathlib import Path

import click
import pytest

from lowtide.cli.whole_file import check_writable, write_whole


def test_write_whole_writes_the_text_and_leaves_nothing_else(tmp_path):
    write_whole(tmp_path / "page.html", "é\n")
    assert (tmp_path / "page.html").read_bytes() == "é\n".encode()
    assert os.listdir(tmp_path) == ["page.html"]


def test_write_whole_replaces_an_older_file(tmp_path):
    (tmp_path / "page.html").write_text("old")
    write_whole(tmp_path / "page.html", "new")
    assert (tmp_path / "page.html").read_text() == "new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_write_whole_keeps_the_old_file_when_it_cannot_finish(tmp_path, monkeypatch, error):
    def fail(self, target):
        raise error

    (tmp_path / "page.html").write_text("old")
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises((KeyboardInterrupt, click.ClickException)):
        write_whole(tmp_path / "page.html", "new")
    assert (tmp_path / "page.html").read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_write_whole_gives_the_file_the_usual_permissions(tmp_path):
    (tmp_path / "plain").touch()
    write_whole(tmp_path / "page.html", "x")
    assert (tmp_path / "page.html").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_check_writable_refuses_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(click.BadParameter, match="folder that exists"):
        check_writable(tmp_path / "no" / "page.html", "--output")


def test_check_writable_refuses_a_folder_and_a_device(tmp_path):
    for path in (tmp_path, Path(os.devnull)):
        with pytest.raises(click.BadParameter, match="regular file"):
            check_writable(path, "--output")


def test_check_writable_refuses_a_folder_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(click.BadParameter, match="may write to"):
        check_writable(tmp_path / "page.html", "--output")


def test_check_writable_follows_a_link(tmp_path):
    (tmp_path / "real.html").touch()
    (tmp_path / "link.html").symlink_to(tmp_path / "real.html")
    assert check_writable(tmp_path / "link.html", "--output") == (tmp_path / "real.html").resolve()


def test_write_whole_does_not_mind_what_a_killed_run_has_left(tmp_path):
    left = tmp_path / f".page.html.{os.getpid()}.part"
    left.write_text("half")
    write_whole(tmp_path / "page.html", "new")
    assert (tmp_path / "page.html").read_text() == "new"
