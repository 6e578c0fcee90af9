# SPDX-License-Identifier: Apache-2.0
"""Scripted users: many clients that log in to a server and move files, as people and their programs do.

It needs ``linewatt[users]``. Nothing outside this room imports it, so that the rest does without.
"""
