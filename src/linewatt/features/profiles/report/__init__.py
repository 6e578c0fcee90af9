# SPDX-License-Identifier: Apache-2.0
"""Profiles shown: the hottest functions by role, kinds of work, call graphs, flame graphs."""
