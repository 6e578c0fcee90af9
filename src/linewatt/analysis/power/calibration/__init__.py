# SPDX-License-Identifier: Apache-2.0
"""Two meters of one host over a staircase of load: gain, offset and delay between them."""
