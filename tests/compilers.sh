#!/usr/bin/env bash
# The package, built by another compiler or with other flags in an environment of its own, and tests on it:
# compilers.sh clang|debug|lto|sanitizers [tests].
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1
shift
type=Release flags="" linker=""
export CXX=${CXX:-g++}
case $name in
    clang) CXX=clang++ ;;
    debug) type=Debug flags="-O0 -D_GLIBCXX_ASSERTIONS" ;;
    # Whatever is defined twice and differently is an error.
    lto) flags="-flto -Wodr -Werror=odr -Werror=lto-type-mismatch" linker="-flto" ;;
    sanitizers) type=Debug flags="-O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS" ;;
    *) echo "unknown build '$name'"; exit 2 ;;
esac

home=build/with-$name
test -x $home/bin/python || .venv/bin/python -m venv --without-pip $home
# Plain paths: the development install of .venv is not found through them.
.venv/bin/python -c "import sys; print(*(path for path in sys.path if path.endswith('site-packages')), sep='\n')" \
    > "$($home/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/everything_else.pth"
# What builds the package has to be there, as it is built outside of an environment for that.
.venv/bin/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'], sep='\n')" \
    | .venv/bin/python -m pip install --quiet --requirement /dev/stdin cmake ninja
$home/bin/python -m pip install --quiet --no-deps --no-build-isolation --force-reinstall --config-settings=build-dir=$home/native \
    --config-settings=cmake.build-type=$type --config-settings=cmake.define.CMAKE_CXX_FLAGS="$flags" \
    --config-settings=cmake.define.CMAKE_MODULE_LINKER_FLAGS="$linker" .

if [ $# -eq 0 ]; then set -- tests/test_plugin.py tests/test_contract.py tests/test_native.py tests/test_clean.py tests/metrics tests/suite/test_shared_words.py; fi
if [ $name = sanitizers ]; then
    # Python is not instrumented: the sanitizer has to be there first. What Python never frees is no leak of ours.
    export LD_PRELOAD="$($CXX -print-file-name=libasan.so) $($CXX -print-file-name=libstdc++.so)"
    export ASAN_OPTIONS=exitcode=0:detect_leaks=1:log_path=$PWD/$home/report UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc
    rm -f $home/report.*
    # What Python never frees would fail each process that a test starts, so the reports say what was found, and pytest's own
    # answer is written down.
    echo 1 > $home/code
    $home/bin/python -X faulthandler -c "import sys, pytest; code = int(pytest.main(sys.argv[2:])); print(code, file=open(sys.argv[1], 'w'))" \
        $home/code -n 0 -q -p no:cacheprovider "$@" || true
    unset LD_PRELOAD
    # A leak of ours names our code where it was allocated.
    if grep -l "ERROR: AddressSanitizer\|CHECK failed\|runtime error" $home/report.* 2> /dev/null || grep -n " pe::" $home/report.* 2> /dev/null; then
        echo "the sanitizers found something: $home/report.*"
        exit 1
    fi
    code=$(cat $home/code)
    [ "$code" = 0 ] || exit "$code"
    echo "sanitizers: nothing found"
else
    $home/bin/python -m pytest -n 2 -q "$@"
fi
