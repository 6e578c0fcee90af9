# SPDX-License-Identifier: Apache-2.0
"""Connections to hosts over SSH."""
