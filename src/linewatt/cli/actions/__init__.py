# SPDX-License-Identifier: Apache-2.0
"""What commands do, a module a command of ``commands/``, which imports it when it runs."""
