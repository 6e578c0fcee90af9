# SPDX-License-Identifier: Apache-2.0
"""What profiles say: the hottest functions by role, what kind of work they are, what differs between two."""
