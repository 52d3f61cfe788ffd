#!/usr/bin/env bash
# All Python tests on another Python, in an environment of its own, with the extension built by that Python:
# tests/pythons.sh 3.14, or tests/pythons.sh 3.14 tests/metrics. On a free-threaded one (3.14t), for which there is no
# Polars, the extension alone.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1
folder=build/python-$version
system=$PWD/build/debian-$version

# The interpreter of this machine, pyenv's or, where it can be fetched, uv's. It is called to see whether it is there, as
# pyenv has a `python3.14` on the path for each version that it knows.
find_python() {
    for python in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/"python$version"; do
        "$python" -c '' 2> /dev/null && echo "$python" && return
    done
    export UV_PYTHON_INSTALL_DIR=$PWD/build/pythons
    .venv/bin/uv python install --quiet --system-certs --no-bin "$version" 2> /dev/null &&
        .venv/bin/uv python find --managed-python "$version"
}

# A small system of Debian's next release, which has newer Pythons, but none that is free-threaded. Takes root.
make_system() {
    [[ $version != *t ]] || { echo "there is no python$version here, and none that can be fetched" >&2; exit 2; }
    command -v debootstrap > /dev/null || (apt-get update -qq &&
        apt-get install -qq --yes --no-install-recommends debootstrap > /dev/null)
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $codename" | head -n 1)
    rm -rf "$system"
    debootstrap --variant=minbase --include="python$version-venv,python$version-dev,g++,git" testing "$system" "$mirror" \
        > "$system.log" || { tail -n 3 "$system.log" >&2; exit 2; }
    mkdir -p "$system$PWD" "$system/etc/ssl/certs"
    touch "$system/complete"
}

# Runs a command in that system, where the project stands in the same place as here. Nobody else sees the mounts, and they
# end with the command: whoever removes build/ does not reach the project through them.
inside() {
    unshare --mount bash -euc '
        for shared in /proc /dev /etc/ssl/certs "$PWD"; do mount --rbind "$shared" "$0$shared"; done
        exec chroot "$0" env --chdir="$PWD" "$@"' "$system" "$@"
}

if python=$(find_python); then
    run=(env)
else
    [ -e "$system/complete" ] || make_system
    run=(inside)
    python=python$version
fi
"${run[@]}" "$python" -m venv "$folder"
python=$folder/bin/python
"${run[@]}" "$python" --version --version
install=("${run[@]}" .venv/bin/uv pip install --quiet --system-certs --python "$python"
    --reinstall-package polars-evals --config-setting "build-dir=$folder/native")
case $version in
*t)
    "${install[@]}" --no-deps --only-binary pyarrow . pyarrow
    "${run[@]}" "$python" tests/free_threaded.py
    ;;
*)
    "${install[@]}" --editable '.[dev]'
    "${run[@]}" "$python" -m pytest -n "${WORKERS:-2}" "${@:2}"
    ;;
esac
