# SPDX-License-Identifier: Apache-2.0
"""Watts of trials, of idle and of power supplies."""
