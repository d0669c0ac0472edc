#!/bin/sh
# Make the virtual environment DIRECTORY if it is missing, and install te_sched with EXTRAS into it,
# or te_sched alone.
#   sh scripts/venv.sh DIRECTORY EXTRAS      e.g.  sh scripts/venv.sh .venv dev,peers
#   sh scripts/venv.sh DIRECTORY alone
# PYTHON names the interpreter to use; otherwise the first of 3.11 or newer that can do it is taken.
set -eu
directory=$1
extras=$2
candidates=${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}

say() { printf '%s\n' "$@" >&2; }

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

make_with() {
    for module in venv virtualenv; do
        rm -rf "$directory"
        "$1" -m "$module" "$directory" >/dev/null 2>&1 && return 0
    done
    rm -rf "$directory"
    return 1
}

make_venv() {
    unable=
    for name in $candidates; do
        is_new_enough "$name" || continue
        if make_with "$name"; then
            say "Made $directory with $("$name" --version)"
            return
        fi
        unable=$name
    done
    if [ -n "$unable" ]; then
        say "$unable cannot make a virtual environment: its venv or ensurepip module is missing." \
            "Install it (on Debian and Ubuntu: apt-get install python3-venv), or name another one:"
    else
        say "te_sched needs Python 3.11 or newer. Not found among: $candidates." \
            "Install it, or name one:"
    fi
    say "    make PYTHON=/path/to/python3.12"
    exit 1
}

if ! is_new_enough "$directory/bin/python" || ! "$directory/bin/python" -m pip --version >/dev/null 2>&1; then
    make_venv
fi
case $extras in
alone) what=. named=te_sched ;;
*) what=".[$extras]" named="te_sched[$extras]" ;;
esac
say "Installing $named into $directory (a minute or less)"
"$directory/bin/python" -m pip install -qq --disable-pip-version-check --editable "$what" || {
    say "pip could not install $named; what it said is above. Is PyPI reachable?"
    exit 1
}
