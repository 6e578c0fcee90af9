# SPDX-License-Identifier: Apache-2.0
"""Where CPUs spend their time while a load runs: what perf(1) on a host records, and values made of it."""
