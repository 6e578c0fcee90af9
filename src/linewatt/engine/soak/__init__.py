# SPDX-License-Identifier: Apache-2.0
"""One long load in place of cases and trials."""
