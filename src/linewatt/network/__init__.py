# SPDX-License-Identifier: Apache-2.0
"""Networks that hosts are to show: NMState documents, what they mean, and making a host show them."""
