# SPDX-License-Identifier: Apache-2.0
"""The lies that a trial can give away, a module a room. Each check yields flags, or nothing. Pure."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
