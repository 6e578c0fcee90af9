# SPDX-License-Identifier: Apache-2.0
"""Searches and curves: knees, steps, watts at a throughput."""
