# SPDX-License-Identifier: Apache-2.0
"""Printers: sections and tables as text, Markdown, HTML, PDF and files of data. They compute nothing."""
