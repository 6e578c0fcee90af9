# SPDX-License-Identifier: Apache-2.0
"""The campaign file and the plan made from it."""
