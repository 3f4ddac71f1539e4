#!/bin/sh
# Installs msb from a release archive, for one user and without root.
#
# Every file is checked against its SHA-256 digest before anything is installed, and each is put in
# place by a rename. The list of installed files, lib/msb/installed-files, is what --uninstall
# removes.
set -eu
umask 022

usage() {
    cat <<'USAGE'
Install msb from a release archive, without root.

Usage: install.sh [--prefix DIR] [--sums FILE] [ARCHIVE]
       install.sh --uninstall [--prefix DIR]

ARCHIVE is the path or the URL of msb-VERSION-x86_64-linux.tar.gz. Without it the script
installs the unpacked archive that it lies in.

  --prefix DIR   Directory for bin, lib and share [default: ~/.local]
  --sums FILE    Path or URL of the digests [default: SHA256SUMS beside ARCHIVE]
  --uninstall    Remove what this script has installed; images and sandboxes are kept
  -h, --help     Print this help

Examples:
  sh install.sh msb-0.1.0-x86_64-linux.tar.gz
  sh install.sh --prefix /opt/msb msb-0.1.0-x86_64-linux.tar.gz
  sh install.sh --uninstall
USAGE
}

say() {
    printf '%s\n' "$*"
}

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

is_url() {
    case $1 in
        http://* | https://*) return 0 ;;
        *) return 1 ;;
    esac
}

# Copies or downloads $1 to the file $2.
fetch() {
    if ! is_url "$1"; then
        [ -f "$1" ] || fail "cannot find $1" "give the path or the URL of a file"
        cp -- "$1" "$2" || fail "cannot copy $1 to $2"
    elif has curl; then
        curl --fail --silent --show-error --location --output "$2" -- "$1" ||
            fail "cannot download $1" "check the address, and try again"
    elif has wget; then
        wget -q -O "$2" -- "$1" || fail "cannot download $1" "check the address, and try again"
    else
        fail "cannot download $1: neither curl nor wget is installed" "install one of them"
    fi
}

# Prints the digest of the file $1.
digest() {
    if has sha256sum; then
        sha256sum <"$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 <"$1" | cut -d ' ' -f 1
    else
        fail "cannot check digests: sha256sum is not installed" "install coreutils"
    fi
}

# Checks the file $1 against the line of the name $2 in the digests $3.
check_digest() {
    wanted=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]$(pattern "$2")\$/\1/p" "$3")
    [ -n "$wanted" ] || fail "the digests have no line for $2" "give the digests of this release with --sums"
    found=$(digest "$1")
    [ "$found" = "$wanted" ] || fail "$2 has the SHA-256 $found, and the digests say $wanted" \
        "it is truncated, damaged or another file: download it again"
}

# Prints $1 as a regular expression that matches just this.
pattern() {
    printf '%s' "$1" | sed 's/[].[*^$\/]/\\&/g'
}

check_host() {
    [ "$(uname -s)" = Linux ] || fail "msb runs on Linux, and this is $(uname -s)"
    [ "$(uname -m)" = x86_64 ] || fail "this archive is for x86_64, and this processor is $(uname -m)"
    for program in tar gzip sed mktemp; do
        has "$program" || fail "cannot find the program $program" "install it"
    done
}

# Makes the directory that everything is prepared in. It is on the disk of the prefix, so that a
# file is put in place by a rename.
prepare() {
    mkdir -p -- "$prefix" || fail "cannot make $prefix" "choose a directory of yours with --prefix"
    prefix=$(cd -- "$prefix" && pwd)
    work=$(mktemp -d "$prefix/.msb-install.XXXXXX") ||
        fail "cannot write to $prefix" "choose a directory of yours with --prefix"
    trap 'rm -rf -- "$work"' EXIT
    trap 'exit 1' HUP INT TERM
}

# Fetches the archive, checks it and unpacks it. Sets release to its directory.
unpack() {
    archive=$1
    name=${archive##*/}
    name=${name%%\?*}
    fetch "$archive" "$work/archive"
    fetch "$sums" "$work/sums"
    check_digest "$work/archive" "$name" "$work/sums"
    mkdir "$work/unpacked"
    tar -xzf "$work/archive" -C "$work/unpacked" || fail "cannot unpack $archive" "check the space on the disk of $prefix"
    release=$(echo "$work"/unpacked/*)
}

# Checks every file of an unpacked release, and that the program runs here.
check_release() {
    if ! [ -f "$release/SHA256SUMS" ] || ! [ -f "$release/bin/msb" ]; then
        fail "$1 is not a release of msb" "give the path or the URL of msb-VERSION-x86_64-linux.tar.gz"
    fi
    # Only these lines can be checked; a line of another form would be an unchecked file.
    if grep -qv '^[0-9a-f]\{64\}  [A-Za-z0-9._/-]*$' "$release/SHA256SUMS" || grep -q '\.\./' "$release/SHA256SUMS"; then
        fail "the digests in $1 are damaged" "download the archive again"
    fi
    while read -r wanted file; do
        [ -f "$release/$file" ] || fail "$1 lacks the file $file" "download the archive again"
        [ "$(digest "$release/$file")" = "$wanted" ] ||
            fail "$file in $1 does not have its digest" "download the archive again"
    done <"$release/SHA256SUMS"
    if ! version=$("$release/bin/msb" version 2>&1); then
        printf '%s\n' "$version" >&2
        fail "msb does not run on this host" "it needs glibc 2.28 or later, and a disk that is not mounted noexec"
    fi
    version=$(printf '%s\n' "$version" | sed -n 's/^msb *//p' | head -n 1)
}

# Prints the files of a release that are installed, the program last: until then the one of an
# earlier release is used.
files() {
    sed 's/^[0-9a-f]*  //' "$release/SHA256SUMS" | grep '^\(lib\|share\)/'
    sed 's/^[0-9a-f]*  //' "$release/SHA256SUMS" | grep '^bin/' | sort -r
}

# Prints the files that are installed now, or nothing.
installed() {
    [ ! -f "$prefix/$list" ] || cat -- "$prefix/$list"
}

# Refuses to replace a file that another installer has put there.
check_foreign() {
    for file in bin/msb bin/msb-bench lib/msb/vmlinux lib/msb/vmlinux-filesystems; do
        if [ -e "$prefix/$file" ] && ! installed | grep -qx "$file"; then
            fail "$prefix/$file exists, and this script did not install it" \
                "remove it, or choose another directory with --prefix"
        fi
    done
}

install_files() {
    files >"$work/new"
    installed >"$work/old"
    # The list has what is there at every moment, so that --uninstall works after an interruption.
    mkdir -p "$prefix/lib/msb"
    cat "$work/old" "$work/new" | sort -u >"$work/both"
    mv -f "$work/both" "$prefix/$list"
    mkdir "$work/files"
    while read -r file; do
        mkdir -p "$prefix/${file%/*}"
        # A copy, because the release may be on another disk; and one name for each at a time.
        cp -p -- "$release/$file" "$work/files/next"
        mv -f "$work/files/next" "$prefix/$file"
    done <"$work/new"
    while read -r file; do
        grep -qx "$(pattern "$file")" "$work/new" || remove_file "$file"
    done <"$work/old"
    mv -f "$work/new" "$prefix/$list"
}

# Removes a file, and the directories of msb alone.
remove_file() {
    case $1 in
        /* | *../*) fail "$prefix/$list is damaged: it names $1" "remove the files of msb by hand" ;;
    esac
    rm -f -- "$prefix/$1"
}

uninstall() {
    [ -f "$prefix/$list" ] || fail "msb is not installed in $prefix" "name the directory with --prefix"
    prefix=$(cd -- "$prefix" && pwd)
    while read -r file; do
        remove_file "$file"
    done <"$prefix/$list"
    # From the deepest directory up; one that holds other files stays.
    while read -r file; do
        directory=${file%/*}
        while [ "$directory" != . ] && rmdir -- "$prefix/$directory" 2>/dev/null; do
            case $directory in
                */*) directory=${directory%/*} ;;
                *) directory=. ;;
            esac
        done
    done <"$prefix/$list"
    rm -f -- "$prefix/$list"
    # The list itself lay in a directory that the loop could not remove.
    rmdir -- "$prefix/lib/msb" "$prefix/lib" 2>/dev/null || :
    say "msb was removed from $prefix"
    say "images, sandboxes and volumes are kept in ${MSB_HOME:-$HOME/.msb}"
}

# Says what is left to do.
advise() {
    say "msb $version is installed in $prefix"
    case :$PATH: in
        *":$prefix/bin:"*) ;;
        *)
            say ""
            say "$prefix/bin is not in PATH. Add it, for this shell and for later ones:"
            say "  export PATH=\"$prefix/bin:\$PATH\""
            say "  echo 'export PATH=\"$prefix/bin:\$PATH\"' >> ~/.profile"
            ;;
    esac
    found=$(command -v msb || :)
    if [ -n "$found" ] && [ "$found" != "$prefix/bin/msb" ]; then
        say ""
        say "PATH finds another msb first: $found"
    fi
    say ""
    if "$prefix/bin/msb" doctor --fix; then
        say "Try it: msb run --rm alpine echo hello"
    fi
}

main() {
    prefix=$HOME/.local
    list=lib/msb/installed-files
    sums=
    archive=
    action=install
    while [ $# -gt 0 ]; do
        case $1 in
            --prefix | --sums)
                [ $# -ge 2 ] || fail "$1 needs a value" "see install.sh --help"
                if [ "$1" = --prefix ]; then prefix=$2; else sums=$2; fi
                shift
                ;;
            --prefix=*) prefix=${1#*=} ;;
            --sums=*) sums=${1#*=} ;;
            --uninstall) action=uninstall ;;
            -h | --help)
                usage
                exit 0
                ;;
            -*) fail "unknown option $1" "see install.sh --help" ;;
            *)
                [ -z "$archive" ] || fail "one archive can be installed at a time"
                archive=$1
                ;;
        esac
        shift
    done
    if [ "$action" = uninstall ]; then
        [ -z "$archive$sums" ] || fail "--uninstall takes only --prefix"
        uninstall
        return
    fi
    check_host
    here=$(dirname -- "$0")
    if [ -z "$archive" ] && ! { [ -f "$here/SHA256SUMS" ] && [ -f "$here/bin/msb" ]; }; then
        fail "no archive is given" "see install.sh --help"
    fi
    prepare
    if [ -n "$archive" ]; then
        : "${sums:=${archive%"${archive##*/}"}SHA256SUMS}"
        unpack "$archive"
        check_release "$archive"
    else
        release=$here
        check_release "$here"
    fi
    check_foreign
    install_files
    advise
}

# The last line, so that a script that was cut off does nothing.
main "$@"
