# SPDX-License-Identifier: Apache-2.0
"""A result made again from its raw files by today's method, and what differs from what was stored."""
