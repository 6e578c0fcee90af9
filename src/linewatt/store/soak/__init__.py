# SPDX-License-Identifier: Apache-2.0
"""Soaks on disk: chunks, their steps and totals."""
