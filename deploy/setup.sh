# shellcheck shell=bash
# Sourced by the scripts beside it: what a fresh Debian or Ubuntu with a Swift toolchain lacks, and how programs are started and stopped.

# With it, Package.swift turns warnings into errors: in our own builds, never in those of packages that depend on
# this one.
export PARLOR_WARNINGS_AS_ERRORS=1
export PATH=$PATH:/usr/sbin # nats-server and haproxy are there, and not every PATH has it

say() { printf '%s\n' "$*" >&2; }
fail() {
    say "$(basename "$0"): $*"
    exit 1
}

# print_help: the comment at the top of the script.
print_help() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$(dirname "${BASH_SOURCE[0]}")/$(basename "$0")"; }

# SCRIPT … --help prints it, and neither installs nor builds anything. A script whose other arguments are a command sets
# own_arguments, the number of those that are its own.
for argument in "${@:1:${own_arguments:-$#}}"; do
    [[ $argument == --help || $argument == -h ]] || continue
    print_help
    exit
done

# install_missing PACKAGE:PROOF…: installs the packages whose proof is missing: a file, or a command that succeeds.
# It checks before it calls apt. So a second run installs nothing, and a system without apt needs only what is
# checked.
install_missing() {
    local entry package proof missing=()
    for entry in "$@"; do
        package=${entry%%:*} proof=${entry#*:}
        if [[ $proof == /* ]]; then [[ -e $proof ]]; else bash -c "$proof" >/dev/null 2>&1; fi || missing+=("$package")
    done
    [[ ${#missing[@]} -gt 0 ]] || return 0
    command -v apt-get >/dev/null || fail "please install what Debian calls: ${missing[*]}"
    local as_root=()
    if [[ $EUID -ne 0 ]]; then
        command -v sudo >/dev/null || fail "please run as root: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing ${missing[*]}"
    "${as_root[@]}" apt-get update -qq >&2 || fail "apt-get update failed"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2 || fail "apt-get could not install ${missing[*]}"
}

need_toolchain() {
    command -v swift >/dev/null || fail "there is no Swift toolchain; 6.2 or newer is on https://www.swift.org/install"
    install_missing libsqlite3-dev:/usr/include/sqlite3.h libssl-dev:/usr/include/openssl/evp.h zlib1g-dev:/usr/include/zlib.h \
        libpq-dev:'ls /usr/include/libpq-fe.h /usr/include/postgresql/libpq-fe.h | grep -q .' \
        libcurl4-openssl-dev:'ls /usr/include/curl/curl.h /usr/include/*/curl/curl.h | grep -q .'
}

# build_release PRODUCT…
build_release() {
    local product
    for product in "$@"; do
        swift build -c release --product "$product" >&2 || fail "$product could not be built"
    done
}

# copy_files FOLDER TO: copies a folder of the work tree as it is, without what git ignores.
copy_files() {
    mkdir -p "$2" || return
    (
        cd "$1" || exit
        if git rev-parse --git-dir >/dev/null 2>&1; then
            git ls-files -z --cached --others --exclude-standard --deduplicate
        else
            find . -path './.*' -prune -o -type f -print0
        fi | while IFS= read -r -d '' file; do [[ -e $file ]] && printf '%s\0' "$file"; done | tar -c --null -T -
    ) | tar -x -C "$2"
}

# copy_work_tree FOLDER: the work tree as it is, in a repository of its own with one commit.
copy_work_tree() {
    copy_files . "$1" || return
    (
        cd "$1" && git init -q && git add -A &&
            git -c user.name=copy -c user.email=copy@localhost -c commit.gpgsign=false commit -q -m "The work tree"
    )
}

# Packages for Python in .venv, made again when Tests/requirements.txt changes.
make_venv() {
    local stamp
    stamp=.venv/made-from-$(sha256sum Tests/requirements.txt | cut -c1-16)
    [[ -e $stamp ]] && return
    rm -rf .venv
    python3 -m venv .venv && .venv/bin/pip install -q --disable-pip-version-check -r Tests/requirements.txt &&
        touch "$stamp"
}

# apart PROGRAM… &: runs it in a session of its own, where a terminal's Ctrl-C does not reach it: this script stops things in
# order.
apart() {
    trap - INT QUIT # what runs in the background ignores them otherwise
    exec setsid -- "$@"
}

# A signal ends the script between two steps, and the EXIT trap still runs.
end_on_signals() {
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# run_to_its_end COMMAND…: runs it, passes SIGTERM, SIGINT and SIGHUP on to it and to what it started, and returns
# only when it has ended, with its status. So a signal to the script does not remove what the command still uses.
run_to_its_end() {
    local command='' came='' status=0
    trap 'came=HUP; pass_on' HUP
    trap 'came=INT; pass_on' INT
    trap 'came=TERM; pass_on' TERM
    apart "$@" <&0 &
    command=$!
    pass_on # a signal that came before the command started
    while
        came=
        status=0
        wait -f "$command" || status=$?
        [[ -n $came ]] # then that ended the wait, not the command
    do :; done
    end_on_signals
    return "$status"
}
pass_on() {
    [[ -n $came && -n $command ]] || return 0
    # The second kill is for a command that has no session yet.
    kill -s "$came" -- "-$command" 2>/dev/null || kill -s "$came" "$command" 2>/dev/null || true
}

READY_WITHIN=60 # seconds; a busy machine is no failure

# start_server FOLDER PROGRAM…: starts a program, waits for its line `NAME ready ADDRESS`, and sets $address. Data and log
# are in FOLDER. When the script ends, it stops the program and then removes the folder.
start_server() {
    server_folder=$1 server=
    shift
    [[ -n $(trap -p EXIT) ]] || trap stop_server EXIT
    end_on_signals
    mkfifo "$server_folder/ready"
    apart "$@" --port 0 --data "$server_folder/data" >"$server_folder/ready" 2>"$server_folder/log" &
    server=$!
    local said
    exec {said}<"$server_folder/ready"
    # shellcheck disable=SC2034 # the address is the caller's
    read -r -t "$READY_WITHIN" -u "$said" _ _ address ||
        fail "it did not become ready: $(tail -n 3 "$server_folder/log")"
    cat <&"$said" >/dev/null & # it may write more, as parlor-push does, and would end if nobody read that
    exec {said}<&-
}

stop_server() {
    trap '' HUP INT TERM # it is stopping already
    if [[ -n $server ]]; then
        kill "$server" 2>/dev/null || true
        wait -f "$server" || true
    fi
    rm -rf "$server_folder"
}
