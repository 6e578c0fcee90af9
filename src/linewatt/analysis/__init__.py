# SPDX-License-Identifier: Apache-2.0
"""Metrics, statistics and summaries: pure, no I/O."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
