# SPDX-License-Identifier: Apache-2.0
"""``linewatt serve``: who may ask what, and with what it may be started."""

from __future__ import annotations

import base64
import builtins
import re
import signal
import socket
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.live_server import Served
from tests.screens import on_terminal
from tests.served import DEMO, PORT, URL, certificate_in, client, results_in
from tests.unit.conftest import Run

from linewatt.errors import InvalidInput
from linewatt.extras import install_command
from linewatt.features.serve import serving
from linewatt.features.serve.guard import CONTENT_SECURITY_POLICY
from linewatt.features.serve.settings import Settings, checked, new_token, read_token
from linewatt.hosts.addresses import is_loopback
from linewatt.store import cache

TOKEN = "a-token-of-more-than-sixteen"  # noqa: S105


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return results_in(tmp_path_factory.mktemp("serve") / "results")


@pytest.fixture(scope="module")
def site(root: Path) -> TestClient:
    return client(root)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cache, "SETTLED_S", -1.0)


# Host, origin, method --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["localhost:8642", "127.0.0.1:8642", "[::1]:8642", "localhost:9000", "LOCALHOST"]
)
def test_names_of_this_machine_are_answered_through_a_tunnel_too(site: TestClient, host: str) -> None:
    assert site.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8642",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "192.0.2.1",
        "",
        "a b",
    ],
)
def test_another_name_is_refused_because_it_may_have_been_made_to_lead_here(
    site: TestClient, host: str
) -> None:
    answer = site.get("/", headers={"host": host})
    assert answer.status_code == 421
    assert DEMO not in answer.text


def test_a_host_that_is_said_twice_is_refused(site: TestClient) -> None:
    headers = [("host", "localhost"), ("host", "evil.example")]
    assert site.get("/", headers=headers).status_code == 421


def test_a_server_on_every_address_is_reached_by_any_number_and_by_its_names(root: Path) -> None:
    site = client(root, host="0.0.0.0", token=TOKEN, names=("bench.example.org",))  # noqa: S104
    site.headers["authorization"] = f"Bearer {TOKEN}"
    for host, status in (
        ("192.0.2.7:8642", 200),
        ("[2001:db8::1]:8642", 200),
        ("bench.example.org", 200),
        (socket.gethostname(), 200),
        ("evil.example", 421),
    ):
        assert site.get("/", headers={"host": host}).status_code == status, host


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:8642"}, 403),
        ({"origin": URL}, 200),
        ({"origin": URL.replace("http:", "https:")}, 200),
        ({"origin": URL.replace("http:", "ftp:")}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 200),
        ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}, 200),
        ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 200),
    ],
)
def test_a_page_elsewhere_may_link_here_and_nothing_else(
    site: TestClient, headers: dict[str, str], status: int
) -> None:
    assert site.get("/", headers=headers).status_code == status


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"])
def test_nothing_but_reading_is_a_method_here(site: TestClient, method: str) -> None:
    answer = site.request(method, f"/results/{DEMO}")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


def test_a_post_needs_a_page_of_ours_and_a_route_that_has_one(site: TestClient) -> None:
    assert site.post("/").status_code == 403
    assert site.post("/", headers={"origin": "http://evil.example"}).status_code == 403
    assert site.post("/", headers={"origin": URL}).status_code == 405
    assert site.post("/", headers={"sec-fetch-site": "same-origin"}).status_code == 405


def test_head_has_the_headers_of_get_and_no_body(site: TestClient) -> None:
    answer = site.head(f"/results/{DEMO}/files")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize(
    "path", ["/", f"/results/{DEMO}", "/nothing", "/static/web.css", f"/results/{DEMO}/file/manifest.json"]
)
def test_every_answer_forbids_scripts_of_others_frames_and_guessing(site: TestClient, path: str) -> None:
    headers = site.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "set-cookie" not in headers
    assert "server" not in headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline'" not in policy.replace("style-src-attr 'unsafe-inline'", "")
    assert "unsafe-eval" not in policy
    assert policy == CONTENT_SECURITY_POLICY or "sandbox" in policy


def test_a_failure_inside_says_nothing_of_itself_and_is_guarded_too(
    site: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from linewatt.features.serve import list_query

    def fails(_: object) -> None:
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr(list_query, "parse_query", fails)
    answer = site.get("/")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.headers["x-frame-options"] == "DENY"


def test_what_cannot_be_asked_is_said_in_one_line(site: TestClient) -> None:
    answer = site.get("/?sort=<b>")
    assert answer.status_code == 400
    assert "sort=&#39;&lt;b&gt;&#39;: must be one of id, best" in answer.text


# Token -----------------------------------------------------------------------------------------------------


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"anybody:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (None, 401),
        (f"Bearer {TOKEN}", 200),
        (basic(TOKEN), 200),
        (f"Bearer {TOKEN}x", 401),
        ("Bearer ", 401),
        (basic(""), 401),
        ("Basic §", 401),
        (f"Digest {TOKEN}", 401),
    ],
)
def test_with_a_token_nothing_is_shown_without_it(root: Path, said: str | None, status: int) -> None:
    site = client(root, token=TOKEN)
    headers = {} if said is None else {"authorization": said.encode("latin-1")}
    for path in ("/", "/static/web.css", f"/results/{DEMO}/save/result.json"):
        answer = site.get(path, headers=headers)
        assert answer.status_code == status, path
        if status == 401:
            assert answer.headers["www-authenticate"].startswith("Basic ")
            assert DEMO not in answer.text
            assert answer.headers["connection"] == "close", "who is refused keeps no connection"
            assert "the URL that 'linewatt serve' printed has it" in answer.text


def test_the_printed_url_leads_to_the_list_without_the_token_in_the_url(root: Path) -> None:
    site = client(root, token=TOKEN)
    assert site.get("/login").status_code == 401
    answer = site.get("/login", headers={"authorization": basic(TOKEN), "host": "localhost:8642"})
    assert (answer.status_code, answer.headers["location"]) == (303, "//localhost:8642/")
    assert "set-cookie" not in answer.headers
    assert site.get("/login", headers={"host": "evil.example"}).status_code == 421


def test_each_server_process_has_another_token() -> None:
    first, second = new_token(), new_token()
    assert first != second
    assert len(first) == len(second) == 32


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("short", "16 to 1024 characters"),
        ("", "16 to 1024"),
        ("two words of it all", "more than one word"),
        ("ü" * 20, "ASCII"),
    ],
)
def test_a_token_that_can_be_guessed_or_said_wrongly_is_refused(
    tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "token").write_text(text)
    with pytest.raises(InvalidInput, match=words):
        read_token(tmp_path / "token")


def test_a_token_is_the_line_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert read_token(tmp_path / "token") == TOKEN


# Start -----------------------------------------------------------------------------------------------------


def settings(**changes: Any) -> Settings:
    return Settings(Path("results"), Path("state"), **changes)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("192.0.2.1", False),
        ("host.example", False),
        ("localhost.example", False),
    ],
)
def test_which_addresses_lead_to_this_machine_alone(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "host.example"])  # noqa: S104
def test_beyond_this_machine_a_token_is_needed_also_with_tls(
    host: str, certificate: tuple[Path, Path]
) -> None:
    cert, key = certificate
    for made in (settings(host=host), settings(host=host, tls_cert=cert, tls_key=key)):
        with pytest.raises(InvalidInput, match="add --token-file FILE"):
            checked(made)
    assert checked(settings(host=host, token=TOKEN)).token == TOKEN


def test_the_default_is_loopback() -> None:
    assert checked(settings()).is_loopback


def test_a_certificate_needs_its_key_and_both_must_be_some(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    with pytest.raises(InvalidInput, match="name both"):
        checked(settings(tls_cert=cert))
    with pytest.raises(InvalidInput, match=r"--tls-cert .*cert.pem: No such file"):
        checked(settings(tls_cert=cert, tls_key=key))
    cert.write_text("x")
    key.write_text("x")
    with pytest.raises(InvalidInput, match="are not a certificate"):
        checked(settings(tls_cert=cert, tls_key=key))


def test_with_a_certificate_the_url_is_https(certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    made = checked(settings(host="192.0.2.1", tls_cert=cert, tls_key=key, token=TOKEN))
    assert made.url(443) == "https://192.0.2.1:443/"


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    return certificate_in(tmp_path)


def test_old_tls_is_not_spoken(certificate: tuple[Path, Path]) -> None:
    from linewatt.features.serve.settings import tls_context

    assert tls_context(*certificate).minimum_version == ssl.TLSVersion.TLSv1_2


def test_a_token_is_in_no_text_of_its_settings() -> None:
    assert TOKEN not in repr(settings(token=TOKEN))


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"--port {port}: another program listens there"):
            serving.bind(settings(port=port))


def test_an_address_of_another_machine_is_said() -> None:
    with pytest.raises(InvalidInput, match=r"--listen 192\.0\.2\.1: cannot be listened on"):
        serving.bind(settings(host="192.0.2.1"))


def test_the_command_refuses_before_anything_is_bound(run: Run) -> None:
    code, out, err = run("serve", "--listen", "0.0.0.0")  # noqa: S104
    assert (code, out) == (2, "")
    assert err.startswith(
        "linewatt: --listen 0.0.0.0: others could read every result there, and stop runs; add --token-file"
    )
    code, _, err = run("serve", "--listen", "192.0.2.1", "--no-token")
    assert (code, err.partition(";")[2].strip()) == (2, "add --token-file FILE")
    code, _, err = run("serve", "--no-token", "--token-file", "token")
    assert (code, err) == (2, "linewatt: --no-token and --token-file: use only one of them\n")
    code, _, err = run("serve", "--results", "nowhere")
    assert (code, err.count("\n")) == (2, 1)


def test_on_a_terminal_it_says_what_is_shown_and_how_it_ends(tmp_path: Path) -> None:
    words = ["-m", "linewatt", "serve", "--port", "0", "--results", "."]
    with on_terminal([sys.executable, *words], columns=80, cwd=tmp_path) as child:
        child.read_until("/login")
        child.process.send_signal(signal.SIGINT)
        assert child.ended() == 0
    assert child.screen.text.startswith(
        "showing .; Ctrl-C ends the server; open in a browser:\nhttp://linewatt:"
    )


class Begun:
    """Stands for the server: begins and ends at once."""

    settings: Settings

    def run(
        self,
        settings: Settings,
        listening: socket.socket,
        say: Callable[[str], None],
        began: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        self.settings = settings
        began()
        listening.close()


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Begun:
    (tmp_path / "results").mkdir()
    begun = Begun()
    monkeypatch.setattr(serving, "run", begun.run)
    return begun


def test_on_loopback_the_printed_url_has_a_token_and_nothing_is_shown_without_it(
    run: Run, begun: Begun, root: Path
) -> None:
    code, out, err = run("serve", "--port", "0")
    served = Served.at(out.strip())
    assert served is not None, out
    assert (code, err) == (0, "")
    assert len(out) < 80
    assert served.token == begun.settings.token
    site = client(root, token=begun.settings.token)
    assert site.get("/").status_code == 401
    assert site.get("/", headers=served.authorization).status_code == 200


def test_a_token_of_a_file_is_not_printed(run: Run, begun: Begun, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    code, out, err = run("serve", "--port", "0", "--token-file", "token")
    assert (code, err) == (0, "")
    assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/\n", out)
    assert begun.settings.token == TOKEN


def test_without_a_token_the_command_says_what_everybody_can_do(run: Run, begun: Begun) -> None:
    code, out, err = run("serve", "--port", "0", "--no-token")
    assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/\n", out)
    assert (code, err) == (
        0,
        "--no-token: every user of this machine can read all results here, and nobody can stop a run "
        "here; without this option, a token is needed\n",
    )
    assert begun.settings.token is None


def test_where_the_extra_is_missing_one_line_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Callable[..., Any] = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "uvicorn":
            raise ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn")
        return real(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "linewatt.features.serve.serving")
    monkeypatch.delattr("linewatt.features.serve.serving")
    monkeypatch.setattr(builtins, "__import__", without)
    code, out, err = run("serve", "--port", str(PORT))
    assert (code, out) == (2, "")
    command = install_command("web")
    assert err == f"linewatt: serve: uvicorn is not installed; install what pages need: {command}\n"
