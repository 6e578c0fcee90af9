# SPDX-License-Identifier: Apache-2.0
"""Pages over stored results: ``linewatt serve``."""
