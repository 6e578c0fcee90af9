# SPDX-License-Identifier: Apache-2.0
"""Lab hosts as virtual machines: a kernel, drivers and interrupts of their own."""
