# SPDX-License-Identifier: Apache-2.0
"""Profiles: one more trial a case with perf beside it, after all that are measured."""
