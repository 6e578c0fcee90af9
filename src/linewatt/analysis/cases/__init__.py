# SPDX-License-Identifier: Apache-2.0
"""Figures of cases and of series of them: summaries, knees, searches, matrices. Pure."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
