# SPDX-License-Identifier: Apache-2.0
"""Networks of a rehearsed campaign on hosts that stand in for its own: namespaces have tunnels, too."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.vm.test_rehearse import CAMPAIGN

from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.events import Ended
from linewatt.features.lab import api as lab
from linewatt.features.rehearse.edits import changes_of
from linewatt.features.rehearse.rehearsal import _rehearse_on_guests, guest_names
from linewatt.missing import Missing

pytestmark = pytest.mark.lab


def test_a_tunnel_between_the_hosts_is_made_between_those_that_stand_in(tmp_path: Path) -> None:
    path = tmp_path / "campaign.json"
    path.write_text(json.dumps(CAMPAIGN))
    campaign = load_campaign(path, edit=changes_of)
    name = f"t{os.getpid()}-rehearse"
    try:
        one = lab.up(lab.LabRequest(name=name, hosts=2, bmc=False, rate="1gbit"))
        names = guest_names(campaign, dict.fromkeys(campaign.hosts, Missing("not asked")), one)
        rehearsed, loaded = _rehearse_on_guests(path, campaign, one, names)
    finally:
        lab.down(name)
    tunnels = [outcome for outcome in rehearsed.outcomes if outcome.change.knob == "network"]
    assert [(outcome.verdict, outcome.restored) for outcome in tunnels] == [("taken", True)] * 2
    assert rehearsed.left == ()
    assert isinstance(loaded, Ended)
    assert (loaded.done, loaded.failed, loaded.pending) == (1, 0, 0)
