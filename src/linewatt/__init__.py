# SPDX-License-Identifier: Apache-2.0
"""linewatt: network throughput, its CPU cost at both ends, and how sure one can be."""

__version__ = "0.1.0"
