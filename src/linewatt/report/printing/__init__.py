# SPDX-License-Identifier: Apache-2.0
"""Printers: sections and tables as text, Markdown, HTML, PDF and files of data. They compute nothing."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
