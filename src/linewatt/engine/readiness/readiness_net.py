# SPDX-License-Identifier: Apache-2.0
"""Whether the data network carries the load: link, PCI Express, route, packet size, ports. Pure.

Sources: PCI Express Base Specification for rates and encodings; RFC 791, 8200 for header sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from linewatt.campaign.entries import BARE_NETWORK
from linewatt.engine.live.interfaces import NAME_ANOTHER, NO_JSON, shared_lines, why_no_loopback
from linewatt.engine.live.line_rate import lanes_bps as lanes_bps
from linewatt.engine.readiness.readiness import Check, HostAnswer, PathAnswer, PortAnswer, Status, TakenPort
from linewatt.errors import InvalidInput
from linewatt.hosts.facts import further_nics
from linewatt.network import Framing, payload_bytes
from linewatt.units import format_rate

Answers = Mapping[str, HostAnswer]
_GT = re.compile(r"(\d+(?:\.\d+)?)\s*GT/s")


def net_checks(answer: HostAnswer, peers: Sequence[HostAnswer]) -> Iterator[Check]:
    """Link and PCI Express of one host; ``peers`` are those it exchanges data with."""
    for number, port in enumerate(answer.at_ports):
        yield link(port, [peer.at_ports[number] for peer in peers])
        yield pcie(port)
    yield from shared_with_ssh(answer)
    yield from large_frames(answer)


def link(answer: HostAnswer, peers: Sequence[HostAnswer]) -> Check:
    """Up, full duplex, and as fast as the other end."""
    name, data = answer.name, answer.wants.spec.data
    state, speed = answer.fact("nic", "state"), answer.fact("nic", "speed_bps")
    name_another = answer.interface_advice or NAME_ANOTHER
    if answer.fact("nic", "mtu") is None:
        is_missing = name_another != NO_JSON
        evidence = f"{'no interface' if is_missing else 'not known:'} {data} ({answer.why_not('nic', 'mtu')})"
        return Check(name, "link", "fail", evidence, name_another)
    for peer in peers:
        if why := why_no_loopback(answer.wants.spec, answer.facts, peer.name, peer.facts):
            return Check(name, "link", "fail", why, name_another)
    if state is None:
        return Check(name, "link", "unknown", f"whether {data} is up ({answer.why_not('nic', 'state')})")
    virtual = answer.fact("nic", "kind") not in (None, "physical")
    if state != "UP" and not (state == "UNKNOWN" and virtual):
        status: Status = "unknown" if state == "UNKNOWN" else "fail"
        return Check(name, "link", status, f"{data} is {state}", "look at cable and `ip link`")
    if speed is None:
        return Check(name, "link", "unknown", f"the speed of {data} ({answer.why_not('nic', 'speed_bps')})")
    shown = f"{data} is up at {format_rate(speed)}"
    duplex = answer.fact("nic", "duplex")
    if duplex == "Half":
        return Check(name, "link", "fail", f"{shown}, half duplex", "let both ends negotiate")
    others = {peer.name: peer.fact("nic", "speed_bps") for peer in peers}
    if slower := {peer: rate for peer, rate in others.items() if rate is not None and rate != speed}:
        listed = ", ".join(f"{peer} at {format_rate(rate)}" for peer, rate in sorted(slower.items()))
        advice = (
            "nothing, if they are meant to differ: the slower end is the limit; otherwise look at cables and "
            "negotiation"
        )
        return Check(name, "link", "warn", f"{shown}, {listed}", advice)
    return Check(name, "link", "ok", shown)


def shared_with_ssh(answer: HostAnswer) -> Iterator[Check]:
    """Data interfaces by which linewatt reaches the host."""
    for line in shared_lines(answer.wants.spec, answer.facts):
        yield Check(answer.name, "link", "warn", line.text, line.advice)


def pcie(answer: HostAnswer) -> Check:
    """Lanes times rate times encoding, against the line rate of the data interface and its neighbours."""
    name, data = answer.name, answer.wants.spec.data
    speed, width = answer.fact("nic", "pci_speed"), answer.fact("nic", "pci_width")
    has, line = lanes_bps(speed, width), answer.fact("nic", "speed_bps")
    if has is None and answer.fact("nic", "kind") not in (None, "physical"):
        return Check(name, "pcie", "ok", f"{data} is virtual ({answer.fact('nic', 'kind')})")
    if has is None or line is None:
        fact = "pci_speed" if has is None else "speed_bps"
        return Check(name, "pcie", "unknown", f"what its lanes carry ({answer.why_not('nic', fact)})")
    shown = f"x{width} at {_gt(speed)} carries {format_rate(has)}"
    if has < line:
        evidence = f"{shown}, the line has {format_rate(line)}"
        return Check(
            name, "pcie", "fail", evidence, f"put the card into a wider or faster slot{_capable(answer)}"
        )
    card_bps = lanes_bps(answer.fact("nic", "pci_max_speed"), answer.fact("nic", "pci_max_width"))
    if card_bps is not None and has < card_bps:
        evidence = f"{shown}, the card could do {format_rate(card_bps)}"
        return Check(
            name,
            "pcie",
            "warn",
            evidence,
            "nothing for this line; if the card should do more, look at slot and BIOS",
        )
    ports = answer.live.card_ports or ()
    if len(ports) > 1 and has < len(ports) * line:
        evidence = f"{shown}, {len(ports)} ports of its card are up ({', '.join(ports)})"
        advice = "keep its other ports quiet: the slot is enough for this line alone"
        if further_nics(answer.facts):
            advice = "nothing for this line alone; of its ports together the slot is the limit"
        return Check(name, "pcie", "warn", evidence, advice)
    return Check(name, "pcie", "ok", f"{shown}, the line has {format_rate(line)}")


def _gt(speed: str | None) -> str:
    match = _GT.search(speed or "")
    return f"{float(match[1]):g} GT/s" if match else "?"


def _capable(answer: HostAnswer) -> str:
    speed, width = answer.fact("nic", "pci_max_speed"), answer.fact("nic", "pci_max_width")
    return f"; it can do x{width} at {_gt(speed)}" if speed and width else ""


def large_frames(answer: HostAnswer) -> Iterator[Check]:
    """Bare tests for whose frames the data interface has no room, unless a run sets its MTU itself."""
    mtu, wants = answer.fact("nic", "mtu"), answer.wants
    if mtu is None or "mtu" in wants.knobs:
        return
    bare = dict.fromkeys((case.test, case.family) for case in wants.cases if case.network == BARE_NETWORK)
    for test, family in bare:
        try:
            payload_bytes(test, family, Framing(int(mtu)))
        except InvalidInput as error:
            evidence = f"{wants.spec.data}: {error}"
            yield Check(
                answer.name, "mtu", "fail", evidence, "leave the test out, or raise the MTU all the way"
            )


def paths(path_answers: Sequence[PathAnswer], answers: Answers) -> Iterator[Check]:
    """Route and packet size of every way that data takes, both ways."""
    for name in dict.fromkeys(path.host for path in path_answers):
        host_paths = [path for path in path_answers if path.host == name]
        yield from _merged(name, "route", [_route(path, answers[name]) for path in host_paths])
        yield from _merged(name, "mtu", [_mtu(path, answers) for path in host_paths])


def _merged(host: str, name: str, checks: Sequence[Check]) -> Iterator[Check]:
    """What is not well one by one, and all that is in one line."""
    yield from dict.fromkeys(check for check in checks if check.status != "ok")
    well = list(dict.fromkeys(check.found for check in checks if check.status == "ok"))
    if well:
        more = f" and {len(well) - 2} more" if len(well) > 3 else ""
        yield Check(host, name, "ok", "; ".join(well[: 2 if more else 3]) + more)


def _route(path: PathAnswer, answer: HostAnswer) -> Check:
    data = path.interface or answer.wants.spec.data
    to = f"to {path.peer} ({path.family})"
    if path.problem is not None:
        return Check(path.host, "route", "unknown", f"{to}: {path.problem}")
    if path.device is None:
        advice = f"give {data} an address in the peer's network, or the host a route"
        return Check(path.host, "route", "fail", f"{to}: no route", advice)
    if path.device == "lo":
        advice = "give both hosts addresses of their own, or take two machines: packets must leave the host"
        return Check(path.host, "route", "fail", f"{to}: stays inside the host", advice)
    if path.device != data:
        of_a_port = path.interface is not None and path.device in answer.wants.spec.interfaces
        crossed = path.is_crossed(data, answer.wants.spec.interfaces)
        if of_a_port and crossed and answer.root.granted:
            evidence = (
                f"{to}: over {path.device}, in the same subnet, until a run gives {data} a route of its own"
            )
            return Check(path.host, "route", "ok", evidence)
        evidence = f"{to}: goes over {path.device}, not over {data}"
        advice = "give data interfaces a network of their own"
        if of_a_port and not crossed:
            advice += (
                f", and data of {path.host} and {path.peer} the same order: the first port goes to the first"
            )
        elif of_a_port:
            advice += ", or root's rights to a run, which gives each port a route (sudo: true)"
        return Check(path.host, "route", "fail", evidence, advice)
    if path.gateway is not None:
        evidence = f"{to}: over {data} through the gateway {path.gateway}"
        return Check(path.host, "route", "warn", evidence, _GATEWAY_ADVICE)
    return Check(path.host, "route", "ok", f"{to} over {data}")


_GATEWAY_ADVICE = (
    "nothing, if it is meant: what the gateway can forward is part of the result; otherwise give both ends "
    "addresses in one subnet"
)


def _mtu(path: PathAnswer, answers: Answers) -> Check:
    to = f"to {path.peer} ({path.family})"
    if path.problem is not None or path.replies is None:
        return Check(path.host, "mtu", "unknown", f"{to}: {path.problem or 'not asked'}")
    if not path.replies:
        advice = "does it drop pings? The ports say whether it can be reached"
        return Check(path.host, "mtu", "unknown", f"{to}: no answer to a ping", advice)
    if path.full:
        passes = f"{path.mtu} bytes pass {to}"
        if larger_bytes := _largest_to_be_set(path, answers):
            evidence = f"{passes}; whether {larger_bytes} do, an MTU that a run sets, only the run can try"
            return Check(
                path.host, "mtu", "unknown", evidence, "make sure that every switch between them carries it"
            )
        return Check(path.host, "mtu", "ok", passes)
    passes = f"{path.largest_bytes} do" if path.largest_bytes else "smaller ones do"
    far = answers[path.peer].fact("nic", "mtu") if path.peer in answers else None
    far_mtu_words = f" (MTU there: {far})" if far is not None and far != path.mtu else ""
    evidence = f"{to}: packets of {path.mtu} bytes, the MTU here, do not pass, {passes}{far_mtu_words}"
    return Check(
        path.host, "mtu", "fail", evidence, "set the same MTU at both ends and on every switch between"
    )


def _largest_to_be_set(path: PathAnswer, answers: Answers) -> int | None:
    """The largest MTU that a run gives the data interface, where it is larger than what was tried."""
    answer = answers.get(path.host)
    if answer is None or path.mtu is None:
        return None
    wants = answer.wants
    mtus_bytes = wants.mtus_bytes.get(path.interface or wants.spec.data, ())
    return max((mtu for mtu in mtus_bytes if mtu > path.mtu), default=None)


def ports(
    servers: Sequence[str], port_answers: Sequence[PortAnswer], taken: Sequence[TakenPort], span: str
) -> Iterator[Check]:
    """The campaign's ports at every server: free, and reached from its clients over the data network."""
    for name in servers:
        bad = [_taken(taken_port) for taken_port in taken if taken_port.server == name]
        server_answers = [answer for answer in port_answers if answer.server == name]
        bad += [_closed(answer) for answer in server_answers if answer.problem is not None]
        yield from bad
        if not bad and server_answers:
            clients = list(dict.fromkeys(answer.client for answer in server_answers))
            kinds = " and ".join(dict.fromkeys(answer.protocol for answer in server_answers))
            many = ", ".join(clients) if len(clients) < 4 else f"{len(clients)} clients"
            yield Check(name, "ports", "ok", f"{span} free; {kinds} from {many} on the first and the last")
        elif not bad:
            yield Check(name, "ports", "unknown", f"{span}: no client could try them")


def _taken(taken_port: TakenPort) -> Check:
    return Check(
        taken_port.server,
        "ports",
        "fail",
        f"port {taken_port.port} is taken by {taken_port.by}",
        "end that, or choose other ports in the campaign (ports: FIRST-LAST)",
    )


def _closed(port_answer: PortAnswer) -> Check:
    what = f"{port_answer.protocol} port {port_answer.port} from {port_answer.client}: {port_answer.problem}"
    if not port_answer.asked:
        return Check(port_answer.server, "ports", "unknown", what)
    return Check(
        port_answer.server,
        "ports",
        "fail",
        what,
        "open the campaign's ports (TCP and UDP) in firewalls on the way",
    )
