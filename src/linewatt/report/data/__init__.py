# SPDX-License-Identifier: Apache-2.0
"""Results for other programs: typed tables and SQL over them, OpenMetrics, JSON in the shape of iperf3's."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
