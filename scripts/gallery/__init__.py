# SPDX-License-Identifier: Apache-2.0
"""docs/gallery.md and its pictures, made of docs/published: ``python -m scripts.gallery.page``."""
