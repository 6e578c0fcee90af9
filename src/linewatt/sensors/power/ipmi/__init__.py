# SPDX-License-Identifier: Apache-2.0
"""IPMI: over the network, and by ipmitool on the host itself."""
