# SPDX-License-Identifier: Apache-2.0
"""Options that features add to a command of the core."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar, cast, get_type_hints

import typer

from linewatt.core.feature import feature_options
from linewatt.errors import InvalidInput

F = TypeVar("F", bound=Callable[..., None])
_CHOSEN = "feature_option"


def with_feature_options(command: str) -> Callable[[F], F]:
    """Gives the function of a command the options of features, after its own.

    It gets the one that is chosen, or None, as ``feature_option``, which is no option itself.
    """

    def decorate(function: F) -> F:
        by_name = {option.word.replace("-", "_"): option for option in feature_options(command)}

        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> None:
            chosen = [option for name, option in by_name.items() if kwargs.pop(name, False)]
            if len(chosen) > 1:
                raise InvalidInput(f"--{chosen[0].word} and --{chosen[1].word}: choose one")
            function(*args, **kwargs, **{_CHOSEN: chosen[0] if chosen else None})

        hints = get_type_hints(function, include_extras=True)
        of_core = signature(function)
        parameters = [
            *(
                parameter.replace(annotation=hints[name])
                for name, parameter in of_core.parameters.items()
                if name != _CHOSEN
            ),
            *(
                Parameter(
                    name,
                    Parameter.KEYWORD_ONLY,
                    annotation=bool,
                    default=typer.Option(False, f"--{option.word}", help=option.help),
                )
                for name, option in by_name.items()
            ),
        ]
        cast(Any, wrapper).__signature__ = of_core.replace(parameters=parameters, return_annotation=None)
        return cast(F, wrapper)

    return decorate
