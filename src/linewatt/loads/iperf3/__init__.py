# SPDX-License-Identifier: Apache-2.0
"""iperf3: bulk TCP and UDP, the load that campaigns have unless they name another."""
