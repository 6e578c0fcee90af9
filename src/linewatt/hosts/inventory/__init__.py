# SPDX-License-Identifier: Apache-2.0
"""Hosts named in files: linewatt's own, and Ansible's in INI and YAML."""
