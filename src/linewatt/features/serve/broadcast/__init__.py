# SPDX-License-Identifier: Apache-2.0
"""What a run says to those who watch it, over a socket of its own, without ever waiting for them."""
