# SPDX-License-Identifier: Apache-2.0
"""Lab hosts as network namespaces, each with a real sshd."""
