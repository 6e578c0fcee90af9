# SPDX-License-Identifier: Apache-2.0
"""The first screen: the answer, its trust, and what limits."""
