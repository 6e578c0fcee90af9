# SPDX-License-Identifier: Apache-2.0

from .layout import BUNDLE_SUFFIX as BUNDLE_SUFFIX
from .layout import is_bundle as is_bundle
from .pack import pack_bundle as pack_bundle
from .unpack import unpack_bundle as unpack_bundle
