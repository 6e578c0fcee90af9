# SPDX-License-Identifier: Apache-2.0
"""What not every campaign needs, one folder each. A feature is removed by deleting its folder.

Each folder's ``__init__.py`` has one value, ``FEATURE`` (:mod:`linewatt.core.feature`), and imports nothing
else: what the feature does is imported when it is used.
"""
