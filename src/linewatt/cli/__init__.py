# SPDX-License-Identifier: Apache-2.0
"""Commands: parse, call, print, exit code. The only place that prints or exits."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
