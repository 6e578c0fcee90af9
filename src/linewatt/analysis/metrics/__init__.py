# SPDX-License-Identifier: Apache-2.0
"""What is measured of a case and of its ends: each metric declared once, and the formulas they share."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
