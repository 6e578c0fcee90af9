# SPDX-License-Identifier: Apache-2.0
"""What charts share: figures, specifications in Vega-Lite, their data."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
