# SPDX-License-Identifier: Apache-2.0
"""Results on disk: written atomically, read many ways."""
