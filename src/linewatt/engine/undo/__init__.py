# SPDX-License-Identifier: Apache-2.0
"""Settings while a campaign runs, and how all of them are put back."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
