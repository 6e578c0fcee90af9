# SPDX-License-Identifier: Apache-2.0
"""Which CPU does what."""
