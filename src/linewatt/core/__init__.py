# SPDX-License-Identifier: Apache-2.0
"""What every campaign needs. It imports no feature: features register what they add (`feature.py`)."""
