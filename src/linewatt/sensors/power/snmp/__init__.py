# SPDX-License-Identifier: Apache-2.0
"""SNMP: PDUs and UPSs."""
