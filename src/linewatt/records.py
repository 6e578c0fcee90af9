# SPDX-License-Identifier: Apache-2.0
"""What is on record of a result beside its trials: values for who writes a document and who reads it.

A reader keeps to what is named here; what a newer linewatt may write beside it is left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictStr,
    model_validator,
)

from linewatt.model import Case, PowerResult, Provenance, ThermalResult, Window
from linewatt.sensors.power import Dynamics

SCHEMA_VERSION = 1
Count = Annotated[int, Field(ge=0)]
_AtLeastOne = Annotated[int, Field(ge=1, strict=True)]
Ratio = Annotated[float, Field(ge=0, le=1, strict=True)]
Time = Annotated[float, Field(ge=0, le=1e11)]
"""Unix seconds that a calendar has"""
_Number = int | float
"""stays what it was written as: what a soak was asked has a key, which is made of the text"""
_BARE = "bare"
_OF_JSON = ConfigDict(strict=False, extra="ignore", allow_inf_nan=False)
"""of a dataclass: where it is strict, a document is none"""
ComponentKind = Literal["cpu", "memory", "fan", "gpu", "nic", "storage", "board", "other"]


def _null_is(empty: Callable[[], Any]) -> BeforeValidator:
    return BeforeValidator(lambda value: empty() if value is None else value)


_DictOrNull = _null_is(dict)


class Document(BaseModel):
    """What is not named here may be anything; what is named and not there, too, has its default."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False, defer_build=True, frozen=True)

    def as_written(self) -> dict[str, Any]:
        """As JSON has it: what was given, in the order of its class."""
        return self.model_dump(exclude_unset=True)


class SoakTimes(Document):
    """How long a soak was to run, and its slices, s."""

    duration_s: float
    interval_s: float
    segment_s: float | None = None


class UserGroup(Document):
    """Clients that use one port of the server, as the campaign names them."""

    name: str
    clients: list[str]
    server: str | None = None
    """the port"""
    switch: str | None = None


class UserServer(Document):
    """``host`` is the one of the campaign's on which linewatt ran it, ``url`` that of another server."""

    host: str | None = None
    url: str | None = None
    folder: str | None = None
    port: int | None = None
    passive_ports: list[int] | None = None
    max_clients: int | None = None
    options: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = []
    """of vsftpd.conf(5) that the campaign named, each with its value"""
    cpus: list[int] | None = None
    """of its processes; null: any"""


class Sizes(Document):
    """Sizes of the files that users get, or put."""

    count: int | None = None
    median_bytes: _Number | None = None
    sigma: _Number | None = None


class Users(Document):
    """The users of a soak: where they ran and what each was to do."""

    groups: Annotated[list[UserGroup], _null_is(list)] = []
    server: Annotated[UserServer, _null_is(dict)] = Field(default_factory=UserServer)
    users: int | None = None
    get: Annotated[Sizes, _null_is(dict)] = Field(default_factory=Sizes)
    get_paths: list[str] | None = None
    put: Annotated[Sizes, _null_is(dict)] = Field(default_factory=Sizes)
    get_share: _Number | None = None
    think_s: _Number | None = None
    think: str | None = None
    login_per: str | None = None
    cycle_transfers: int | None = None
    checked_share: _Number | None = None
    start: str | None = None
    spread_s: _Number | None = None
    arrival_rate_hz: _Number | None = None
    seed: int | None = None
    discard: str | None = None
    sustained_bps: float | None = None
    client_cpus: list[int] | None = None
    """of the users' processes on each client; null: any"""

    @property
    def clients(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for group in self.groups for name in group.clients))


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplies:
    """The power supplies that a host declares: alike units, and their 80 PLUS level where it is known."""

    __pydantic_config__: ClassVar[ConfigDict] = _OF_JSON
    count: Annotated[int, Field(ge=1)]
    rating_w: Annotated[float, Field(gt=0)]
    level: str | None = None
    mode: Literal["shared", "standby"]

    @property
    def capacity_w(self) -> float:
        """What all units carry."""
        return self.count * self.rating_w


@dataclass(frozen=True, slots=True)
class Component:
    """A declared part: ``power_w`` is that of one of ``count``. A measured part of its kind replaces it."""

    __pydantic_config__: ClassVar[ConfigDict] = _OF_JSON
    name: str
    power_w: float
    provenance: Provenance
    """of a campaign: datasheet or estimate; of a published table also measured"""
    count: int = 1
    kind: ComponentKind = "other"

    @property
    def label(self) -> str:
        """``12 × DDR5 module``; the bare name of a single one."""
        return self.name if self.count == 1 else f"{self.count} × {self.name}"

    @property
    def total_w(self) -> float:
        """W of all of them."""
        return self.power_w * self.count


class AskedTest(Document):
    """A test that a campaign asks for; ``campaign.campaign.TestSpec``."""

    model_config = ConfigDict(extra="allow")

    test: str
    instances: list[int] | str | None = None
    streams: Annotated[list[int], _null_is(list)] = []
    zerocopy: bool | None = None
    rate_bps: _Number | str | None = None
    """of an instance; a text: searched"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRule:
    """How rates that are `auto` are searched: at most ``loss_ratios`` is lost of what was sent at them.

    Bounds of each are at most ``width_ratio`` apart. ``max_rate_bps`` is the first rate of one instance that
    is tried, and the highest; null: as fast as it goes. ``runs`` trials decide on a rate, by majority; there
    are ``trials`` at most.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _OF_JSON
    loss_ratios: tuple[Ratio, ...]
    width_ratio: Ratio
    max_rate_bps: StrictFloat | None = None
    runs: _AtLeastOne
    trials: _AtLeastOne


@dataclass(frozen=True, slots=True)
class InstanceRule:
    """How instances that are `auto` are searched, the number beyond which throughput no longer follows.

    There are ``most`` at most, which is what ``bound`` allows; unless the file ``named`` it, no more than a
    host has CPUs for either. Each number has ``runs`` trials; a search tries ``counts`` numbers at most.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _OF_JSON
    most: Annotated[int, Field(ge=1, le=1024, strict=True)]
    bound: StrictStr
    named: StrictBool
    runs: _AtLeastOne
    counts: _AtLeastOne


class BestOf(Document):
    """The best setting of an experiment, which a soak was to have."""

    result: str
    setting: Annotated[list[Annotated[list[str], Field(min_length=2, max_length=2)]], _null_is(list)] = []
    words: str = ""
    notes: list[str] = []

    @property
    def text(self) -> str:
        return " ".join(f"{name}={level}" for name, level in self.setting)


class Campaign(Document):
    """Of the campaign what reports ask for; ``written`` is all of it, for ``campaign.stored``."""

    written: dict[str, Any]
    soak: SoakTimes | None = None
    users: Users | None = None
    best_of: BestOf | None = None
    factors: Annotated[dict[str, list[str]], _DictOrNull] = {}
    design: str | None = None
    placement: str | None = None
    psus: Annotated[dict[str, Supplies], _DictOrNull] = {}
    components: Annotated[dict[str, list[Component]], _DictOrNull] = {}
    settings: Annotated[dict[str, Any], _DictOrNull] = {}
    networks: Annotated[list[str], _null_is(list)] = []
    load: str | None = None
    search: RateRule | None = None
    instance_search: InstanceRule | None = None
    tests: Annotated[list[AskedTest], _null_is(list)] = []
    pairs: Annotated[list[list[str]], _null_is(list)] = []
    directions: list[str] | None = None
    families: list[str] | None = None
    concurrent_pairs: bool | None = None
    window_s: float | None = None
    omit_s: float | None = None
    power: Annotated[dict[str, dict[str, dict[str, Any]]], _DictOrNull] = {}
    """host → source → its settings; ``campaign.campaign.PowerSource``"""

    @model_validator(mode="before")
    @classmethod
    def _keep_all(cls, value: Any) -> Any:
        return {**value, "written": value} if isinstance(value, dict) else value

    @property
    def paired(self) -> list[str]:
        """The hosts of its pairs, each as often as it is in one."""
        return [host for pair in self.pairs for host in pair]


class Host(Document):
    """A host: what the campaign says of it, and its facts, section → fact → value."""

    said: dict[str, Any]
    """what the campaign says of it, by name"""
    data: str | None = None
    lab: str | bool | None = None
    emulated: bool | None = None
    cpus: list[int] | None = None
    shares_cpus_with: Annotated[list[str], _null_is(list)] = []
    facts: Annotated[dict[str, dict[str, Any]], _DictOrNull] = {}

    @model_validator(mode="before")
    @classmethod
    def _keep_all(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {**value, "said": {key: entry for key, entry in value.items() if key != "facts"}}


class ImportedFile(Document):
    """A file that people measured by hand: its name below the folder, as it lay there, and of which host it
    is."""

    name: str
    host: str
    format: str
    bytes: Count
    sha256: str


class NotReady(Document):
    """A check of a host that failed when the run began, as ``linewatt check`` tells it."""

    host: str
    check: str
    found: str
    advice: str = ""


class ChosenPlace(Document):
    """Where a policy puts so many processes of a host and their interrupts; without CPUs the system decides.

    ``rule`` is that of the policy ``auto``.
    """

    processes: Count
    process_cpus: list[int] = []
    irq_cpus: list[int] = []
    rule: int | None = None


class PlaceLine(Document):
    """Where processes and interrupts of a host go, in words; with ``chosen`` they say why they go there."""

    host: str
    text: str
    chosen: ChosenPlace | None = None

    def __str__(self) -> str:
        return f"{self.host}: {self.text}"


class Manifest(Document):
    """What a run knew before anything was measured."""

    schema_version: int
    id: str | None = None
    name: str | None = None
    linewatt_version: str | None = None
    created_s: Time | None = None
    campaign_text: str | None = None
    campaign: Campaign | None = None
    plan: Any = None
    places: list[str] = []
    """the texts of ``place_lines``"""
    place_lines: list[PlaceLine] = []
    seed: int | None = None
    order: str | None = None
    trials_planned: Count
    hosts: Annotated[dict[str, Host], _DictOrNull] = {}
    imported_from: str | None = None
    imported_kind: str | None = None
    """of a table that holds no trials"""
    imported_files: Annotated[list[ImportedFile], _null_is(list)] = []
    """of an import of what people measured by hand: each file"""
    checksums: str | None = None
    not_ready: Annotated[list[NotReady], _null_is(list)] = []
    """checks of hosts that failed when the run began"""

    def placed_on(self, host: str) -> list[PlaceLine]:
        """Where processes and interrupts of a host go."""
        return [line for line in self.place_lines if line.host == host]

    @property
    def asked(self) -> Campaign:
        """The campaign; an empty one where none is on record, as of an import."""
        return self.campaign or Campaign(written={})


class Look(Document):
    """The last look at a host before its idle window, and how long it would have been, given the time."""

    start_s: Time
    end_s: Time
    needed_s: float

    @property
    def window(self) -> Window:
        return Window(self.start_s, self.end_s)


class IdleHost(Document):
    """What one host did in an idle window; ``moving``: what of it was not steady when that began."""

    model_config = ConfigDict(strict=False)  # its power is read as that of trials is

    cpu_cores: StrictFloat | None = None
    reason: StrictStr | None = None
    look: Look | None = None
    moving: StrictStr | None = None
    power: Annotated[tuple[PowerResult, ...], _null_is(tuple)] = ()
    power_reasons: Annotated[dict[StrictStr, StrictStr], _DictOrNull] = {}
    """of each source that gave no power, ``power.<source>``"""
    thermal: Annotated[tuple[ThermalResult, ...], _null_is(tuple)] = ()
    """its fans and temperatures"""


class Times(Document):
    """From when to when, Unix seconds."""

    start_s: Time = 0.0
    end_s: Time = 0.0


class Idle(Document):
    """One idle window: the setting it is of, and what each host showed; ``after`` that setting's trials."""

    after: bool = False
    schema_version: int = SCHEMA_VERSION
    setting: Annotated[dict[str, str], _DictOrNull] = {}
    window: Annotated[Times, _null_is(dict)] = Field(default_factory=Times)
    hosts: Annotated[dict[str, IdleHost], _DictOrNull] = {}

    def is_of(self, case: Case) -> bool:
        """Whether the hosts of a case were set like this; what is of the load alone is in no setting."""
        levels = dict(case.factors)
        network = self.setting.get("network", _BARE)
        setting_levels = ((name, level) for name, level in self.setting.items() if name != "network")
        return network == case.network and all(levels.get(name) == level for name, level in setting_levels)


class Meter(Document):
    """What a campaign learned of one channel of a meter, and how often it was read."""

    host: str
    source: str
    channel: str
    scope: str = ""
    refresh_s: float | None = None
    averaging_s: float | None = None
    delay_s: float | None = None
    settle_s: float | None = None
    read_every_s: float | None = None
    distances: Count = 0
    steps: Count = 0
    late_loads: Count = 0
    """of how many loads in a row the course shows that it is late; 0: it does not"""
    peak_s: float | None = None
    """it shows the highest power of so long; None: it is not known to do so"""

    @property
    def dynamics(self) -> Dynamics:
        return Dynamics(self.refresh_s, self.averaging_s, self.delay_s, self.settle_s)


class Meters(Document):
    """What was known of each meter when a part of a campaign ended."""

    schema_version: int = SCHEMA_VERSION
    meters: list[Meter]


class Connection(Document):
    """The limits of a host that answers slowly, or of which some are stated; seconds.

    ``stated`` and ``learned`` name those that its campaign says, and those that were raised since it took
    ``slowest_answer_s`` for a heartbeat. ``command_s``: ``None``, where each command has its own.
    ``is_raised``: whether linewatt's session there was of SCHED_RR, as it was read back; ``None``: not asked.
    """

    slowest_answer_s: float
    heartbeat_s: float
    silence_s: float
    answer_s: float
    command_s: float | None = None
    login_s: float
    stated: list[str] = []
    learned: list[str] = []
    is_raised: bool | None = None


class Connections(Document):
    """How hosts were reached whose limits are not those of any host."""

    schema_version: int = SCHEMA_VERSION
    hosts: Annotated[dict[str, Connection], _DictOrNull] = {}


class StoppedCase(Document):
    """Why a case stopped that stops by itself."""

    model_config = ConfigDict(extra="allow")

    case_key: str
    sender: str
    receiver: str
    runs: Count
    trials_failed: Count = 0
    trials_left_out: Count = 0
    half_width_ratio: float | None = None
    until_met: bool
    why: str


class Repeats(Document):
    """How sure cases were to be, and why each of them stopped."""

    model_config = ConfigDict(extra="allow")

    schema_version: int = SCHEMA_VERSION
    min: Count
    max: Count
    until_ratio: float
    trials_left_out: Count
    cases: list[StoppedCase] = []


class EndedSearch(Document):
    """Why a search ended."""

    case_key: str
    sender: str
    receiver: str
    trials_left_out: Count = 0
    why: str | None


class Searches(Document):
    """That all searches of a campaign have ended, and the trials that they did not need."""

    schema_version: int = SCHEMA_VERSION
    trials_left_out: Count
    searches: list[EndedSearch] = []


class Part(Document):
    """The beginning of one run of a soak, Unix seconds."""

    schema_version: int = SCHEMA_VERSION
    number: Count
    started_s: Time


class PartEnd(Document):
    """Its end: ``done``, ``interrupted``, ``disk full`` or ``failed: …``."""

    ended_s: Time
    why: str


class UserCounts(Document):
    """What one user moved."""

    received_bytes: Count
    sent_bytes: Count


class UsersTally(Document):
    """What users did since the chunk before, as they count it."""

    users: dict[str, UserCounts]
    times: dict[str, str]
    said: list[list[str]]


class Event(Document):
    """Something that happened in a soak, Unix seconds."""

    model_config = ConfigDict(extra="allow")

    time_s: Time
    kind: str
    host: str | None = None
    text: str
