# SPDX-License-Identifier: Apache-2.0
"""What is told of hosts: their environment, their connections, and placements on them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
