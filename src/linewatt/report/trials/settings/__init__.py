# SPDX-License-Identifier: Apache-2.0
"""What settings, levels and places of a campaign do to its figures, side by side."""
