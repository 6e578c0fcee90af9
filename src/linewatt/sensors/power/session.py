# SPDX-License-Identifier: Apache-2.0
"""What every open session with a meter has: see :class:`linewatt.sensors.power.base.MeterSession`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Self

from linewatt.missing import Missing, value_or_none
from linewatt.model import Channel

Answer = float | Missing
"""a value, or why there is none"""


class Session(ABC):
    """Its channels are known once it has started; the reasons are those of the last reading."""

    def __init__(self) -> None:
        self._channels: dict[str, Channel] = {}
        self._reasons: dict[str, str] = {}

    @property
    def channels(self) -> Mapping[str, Channel]:
        return self._channels

    @property
    def reasons(self) -> Mapping[str, str]:
        return self._reasons

    def started(self, password: str | None = None) -> Self:
        """The session, which knows what there is. Raises HostError, InvalidInput; nothing stays open then."""
        try:
            self.start(password)
        except BaseException:  # also whatever a parser trips over
            self.abandon()
            raise
        return self

    @abstractmethod
    def start(self, password: str | None) -> None:
        """Log in, and find out what there is. Raises HostError, InvalidInput."""

    @abstractmethod
    def readings(self, names: Sequence[str]) -> Mapping[str, Answer]:
        """Of these channels. Raises HostError when the meter does not answer or ends the session."""

    def read(self, names: Collection[str] | None = None) -> dict[str, float | None]:
        """All channels, or some. Raises HostError."""
        readings = self.readings(list(self._channels if names is None else names))
        self._reasons = {name: str(value) for name, value in readings.items() if isinstance(value, Missing)}
        return {name: value_or_none(value) for name, value in readings.items()}

    @abstractmethod
    def close(self) -> None:
        """End the session; never raises."""

    def abandon(self) -> None:
        """End a session that could not be started."""
        self.close()
