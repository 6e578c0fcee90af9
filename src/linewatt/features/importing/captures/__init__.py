# SPDX-License-Identifier: Apache-2.0
"""What people measured by hand as a result with trials: files in, trials out (docs/import.md)."""
