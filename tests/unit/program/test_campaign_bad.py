# SPDX-License-Identifier: Apache-2.0
"""A bad campaign file is one line on stderr, exit 2, and nothing ran, was written or was connected to.

Every file in captures/campaign/bad is a case: its first line says what to expect after its own name, or
after the name of another file of the folder. Lines about several mistakes are separated by ``⏎``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from tests import forked
from tests.amounts import inputs
from tests.unit.features.calibration.test_corrected import METERS as CALIBRATED_METERS
from tests.unit.features.calibration.test_corrected import result_with_calibration

from linewatt.campaign.campaign import EnergySweep, feature_values_of
from linewatt.campaign.entries.schema import json_schema
from linewatt.campaign.reading.file import load_campaign
from linewatt.errors import InvalidInput
from linewatt.features.users.model import users_in
from linewatt.features.users.worker.server_vsftpd import OPTIONS

ANSWER_LIMIT_S = 60.0
"""for one file; Python's start comes on top of the first"""
BAD = Path(__file__).parents[2] / "captures" / "campaign" / "bad"
FILES = sorted(BAD.glob("*.yaml"))

FORBID = """
import os, sys

def forbid(event, args):
    if event.startswith(("subprocess.", "socket.", "os.exec", "os.posix_spawn", "os.fork", "os.system")):
        os.write(2, f"FORBIDDEN {event} {args}\\n".encode())
        os._exit(99)
    if event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        os.write(2, f"FORBIDDEN write {args}\\n".encode())
        os._exit(98)
"""
"""an audit hook that ends a process as soon as it starts another, opens a socket or writes a file"""

AUDITED = f"""{FORBID}
import asyncssh  # looks for libraries of the system when it is imported
from linewatt.cli.entry_point import main
sys.addaudithook(forbid)
main()
"""


class Audited(forked.Forked):
    """A command that must not start, connect to or write anything."""

    before = f"{FORBID}\nsys.dont_write_bytecode = True\nsys.addaudithook(forbid)"


class AuditedEach(forked.Forked):
    """The same of many commands, one after the other in one process: a line a file, what it said of it."""

    before = f"""{Audited.before}
import contextlib, io, json
from linewatt.cli import entry_point as cli

for file in sys.argv[1:]:
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["linewatt", "plan", file]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = cli.main()
        except SystemExit as end:
            status = end.code
    print(json.dumps([file, [status, out.getvalue(), err.getvalue()]]), flush=True)
os._exit(0)
"""


HOSTILE = (
    "it's",
    'a"b',
    "$(touch linewatt-was-here)",
    "`touch linewatt-was-here`",
    "a;touch linewatt-was-here",
    "a\ntouch linewatt-was-here",
    "a|touch linewatt-was-here",
    "-oProxyCommand=touch",
    "\x1b[31mred",
    "a\x00b",
    "",
)


def tunnel(host: str) -> dict[str, Any]:
    """One end of a VXLAN, as an NMState document."""
    own, peer = (1, 2) if host == "a" else (2, 1)
    address = {"ip": f"198.18.100.{own}", "prefix-length": 24}
    vxlan = {"id": 1, "base-iface": "eth0", "remote": f"192.0.2.{peer}"}
    interface = {"name": "vx0", "type": "vxlan", "vxlan": vxlan}
    return {"interfaces": [{**interface, "ipv4": {"enabled": True, "address": [address]}}]}


EVERY_TEXT: dict[str, Any] = {
    "name": "n",
    "load": "iperf3",
    "description": "d",
    "hosts": {
        "a": {
            "address": "192.0.2.1",
            "data": "eth0",
            "user": "u",
            "key_file": "k",
            "jump": "bastion",
            "known_hosts": "k",
            "data_ipv4": "192.0.2.1",
            "data_ipv6": "2001:db8::1",
            "cpus": "0-7",
            "app_cpus": "0",
            "irq_cpus": "1",
            "topology": "k",
            "components": [{"name": "SSD", "power_w": 2, "provenance": "datasheet", "kind": "storage"}],
            "psus": {"rating_w": 800, "level": "gold", "mode": "shared"},
            "power": {
                "m": {
                    "driver": "command",
                    "argv": ["meter"],
                    "provenance": "measured",
                    "channels": {"c": {"scope": "wall", "unit": "W"}},
                },
                "b": {
                    "driver": "ipmi",
                    "address": "192.0.2.9",
                    "user": "u",
                    "password_env": "P",
                    "sensors": ["PSU*"],
                    "privilege": "user",
                    "cipher_suite": "auto",
                    "dcmi": "auto",
                },
                "f": {"driver": "ipmi", "address": "192.0.2.9", "user": "u", "password_file": "k"},
                "k": {"driver": "ipmi", "address": "192.0.2.9", "user": "u", "password_keyring": "s/u"},
                "r": {
                    "driver": "redfish",
                    "address": "192.0.2.9",
                    "user": "u",
                    "password_env": "P",
                    "chassis": "1",
                    "parts": ["memory"],
                    "ca_file": "k",
                },
                "u": {"driver": "redfish", "url": "https://192.0.2.9"},
                "s": {
                    "driver": "snmp",
                    "address": "192.0.2.9",
                    "version": "3",
                    "user": "u",
                    "password_env": "P",
                    "auth": "sha",
                    "privacy": "aes",
                    "privacy_separator": "/",
                    "profile": "apc-rpdu",
                },
                "o": {
                    "driver": "snmp",
                    "address": "192.0.2.9",
                    "channels": {"c": {"oid": "1.3.6.1", "scope": "wall", "unit": "W"}},
                },
                "t": {
                    "driver": "modbus",
                    "address": "192.0.2.9",
                    "channels": {
                        "c": {
                            "address": 12,
                            "kind": "input",
                            "type": "float32",
                            "word_order": "big",
                            "scope": "wall",
                        }
                    },
                },
                "p": {
                    "driver": "http",
                    "insecure": True,
                    "profile": "tasmota",
                    "address": "192.0.2.9",
                    "user": "u",
                    "auth": "basic",
                    "password_env": "P",
                    "ca_file": "k",
                },
                "w": {
                    "driver": "http",
                    "url": "https://192.0.2.9/x?y=z",
                    "channels": {"c": {"path": "a[0].b", "scope": "wall"}},
                },
                "h": {"driver": "hwmon", "chips": ["i*"], "channels": ["i*"], "scopes": {"i*": "wall"}},
                "e": {"driver": "estimate", "scope": "cpu", "idle_w": 1, "max_w": 2},
            },
        },
        "b": {
            "address": "192.0.2.2",
            "data": "eth0",
            "limits": {
                "heartbeat": "300 ms",
                "silence": "5 s",
                "answer": "5 s",
                "command": "1m",
                "login": "30s",
            },
        },
    },
    "pairs": ["a -> b"],
    "directions": ["forward"],
    "tests": ["tcp", {"test": "udp-60", "rate": "1M"}, {"test": "udp-60", "rate": "auto"}],
    "families": ["ipv4"],
    "networks": [
        "bare",
        {"name": "one", "file": "one.yaml"},
        {"name": "each", "files": {"a": "a.yaml", "b": "b.yaml"}},
        {"name": "here", "hosts": {"a": tunnel("a"), "b": tunnel("b")}},
    ],
    "rate": "1G",
    "search": {"loss": ["0%"], "width": "1%", "max_rate": "1G"},
    "trials": {"min": 3, "max": 5, "until": "1%"},
    "order": "random",
    "ports": "5201-5264",
    "placement": "none",
    "settings": {"sysctl": {"net.core.rmem_max": "1"}, "governor": "performance"},
    "window": {"seconds": "10s", "omit": "2s", "tail": "1s"},
    "idle": {"seconds": "5s"},
    "factors": {
        "gro": ["on", "off"],
        "kernel": {"label": ["old", "new"], "hook": ["boot"], "fact": "kernel.release"},
    },
    "design": "full",
}
"""a campaign in which every key that may hold text does"""

_TWO_HOSTS = {name: {"address": f"192.0.2.{i}", "data": "eth0"} for i, name in enumerate("ab", 1)}
"""no more than a host needs: each campaign is parsed hundreds of times"""
EVERY_TEXT_OF_USERS = {
    "name": "n",
    "hosts": _TWO_HOSTS,
    "soak": {"duration": "1h", "interval": "10s", "segment": "10m"},
    "best_of": "last",
    "users": {
        "server": "a",
        "groups": {"g": {"clients": ["b"], "server": "eth1", "switch": "sw1"}},
        "users": 2,
        "get": {"size": "1M"},
        "put": {"size": "1k", "folder": "put"},
        "get_share": "40%",
        "think": "1s",
        "think_kind": "exponential",
        "login_per": "cycle",
        "checked": "2%",
        "start": "ramped",
        "spread": "2s",
        "discard": "copy",
        "sustained_at": "1M",
        "folder": "/srv",
        "passive_ports": "20000-20999",
        "server_cpus": "0-3",
        "client_cpus": "0",
        "python": "/opt/python",
    },
}
EVERY_TEXT_OF_VSFTPD = {
    "name": "n",
    "hosts": _TWO_HOSTS,
    "soak": "1h",
    "users": {
        "server": "a",
        "clients": ["b"],
        "users": 2,
        "get": {"size": "1M"},
        "vsftpd": {name: "on" for name, bounds in OPTIONS.items() if bounds is None},
    },
}
EVERY_TEXT_OF_A_SERVER: dict[str, Any] = {
    "name": "n",
    "hosts": _TWO_HOSTS,
    "soak": "1h",
    "users": {
        "server": {"url": "ftp://u@192.0.2.9/", "password_env": "P"},
        "clients": ["b"],
        "users": 2,
        "get": {"paths": ["pub/1"]},
    },
}
EVERY_TEXT_OF_A_PASSWORD_FILE = EVERY_TEXT_OF_A_SERVER | {
    "users": EVERY_TEXT_OF_A_SERVER["users"] | {"server": {"url": "ftp://u@192.0.2.9/", "password_file": "k"}}
}
EVERY_TEXT_OF_INSTANCES: dict[str, Any] = {
    "name": "n",
    "hosts": _TWO_HOSTS,
    "tests": [{"test": "tcp", "instances": "auto", "data": ["eth0"]}],
    "instances": "auto",
}
EVERY_TEXT_OF_ENERGY: dict[str, Any] = {
    "name": "n",
    "hosts": {
        name: one | {"power": {"m": {"driver": "estimate", "scope": "cpu", "idle_w": 1, "max_w": 2}}}
        for name, one in _TWO_HOSTS.items()
    },
    "energy": {"sizes": [60, 1500], "rates": ["10kpps", "20M"], "idle_share": "10%"},
}
METERS: dict[str, Any] = EVERY_TEXT["hosts"]["a"]["power"]


def with_host(**its: Any) -> dict[str, Any]:
    """A campaign of two hosts, of which the first has ``its`` keys beside those that it must have."""
    return {"name": "n", "hosts": _TWO_HOSTS | {"a": _TWO_HOSTS["a"] | its}, "tests": ["tcp"]}


EVERY_TEXT_OF_A_CALIBRATION = with_host(power={"bmc": CALIBRATED_METERS | {"calibration": "calibrated"}})
EVERY_TEXT_OF_A_REST = with_host() | {"rest": {"until": "cool"}}


CAMPAIGNS = {
    "hosts": with_host()
    | {"hosts": {host: its | {"power": {}} for host, its in EVERY_TEXT["hosts"].items()}},
    **{
        f"network {its['name']}": with_host() | {"networks": ["bare", its]}
        for its in EVERY_TEXT["networks"]
        if its != "bare"
    },
    "cases": {key: its for key, its in EVERY_TEXT.items() if key != "networks"} | {"hosts": _TWO_HOSTS},
    **{f"meter {name}": with_host(power={name: meter}) for name, meter in METERS.items()},
    "users": EVERY_TEXT_OF_USERS,
    "vsftpd": EVERY_TEXT_OF_VSFTPD,
    "server": EVERY_TEXT_OF_A_SERVER,
    "password": EVERY_TEXT_OF_A_PASSWORD_FILE,
    "instances": EVERY_TEXT_OF_INSTANCES,
    "energy": EVERY_TEXT_OF_ENERGY,
    "meter corrected": EVERY_TEXT_OF_A_CALIBRATION,
    "rest": EVERY_TEXT_OF_A_REST,
    "rest in short": EVERY_TEXT_OF_A_REST | {"rest": "until-cool"},
}
"""all of it, a part at a time: what is read 2,000 times may not be long"""

FREE = (("groups",), ("power",), ("channels",), ("scopes",), ("factors",), ("files",), ("hosts",))
"""mappings by names of the user's own, wherever they stand"""


@pytest.fixture(scope="module")
def with_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the files that the good campaign names, and the one that each test writes anew."""
    folder = tmp_path_factory.mktemp("campaign")
    shutil.copy(BAD.parents[1] / "topology" / "2.9.0-v2-devices" / "topology.xml", folder / "k")
    (folder / "one.yaml").write_text(as_yaml({"hosts": {"a": tunnel("a"), "b": tunnel("b")}}))
    for name in ("a", "b"):
        (folder / f"{name}.yaml").write_text(as_yaml(tunnel(name)))
    result_with_calibration(folder / "made", "a", "192.0.2.1").rename(folder / "calibrated")
    return folder


def linewatt(*arguments: str) -> subprocess.CompletedProcess[str]:
    return forked.run(arguments, kind=Audited, timeout=ANSWER_LIMIT_S)


def expected_error(path: Path) -> str:
    first = path.read_bytes().split(b"\n")[0].decode()
    text = first.removeprefix("# expect: ")
    assert text != first, f"{path.name} must begin with `# expect: `"
    lines = []
    for line in text.replace("{folder}", str(BAD)).split(" ⏎ "):
        name = f"{path.name}:" if re.match(r"\d+:\d+: ", line) else ""
        lines.append(f"{BAD}/{name}{line}\n")
    return f"linewatt: {''.join(lines)}"


def as_yaml(value: Any) -> str:
    return json.dumps(value)  # JSON is YAML


def text_fields(schema: dict[str, Any], node: Any, path: str = "") -> Iterator[str]:
    """Dotted names of the keys of a schema that may hold text, the keys of free mappings as ``*``."""
    if "$ref" in node:
        yield from text_fields(schema, schema["$defs"][node["$ref"].rpartition("/")[2]], path)
    if node.get("type") == "string" or "enum" in node:
        yield path
    if "items" in node:
        yield from text_fields(schema, node["items"], path)
    for kind in ("anyOf", "oneOf"):
        for choice in node.get(kind, ()):
            yield from text_fields(schema, choice, path)
    for name, value in node.get("properties", {}).items():
        yield from text_fields(schema, value, f"{path}.{name}".lstrip("."))
    for value in node.get("patternProperties", {}).values():
        yield f"{path}.*"
        yield from text_fields(schema, value, f"{path}.*")


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Paths of every text in a campaign, and of every key that the user chooses."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            if path in (("hosts",), ("settings", "sysctl")) or path[-1:] in FREE:
                yield (*path, f"key {key}")
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def replaced(value: Any, path: tuple[str | int, ...], text: str) -> Any:
    """The campaign with the text (or key) at ``path`` replaced."""
    head, *rest = path
    if isinstance(head, str) and head.startswith("key "):
        return {text if key == head[4:] else key: item for key, item in value.items()}
    copy = value.copy()
    copy[head] = replaced(value[head], tuple(rest), text) if rest else text
    return copy


PROGRAMS = {"argv", "hook"}
PLACES = [
    (name, path)
    for name, campaign in CAMPAIGNS.items()
    for path in places(campaign)
    if path != ("description",) and not PROGRAMS & set(path)
    if name == "hosts" or path[:3] == ("hosts", "a", "power") or path[0] != "hosts"
    if not name.startswith("meter") or path[0] == "hosts"
    if name == "hosts" or path != ("name",)
]
"""all but free text and the programs that a user names, which are argument lists and for no shell"""


@pytest.fixture(scope="module")
def said() -> dict[str, list[Any]]:
    """Bad file → status, stdout and stderr. It ends with the file that did what it must not."""
    done = forked.run(FILES, kind=AuditedEach, timeout=2 * ANSWER_LIMIT_S)
    found = dict(map(json.loads, done.stdout.splitlines()))
    assert done.returncode == 0, f"{FILES[len(found)]}: {done.stderr}"
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bad_campaign_gives_one_line_and_exit_2_and_nothing_runs(
    said: dict[str, list[Any]], path: Path
) -> None:
    assert said[str(path)] == [2, "", expected_error(path)]


def test_the_command_itself_says_the_same() -> None:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-c", AUDITED, "plan", str(FILES[0])]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", expected_error(FILES[0]))


def test_there_are_many_bad_files() -> None:
    assert len(FILES) >= 100


@pytest.mark.parametrize(("of", "path"), PLACES, ids=[".".join(map(str, (of, *path))) for of, path in PLACES])
def test_hostile_text_is_refused_in_every_text_field(
    with_files: Path, of: str, path: tuple[str | int, ...]
) -> None:
    """Several texts in one test: as tests of their own, each would cost more than what it tests. In ``make
    test`` other fields get other texts."""
    file, campaign = with_files / "bad.yaml", CAMPAIGNS[of]
    texts = sorted(HOSTILE, key=lambda text: zlib.crc32(f"{of} {path} {text}".encode()))
    tried = texts[: inputs(len(HOSTILE), fewest=4)]
    assert [text for text in tried if not refused(file, replaced(campaign, path, text))] == []


def refused(file: Path, campaign: dict[str, Any]) -> bool:
    """Whether a campaign is, in one line that names its file."""
    file.write_text(as_yaml(campaign))
    try:
        load_campaign(file)
    except InvalidInput as error:
        return str(error).isprintable() and str(error).startswith(f"{file}:")
    return False


def test_no_text_field_is_left_out_of_the_hostile_tests() -> None:
    schema = json_schema()
    known = set(text_fields(schema, schema))
    tried = {
        ".".join(
            "*" if str(part).startswith("key ") else str(part) for part in path if not isinstance(part, int)
        )
        for campaign in CAMPAIGNS.values()
        for path in places(campaign)
    }
    tried = {re.sub(r"^hosts\.[ab]\b", "hosts.*", name) for name in tried}
    tried = {re.sub(r"\.(power|channels|scopes)\.(?:[a-z]|bmc)\b\*?", r".\1.*", name) for name in tried}
    tried = {re.sub(r"^networks\.(hosts|files)\.[ab]\b", r"networks.\1.*", name) for name in tried}
    tried = {re.sub(r"^users\.groups\.g\b", "users.groups.*", name) for name in tried}
    tried = {re.sub(r"^factors\.(\w+|\*)", "factors.*", name) for name in tried}
    tried = {name.replace("sysctl.net.core.rmem_max", "sysctl.*") for name in tried}
    in_inventories = {"hosts", "hosts.inventory", "hosts.group"}
    assert known - in_inventories <= tried


@pytest.mark.parametrize("key", ["inventory", "group"])
@pytest.mark.parametrize("text", HOSTILE, ids=repr)
def test_hostile_text_is_refused_where_an_inventory_is_named(tmp_path: Path, key: str, text: str) -> None:
    file = tmp_path / "bad.yaml"
    hosts = {"inventory": "inventory.ini", "group": "all", key: text}
    file.write_text(as_yaml({"name": "n", "hosts": hosts, "tests": ["tcp"]}))
    with pytest.raises(InvalidInput, match=r"bad\.yaml:1:"):
        load_campaign(file)


@pytest.mark.parametrize("of", CAMPAIGNS)
def test_each_part_of_the_hostile_tests_is_good_itself(with_files: Path, of: str) -> None:
    """So that what is refused there is the text."""
    file = with_files / "good.yaml"
    file.write_text(as_yaml(CAMPAIGNS[of]))
    assert load_campaign(file).name == "n"


@pytest.mark.parametrize("of", ["users", "vsftpd", "server", "password"])
def test_the_soaks_of_the_hostile_tests_are_good_themselves(with_files: Path, of: str) -> None:
    file = with_files / "good.yaml"
    file.write_text(as_yaml(CAMPAIGNS[of]))
    users = users_in(load_campaign(file))
    assert users is not None
    assert users.clients == ("b",)


def test_the_campaign_of_the_hostile_tests_is_good_itself(with_files: Path) -> None:
    file = with_files / "good.yaml"
    file.write_text(as_yaml(EVERY_TEXT))
    campaign = load_campaign(file)
    assert campaign.hosts["a"].irq_cpus == (1,)
    assert campaign.networks == ("bare", "one", "each", "here")


def test_the_meter_and_the_rest_of_the_hostile_tests_are_good_themselves(with_files: Path) -> None:
    file = with_files / "good.yaml"
    file.write_text(as_yaml(EVERY_TEXT_OF_A_CALIBRATION))
    assert [
        where for where, values in feature_values_of(load_campaign(file)).items() if "calibration" in values
    ] == [("a", "bmc")]
    for rest in ({"until": "cool"}, "until-cool"):
        file.write_text(as_yaml(EVERY_TEXT_OF_A_REST | {"rest": rest}))
        assert load_campaign(file).rest is not None


def test_the_sweep_of_the_hostile_tests_is_good_itself(with_files: Path) -> None:
    file = with_files / "good.yaml"
    file.write_text(as_yaml(EVERY_TEXT_OF_ENERGY))
    assert load_campaign(file).energy == EnergySweep(0.1)


@pytest.mark.parametrize(
    "act", ["subprocess.run(['true'])", "socket.create_connection(('127.0.0.1', 9))", "open('x', 'w')"]
)
def test_the_guard_of_these_tests_does_catch_what_it_forbids(tmp_path: Path, act: str) -> None:
    code = f"import socket, subprocess\n{FORBID}\nsys.addaudithook(forbid)\n{act}"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode in (98, 99)
    assert b"FORBIDDEN" in done.stderr


def test_description_is_free_text_and_runs_nothing(with_files: Path) -> None:
    file = with_files / "good.yaml"
    file.write_text(as_yaml({**EVERY_TEXT, "description": 'it\'s "$(touch here)" `x`\nand a second line'}))
    done = linewatt("plan", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert "touch" not in done.stdout


def test_description_with_terminal_escapes_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(as_yaml({**EVERY_TEXT, "description": "\x1b[31mred"}))
    with pytest.raises(InvalidInput, match="must not hold control characters"):
        load_campaign(file)


@pytest.mark.parametrize("arguments", [(), ("--json",), ("--trials",)])
def test_plan_of_a_good_campaign_starts_connects_to_and_writes_nothing(
    with_files: Path, arguments: tuple[str, ...]
) -> None:
    file = with_files / "good.yaml"
    file.write_text(as_yaml(EVERY_TEXT))
    done = linewatt("plan", str(file), *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "is a directory; name the file in it"),
        (
            lambda path: path.write_text("# " + "x" * (1 << 20)),
            "is larger than 1 MiB; this is not a file written for linewatt",
        ),
        (lambda path: path.symlink_to(path), "cannot be read: Too many levels of symbolic links"),
    ],
    ids=["missing", "directory", "huge", "link to itself"],
)
def test_what_is_no_readable_file_gives_one_line(tmp_path: Path, make: Any, message: str) -> None:
    path = tmp_path / "campaign.yaml"
    make(path)
    done = linewatt("plan", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"linewatt: {path}: {message}\n"


def test_a_file_that_is_not_there_has_a_similar_name(tmp_path: Path) -> None:
    (tmp_path / "two-hosts.yaml").touch()
    (tmp_path / "readme").touch()
    path = tmp_path / "two-host.yaml"
    done = linewatt("plan", str(path))
    assert done.stderr == f"linewatt: {path}: no such file (did you mean two-hosts.yaml?)\n"
    path.write_text(as_yaml(EVERY_TEXT | {"hosts": "two-hsts.yaml"}))
    assert "does not exist (did you mean two-host" in linewatt("plan", str(path)).stderr


def test_name_of_a_file_cannot_break_the_line(tmp_path: Path) -> None:
    done = linewatt("plan", str(tmp_path / "two\nlines\x1b[31m.yaml"))
    assert done.stderr.count("\n") == 1
    assert "two\\nlines\\x1b[31m.yaml: no such file" in done.stderr


def test_bad_inventory_on_the_command_line_gives_one_line(tmp_path: Path) -> None:
    file = tmp_path / "good.yaml"
    file.write_text(as_yaml(EVERY_TEXT))
    done = linewatt("plan", str(file), "--hosts", str(tmp_path / "none.ini"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"linewatt: {tmp_path}/none.ini: no such file\n"


def with_ssh_files(folder: Path, key_file: str, known_hosts: str) -> Path:
    """A campaign of two hosts of which ``dut``, from line 4 on, names files for SSH."""
    file = folder / "campaign.yaml"
    file.write_text(
        "name: n\nhosts:\n  gen: {address: 192.0.2.1, data: eth0}\n"
        "  dut:\n    address: 192.0.2.2\n    data: eth0\n"
        f"    key_file: {key_file}\n    known_hosts: {known_hosts}\ntests: [tcp]\n"
    )
    return file


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return linewatt("run", *arguments, "--results", str(folder / "results"))


def test_run_refuses_a_key_that_is_not_there_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "known").touch()
    file = with_ssh_files(tmp_path, "keys/id", "known")
    done = run(tmp_path, str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"linewatt: {file}:7:15: hosts.dut.key_file: {tmp_path}/keys/id does not exist; "
        "name a private key of this machine, or leave it out for SSH's own\n"
    )
    assert not (tmp_path / "results").exists()


def test_run_refuses_known_hosts_that_are_not_there_in_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "id").write_bytes(asyncssh.generate_private_key("ssh-ed25519").export_private_key())
    file = with_ssh_files(tmp_path, "id", "~/known")
    done = run(tmp_path, str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"linewatt: {file}:8:18: hosts.dut.known_hosts: {tmp_path}/home/known does not exist; "
        "name a known hosts file, or leave it out for ~/.ssh/known_hosts\n"
    )


def test_run_names_the_variable_of_an_inventory_whose_key_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "campaign.yaml"
    file.write_text("name: n\nhosts: hosts.ini\ntests: [tcp]\n")
    (tmp_path / "hosts.ini").write_text(
        "gen ansible_host=192.0.2.1\ndut ansible_host=192.0.2.2\n"
        "[all:vars]\nlinewatt_data=eth0\nansible_ssh_private_key_file=id\n"
    )
    done = run(tmp_path, str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"linewatt: {tmp_path}/hosts.ini:5:30: gen: ansible_ssh_private_key_file: {tmp_path}/id does not "
    )
    assert done.stderr.count("\n") == 1


def test_plan_is_of_use_where_the_keys_are_not(tmp_path: Path) -> None:
    done = linewatt("plan", str(with_ssh_files(tmp_path, "keys/id", "known")))
    assert (done.returncode, done.stderr) == (0, "")


def test_run_goes_on_where_the_files_are_there(tmp_path: Path) -> None:
    (tmp_path / "known").touch()
    (tmp_path / "id").write_bytes(asyncssh.generate_private_key("ssh-ed25519").export_private_key())
    done = run(tmp_path, str(with_ssh_files(tmp_path, "id", "known")))
    assert done.returncode in (98, 99)
    assert "FORBIDDEN" in done.stderr
