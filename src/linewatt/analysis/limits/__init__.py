# SPDX-License-Identifier: Apache-2.0
"""The one limit finder: what limits a case, with evidence for and against. Pure (docs/limits.md)."""
