# SPDX-License-Identifier: Apache-2.0
"""Knobs of which CPU takes what work of the network."""
