# SPDX-License-Identifier: Apache-2.0
"""Results of every kind in one directory, and a server of pages over them without a network."""

from __future__ import annotations

import datetime
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from starlette.testclient import TestClient
from tests.report_factories import (
    HOSTILE,
    demo_trials,
    failed,
    host,
    manifest_of,
    powered,
    result,
    scaling_trials,
    stored,
    written,
)

from linewatt.features.serve.app import create_app
from linewatt.features.serve.settings import Settings
from linewatt.model import Case
from linewatt.store import write

PORT = 8642
URL = f"http://127.0.0.1:{PORT}"
DEMO, WATTS, LAB = "20260101-000000-demo", "20260102-000000-watts", "20260103-000000-lab"
BROKEN, FAILED, HOSTILE_ID = "20260104-000000-broken", "20260105-000000-failed", "20260106-000000-hostile"
RAW = {"h2/iperf3.json": '{"end": 1}\n', "h1/mpstat.txt": "<html><script>alert(1)</script>\n"}


def results_in(root: Path) -> Path:
    """A result of every kind."""
    root.mkdir(parents=True, exist_ok=True)
    lab = {name: host(name, lab="demo", shares_cpus_with=["h1", "h2"]) for name in ("h1", "h2")}
    stored(root, result(powered(scaling_trials(trials=3)), id=WATTS, name="watts"))
    simulated = powered(scaling_trials(trials=3), provenance="simulated")
    stored(root, result(simulated, id=LAB, name="lab", hosts=lab))
    stored(root, result([failed(1, Case("tcp", "h1", "h2"), "gone")], planned=4, id=FAILED, name="failed"))
    stored(root, result(demo_trials(), id=HOSTILE_ID, name=HOSTILE))
    (root / BROKEN).mkdir()
    (root / BROKEN / "manifest.json").write_text("{")
    with_files(root)
    return root


def with_files(root: Path) -> Path:
    """A result as a campaign stores it: with checksums, and what tools wrote."""
    trials = demo_trials()
    manifest = written(
        manifest_of(id=DEMO, name="demo", trials_planned=len(trials), created_s=1_767_225_600.0)
    )
    made = write.new_result(root, "demo", 1_767_225_600.0, manifest)
    for trial in trials:
        write.write_trial(made, trial, [], RAW)
    assert made.name == DEMO
    return made


def client(results: Path, headers: dict[str, str] | None = None, **settings: Any) -> TestClient:
    """A browser without scripts; a redirection is an answer."""
    made = Settings(results, results / "state", **settings)
    return TestClient(
        create_app(made, ThreadPoolExecutor(2)),
        base_url=URL,
        headers=headers,
        follow_redirects=False,
        raise_server_exceptions=False,
    )


def certificate_in(folder: Path) -> tuple[Path, Path]:
    """A certificate for localhost of a test's own, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    cert_file, key_file = folder / "cert.pem", folder / "key.pem"
    cert_file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    return cert_file, key_file
