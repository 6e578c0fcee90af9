# SPDX-License-Identifier: Apache-2.0
"""The knobs that a campaign may turn on a host, each with read, write and undo."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
