"""The script of the gallery: all its pieces, with small systems; and that the page shows what they make."""

import importlib.util
import pathlib
import re

import pytest
from conftest import needed

DOCS = pathlib.Path(__file__).parents[2] / "docs"
SMALL = {"particles": 160, "steps": 200, "flat": 160, "modes": 160}


@pytest.fixture
def script(tmp_path, monkeypatch):
    pytest.importorskip("tomllib")
    needed("matplotlib").use("Agg")
    needed("scipy")
    monkeypatch.chdir(tmp_path)
    specification = importlib.util.spec_from_file_location("pictures", DOCS / "gallery/pictures.py")
    pictures = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(pictures)
    return pictures


def test_all_pieces_make_their_pictures_and_keep_finished_runs(script, tmp_path):
    names = [name for names in script.PIECES.values() for name in names]
    written = []
    for _ in range(2):
        script.main(tmp_path / "pictures", SMALL)
        texts = {path.stem: path.read_text() for path in (tmp_path / "pictures").iterdir()}
        assert sorted(texts) == sorted(names)
        for name, text in texts.items():
            assert text.rstrip().endswith("</svg>") and len(text) > 3000, name
        results = list((tmp_path / "results/gallery").rglob("*.h5"))
        written.append({path: path.stat().st_mtime_ns for path in results})
    assert len(written[0]) == 10 and written[0] == written[1]


def test_the_page_shows_all_pictures(script):
    page = (DOCS / "guide/gallery.md").read_text()
    shown = re.findall(r"!\[[^\]]+\]\(\.\./gallery/(\w+)\.svg\)", page)
    assert sorted(shown) == sorted(name for names in script.PIECES.values() for name in names)
    for name in shown:
        assert (DOCS / f"gallery/{name}.svg").read_text().rstrip().endswith("</svg>")
