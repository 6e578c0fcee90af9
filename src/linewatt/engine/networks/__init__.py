# SPDX-License-Identifier: Apache-2.0
"""Networks of hosts while a campaign runs: routes, ports, paths that are proven before a load."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
