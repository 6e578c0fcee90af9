# SPDX-License-Identifier: Apache-2.0
"""The knobs that make a host show a network or a route, by name."""

from __future__ import annotations

from linewatt.network.host_route import HostRoute
from linewatt.network.knob import NetworkKnob
from linewatt.network.nmstatectl import NmstateKnob
from linewatt.tuning import Knob

NETWORK_KNOBS: dict[str, Knob] = {knob.name: knob for knob in (NetworkKnob(), NmstateKnob(), HostRoute())}
