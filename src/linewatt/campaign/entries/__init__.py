# SPDX-License-Identifier: Apache-2.0
"""What a campaign file may hold: its keys, their forms and bounds; the schema is made from these."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
