# SPDX-License-Identifier: Apache-2.0
"""Commands: ``linewatt lab``, ``linewatt lab kernels``, ``linewatt demo``."""
