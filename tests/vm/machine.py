# SPDX-License-Identifier: Apache-2.0
"""A guest as the field's own tools see it, and the same guest with systemd.

systemd is the first process of a process-id namespace inside the guest, where it begins in seconds: the
kernel, its interrupts and its parameters are the guest's own, services are those of their packages, and sshd
answers on a second port. It goes, with all that it started, when its first process does.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

SSH_LIMIT_S = 120.0
PERSIST_S = 60
PORT = 2222
SOCKET = "/tmp/lw-{lab}-%C"
"""of a lab's own: an address may be another lab's soon"""

_SYSTEMD = r"""set -eu
[ ! -e /run/linewatt-systemd ] || { echo "systemd of another test is there" >&2; exit 1; }
setsid -f unshare --pid --mount --cgroup --fork --mount-proc bash -c '
set -eu
new=/run/linewatt-systemd
mkdir -p $new
mount -t tmpfs -o mode=755 run $new
mkdir -p $new/systemd/system $new/sshd $new/linewatt $new/tuned.etc
mount --bind /run/linewatt $new/linewatt
cp -a /etc/tuned/. $new/tuned.etc/
echo balanced >$new/tuned.etc/active_profile  # which to recommend takes TuneD a minute here
echo manual >$new/tuned.etc/profile_mode
mount --bind $new/tuned.etc /etc/tuned
mount --rbind $new /run
cd /run/systemd/system
cp /lib/systemd/system/tuned.service /lib/systemd/system/irqbalance.service .
cp /lib/systemd/system/dbus.service /lib/systemd/system/dbus.socket .
sed -i -e /ConditionVirtualization/d -e "s/--foreground/--foreground -t $3/" irqbalance.service
for unit in sysinit basic sockets shutdown guest; do echo "[Unit]" >$unit.target; done
echo DefaultDependencies=no >>sysinit.target
echo DefaultDependencies=no >>shutdown.target
echo "Requires=guest-sshd.service dbus.socket" >>guest.target
sshd="/usr/sbin/sshd -D -e -f /run/linewatt/$1.conf -o ListenAddress=$2"
printf "[Service]\nExecStart=$sshd\n" >guest-sshd.service
export container=linewatt SYSTEMD_UNIT_PATH=/run/systemd/system SYSTEMD_GENERATOR_PATH=/run/systemd/none
exec /lib/systemd/systemd --system --unit=guest.target --log-target=console --show-status=no
' sh "$1" "$2" "$3" </dev/null >/run/linewatt/systemd.log 2>&1
for _ in $(seq 600); do
  if timeout 5 bash -c "exec 3<>/dev/tcp/${2%:*}/${2#*:}" 2>/dev/null; then exit 0; fi
  sleep 0.1
done
echo "waited 60 s for the sshd of systemd on $2; its log:" >&2
cat /run/linewatt/systemd.log >&2
exit 1
"""
"""$1: the name of the guest, $2: where sshd listens, $3: how often irqbalance balances, in seconds"""

_END = r"""[ -e /run/linewatt-systemd ] || exit 0
for status in /proc/[0-9]*/status; do
  read -r _ name <"$status" 2>/dev/null || continue
  [ "$name" = systemd ] || continue
  pid=${status%/status}; pid=${pid##*/}
  kill -KILL "$pid"
  while [ -e "/proc/$pid" ]; do sleep 0.05; done
done
rmdir /run/linewatt-systemd
find /sys/fs/cgroup -mindepth 1 -depth -type d -exec rmdir {} \; 2>/dev/null
rm -f /run/linewatt/systemd.log"""


@dataclass(frozen=True)
class Machine:
    """A host of a lab by its variables in an inventory."""

    name: str
    its: dict[str, Any]

    @classmethod
    def of(cls, inventory: Path, name: str) -> Machine:
        return cls(name, YAML(typ="safe").load(inventory.read_text())["all"]["hosts"][name])

    def argv(self, command: str) -> list[str]:
        """A command over real ssh, by nothing but the inventory."""
        its = self.its
        # A login costs a guest without KVM seconds: what is asked soon after goes over the same one.
        socket = SOCKET.format(lab=Path(its["ansible_ssh_private_key_file"]).parent.name)
        shared = ("ControlMaster=auto", f"ControlPersist={PERSIST_S}", f"ControlPath={socket}")
        options = ("BatchMode=yes", "StrictHostKeyChecking=yes", "IdentitiesOnly=yes")
        return [
            *("ssh", "-F", "none", "-o", f"ConnectTimeout={SSH_LIMIT_S:.0f}"),
            *(word for option in (*options, *shared) for word in ("-o", option)),
            *its["ansible_ssh_common_args"].split(),
            *("-i", its["ansible_ssh_private_key_file"], "-p", str(its["ansible_port"])),
            *(f"root@{its['ansible_host']}", command),
        ]

    def run(self, command: str, status: int = 0) -> str:
        """What a command says; why, where it fails."""
        done = subprocess.run(
            self.argv(command),
            capture_output=True,
            text=True,
            timeout=SSH_LIMIT_S,
            check=False,
        )
        assert done.returncode == status, done.stderr + done.stdout
        return done.stdout.strip() if status == 0 else done.stderr.strip()


def one_port(inventory: Path, tmp: Path) -> Path:
    """The inventory with the first data port of each host alone."""
    return data_port(inventory, tmp, 0)


def data_port(inventory: Path, tmp: Path, port: int) -> Path:
    """The inventory with one data port of each host alone."""
    tree = YAML(typ="safe").load(inventory.read_text())
    for its in tree["all"]["hosts"].values():
        its |= {key: value[port] for key, value in its.items() if "data" in key and isinstance(value, list)}
    path = tmp / f"port-{port}.inventory.yaml"
    path.write_text(json.dumps(tree))
    return path


@contextmanager
def with_systemd(inventory: Path, name: str, tmp: Path, *, balance_s: int = 1) -> Iterator[Path]:
    """The inventory in which a guest is the one with systemd, for as long as that is there.

    ``balance_s``: how often its irqbalance, which is not started, looks where interrupts should go.
    """
    plain = Machine.of(inventory, name)
    address = plain.its["ansible_host"]
    plain.run(shlex.join(("bash", "-c", _SYSTEMD, "linewatt", name, f"{address}:{PORT}", str(balance_s))))
    try:
        yield _inventory(inventory, plain, tmp)
    finally:
        plain.run(_END)


def _inventory(inventory: Path, plain: Machine, tmp: Path) -> Path:
    """The same host key answers on the second port."""
    tree = YAML(typ="safe").load(inventory.read_text())
    its = tree["all"]["hosts"][plain.name]
    address = its["ansible_host"]
    keys = Path(its["linewatt_known_hosts"]).read_text().splitlines()
    known = tmp / f"{plain.name}.known_hosts"
    known.write_text(
        "\n".join([*keys, *(key.replace(address, f"[{address}]:{PORT}", 1) for key in keys)]) + "\n"
    )
    its |= {
        "ansible_port": PORT,
        "linewatt_known_hosts": str(known),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={known}",
    }
    path = tmp / f"{plain.name}.inventory.yaml"
    path.write_text(json.dumps(tree))
    return path
