# SPDX-License-Identifier: Apache-2.0
"""What a campaign file may hold: its keys, their forms and bounds; the schema is made from these."""
