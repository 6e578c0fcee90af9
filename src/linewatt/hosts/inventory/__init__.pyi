# SPDX-License-Identifier: Apache-2.0

from .read import InventoryHost as InventoryHost
from .read import is_yaml as is_yaml
from .read import read_inventory as read_inventory
