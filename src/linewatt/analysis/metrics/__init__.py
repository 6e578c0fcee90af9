# SPDX-License-Identifier: Apache-2.0
"""What is measured of a case and of its ends: each metric declared once, and the formulas they share."""
