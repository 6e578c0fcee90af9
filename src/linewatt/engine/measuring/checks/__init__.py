# SPDX-License-Identifier: Apache-2.0
"""The lies that a trial can give away, a module a room. Each check yields flags, or nothing. Pure."""
