# SPDX-License-Identifier: Apache-2.0
"""What was changed on hosts, on disk before it is, and who may change them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
