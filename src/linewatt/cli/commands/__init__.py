# SPDX-License-Identifier: Apache-2.0
"""The commands, a module each."""
