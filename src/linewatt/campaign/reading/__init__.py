# SPDX-License-Identifier: Apache-2.0
"""From a campaign file to a Campaign, with each fault named by file, line and column."""
