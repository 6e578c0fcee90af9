# SPDX-License-Identifier: Apache-2.0
"""Networks that hosts are to show: NMState documents, what they mean, and making a host show them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
