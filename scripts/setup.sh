#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what a stage needs and is missing: system packages, and pinned Python packages in .venv.
#
#   scripts/setup.sh demo|bench|docs|test|vm|lint [TARGET]      TARGET: the make target that asks, for messages
#
# Run again, it only looks. System packages need root or sudo; everything else belongs to the caller.
set -euo pipefail
export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source=scripts/privileges.sh
. "$top/scripts/privileges.sh"

venv=$top/.venv
stage=${1:-demo}
target=${2:-setup}

case $stage in
    demo) requirements='core' ;;
    docs) requirements='docs' ;;
    bench | test | vm) requirements='test' ;; # the bench reads meters and runs users too
    lint) requirements='lint' ;;
    *) die "no such stage: $stage; use demo, bench, docs, test, vm or lint" ;;
esac

# --- What is missing ----------------------------------------------------------------------------------

# Each line: the command that must be there, its Debian package, its RHEL package.
tools_of_the_lab='
    iperf3              iperf3          iperf3
    mpstat              sysstat         sysstat
    ethtool             ethtool         ethtool
    sshd                openssh-server  openssh-server
    ip                  iproute2        iproute
    ss                  iproute2        iproute
    tc                  iproute2        iproute-tc
    ping                iputils-ping    iputils
    unshare             util-linux      util-linux
    taskset             util-linux      util-linux
    ps                  procps          procps-ng
'

# The lab's BMCs, and what asks them by hand and in tests. A lab works without them.
tools_of_bmcs='
    ipmi_sim            openipmi        OpenIPMI-lanserv
    ipmitool            ipmitool        ipmitool
'

# What tests and the bench ask beside: an SNMP agent in the place of a PDU, and a login shell unlike sh.
tools_of_tests='
    snmpd               snmpd           net-snmp
    tcsh                tcsh            tcsh
'

# The load of request/response tests.
tools_of_sockperf='
    sockperf            sockperf        sockperf
'

# What records profiles.
tools_of_profiles='
    perf                linux-perf      perf
'

# The server of scripted users.
tools_of_users='
    vsftpd              vsftpd          vsftpd
'

# What guests are made of, beside virtme-ng and a kernel.
tools_of_guests='
    qemu-system-x86_64  qemu-system-x86 qemu-kvm
    busybox             busybox-static  busybox
    modprobe            kmod            kmod
    iasl                acpica-tools    acpica-tools
    numactl             numactl         numactl
'

# Services that guests run and linewatt turns; on the machine itself they stay off.
tools_of_services='
    systemctl           systemd         systemd
    dbus-daemon         dbus-daemon     dbus-daemon
    tuned-adm           tuned           tuned
    irqbalance          irqbalance      irqbalance
'

# What reads meters and moves files by hand, beside linewatt.
tools_of_bench='
    curl                curl            curl
    lftp                lftp            lftp
    snmpget             snmp            net-snmp-utils
'

family() {
    local id id_like
    # shellcheck source=/dev/null
    id=$(. /etc/os-release 2>/dev/null && echo "${ID:-}")
    # shellcheck source=/dev/null
    id_like=$(. /etc/os-release 2>/dev/null && echo "${ID_LIKE:-}")
    case " $id $id_like " in
        *" debian "* | *" ubuntu "*) echo debian ;;
        *" rhel "* | *" fedora "* | *" centos "*) echo rhel ;;
        *) echo other ;;
    esac
}

# missing_packages TOOLS: the packages of those commands that are not there.
missing_packages() {
    local tool debian rhel package
    while read -r tool debian rhel; do
        [[ -n $tool ]] || continue
        if [[ $distribution == rhel ]]; then package=$rhel; else package=$debian; fi
        have "$tool" || echo "$package"
    done <<<"$1" | sort -u
}

# A Chromium, and the one library that Playwright's driver needs and a small system may lack.
browser() {
    local name
    ldconfig -p | grep -qF libatomic.so.1 || return 1
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        if have "$name"; then return 0; fi
    done
    return 1
}

browser_packages() {
    if [[ $distribution == rhel ]]; then echo chromium libatomic; else echo chromium libatomic1; fi
}

# --- System packages ----------------------------------------------------------------------------------

readonly policy=/usr/sbin/policy-rc.d
readonly policy_mark='# linewatt setup: no service starts while it installs packages'
log=$(mktemp)

finish() {
    rm -f "$log"
    if grep -qsxF "$policy_mark" "$policy"; then as_root rm -f "$policy"; fi
}
trap finish EXIT

hold_services() {
    [[ $distribution == debian && ! -e $policy ]] || return 0
    printf '#!/bin/sh\n%s\nexit 101\n' "$policy_mark" | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
}

services_of() {
    case $1 in
        openssh-server) echo ssh.service ssh.socket sshd.service sshd.socket ;;
        sysstat) echo sysstat.service sysstat-collect.timer sysstat-summary.timer sysstat-rotate.timer ;;
        iperf3) echo iperf3.service ;;
        openipmi) echo openipmi.service ;;
        OpenIPMI) echo ipmi.service ;;
        ipmitool) echo ipmievd.service ;;
        vsftpd) echo vsftpd.service ;;
        snmpd | net-snmp) echo snmpd.service snmptrapd.service ;;
        tuned) echo tuned.service ;;
        irqbalance) echo irqbalance.service ;;
    esac
}

# The tools are wanted, their services are not: those that came with a new package stay off.
disable_services_of() {
    local package unit
    for package in "$@"; do
        for unit in $(services_of "$package"); do
            # Debian's openipmi has a start script only.
            [[ -e /lib/systemd/system/$unit || -e /usr/lib/systemd/system/$unit \
                || -e /etc/init.d/${unit%.service} ]] || continue
            disable_service "$unit" >>"$log" 2>&1 || true
        done
    done
}

# Without a running systemd, --now fails; without systemctl (a container image), Debian's own tools remove
# the links that would start the service at the next boot.
disable_service() {
    if have systemctl; then
        as_root systemctl disable --now "$1" || as_root systemctl disable "$1"
    elif have deb-systemd-helper; then
        as_root env DPKG_MAINTSCRIPT_PACKAGE=linewatt deb-systemd-helper disable "$1"
        [[ ! -e /etc/init.d/${1%.service} ]] || as_root update-rc.d "${1%.service}" disable
    fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
        apt-get -y -o DPkg::Lock::Timeout=120 "$@" >>"$log" 2>&1
}

installable() {
    apt-cache policy "$1" 2>/dev/null | grep -q '^  Candidate: [^(]'
}

# Package lists are fetched only when they are missing or no longer match the mirror.
apt_install() {
    local package listed=yes
    for package in "$@"; do installable "$package" || listed=no; done
    if [[ $listed == yes ]] && apt install --no-install-recommends "$@"; then return 0; fi
    apt update || true
    apt install --no-install-recommends "$@"
}

dnf_install() {
    as_root dnf -y --setopt=install_weak_deps=False install "$@" >>"$log" 2>&1
}

installed() {
    if [[ $distribution == rhel ]]; then
        rpm -q "$1" >/dev/null 2>&1
    else
        [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null) == ii* ]]
    fi
}

install_packages() {
    local package fresh=() status=0
    if [[ $distribution == other ]]; then
        die "this distribution is not known; install these yourself and run again: $*"
    fi
    need_root "installing $*" "$target"
    say "installing: $*"
    for package in "$@"; do installed "$package" || fresh+=("$package"); done
    hold_services
    if [[ $distribution == debian ]]; then apt_install "$@" || status=$?; else dnf_install "$@" || status=$?; fi
    disable_services_of "${fresh[@]}"
    if ((status != 0)); then
        tail -n 5 "$log" >&2
        return "$status"
    fi
}

install_tools() {
    local missing
    mapfile -t missing < <(missing_packages "$tools_of_the_lab")
    ((${#missing[@]})) || return 0
    install_packages "${missing[@]}" || die "could not install: ${missing[*]}; install them yourself and run again"
    mapfile -t missing < <(missing_packages "$tools_of_the_lab")
    ((${#missing[@]} == 0)) || die "still missing after installation: ${missing[*]}"
}

# A distribution may have one and not the other. What it has not, it is asked for once.
install_bmcs() {
    local asked=$venv/.setup-no-bmc missing package
    mapfile -t missing < <(missing_packages "$tools_of_bmcs")
    ((${#missing[@]})) || return 0
    if [[ ! -e $asked && $distribution != other ]] && (need_root "" "") 2>/dev/null; then
        # OpenIPMI comes with it; named, so that its service is turned off if it is new.
        if [[ " ${missing[*]} " == *" OpenIPMI-lanserv "* ]]; then missing=(OpenIPMI "${missing[@]}"); fi
        if ! install_packages "${missing[@]}" && ((${#missing[@]} > 1)); then
            for package in "${missing[@]}"; do install_packages "$package" || true; done
        fi
        mapfile -t missing < <(missing_packages "$tools_of_bmcs")
        ((${#missing[@]})) || return 0
        if [[ -d $venv ]]; then as_caller touch "$asked"; fi
    fi
    say "not to be had here: ${missing[*]}; lab hosts have no BMCs without ipmi_sim, and tests of BMCs will be skipped"
}

# install_wanted NAME TOOLS WITHOUT: what is good to have; WITHOUT says what happens without it.
install_wanted() {
    local asked=$venv/.setup-no-$1 missing
    mapfile -t missing < <(missing_packages "$2")
    ((${#missing[@]})) || return 0
    if [[ ! -e $asked && $distribution != other ]] && (need_root "" "") 2>/dev/null; then
        if install_packages "${missing[@]}"; then return 0; fi
        if [[ -d $venv ]]; then as_caller touch "$asked"; fi
    fi
    say "not to be had here: ${missing[*]}; $3"
}

# A kernel for guests, unpacked where the machine itself never boots it; none where the machine has one. Its
# package is not installed, because that would change what the machine boots next.
kernel_is_there() {
    "$venv/bin/python" -c 'import sys
from linewatt.features.lab.guests.tools import newest_kernel
sys.exit(newest_kernel() is None)'
}

install_kernel() {
    local package
    if kernel_is_there; then return 0; fi
    (need_root "" "") 2>/dev/null || return 1
    installable linux-image-amd64 || apt update || true
    package=$(apt-cache depends linux-image-amd64 2>/dev/null \
        | sed -n 's/^  Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
    [[ -n $package ]] || return 1
    unpack_kernel "$package"
}

# unpack_kernel PACKAGE: where guests' kernels are.
unpack_kernel() {
    local package=$1 place=/var/lib/linewatt/kernels work version=${1#linux-image-} status=0
    say "unpacking $package for guests into $place; the machine itself never boots it"
    work=$(as_root mktemp -d)
    as_root sh -euc '
        cd "$1"
        apt-get -o APT::Sandbox::User=root download "$2"
        dpkg -x ./*.deb unpacked
        depmod -b unpacked "$3"
        mkdir -p "$4" /lib/modules
        rm -rf "${4:?}/$3"
        mv unpacked "$4/$3"
    ' sh "$work" "$package" "$version" "$place" >>"$log" 2>&1 || status=$?
    as_root rm -rf "$work"
    return "$status"
}

two_kernels_are_there() {
    "$venv/bin/python" -c 'import sys
from linewatt.features.lab.guests.tools import kernels
sys.exit(len(kernels()) < 2)'
}

# Another kernel to compare with: the newest that the distribution still offers beside the one that is there.
install_second_kernel() {
    local place=/var/lib/linewatt/kernels package
    if two_kernels_are_there; then return 0; fi
    (need_root "" "") 2>/dev/null || return 1
    package=$(apt-cache pkgnames linux-image- | grep -xE 'linux-image-[0-9.]+-[0-9]+-amd64' | sort -rV \
        | while read -r package; do
            [[ -e /boot/vmlinuz-${package#linux-image-} || -e $place/${package#linux-image-} ]] \
                || { echo "$package"; break; }
        done)
    [[ -n $package ]] || return 1
    unpack_kernel "$package"
}

install_guests() {
    local asked=$venv/.setup-no-guests
    if [[ $distribution != debian || $(uname -m) != x86_64 ]]; then
        say "guests are made on Debian-likes on x86-64 only: their tests will be skipped"
        return 0
    fi
    install_wanted guest-tools "$tools_of_guests" "tests of guests will be skipped"
    install_wanted services "$tools_of_services" "tests of TuneD and irqbalance in guests will be skipped"
    if [[ ! -e $asked ]] && ! install_kernel; then
        tail -n 3 "$log" >&2
        if [[ -d $venv ]]; then as_caller touch "$asked"; fi
        say "no kernel for guests to be had here: tests of guests will be skipped"
        return 0
    fi
    if [[ ! -e $asked && ! -e $asked-second ]] && ! install_second_kernel; then
        tail -n 3 "$log" >&2
        if [[ -d $venv ]]; then as_caller touch "$asked-second"; fi
        say "no second kernel for guests to be had here: tests that compare two will be skipped"
    fi
}

# Pages are tested in a browser; without one those tests skip and say so. What a distribution has not, it
# is asked for once.
install_browser() {
    local asked=$venv/.setup-no-browser packages
    browser && return 0
    read -ra packages < <(browser_packages)
    if [[ ! -e $asked && $distribution != other ]] && install_packages "${packages[@]}" && browser; then
        return 0
    fi
    if [[ -d $venv ]]; then as_caller touch "$asked"; fi
    say "no Chromium to be had here: what opens pages will be skipped"
}

# --- Python -------------------------------------------------------------------------------------------

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
makes_venvs() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

pythons() {
    local name
    for name in python3.13 python3.12 python3.11 python3; do
        if have "$name" && new_enough "$name"; then command -v "$name"; fi
    done
}

find_python() {
    local candidate
    while read -r candidate; do
        if makes_venvs "$candidate"; then echo "$candidate"; return 0; fi
    done < <(pythons)
    return 1
}

python_package() {
    local candidate version
    if [[ $distribution == rhel ]]; then
        for version in 3.13 3.12 3.11; do
            if dnf -q list "python$version" >/dev/null 2>&1; then echo "python$version"; return; fi
        done
        echo python3
        return
    fi
    # Debian keeps ensurepip apart from the interpreter, in a package named after its version.
    candidate=$(pythons | head -n 1)
    if [[ -n $candidate ]]; then
        "$candidate" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'
        return
    fi
    for version in 3.13 3.12 3.11; do
        if installable "python$version-venv"; then echo "python$version-venv"; return; fi
    done
    echo python3-venv
}

ensure_python() {
    find_python >/dev/null && return
    local package
    package=$(python_package)
    install_packages "$package" || true
    find_python >/dev/null || die "needs Python 3.11 or newer with its venv module; install it and run again"
}

# --- The virtual environment --------------------------------------------------------------------------

# A change of pins, of the project's metadata, of this script, or of the place asks for a new look.
fingerprint() {
    {
        echo "$top"
        cat "$top/pyproject.toml" "$top/requirements/$1.txt" "$top/scripts/setup.sh"
    } | sha256sum | cut -d' ' -f1
}

installed_in_full() {
    local stamp=$venv/.setup-$1
    [[ -r $stamp && $(<"$stamp") == "$(fingerprint "$1")" ]] || return 1
    case $1 in
        core) [[ -x $venv/bin/linewatt ]] ;;
        docs) [[ -x $venv/bin/sphinx-build ]] ;;
        test) [[ -x $venv/bin/pytest ]] ;;
        lint) [[ -x $venv/bin/ruff && -x $venv/bin/mypy && -x $venv/bin/lint-imports ]] ;;
    esac && "$venv/bin/python" -c 'import linewatt' 2>/dev/null
}

# lint.txt holds all of test.txt, that all of docs.txt, and that all of core.txt.
python_packages_are_there() {
    case $requirements in
        core) installed_in_full core || installed_in_full docs || installed_in_full test || installed_in_full lint ;;
        docs) installed_in_full docs || installed_in_full test || installed_in_full lint ;;
        test) installed_in_full test || installed_in_full lint ;;
        lint) installed_in_full lint ;;
    esac
}

pip() {
    as_caller "$venv/bin/python" -m pip --quiet --disable-pip-version-check --no-input "$@"
}

make_venv() {
    if [[ -x $venv/bin/python ]] && new_enough "$venv/bin/python" \
        && grep -qsF "$venv" "$venv/bin/activate" && "$venv/bin/python" -c 'import pip' 2>/dev/null; then
        return
    fi
    ensure_python
    local python
    python=$(find_python)
    say "making .venv with $("$python" --version)"
    if [[ -L $venv ]]; then as_caller rm -- "$venv"; fi  # what it leads to is not emptied
    as_caller "$python" -m venv --clear "$venv"
}

# uv takes half of pip's CPU time. It does not read pip's configuration, so it gets the index from there; whatever
# else pip is told to do differently, pip does after uv failed.
install_with_uv() {
    local index=${PIP_INDEX_URL:-}
    pip install --require-hashes -r "$top/requirements/uv.txt" || return 1
    [[ -n $index ]] || index=$(pip config get global.index-url 2>/dev/null) || true
    as_caller env ${index:+UV_DEFAULT_INDEX="$index"} ${PIP_CERT:+SSL_CERT_FILE="$PIP_CERT"} \
        "$venv/bin/uv" pip install --quiet --no-config --python "$venv/bin/python" --compile-bytecode \
        --require-hashes -r "$1"
}

install_python_packages() {
    python_packages_are_there && return
    make_venv
    say "installing the pinned Python packages of requirements/$requirements.txt"
    install_with_uv "$top/requirements/$requirements.txt" \
        || pip install --require-hashes -r "$top/requirements/$requirements.txt"
    pip install --no-deps --no-build-isolation --no-index -e "$top"
    fingerprint "$requirements" | as_caller tee "$venv/.setup-$requirements" >/dev/null
}

# pip compiles what it installs, but not a checkout: a start would compile a hundred files, each time if it may
# not keep them.
compile_sources() {
    as_caller "$venv/bin/python" -m compileall -q "$top/src"
}

# The man page and what shells complete commands with, made of the program: as new as its commands.
write_manual() {
    local page=$venv/share/man/man1/linewatt.1
    [[ ! -e $page || -n $(find "$top/src/linewatt/cli" -name '*.py' -newer "$page" -print -quit) ]] || return 0
    as_caller "$venv/bin/python" -m linewatt.cli.manual --prefix "$venv" >/dev/null
}

# --- The stages ---------------------------------------------------------------------------------------

distribution=$(family)
if [[ $stage != lint && $stage != docs ]]; then install_tools; fi
install_python_packages
compile_sources
write_manual
if [[ $stage != lint && $stage != docs ]]; then install_bmcs; fi
case $stage in
    bench)
        install_browser
        install_wanted snmpd "$tools_of_tests" "the bench does not time SNMP"
        install_wanted vsftpd "$tools_of_users" "the bench does not time FTP users"
        install_wanted by-hand "$tools_of_bench" "the bench has nothing beside some meters and FTP users"
        ;;
    test)
        install_wanted snmpd "$tools_of_tests" "tests of SNMP will be skipped"
        install_wanted sockperf "$tools_of_sockperf" "tests of latency will be skipped"
        install_wanted vsftpd "$tools_of_users" "tests of FTP users will be skipped"
        install_wanted perf "$tools_of_profiles" "tests of profiles on hosts will be skipped"
        install_guests
        install_browser
        ;;
    vm) install_guests ;;
esac
