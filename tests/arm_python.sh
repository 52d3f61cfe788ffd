#!/usr/bin/env bash
# The package and its Python tests on ARM, under qemu, in a small Debian of its own: all packages are those for ARM, and
# the extension is cross-compiled. Needs root. Arguments are what pytest runs; the default takes half an hour.
# PYTEST_ADDOPTS, as ever, adds options: "-n 1" for one process.
set -euo pipefail
cd "$(dirname "$0")/.."
system=$PWD/build/arm-linux
python=.venv/bin/python
# What the native core computes, and how Polars calls it. All else is Python.
[ $# -gt 0 ] || set -- tests/test_native.py tests/test_unicode_tables.py tests/test_clean.py tests/metrics tests/suite \
    tests/test_contract.py

# Not `command -v`, which is content with one of them.
type debootstrap qemu-aarch64-static aarch64-linux-gnu-g++ > /dev/null 2>&1 || (apt-get update -qq &&
    apt-get install -qq --yes --no-install-recommends debootstrap g++-aarch64-linux-gnu qemu-user-static > /dev/null)

# Programs for ARM start as others do: the kernel hands them to qemu, by the first bytes of their files.
kernel=/proc/sys/fs/binfmt_misc
mountpoint --quiet $kernel || mount -t binfmt_misc none $kernel
[ -e $kernel/qemu-aarch64 ] || printf '%s' ':qemu-aarch64:M:'\
':\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'\
':\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'\
':/usr/bin/qemu-aarch64-static:FP' > $kernel/register

if [ ! -e "$system/complete" ]; then
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $codename" | head -n 1)
    rm -rf "$system"
    debootstrap --arch=arm64 --variant=minbase --include=python3,git "$codename" "$system" "$mirror" > /dev/null
    touch "$system/complete"
fi
version=$(chroot "$system" python3 -c 'import sys; print("{}.{}".format(*sys.version_info))')
[ "$($python -c 'import sys; print("{}.{}".format(*sys.version_info))')" = "$version" ] ||
    { echo "the system for ARM has Python $version: make setup PYTHON=python$version, then again" >&2; exit 2; }

# Where Debian's Python looks by itself: some tests start programs with an environment of their own, and one runs pip.
site=$system/usr/local/lib/python$version/dist-packages
.venv/bin/uv pip install --quiet --system-certs --python-platform aarch64-manylinux_2_28 --python-version "$version" \
    --target "$site" --requirements pyproject.toml --extra dev pip
cat > build/arm-linux.cmake << 'END'
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
END
rm -rf build/arm-wheel
CMAKE_TOOLCHAIN_FILE=$PWD/build/arm-linux.cmake _PYTHON_HOST_PLATFORM=linux-aarch64 \
    SETUPTOOLS_EXT_SUFFIX=.cpython-${version/./}-aarch64-linux-gnu.so \
    $python -m pip wheel --quiet --no-deps --wheel-dir build/arm-wheel .
rm -rf "$site"/polars_evals*
$python -m zipfile --extract build/arm-wheel/*.whl "$site"

rm -rf "$system/opt/project"
mkdir "$system/opt/project"
git ls-files -z | tar --create --null --files-from - | tar --extract --directory "$system/opt/project"
echo "On $(chroot "$system" uname -m), with Python $version: pytest $*"
# The mounts are in a namespace of their own: none is left behind, whatever ends this, for an `rm -r build` to go into.
# qemu does not let go of its own locks when it forks: now and then the child waits for one for ever.
export PYTEST_ADDOPTS="-n 2 --deselect tests/test_native.py::test_a_forked_child_starts_its_own_pool ${PYTEST_ADDOPTS:-}"
unshare --mount sh -euc '
    system=$1
    shift
    mount --rbind /proc "$system/proc"
    mount --rbind /dev "$system/dev"
    exec chroot "$system" env --chdir=/opt/project python3 -m pytest "$@"' sh "$system" "$@"
