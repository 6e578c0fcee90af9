# SPDX-License-Identifier: Apache-2.0
"""docs/gallery.md, its pictures and docs/studies/rows.md: ``python -m scripts.gallery.page``."""
