# SPDX-License-Identifier: Apache-2.0
"""Metrics, statistics and summaries: pure, no I/O."""
