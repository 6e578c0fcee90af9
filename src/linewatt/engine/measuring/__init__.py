# SPDX-License-Identifier: Apache-2.0
"""From what a trial left behind to its numbers, and to what makes them doubtful. Pure."""
