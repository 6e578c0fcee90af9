# SPDX-License-Identifier: Apache-2.0
"""The CPUs on which a campaign has the server's processes, and those of users, run."""

from __future__ import annotations

from linewatt.errors import HostError
from linewatt.foreign import last_line
from linewatt.hosts import Host
from linewatt.hosts.facts import format_cpulist
from linewatt.placement import bind_to_cpus

LIMIT_S = 10.0

# $1: CPUs as the kernel lists them. taskset leaves out CPUs that are offline or that a cpuset forbids, as
# long as it has any, and says nothing of it: sched_setaffinity(2)
_USABLE = r"""taskset -cp "$1" "$$" >/dev/null || exit
while read -r name cpus; do [ "$name" = Cpus_allowed_list: ] && break; done <"/proc/$$/status"
[ "$cpus" = "$1" ] && exit
echo "only $cpus of them can be used: others are offline or not allowed" >&2; exit 1"""


def cpus_wrapper(cpus: tuple[int, ...] | None) -> list[str]:
    """What starts a command on these CPUs, and all processes that it starts; empty where any will do."""
    return bind_to_cpus(format_cpulist(cpus) if cpus else None)


async def check_cpus(host: Host, cpus: tuple[int, ...] | None, key: str, *, root: bool = False) -> None:
    """Raises HostError where a process cannot use every one of them; ``key`` names them in the campaign."""
    if not cpus:
        return
    cpu_list = format_cpulist(cpus)
    command = ["bash", "-c", _USABLE, "linewatt", cpu_list]
    done = await host.run(command, timeout_s=LIMIT_S, root=root)
    if done.status:
        raise HostError(f"{key}: {cpu_list}: {last_line(done.stderr)}", where=host.spec.name)
