# SPDX-License-Identifier: Apache-2.0
"""A result made again from its raw files by today's method, and what differs from what was stored."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
