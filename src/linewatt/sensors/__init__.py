# SPDX-License-Identifier: Apache-2.0
"""Sensors: one file a source."""
