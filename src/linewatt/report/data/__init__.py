# SPDX-License-Identifier: Apache-2.0
"""Results for other programs: typed tables and SQL over them, OpenMetrics, JSON in the shape of iperf3's."""
