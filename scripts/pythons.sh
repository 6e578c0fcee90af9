#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The wheel as users have it: by pipx into an environment of its own, outside the checkout, for each Python that
# is named, or else is on the PATH and new enough. There: its version, a plan, the example campaign on a lab, and what was
# measured listed, shown, exported, imported elsewhere, asked in SQL.
#
#   scripts/pythons.sh [PYTHON]…        root, for the lab; packages come from the registry
set -euo pipefail

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source=scripts/privileges.sh
. "$top/scripts/privileges.sh"

oldest=11
newest=14

# What a script of pyenv's would only say that it has elsewhere is none.
pythons_here() {
    local minor found
    for ((minor = oldest; minor <= newest; minor++)); do
        if found=$(command -v "python3.$minor") && "$found" -c pass 2>/dev/null; then echo "$found"; fi
    done
}

# Of a copy, since what an earlier build has left below build/ would be in it.
make_wheel() {
    local tree=$work/tree
    mkdir "$tree"
    cp -r "$top"/{pyproject.toml,README.md,LICENSE,share,src} "$tree"
    find "$tree" -type d \( -name __pycache__ -o -name '*.egg-info' \) -prune -exec rm -rf {} +
    "$top/.venv/bin/python" -m pip --quiet --disable-pip-version-check wheel --no-deps --wheel-dir "$work" "$tree"
    "$top/.venv/bin/python" -m venv "$work/pipx"
    "$work/pipx/bin/python" -m pip --quiet --disable-pip-version-check install pipx
}

# What was measured and what came back of it elsewhere are the same to the last digit, and something at all.
same_cases() {
    "$python" -c 'import json, sys
measured, imported = (json.load(open(name))["cases"] for name in sys.argv[1:])
sys.exit(None if measured and measured == imported else "its cases are others after export and import")' "$@"
}

# Every command but the first two stands on what the ones before it wrote.
try() {
    local python=$1 home=$2
    mkdir "$home"
    cd -- "$home"
    export PIPX_HOME=$home/pipx PIPX_BIN_DIR=$home/bin PIPX_MAN_DIR=$home/man
    "$work/pipx/bin/pipx" install --quiet --python "$python" "${wheels[0]}" >&2
    local linewatt=$home/bin/linewatt
    "$linewatt" --version
    [[ -f $home/man/man1/linewatt.1 ]] || die "no man page below $home/man"
    printf '%s\n' 'name: n' 'hosts: {a: {address: 192.0.2.1, data: eth0}, b: {address: 192.0.2.2, data: eth0}}' \
        'pairs: ["a -> b"]' 'tests: [tcp]' >campaign.yaml
    "$linewatt" plan campaign.yaml
    "$linewatt" demo
    "$linewatt" list
    "$linewatt" show last --json >shown.json
    "$linewatt" export last --format bundle -o result.tar.zst
    "$linewatt" import result.tar.zst --results elsewhere
    "$linewatt" show last --json --results elsewhere >again.json
    same_cases shown.json again.json
    "$linewatt" sql 'SELECT count(*) AS trials FROM trials'
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t pythons < <(if (($#)); then printf '%s\n' "$@"; else pythons_here; fi)
((${#pythons[@]})) || die "no Python from 3.$oldest to 3.$newest is on the PATH; name one"
make_wheel
wheels=("$work"/linewatt-*.whl)
for at in "${!pythons[@]}"; do
    say "$("${pythons[at]}" --version) (${pythons[at]})"
    (try "${pythons[at]}" "$work/$at")
done
say "the wheel works with all of ${#pythons[@]}"
