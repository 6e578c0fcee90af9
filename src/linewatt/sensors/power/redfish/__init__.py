# SPDX-License-Identifier: Apache-2.0
"""Redfish: BMCs and PDUs over HTTPS."""
