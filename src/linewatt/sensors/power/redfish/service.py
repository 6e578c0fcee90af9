# SPDX-License-Identifier: Apache-2.0
"""What is asked of a Redfish service: a session, the enclosures that are the host, their resources."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from linewatt.errors import HostError, InvalidInput
from linewatt.sensors.power.calls import JsonClient, Reply
from linewatt.sensors.power.redfish.readings import Enclosure, Resource, identity, sources

ROOT = "/redfish/v1/"
SESSIONS = "/redfish/v1/SessionService/Sessions"
POWER_LINKS = ("EnvironmentMetrics", "PowerSubsystem", "Power")

T = TypeVar("T")


class Service:
    """One service. Only paths are followed, never to another server."""

    def __init__(self, who: str, client: JsonClient, known_resources: dict[str, Resource]) -> None:
        self.who = who
        self._client = client
        self._known = known_resources
        self._root: Resource = {}
        self._session: str | None = None
        self._asked: list[str] = []
        self.failed: list[str] = []
        """resources that could not be had now, which says nothing of what they hold"""

    def awaited(self) -> str:
        """What was asked and is not answered."""
        return f"{self.who}: {self._asked[0] if self._asked else ROOT}"

    async def login(self, user: str | None, password: str | None) -> None:
        """A session; basic authentication only where the service offers none."""
        reply = await self._reply(ROOT)
        self._root = self._resource(ROOT, reply)
        if user is None or password is None:
            return
        path = _link(_at(self._root, "Links"), "Sessions") or SESSIONS
        self._asked.append(path)
        reply = await self._client.post(path, {"UserName": user, "Password": password})
        self._asked.remove(path)
        if reply.status in (404, 405, 501):
            self._client.set_auth((user, password))
            return
        if reply.status in (401, 403):
            raise HostError(f"{self.who}: refuses user {user} ({reply.status}); check user and password")
        token = reply.headers.get("X-Auth-Token")
        if reply.status not in (200, 201, 202) or not token:
            error_text = _error_text(reply).replace(password, "…")
            raise HostError(f"{self.who}: {path}: no session for {user}: status {reply.status}{error_text}")
        self._client.set_header("X-Auth-Token", token)
        self._session = _path(reply.headers.get("Location")) or _path(_at(reply.document, "@odata.id"))

    async def logout(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await self._client.delete(session)
        await self._client.close()

    async def chosen(self, pattern: str | None) -> list[Resource]:
        """The enclosures that are the host. Raises InvalidInput with what there is."""
        all_chassis = await self._members(_link(self._root, "Chassis"))
        if pattern is not None:
            paths = [path for path in all_chassis if fnmatchcase(_name(path), pattern)]
            if not paths:
                raise InvalidInput(
                    f"{self.who}: no chassis {pattern!r}; it has {', '.join(map(_name, all_chassis))}"
                )
            return [self._resource(path, await self._reply(path)) for path in paths]
        linked = await self._linked(all_chassis)
        chassis = await _together([self._get(path) for path in linked or all_chassis])
        powered = [enclosure for enclosure in chassis if any(_link(enclosure, key) for key in POWER_LINKS)]
        if linked and not powered and not self.failed:
            raise InvalidInput(
                f"{self.who}: this server has no power meter: no resource of power in chassis "
                f"{', '.join(map(identity, chassis))}; leave this source out, or name another with chassis"
            )
        if not powered or (not linked and len(powered) > 1):
            names = ", ".join(map(identity, powered)) or ", ".join(map(_name, all_chassis)) or "none"
            raise InvalidInput(f"{self.who}: which chassis is the host is not clear; name one of {names}")
        return powered

    async def _linked(self, all_chassis: list[str]) -> list[str]:
        """Enclosures of the service's only system. Raises InvalidInput when it has several."""
        systems = await self._members(_link(self._root, "Systems"))
        systems_read = await _together([self._get(path) for path in systems])
        if len(systems_read) > 1:
            raise InvalidInput(
                f"{self.who}: serves {len(systems_read)} systems; name the host's enclosure with chassis: "
                f"{', '.join(await self._owned(all_chassis))}"
            )
        return _links(_at(systems_read[0], "Links"), "Chassis") if systems_read else []

    async def _owned(self, all_chassis: list[str]) -> list[str]:
        """Names of the enclosures with their systems, for a message."""
        resources = await _together([self._maybe(path) for path in all_chassis])
        owners = {
            identity(enclosure): _links(_at(enclosure, "Links"), "ComputerSystems")
            for enclosure in resources
            if enclosure
        }
        return [
            f"{name} (of {', '.join(map(_name, systems))})" for name, systems in owners.items() if systems
        ] or list(map(_name, all_chassis))

    async def survey(self, chassis: Resource, parts: Collection[str]) -> Enclosure:
        """Everything of an enclosure that may hold readings."""
        environment, supplies, components = await asyncio.gather(
            self._maybe(_link(chassis, "EnvironmentMetrics")),
            self._supplies(_link(chassis, "PowerSubsystem")),
            self._parts(_links(_at(chassis, "Links"), "ComputerSystems"), parts),
        )
        enclosure = Enclosure(chassis, environment, supplies, components)
        scopes = {source.channel.scope.partition(":")[0] for source in sources(enclosure)}
        if {"system", "psu-in", "psu-out"} <= scopes:
            return enclosure
        return replace(enclosure, power=await self._maybe(_link(chassis, "Power")))

    async def _supplies(self, subsystem: str | None) -> list[tuple[Resource, Resource]]:
        """Also those without metrics: a sum without them would be too small."""
        paths = await self._members(_link(await self._maybe(subsystem), "PowerSupplies"))
        resources = [
            supply for supply in await _together([self._maybe(path) for path in paths]) if supply is not None
        ]
        metrics = await _together([self._maybe(_link(supply, "Metrics")) for supply in resources])
        return [
            (supply, supply_metrics or {"@odata.id": _link(supply, "Metrics") or supply["@odata.id"]})
            for supply, supply_metrics in zip(resources, metrics, strict=True)
        ]

    async def _parts(self, systems: list[str], parts: Collection[str]) -> list[tuple[Resource, Resource]]:
        measured: list[tuple[Resource, Resource]] = []
        for path in systems if parts else ():
            system = await self._maybe(path)
            for key in parts:
                members = await self._members(_link(system, key.capitalize()))
                measured += await self._measured(members, "EnvironmentMetrics")
        return measured

    async def _measured(self, paths: list[str], key: str) -> list[tuple[Resource, Resource]]:
        """Resources with their metrics, those that have some."""
        resources = await _together([self._maybe(path) for path in paths])
        metrics = await _together([self._maybe(_link(resource, key)) for resource in resources])
        return [
            (resource, resource_metrics)
            for resource, resource_metrics in zip(resources, metrics, strict=True)
            if resource is not None and resource_metrics is not None
        ]

    async def _members(self, path: str | None) -> list[str]:
        return _links(await self._maybe(path), "Members")

    async def _maybe(self, path: str | None) -> Resource | None:
        """A resource, or None where there is none."""
        if path is None:
            return None
        if path not in self._known:
            reply = await self._reply(path)
            if reply.status != 200 or not isinstance(reply.document, dict):
                if reply.status not in (404, 405, 501):
                    self.failed.append(f"{path}: {reply.problem or f'status {reply.status}'}")
                return None
            self._known[path] = {**reply.document, "@odata.id": path}
        return self._known[path]

    async def _get(self, path: str) -> Resource:
        """A resource that has to be there."""
        resource = await self._maybe(path)
        return resource if resource is not None else self._resource(path, await self._reply(path))

    def _resource(self, path: str, reply: Reply) -> Resource:
        if reply.status == 200 and isinstance(reply.document, dict):
            return {**reply.document, "@odata.id": path}
        problem = reply.problem if reply.status == 200 else f"status {reply.status}{_error_text(reply)}"
        raise HostError(f"{self.who}: {path}: {problem or 'is not a resource'}")

    async def replies(self, paths: list[str]) -> dict[str, Reply]:
        """What the service says now. Raises HostError when it does not know this login any more."""
        answers = await _together([self._reply(path) for path in paths])
        if any(reply.status == 401 for reply in answers):
            raise HostError(f"{self.who}: has ended the session")
        return dict(zip(paths, answers, strict=True))

    async def _reply(self, path: str) -> Reply:
        self._asked.append(path)
        reply = await self._client.get(path)
        self._asked.remove(path)
        return reply


async def _together(work: list[Coroutine[Any, Any, T]]) -> list[T]:
    """Results of coroutines run at once; raises the first error after all have ended."""
    done = await asyncio.gather(*work, return_exceptions=True)
    for outcome in done:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in done if not isinstance(outcome, BaseException)]


def _at(resource: Any, key: str) -> Any:
    return resource.get(key) if isinstance(resource, Mapping) else None


def _link(resource: Any, key: str) -> str | None:
    """The path of another resource."""
    return _path(_at(_at(resource, key), "@odata.id"))


def _links(resource: Any, key: str) -> list[str]:
    members = _at(resource, key)
    paths = [_path(_at(member, "@odata.id")) for member in members] if isinstance(members, list) else []
    return [path for path in paths if path is not None]


def _path(link: Any) -> str | None:
    """The path of a link; some services write whole addresses, which may name another way to them."""
    if not isinstance(link, str):
        return None
    path = link
    if link.startswith(("http://", "https://")):
        path = "/" + link.split("/", 3)[3] if link.count("/") > 2 else ""
    return path if path.startswith("/redfish/") else None


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _error_text(reply: Reply) -> str:
    """The service's message about a refusal, for the end of an error; may be empty."""
    error = _at(reply.document, "error")
    extended = _at(error, "@Message.ExtendedInfo")
    words = _at(extended[0], "Message") if isinstance(extended, list) and extended else _at(error, "message")
    return f": {' '.join(words.split())[:160]}" if isinstance(words, str) else ""
