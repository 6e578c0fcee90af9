# SPDX-License-Identifier: Apache-2.0
"""The files that a page holds in its links, held to what such a file may be."""

from __future__ import annotations

import xml.etree.ElementTree as ET  # of files that the tests themselves made
from collections.abc import Mapping
from urllib.parse import unquote

MEDIA = {"csv": "text/csv", "md": "text/markdown", "svg": "image/svg+xml"}


def saved(attributes: Mapping[str, str | None]) -> tuple[str, str]:
    """Name and text of the file in a link. Asserts that it is one that a page may hold."""
    name, url = attributes["download"] or "", attributes["href"] or ""
    kind = name.rpartition(".")[2]
    assert url.startswith(f"data:{MEDIA[kind]};charset=utf-8,"), url[:80]
    body = url.partition(",")[2]
    assert not set(body) & set("\"'<>&#:`"), "it could end its attribute, or pass for another address"
    text = unquote(body)
    if kind == "svg":
        for element in ET.fromstring(text).iter():  # noqa: S314
            assert element.tag.rpartition("}")[2] not in ("script", "foreignObject", "image", "iframe", "a")
            for key, value in element.attrib.items():
                assert not key.startswith("on"), key
                assert not key.endswith("href") or value.startswith("#"), value
    return name, text
