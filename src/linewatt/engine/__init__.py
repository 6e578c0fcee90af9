# SPDX-License-Identifier: Apache-2.0
"""Running campaigns on live hosts."""
