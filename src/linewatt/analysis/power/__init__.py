# SPDX-License-Identifier: Apache-2.0
"""Energy, meters and their delays, whose watts count for which host, what bits and packets cost. Pure."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
