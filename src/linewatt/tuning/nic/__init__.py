# SPDX-License-Identifier: Apache-2.0
"""Knobs of a network interface."""
