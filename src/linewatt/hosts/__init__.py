# SPDX-License-Identifier: Apache-2.0
"""Hosts: reaching them, knowing them, changing them and putting them back."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
