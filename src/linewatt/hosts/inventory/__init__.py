# SPDX-License-Identifier: Apache-2.0
"""Hosts named in files: linewatt's own, and Ansible's in INI and YAML."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
