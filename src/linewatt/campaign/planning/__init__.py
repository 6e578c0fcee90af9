# SPDX-License-Identifier: Apache-2.0
"""From a Campaign to a Plan: cases, rounds, places, programs. Pure."""
