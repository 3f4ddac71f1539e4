#!/bin/sh
# Gathers the archives that other projects test their tar readers with, a directory for each project:
#
#   ci/archives/gather.sh DIRECTORY
#
# Then `cargo xtask engines --archives DIRECTORY` and `cargo xtask saved --archives DIRECTORY` judge them.
# The projects are fetched with git, at fixed commits.
set -eu

directory=$(realpath -m "${1:?"usage: $0 DIRECTORY"}")
clone=$(mktemp -d)
trap 'rm -rf "$clone"' EXIT

# Writes a file of the commit, out of the encodings that hide an archive.
take() {
    name=$(printf %s "$1" | tr / _)
    file="$directory/$project/$name"
    git -C "$clone" show "FETCH_HEAD:$1" > "$file"
    case $file in *.uu)
        perl -ne 'print unpack "u", $_ if /^begin [0-7]+ / .. /^end$/ and !/^(begin [0-7]+ |end$)/' \
            "$file" > "${file%.uu}"
        rm "$file"
        file=${file%.uu} ;;
    esac
    case $file in
        *.Z) unpack=gzip plain=${file%.Z} ;;
        *.bz2) unpack=bzip2 plain=${file%.bz2} ;;
        *) return ;;
    esac
    # Some test what becomes of damage, and are left as they are.
    if "$unpack" -dc "$file" > "$plain" 2> /dev/null; then rm "$file"; else rm "$plain"; fi
}

gather() {
    project=$1
    mkdir -p "$directory/$project"
    rm -rf "$clone"
    git init -q "$clone"
    git -C "$clone" fetch -q --depth 1 "https://github.com/$2" "$3"
    git -C "$clone" ls-tree -r --name-only FETCH_HEAD > "$clone/names"
    grep -E "$4" "$clone/names" | while IFS= read -r path; do take "$path"; done
    echo "$project: $(find "$directory/$project" -type f | wc -l)"
}

gather tar-rs alexcrichton/tar-rs 2349b494827807791473f3c6ca9b2fc5ef274cdb '\.tar$'
gather node-tar isaacs/node-tar 0cd9cc3c5814446d3c0cbea6a31d6c00c2c8a9d9 '\.(tar|tgz|tar\.gz)$'
gather tar-split vbatts/tar-split ced2b07a57dc67e1f3d620ec6a0daad5109aba63 '\.tar(\.gz)?$'
gather astral-tokio-tar astral-sh/tokio-tar b6fa50ef1524805558948e07b3bfb7daf7680667 '\.tar$'
gather libarchive libarchive/libarchive 4fe6c584b6e5d0028877b3b58872e5474629bc74 '\.(tar|pax|ustar)(\.(Z|gz|bz2|zst))?\.uu$'
