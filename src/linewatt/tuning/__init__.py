# SPDX-License-Identifier: Apache-2.0
"""The knobs that a campaign may turn on a host, each with read, write and undo."""
