# SPDX-License-Identifier: Apache-2.0
"""The keys of a campaign file, with their defaults and what they mean: the one place they are declared.

The JSON Schema for editors, the reference in ``docs/campaign.md`` and every check of a single value come
from here. What takes more than one value to judge is in ``checks``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    create_model,
)

from linewatt.campaign.campaign import Order, Policy
from linewatt.campaign.design import Design
from linewatt.campaign.entries import fields as f
from linewatt.campaign.entries.addresses import Address, JumpHosts
from linewatt.campaign.entries.energy import EnergyEntry
from linewatt.campaign.entries.factors import Factor, FactorLevel, LabelEntry
from linewatt.campaign.entries.limits import LimitsEntry
from linewatt.campaign.entries.networks import BARE_NETWORK, Network
from linewatt.campaign.entries.pairs import Pair
from linewatt.campaign.entries.power import Components, PsuEntry
from linewatt.campaign.entries.quantities import Seconds, SomeSeconds
from linewatt.campaign.entries.rest import RestField
from linewatt.campaign.entries.search import SearchEntry
from linewatt.campaign.entries.trials import Trials
from linewatt.campaign.feature_keys import key_fields as campaign_key_fields
from linewatt.campaign.feature_keys import written_keys
from linewatt.core.feature import CampaignKey
from linewatt.document import Part
from linewatt.loads import DEFAULT_LOAD, LOADS
from linewatt.model import Direction, Family
from linewatt.power_source_keys import key_fields
from linewatt.sensors import POWER_DRIVERS, SENSORS, Sensor, SensorConfig
from linewatt.tuning import FACTORS
from linewatt.tuning import Factor as HostFactor

MAX_TESTS = 100
_LOADS = tuple(LOADS)
MAX_NETWORKS = 100


def _power_entry(driver: Any) -> Any:
    """Settings of one driver, with ``driver: <its name>``, and the keys that features add."""
    described = (driver.__doc__ or driver.name).strip().splitlines()[0]
    names: Any = Literal[driver.name]
    fields = {**key_fields(), "driver": (names, ...)}
    entry: Any = create_model(driver.name, __base__=driver.Config, __doc__=described, **fields)
    return entry


_ENTRIES = tuple(_power_entry(driver) for driver in POWER_DRIVERS.values())
PowerEntry: Any = Annotated[Union[_ENTRIES], Field(discriminator="driver")]  # noqa: UP007  made at run time


class HostEntry(Part):
    """A host: how it is reached, and which of its parts take part."""

    address: Address = Field(
        description="Management address (IP or DNS name) for SSH, or `local` for this machine."
    )
    data: f.Interfaces = Field(
        description="Interface that carries the load; a list: its data ports, over which instances are dealt "
        "in turn, or by `data_weights`.",
        examples=["enp1s0f0np0"],
    )
    data_weights: f.Weights = Field(
        default=(),
        description="Weight of each of several data ports, by which instances are dealt over them, such as "
        "`[2, 1]`; left out: as the other host of a pair has it, or all alike.",
    )
    port: int = Field(default=22, ge=1, le=65535, description="SSH port.")
    user: f.UserName | None = Field(default=None, description="SSH login; left out: your own.")
    key_file: f.FilePath | None = Field(
        default=None, description="SSH private key on this machine, relative to the file that names it."
    )
    known_hosts: f.FilePath | None = Field(
        default=None,
        description="Known hosts file; left out: `~/.ssh/known_hosts`. Host keys are always checked.",
    )
    jump: JumpHosts | None = Field(
        default=None,
        description="SSH servers on the way to it, as `ssh -J` takes them: `user@host:port`, more with "
        "commas between; left out: as `~/.ssh/config` says. Their host keys are checked, too.",
    )
    sudo: bool = Field(default=False, description="Whether changes to the host go through `sudo -n`.")
    data_ipv4: f.IPv4s | None = Field(
        default=None,
        description="IPv4 address of the data interface, with several ports one of each; left out: looked up "
        "on the host.",
    )
    data_ipv6: f.IPv6s | None = Field(
        default=None,
        description="IPv6 address of the data interface, with several ports one of each; left out: looked up "
        "on the host.",
    )
    cpus: f.CpuSet | None = Field(
        default=None, description="CPUs that belong to the host; left out: all it shows."
    )
    app_cpus: f.CpuSet | None = Field(
        default=None, description="CPUs that carry load processes, one each, in turn."
    )
    irq_cpus: f.CpuSet | None = Field(
        default=None, description="CPUs that take the receive work of the interface."
    )
    base_frequency_ghz: float | None = Field(
        default=None, gt=0, le=20, description="Base clock in GHz; left out: read from the host."
    )
    topology: f.FilePath | None = Field(
        default=None,
        description="Its topology as `lstopo --of xml` wrote it, relative to the file that names it; "
        "left out: read from the host when it is connected.",
    )
    power: dict[f.HostName, PowerEntry] = Field(
        default_factory=dict,
        description="Where its watts are read: sources by names of your own, each with a `driver`.",
    )
    components: Components = Field(
        default=(), description="Parts that nothing measures, with watts from a datasheet or an estimate."
    )
    psus: PsuEntry | None = Field(
        default=None, description="The power supplies: alike units that carry the host together."
    )
    limits: LimitsEntry | None = Field(
        default=None,
        description="How slow it may be: how long silent, how late with answers; see docs/slow-hosts.md.",
    )
    raise_session: bool = Field(
        default=False,
        description="Whether linewatt's own SSH session there is of SCHED_RR, so that a load that fills all "
        "CPUs does not cut it off; see docs/slow-hosts.md.",
    )


class InventoryHostEntry(HostEntry):
    """A host of an inventory, which may also say that it lives in a lab."""

    lab: f.HostName | None = Field(default=None, description="Name of the lab the host belongs to.")
    emulated: bool = Field(
        default=False,
        description="Whether it is a guest whose processor is translated, as QEMU does without KVM.",
    )
    shares_cpus_with: Annotated[tuple[f.HostName, ...], f.AsTuple, f.Unique] = Field(
        default=(), description="Hosts that run on the same CPUs."
    )


class InventoryRef(Part):
    """Hosts taken from an Ansible inventory."""

    inventory: Annotated[f.FilePath, f.NotAHost] = Field(
        description="Path of an INI or YAML inventory, relative to the campaign file."
    )
    group: f.GroupName = Field(default="all", description="Take the hosts of this group only.")


class TestEntry(Part):
    """A test with settings of its own; what is left out comes from the campaign."""

    test: f.Test = Field(
        examples=["tcp"],
        description="`tcp`, `udp-1500` (packets of 1500 bytes), `udp-<bytes>` (of the frame without FCS, "
        "60 to MTU + 14), `tcp-rr` or `udp-rr`, as far as the load has them.",
    )
    instances: f.InstancesOrAuto | None = Field(
        default=None, description="Instance counts of this test; auto: searched."
    )
    streams: f.Streams | None = Field(default=None, description="Stream counts of this test.")
    rate: f.RateOrAuto | None = Field(
        default=None,
        description="Offered rate of one instance; null: as fast as it goes; auto: searched (UDP).",
    )
    zerocopy: bool | None = Field(default=None, description="Send without copying (TCP only).")
    data: f.PortChoice = Field(
        default=(),
        description="Those of the data ports of its hosts that carry this test, by interface, or by position "
        "from 1 where the two ends have different names; left out: all.",
        examples=["[enp1s0f0np0]"],
    )


class WindowEntry(Part):
    """The parts of a trial, in seconds of load."""

    seconds: SomeSeconds = Field(default=60.0, description="Length of the steady window.")
    omit: Seconds = Field(default=5.0, description="Load time before the window: warm-up.")
    tail: Seconds = Field(
        default=2.0,
        description="Load time after the window: for the readings that close it, and for reading back.",
    )


class IdleEntry(Part):
    """The idle windows, before and after the trials of each setting."""

    seconds: Seconds | None = Field(
        default=None,
        description="Length of each in seconds; 0 leaves them out. Left out: 5, with power 30, or as long as "
        "30 readings take.",
    )


class Settings(Part):
    """Settings made on every host that takes part, and undone at the end."""

    sysctl: dict[f.SysctlKey, f.SysctlValue] = Field(
        default_factory=dict, description="Kernel parameters, such as `net.core.rmem_max: 16777216`."
    )


def _setting(factor: HostFactor) -> Any:
    return (FactorLevel | None, Field(default=None, description=f"{factor.about}: {factor.levels}."))


SettingsEntry = create_model(
    "SettingsEntry",
    __base__=Settings,
    __doc__=Settings.__doc__,
    **{name: _setting(factor) for name, factor in FACTORS.items()},
)


def _sensor_kind(value: object) -> str:
    return "off" if value is False else "on"


def _sensor_field(sensor: Sensor) -> Any:
    """``name: {settings}``, ``name: true`` (its defaults) or ``name: false`` (off)."""
    strict: Any = create_model(
        f"{sensor.Config.__name__}Entry", __base__=sensor.Config, __doc__=f"Settings of {sensor.name}."
    )
    strict.model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
    strict.model_rebuild(force=True)
    defaults = BeforeValidator(lambda value: {} if value is None or value is True else value)
    on: Any = Annotated[strict, defaults, Tag("on")]
    kinds: Any = Union[on, Annotated[Literal[False], WithJsonSchema({"type": "boolean"}), Tag("off")]]  # noqa: UP007  made at run time
    needs_settings = any(field.is_required() for field in sensor.Config.model_fields.values())
    described = (type(sensor).__doc__ or sensor.name).strip().splitlines()[0]
    default = False if needs_settings else strict()
    return (Annotated[kinds, Discriminator(_sensor_kind)], Field(default=default, description=described))


SensorsEntry = create_model(
    "SensorsEntry",
    __base__=Part,
    __doc__="What is recorded beside the load: each sensor with its settings, or `false` to leave it out.",
    **{name: _sensor_field(sensor) for name, sensor in SENSORS.items()},
)


def _hosts_kind(value: object) -> str:
    if isinstance(value, str):
        return "path"
    return "InventoryRef" if isinstance(value, dict) and "inventory" in value else "mapping"


Hosts = Annotated[
    Annotated[dict[f.HostName, HostEntry], f.NotAPath, Tag("mapping")]
    | Annotated[f.FilePath, Tag("path")]
    | Annotated[InventoryRef, Tag("InventoryRef")],
    Discriminator(_hosts_kind),
]
Pairs = Annotated[
    Annotated[f.All, Tag("all")]
    | Annotated[tuple[Pair, ...], Field(min_length=1), f.AsTuple, f.Unique, Tag("list")],
    Discriminator(lambda value: "all" if isinstance(value, str) else "list"),
]
Test = Annotated[
    Annotated[f.Test, Tag("name")] | Annotated[TestEntry, Tag("TestEntry")],
    Discriminator(lambda value: "TestEntry" if isinstance(value, dict) else "name"),
]


class CampaignFile(Part):
    """A linewatt campaign: which hosts, which tests, how often, and how each trial is measured."""

    # Those of features are added by campaign_model().

    name: f.CampaignName = Field(description="Name of the campaign; results are filed under it.")
    description: f.Description = Field(default="", description="Free text for the report.")
    hosts: Hosts = Field(
        examples=["inventory.yaml"],
        description="Hosts by name, or an Ansible inventory: its path, or `{inventory: path, group: name}`.",
    )
    pairs: Pairs | None = Field(
        default=None,
        description='`all` ordered pairs, or a list of `"sender -> receiver"`. '
        "May be left out with exactly two hosts: then the first sends to the second. Several at once, as "
        'one case: `"gen1 + gen2 -> dut"`, `"dut -> gen1 + gen2"`, `"gen <-> dut"`, `"a -> b -> c -> a"`.',
    )
    directions: Annotated[tuple[Direction, ...], Field(min_length=1), f.AsTuple, f.Unique] = Field(
        default=("forward",),
        description="`forward`: the first host of a pair sends, and opens the connection. "
        "`reverse`: the same client and server, the traffic the other way round.",
    )
    tests: Annotated[tuple[Test, ...], Field(min_length=1, max_length=MAX_TESTS), f.AsTuple] = Field(
        default=(),
        examples=["[tcp, udp-1500, udp-60]"],
        description="Tests by name, or as a mapping with settings of their own. "
        "May be left out where `users` make the load, and with `energy`.",
    )
    energy: EnergyEntry | None = Field(
        default=None,
        examples=["{sizes: [60, 512, 1500], rates: [20kpps, 60kpps, 120kpps]}"],
        description="In place of `tests`: UDP frames of each size at each rate, in random order, with idle "
        "windows between, for what a bit and a packet cost; see docs/power.md.",
    )
    load: Literal[_LOADS] = Field(  # type: ignore[valid-type]
        default=DEFAULT_LOAD, description="The program that makes the load of the tests; see docs/loads.md."
    )
    instances: f.InstancesOrAuto = Field(
        default=(1,),
        description="Load processes at once, each with a port and a CPU; auto: as many as it takes to tell "
        "from how many on throughput no longer follows.",
    )
    streams: f.Streams = Field(default=(1,), description="Connections of one load process.")
    families: Annotated[tuple[Family, ...], Field(min_length=1), f.AsTuple, f.Unique] = Field(
        default=("ipv4",), description="`ipv4`, `ipv6`."
    )
    networks: Annotated[tuple[Network, ...], Field(min_length=1, max_length=MAX_NETWORKS), f.AsTuple] = Field(
        default=(BARE_NETWORK,),
        examples=["[bare, vxlan.yaml]"],
        description="`bare` interfaces, and networks as NMState documents describe them: the file of one, "
        "or a mapping with its name; see docs/networks.md.",
    )
    rate: f.RateOrAuto | None = Field(
        default=None,
        description='Offered rate of one instance, such as "500M" or "3.5G"; null: as fast as it goes; '
        "auto: the rates up to which no more is lost than `search` allows, of UDP tests.",
    )
    search: SearchEntry = Field(
        default=SearchEntry(), description="How rates and instances that are `auto` are searched."
    )
    zerocopy: bool = Field(default=False, description="Send without copying; applies to TCP tests.")
    load_levels: f.Levels = Field(
        default=(),
        description="Percent of the maximum, such as `[100, 75, 50, 25, 0]`: after all trials at full rate, "
        "which calibrate it, every case is run at these rates; 0 is active idle. The maximum is the "
        "smallest of all pairs', so that all are offered the same.",
    )
    trials: Trials = Field(
        default=10,
        description="Repetitions of every case; or bounds and how sure its mean must be, such as "
        "`{min: 10, max: 30, until: 1%}`.",
    )
    order: Order = Field(
        default="interleaved",
        description="`interleaved`: every case once, then all again. `mirrored`: the same, but every other "
        "time backwards, as a staircase up and down. `sequential`: all trials of a "
        "case, then the next. `random`: every case once in random order, then all again in another.",
    )
    seed: int | None = Field(
        default=None,
        ge=0,
        le=2**53,
        description="Seed of `order: random`; left out: one is drawn and recorded.",
    )
    window: WindowEntry = Field(default=WindowEntry(), description="The parts of a trial.")
    idle: IdleEntry = Field(default=IdleEntry(), description="The idle windows, before and after loads.")
    rest: RestField | None = Field(
        default=None,
        description="`until-cool`: before each trial its hosts are let cool down until temperatures, fans "
        "and watts are as in their idle window; or a mapping with a limit; see docs/campaign.md.",
    )
    ports: f.Ports = Field(
        default=(5201, 5264),
        description='Ports of the load: a range such as "5201-5264", or the first of 1024.',
    )
    placement: Policy | None = Field(
        default=None,
        description="`auto`: load processes and interrupts next to the NIC. `pinned`: on the host's "
        "`app_cpus` and `irq_cpus`. `neighbour`: each process beside its interrupts, behind one cache. "
        "`remote`: processes on another node, to measure what distance costs. `none`: the system "
        "decides. Left out: pinned where a host names such CPUs, else auto.",
    )
    smt: bool = Field(
        default=False, description="Whether placement counts hardware threads in the place of cores."
    )
    steer: bool = Field(
        default=False,
        description="Whether the packets of instance i are sent to receive queue i of the receiver, by an "
        "ntuple rule for its port; where the NIC has interrupts and a queue for each.",
    )
    factors: dict[f.FactorName, Factor] = Field(
        default_factory=dict,
        examples=["{mtu: [1500, 9000], gro: [on, off]}"],
        description="Settings to vary, each with its levels, the base first; see docs/experiments.md.",
    )
    design: Design = Field(
        default="one-at-a-time",
        description="`one-at-a-time`: the base, then each other level alone. `full`: every combination. "
        "`fractional`: a balanced part of them, for factors of two levels.",
    )
    concurrent_pairs: bool = Field(
        default=False,
        description="Whether pairs that share no host run at the same time, started at one barrier.",
    )
    settings: SettingsEntry = Field(  # type: ignore[valid-type]
        SettingsEntry(), description="Settings made on every host that takes part."
    )
    sensors: SensorsEntry = Field(  # type: ignore[valid-type]
        SensorsEntry(),
        description="What is recorded beside the load; left out: every sensor that needs none.",
    )

    def value_of(self, key: str) -> Any:
        """What is written at a key that a feature adds; None: nothing, or there is no such feature."""
        return getattr(self, key, None)

    @property
    def written_keys(self) -> list[CampaignKey]:
        """Keys of features that are written, and not as their default."""
        return written_keys(self)

    @property
    def load_keys(self) -> list[str]:
        """Keys of features that bring a load in place of tests, or beside them."""
        return [key.key for key in self.written_keys if key.brings_load]

    @property
    def replaces_trials(self) -> bool:
        """Whether a key of a feature has something in place of cases and trials."""
        return any(key.replaces_trials for key in self.written_keys)


CAMPAIGN_FILE: type[CampaignFile] = create_model(
    "CampaignFile", __base__=CampaignFile, __doc__=CampaignFile.__doc__, **campaign_key_fields()
)
"""with the keys that features add: what a file is read as"""


def sensors_of(entry: CampaignFile) -> dict[str, SensorConfig]:
    """The sensors that are on, each with its settings."""
    sensors: dict[str, Any] = dict(entry.sensors)
    return {name: sensor for name, sensor in sensors.items() if sensor is not False}


def settings_of(entry: CampaignFile) -> dict[str, str]:
    """The settings beside kernel parameters that are to be made, as they are written."""
    settings: dict[str, Any] = dict(entry.settings)
    return {name: level for name, level in settings.items() if name != "sysctl" and level is not None}


def levels_of_factors(entry: CampaignFile) -> dict[str, tuple[str, ...]]:
    """Every factor with its levels, as they are written."""
    return {
        name: levels.label if isinstance(levels, LabelEntry) else levels
        for name, levels in entry.factors.items()
    }


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a campaign file, for editors."""
    schema: dict[str, Any] = _tidy(CAMPAIGN_FILE.model_json_schema())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "linewatt campaign",
        **schema,
    }


def _tidy(node: Any) -> Any:
    """Without the titles pydantic makes of key names; with names that match no pattern refused, and with what
    editors print where a text matches none."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    tidied = {
        key: _tidy(value) for key, value in node.items() if not (key == "title" and isinstance(value, str))
    }
    if isinstance(tidied.get("pattern"), str) and isinstance(examples := tidied.get("examples"), list):
        tidied.setdefault("patternErrorMessage", f"must be written like {examples[0]}")
    if "patternProperties" in tidied:
        tidied["additionalProperties"] = False
    return tidied
