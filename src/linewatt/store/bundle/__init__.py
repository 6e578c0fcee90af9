# SPDX-License-Identifier: Apache-2.0
"""A result as one file that goes to another machine: packed whole, read as what anybody may have written."""
