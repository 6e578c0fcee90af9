# SPDX-License-Identifier: Apache-2.0
"""The studies: files of their pages."""
