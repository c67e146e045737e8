"""Pages in a notebook and in a file."""

import pytest

from headway.errors import RunError
from headway.inspection.html_page import HEIGHT, Page, save_bytes

HTML = '<!DOCTYPE html><p title="a">dog <b> & "cat" ä</p>'


def test_a_notebook_shows_the_page_in_a_frame_of_its_own():
    frame = Page(HTML)._repr_html_()
    assert frame.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert frame.count('"') == 8, "nothing of the page ends an attribute"
    assert str(HEIGHT) in frame


def test_a_page_is_saved_alone_and_over_what_was_there(tmp_path):
    path = tmp_path / "new" / "page.html"
    assert Page("older").save(path) == path
    assert Page(HTML).save(str(path)) == path
    assert path.read_bytes() == HTML.encode("utf-8")
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]


def test_a_page_that_cannot_be_written(tmp_path):
    with pytest.raises(RunError) as error:
        Page(HTML).save(tmp_path)
    assert str(error.value) == (
        f"{tmp_path} cannot be written: Is a directory; name another path or make room"
    )
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot be written: (Not a directory|File exists)"):
        Page(HTML).save(tmp_path / "file" / "page.html")


def test_bytes_are_saved_as_they_are(tmp_path):
    content = b"\x89PNG\r\n\x00"
    assert save_bytes(tmp_path / "map.png", content).read_bytes() == content
