# SPDX-License-Identifier: Apache-2.0
"""docs/studies/rows.md: every row of the studies beside what linewatt prints of it."""
