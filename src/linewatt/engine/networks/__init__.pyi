# SPDX-License-Identifier: Apache-2.0

from .proof import legs_of_rounds as legs_of_rounds
from .proof import prove_paths as prove_paths
