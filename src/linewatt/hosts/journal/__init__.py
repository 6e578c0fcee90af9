# SPDX-License-Identifier: Apache-2.0
"""What was changed on hosts, on disk before it is, and who may change them."""
