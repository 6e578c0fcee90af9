# SPDX-License-Identifier: Apache-2.0
"""What a host is: read in one go and parsed."""
