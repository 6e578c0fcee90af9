# SPDX-License-Identifier: Apache-2.0
"""Users of a file server: what is asked of them, as factors of experiments and for hours."""
