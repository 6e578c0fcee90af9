# SPDX-License-Identifier: Apache-2.0
"""Everything that can be set on a host, and put back: the knobs, networks, and folders of file servers."""

from __future__ import annotations

from linewatt.network.registry import KNOBS as NETWORK
from linewatt.tuning.base import Knob
from linewatt.tuning.registry import KNOBS as TUNING
from linewatt.tuning.users_folder import UsersFolder

KNOBS: dict[str, Knob] = {**TUNING, **NETWORK, UsersFolder.name: UsersFolder()}
