# SPDX-License-Identifier: Apache-2.0
"""How the machines of a published soak are joined, as far as its table says."""

from __future__ import annotations

from linewatt.features.tables.quantities import Published
from linewatt.report import plural
from linewatt.report.charts import Figure, Link, link_diagram
from linewatt.units import format_rate

_MOST_GROUPS = 1000


def published_diagram(published: Published) -> Figure | None:
    """Of a published summary that counts clients, groups and ports; ``None`` where it does not."""
    groups, ports, switches = (
        int(count) if count and count.is_integer() else 0
        for count in (published.groups, published.ports, published.switches)
    )
    if not (published.clients and 0 < groups <= _MOST_GROUPS and ports > 0):
        return None
    clients_per_group = published.clients / groups
    clients = f": {plural(int(clients_per_group), 'client')}" if clients_per_group.is_integer() else ""
    paired, switched = groups == ports, groups == switches
    links = [
        Link(
            f"Group {at}{clients}",
            f"port {at}" if paired else "",
            published.port_words,
            f"switch {at}" if switched else "",
        )
        for at in range(1, groups + 1)
    ]
    rates = ((published.mean_bps, "mean"), (published.rate_bps, "as stated"))
    rates_text = ", ".join(f"{format_rate(bps)} {what}" for bps, what in rates if bps is not None)
    unknown = ["the rate of each group"]
    unknown += [] if switches else ["how many switches there are"]
    unknown += [f"which of {switches} switches a group uses"] if switches > 1 and not switched else []
    unknown += [] if clients else [f"how {published.clients:g} clients are in groups"]
    unknown += [] if paired else [f"which of {plural(ports, 'port')} a group uses"]
    between = f"{switches} switches" if switches > 1 else "switch" if switches else "switches"
    return link_diagram(links, between, "server", rates_text, f"Not published: {', '.join(unknown)}.")
