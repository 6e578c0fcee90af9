# SPDX-License-Identifier: Apache-2.0
"""``linewatt features``: list installed features."""

from __future__ import annotations

from linewatt.cli.options import Json
from linewatt.cli.output import print_json, put_lines
from linewatt.core.feature import InstalledFeature, installed_features


def list_features(as_json: Json = False) -> None:
    """List installed features of linewatt and other packages.

    Prints the package, version and commands of each.
    """
    installed = installed_features()
    if as_json:
        print_json({"features": [_document(item) for item in installed]})
        return
    name_width = max((len(item.feature.name) for item in installed), default=0)
    package_width = max((len(_package(item)) for item in installed), default=0)
    for item in installed:
        feature = item.feature
        adds = ", ".join(command.word for command in feature.commands)
        commands = f" ({adds})" if adds else ""
        line = f"{feature.name:<{name_width}}  {_package(item):<{package_width}}  {feature.summary}{commands}"
        put_lines([line], hang=name_width + package_width + 4)


def _package(item: InstalledFeature) -> str:
    return f"{item.distribution} {item.version}"


def _document(item: InstalledFeature) -> dict[str, object]:
    return {
        "name": item.feature.name,
        "summary": item.feature.summary,
        "package": item.distribution,
        "version": item.version,
        "commands": [command.word for command in item.feature.commands],
    }
