# SPDX-License-Identifier: Apache-2.0
"""Speed and cost of linewatt, beside the same tools by hand: ``python -m bench``; see docs/bench.md."""
