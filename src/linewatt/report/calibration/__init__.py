# SPDX-License-Identifier: Apache-2.0
"""Two meters of one host against each other: made of a stored result, and told."""
