# SPDX-License-Identifier: Apache-2.0
"""Commands: parse, call, print, exit code. Only this room and command modules of features print or exit."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
