# SPDX-License-Identifier: Apache-2.0
"""Send events of a run to watchers over a Unix socket, without waiting for them."""
