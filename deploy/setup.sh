# Sourced by deploy/up, deploy/test and deploy/compose-test: what a fresh Debian or Ubuntu with a Swift toolchain lacks.

say() { printf '%s\n' "$*" >&2; }
fail() {
    say "$(basename "$0"): $*"
    exit 1
}

# install_missing PACKAGE:PROOF…: installs the packages whose proof is missing: a file, or a command that succeeds.
# Looks before it asks apt, so that a second run asks nothing, and a system without apt needs only the things themselves.
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
    install_missing libsqlite3-dev:/usr/include/sqlite3.h libssl-dev:/usr/include/openssl/evp.h \
        libpq-dev:'pkg-config --exists libpq' pkg-config:'command -v pkg-config'
}

# build_release PRODUCT…
build_release() {
    local product
    for product in "$@"; do
        swift build -c release --product "$product" >&2 || fail "$product could not be built"
    done
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
