# SPDX-License-Identifier: Apache-2.0
"""The one limit finder: what limits a case, with evidence for and against. Pure (docs/limits.md)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
