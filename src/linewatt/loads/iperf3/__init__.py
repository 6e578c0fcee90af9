# SPDX-License-Identifier: Apache-2.0
"""iperf3: bulk TCP and UDP, the load that campaigns have unless they name another."""

from linewatt.loads.iperf3.load import Iperf3 as Iperf3

LOAD = Iperf3()
