# SPDX-License-Identifier: Apache-2.0
"""Loads: one file a traffic generator."""
