# SPDX-License-Identifier: Apache-2.0
"""Raw files over HTTP: those that checksums list, as text or saved, and nothing else of this machine."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest
import zstandard
from starlette.testclient import TestClient
from tests.served import BROKEN, DEMO, LAB, RAW, client, results_in
from tests.unit.conftest import Run

from linewatt.store import cache, sums

SECRET = "a secret beside the results"  # noqa: S105
PACK = "trials/00001/raw.tar.gz"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results, beside them what nobody may read, and links that lead there."""
    base = tmp_path_factory.mktemp("files")
    root = results_in(base / "results")
    (base / "secret").write_text(SECRET)
    (base / "outside").mkdir()
    (base / "outside" / "manifest.json").write_text(SECRET)
    (root / "linked").symlink_to(base / "outside")
    (root / DEMO / "link.txt").symlink_to(base / "secret")
    (root / DEMO / "linked").symlink_to(base)
    (root / DEMO / "unlisted.txt").write_text(SECRET)
    os.mkfifo(root / DEMO / "pipe.txt")
    with (root / DEMO / sums.SUMS_FILE).open("a") as file:
        file.writelines(f"{'0' * 64}  {name}\n" for name in ("link.txt", "linked/secret", "pipe.txt"))
    return root


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    patch.setattr(cache, "SETTLED_S", -1.0)
    return client(root)


@pytest.mark.parametrize(
    "path",
    [
        f"/results/{DEMO}/file/../../../secret",
        f"/results/{DEMO}/file/..%2f..%2f..%2fsecret",
        f"/results/{DEMO}/file/%2e%2e/%2e%2e/secret",
        f"/results/{DEMO}/file/..%252f..%252fsecret",
        f"/results/{DEMO}/file//etc/passwd",
        f"/results/{DEMO}/file/%2fetc%2fpasswd",
        f"/results/{DEMO}/file/trials/00001/../../../../secret",
        f"/results/{DEMO}/file/{PACK}/../../../../secret",
        f"/results/{DEMO}/file/..\\..\\secret",
        f"/results/{DEMO}/file/manifest.json%00.txt",
        f"/results/{DEMO}/file/unlisted.txt",
        f"/results/{DEMO}/file/link.txt",
        f"/results/{DEMO}/file/linked/secret",
        f"/results/{DEMO}/file/pipe.txt",
        f"/results/{DEMO}/file/trials",
        f"/results/{DEMO}/file/",
        f"/results/{DEMO}/files?under=../..",
        f"/results/{DEMO}/files?under=linked",
        f"/results/{DEMO}/files?under=/etc",
        "/results/..%2f..%2fsecret/files",
        "/results/../secret",
        "/results/%2e%2e",
        "/results/.",
        "/results/linked",
        "/results/linked/file/manifest.json",
        "/results/linked/save/bundle",
        f"/results/{'a' * 300}",
        "/results/a%00b",
        "/static/..%2fsettings.py",
        "/static/../../../../secret",
    ],
)
def test_no_path_leads_out_of_a_result(site: TestClient, path: str) -> None:
    answer = site.get(path)
    assert answer.status_code in (404, 400), answer.text
    assert SECRET not in answer.text
    assert "root:" not in answer.text


def test_a_folder_lists_what_checksums_list(site: TestClient) -> None:
    text = site.get(f"/results/{DEMO}/files").text
    assert f'href="/results/{DEMO}/file/manifest.json"' in text
    assert "trials/</a>" in text
    assert "unlisted" not in text
    below = site.get(f"/results/{DEMO}/files?under=trials/00001").text
    assert "trial.json" in below
    assert f"/results/{DEMO}/files?under=trials%2F00001%2Fraw.tar.gz" in below
    packed = site.get(f"/results/{DEMO}/files?under={PACK}").text
    assert all(f"/results/{DEMO}/file/{PACK}/{name}" in packed for name in RAW)


def test_a_stored_document_is_plain_text(site: TestClient, root: Path) -> None:
    answer = site.get(f"/results/{DEMO}/file/manifest.json")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.content == (root / DEMO / "manifest.json").read_bytes()
    saved = site.get(f"/results/{DEMO}/file/manifest.json?save=1")
    assert saved.headers["content-disposition"].startswith('attachment; filename="manifest.json"')


def test_what_a_tool_wrote_is_never_a_page(site: TestClient) -> None:
    for name, text in RAW.items():
        answer = site.get(f"/results/{DEMO}/file/{PACK}/{name}")
        assert answer.text == text
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]
    assert site.get(f"/results/{DEMO}/file/{PACK}/h3/none.txt").status_code == 404


def test_what_is_no_text_is_saved(site: TestClient, root: Path) -> None:
    answer = site.get(f"/results/{DEMO}/file/{PACK}")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.content == (root / DEMO / PACK).read_bytes()


def test_a_result_without_checksums_offers_no_file(site: TestClient) -> None:
    assert site.get(f"/results/{LAB}/files").status_code == 404
    assert site.get(f"/results/{LAB}/file/manifest.json").status_code == 404


def test_a_name_that_a_browser_could_take_for_more_is_made_harmless() -> None:
    from linewatt.features.serve.responses import attachment

    made = attachment('a"; filename=b\r\nx: y\u2028ü.txt')
    assert "\r" not in made
    assert "\n" not in made
    assert made.isascii()
    assert made.startswith('attachment; filename="a___filename_b__x__y__.txt"; ')


def test_downloads_are_what_commands_print(site: TestClient, root: Path, run: Run) -> None:
    where = ["--results", str(root)]
    for form, argv in {
        "cases.csv": ["show", LAB, "--csv"],
        "trials.csv": ["show", LAB, "--csv", "--trials"],
        "result.json": ["show", LAB, "--json", "--trials"],
    }.items():
        code, out, _ = run(*argv, *where)
        answer = site.get(f"/results/{LAB}/save/{form}")
        assert code == 0
        assert answer.text == out
        assert answer.headers["content-disposition"].startswith(f'attachment; filename="{LAB}')
    for form, name in (("html", "report.html"), ("md", "report.md")):
        assert run("report", LAB, "--format", form, "-o", f"out.{form}", *where)[0] == 0
        assert site.get(f"/results/{LAB}/save/{name}").text == Path(f"out.{form}").read_text()


def test_a_damaged_result_is_said_and_one_that_is_not_whole_is_not_bundled(site: TestClient) -> None:
    assert "manifest.json: damaged" in site.get(f"/results/{BROKEN}").text
    answer = site.get(f"/results/{DEMO}/save/bundle")  # its list names what is not there
    assert answer.status_code == 404
    assert "a bundle would carry that on" in answer.text


def test_a_bundle_is_all_of_a_result_and_leaves_nothing_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.served import with_files

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with_files(tmp_path / "results")
    answer = client(tmp_path / "results").get(f"/results/{DEMO}/save/bundle")
    assert answer.status_code == 200
    (tmp_path / "b.tar").write_bytes(
        zstandard.ZstdDecompressor().stream_reader(answer.content, read_across_frames=True).read()
    )
    with tarfile.open(tmp_path / "b.tar") as archive:
        assert any(name.endswith("/manifest.json") for name in archive.getnames())
    assert not list(tmp_path.glob("linewatt-bundle-*"))
