# SPDX-License-Identifier: Apache-2.0
"""Whether hosts are ready: what ``linewatt check`` looks at, and what it mends."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
