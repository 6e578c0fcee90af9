# SPDX-License-Identifier: Apache-2.0
"""Hosts: reaching them, knowing them, changing them and putting them back."""
