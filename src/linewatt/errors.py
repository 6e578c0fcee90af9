# SPDX-License-Identifier: Apache-2.0
"""Everything linewatt raises on purpose.

LinewattError               what, where, what to do: one line for the user
├── InvalidInput            a file or an option is wrong (exit 2, before any host is touched)
│   ├── FileRefused         a file to import is not read
│   └── HostRefused         what is asked for cannot be had on a host
├── HostError               a host cannot be reached, or a command on it failed
│   ├── HostLost            the connection ended while in use
│   ├── HostInUse           another controller works on it
│   ├── HostLacks           something that is needed is not there
│   └── WaitTimeout         a bounded wait ran out; the message says what was awaited
├── ChangeError             a setting could not be read, written or read back
│   └── SettingRefused      a host does not take a setting
├── JournalError            the undo journal is damaged, or cannot be written
├── ParseError              a tool's output is not what its parser knows
│   ├── NoJson              a text is no JSON
│   └── NotReady            a sensor says that its readings are still to come
├── StoreError              a result is missing, damaged, or would be overwritten
│   ├── UnknownResult       an id or a name stands for no result, or for several (exit 2)
│   ├── DamagedFile         a stored file is not what linewatt writes
│   └── DiskFull            the disk that results are stored on has no room left
└── LabError                the lab cannot be built or taken down
"""


class LinewattError(Exception):
    """Base of all expected failures; its text is one line for the user.

    ``where`` is the host, file or row that it is about, if it is about one, ``problem`` the text without it.
    """

    exit_code = 1

    def __init__(self, problem: str, *, where: object = "", joint: str = ": ") -> None:
        super().__init__(problem)
        self.problem = problem
        self.where = str(where)
        self.joint = joint

    def __str__(self) -> str:
        return f"{self.where}{self.joint}{self.problem}" if self.where else self.problem

    def without(self, where: object) -> str:
        """The text for a line that names ``where`` already."""
        return self.problem if self.where == str(where) else str(self)


class InvalidInput(LinewattError):
    """A file, a table or an option is wrong."""

    exit_code = 2


class FileRefused(InvalidInput):
    """A file to import is not read: ``what`` is wrong with it, and ``advice`` is what to do with it, if
    anything.

    ``skip`` are the words behind ``--skip``. Of a file that was named alone nothing can be left out: only
    :attr:`of_folder` has that advice, and the error's own text has not.
    """

    def __init__(self, what: str, advice: str = "", *, skip: str = "leaves it out") -> None:
        super().__init__(f"{what}; {advice}" if advice else what)
        self.what = what
        self.advice = advice
        self.skip = skip

    @property
    def of_folder(self) -> str:
        """The text where there are other files to import."""
        return f"{self}, or --skip it" if self.advice else f"{self}; --skip {self.skip}"


class HostRefused(InvalidInput):
    """What is asked for cannot be had on a host."""


class HostError(LinewattError):
    """A host cannot be reached, or a command on it failed."""


class HostLost(HostError):
    """The connection to a host ended while it was in use."""


class HostInUse(HostError):
    """Another controller works on a host; the text names it."""


class HostLacks(HostError):
    """Something is not there on a host: ``what``, and ``advice``; ``verb`` leads the advice in the text."""

    def __init__(self, host: str, what: str, advice: str, *, verb: str = "") -> None:
        super().__init__(f"{what}; {verb}{advice}", where=host)
        self.what = what
        self.advice = advice


class WaitTimeout(HostError):
    """A bounded wait ran out; the text names what was awaited and for how long."""


class ChangeError(LinewattError):
    """A setting of a host could not be read, written or read back."""


class SettingRefused(ChangeError):
    """A host does not take a setting: it would not take it the next time either."""


class JournalError(LinewattError):
    """The undo journal is damaged, or cannot be read or written: nothing more may be changed."""


class ParseError(LinewattError):
    """A tool's output is not what its parser knows."""


class NoJson(ParseError):
    """A text is no JSON; ``details`` say how."""

    def __init__(self, details: str, *, where: object = "") -> None:
        super().__init__(f"is no JSON: {details}", where=where)


class NotReady(ParseError):
    """A sensor's record says that its readings are still to come."""


class NobodyCame(ParseError):
    """The server of a load ended without a test: no client had come to it."""


class StoreError(LinewattError):
    """A stored result is missing, damaged, or would be overwritten."""


class UnknownResult(StoreError):
    """An id or a name stands for no result, or for several."""

    exit_code = 2


class DamagedFile(StoreError):
    """A stored file is not what linewatt writes: ``what`` is wrong with it."""

    def __init__(self, what: str, *, where: object = "") -> None:
        super().__init__(f"damaged: {what}", where=where)
        self.what = what


class DiskFull(StoreError):
    """There is no room left where results are stored; what was stored before is whole."""


class LabError(LinewattError):
    """The lab cannot be built or taken down."""
