# SPDX-License-Identifier: Apache-2.0
"""A Modbus TCP meter on a loopback port: pymodbus's own server, in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

from pymodbus.constants import ExcCodes
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

KINDS = {3: "holding", 4: "input"}


class Meter:
    """A running server; ``registers`` may be changed, and one that is not there is refused."""

    def __init__(self, registers: Mapping[str, Mapping[str, list[int]]]) -> None:
        self.registers = {kind: _flat(registers.get(kind, {})) for kind in KINDS.values()}
        self.port = 0
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._server: Any = None

    async def _answer(
        self, function: int, first: int, address: int, count: int, current: list[int], _: Any
    ) -> ExcCodes | None:
        known = self.registers[KINDS[function]]
        for number in range(address, address + count):
            if number not in known:
                return ExcCodes.ILLEGAL_ADDRESS
            current[number - first] = known[number]
        return None

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        every = SimData(0, count=65536, values=0, datatype=DataType.REGISTERS)
        device = SimDevice(1, simdata=[every], action=self._answer)
        self._server = ModbusTcpServer(device, address=("127.0.0.1", 0))
        await self._server.listen()
        self.port = self._server.transport.sockets[0].getsockname()[1]
        self._started.set()
        await self._server.serving

    def hang_up(self) -> None:
        """End every connection, as meters do that were not asked for a while, and see its socket closed."""

        async def close() -> None:
            connections = list(self._server.active_connections.values())
            sockets = [connection.transport.get_extra_info("socket") for connection in connections]
            for connection in connections:
                connection.close()
            await asyncio.sleep(0)  # transports close their sockets on the next turn of the loop
            assert [socket.fileno() for socket in sockets] == [-1] * len(sockets)

        asyncio.run_coroutine_threadsafe(close(), self._loop).result(60)

    def __enter__(self) -> Meter:
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._server.shutdown(), self._loop).result(5)
        self._thread.join(5)
        self._loop.close()


def _flat(registers: Mapping[str, list[int]]) -> dict[int, int]:
    return {
        int(first) + offset: value
        for first, values in registers.items()
        for offset, value in enumerate(values)
    }
