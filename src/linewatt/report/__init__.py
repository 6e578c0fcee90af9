# SPDX-License-Identifier: Apache-2.0
"""Tables, charts and the offline HTML report."""
