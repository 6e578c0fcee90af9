# SPDX-License-Identifier: Apache-2.0
"""sockperf: latency of messages there and back, and throughput of messages one way, over TCP and UDP."""

from linewatt.loads.sockperf.load import Sockperf as Sockperf

LOAD = Sockperf()
