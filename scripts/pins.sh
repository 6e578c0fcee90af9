#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pins the closure of pyproject.toml's dependencies, with hashes of every file of each version, so that the
# pins hold on every architecture. No index address and no local path gets into the files.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
unset PIP_FIND_LINKS PIP_NO_INDEX
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The oldest supported Python resolves: what it can install, newer ones can.
python3.11 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pip-tools

compile() {
    local name=$1
    shift
    CUSTOM_COMPILE_COMMAND='make pins' "$work/venv/bin/pip-compile" --quiet --no-config --upgrade \
        --generate-hashes --allow-unsafe --strip-extras \
        --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options \
        --output-file "$work/$name.txt" "$@"
}

printf 'uv\n' >"$work/uv.in"
compile uv "$work/uv.in" # what installs the others, in half of pip's time
printf 'python-dateutil<3\n' >"$work/held.txt"  # moto, which tests use, takes no later one
compile core --build-deps-for editable --constraint "$work/held.txt" pyproject.toml
printf 'soupsieve<3\n' >>"$work/held.txt" # later ones need Python 3.11.5, and Debian 12 has 3.11.2
compile docs --build-deps-for editable --extra docs --constraint "$work/held.txt" \
    --constraint "$work/core.txt" pyproject.toml
users=(--extra meters --extra remote --extra users --extra vm --extra web)
compile extras --build-deps-for editable "${users[@]}" --constraint "$work/docs.txt" pyproject.toml
compile test --build-deps-for editable "${users[@]}" --extra docs --extra test \
    --constraint "$work/docs.txt" --constraint "$work/extras.txt" pyproject.toml
compile lint --build-deps-for editable "${users[@]}" --extra docs --extra test --extra lint \
    --constraint "$work/test.txt" pyproject.toml
for name in core docs extras test lint uv; do
    sed "s|$work/||" "$work/$name.txt" >"requirements/$name.txt"
done

# What linewatt prepare installs on clients: the users' extra alone, without the core. It comes with the package.
python3.11 -c 'import sys, tomllib
project = tomllib.load(sys.stdin.buffer)["project"]
print(*project["optional-dependencies"]["users"], sep="\n")' <pyproject.toml >"$work/users.in"
compile users --constraint "$work/test.txt" "$work/users.in"
sed -e "s|$work/||" -e 's|-r users.in|linewatt[users] (pyproject.toml)|' "$work/users.txt" \
    >src/linewatt/features/users/worker/requirements.txt
