# SPDX-License-Identifier: Apache-2.0
"""Sources of power, one file or one package each, and what they share."""
