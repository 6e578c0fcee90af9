# SPDX-License-Identifier: Apache-2.0
"""Scripted users: many clients that log in to a server and move files, as people and their programs do.

Users need ``linewatt[users]``. Other rooms import only what does without: jobs, servers, what files hold.
"""
