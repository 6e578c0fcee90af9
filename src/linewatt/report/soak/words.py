# SPDX-License-Identifier: Apache-2.0
"""How the figures of a soak are defined, in words."""

from __future__ import annotations

from linewatt.analysis.soak.balance import BACKGROUND_BPS, CONTROL_BYTES, HEADER_BYTES, SEGMENT_BYTES
from linewatt.analysis.soak.figures import SATURATED, STALL_SHARE

GLOSSARY: tuple[tuple[str, str], ...] = (
    (
        "Rate",
        "Payload bits a second, as the users’ data sockets counted them, both ways together; of a load "
        "beside them what receivers got. The mean is the total over the time that loads ran; peak and "
        "percentiles are of slices of one length in which loads ran all the time.",
    ),
    (
        "Received, sent",
        "Received is from the server to clients (get), sent the other way (put). Done are transfers that "
        "were whole; incomplete are bytes of those that failed or were cut when the time was over.",
    ),
    (
        "The ledger balances",
        "What clients hold for done and what the server’s log calls complete is the same to the byte, and "
        "what NICs counted lies between the payload and the payload with what protocols need: a header of at "
        f"most {HEADER_BYTES} B for each segment of {SEGMENT_BYTES:,} B and its acknowledgement, segments "
        f"sent again, {CONTROL_BYTES // 1024} KiB for each transfer and login, and "
        f"{BACKGROUND_BPS / 1e3:,.0f} kbit/s a host for all else on the interface.",
    ),
    (
        "Dropped or overrun",
        "Packets that counters of either end call dropped, missed, overrun or bad, at NIC, queue discipline, "
        "softnet and socket. Drivers differ in what they count, and some count one packet in two places.",
    ),
    (
        "Unexplained drops",
        "Packets that NICs of one end sent and those of the other did not receive, more than 100 of them. "
        "Few count only as far as TCP sent segments again for which no counter of either end has a cause.",
    ),
    ("Stall", f"Slices below {100 * STALL_SHARE:.0f} % of the median rate while users ran."),
    ("Slow drift", "Theil–Sen slope of the rate in parts of its median, with its 95 % interval."),
    (
        "Client CPU",
        "CPU seconds of the users’ processes for each Gbit of payload. A client is saturated from "
        f"{SATURATED:g} of a core on: its users are one thread.",
    ),
    (
        "Energy per GB",
        "Mean power of a host over the soak times the time that loads ran, for each 10⁹ bytes of payload.",
    ),
    ("Users sustained", "Users that moved at least the stated rate, both ways together, on average."),
)
