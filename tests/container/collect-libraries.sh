#!/bin/sh
# Copies what the program needs to start, and its licences: collect-libraries.sh PROGRAM ROOT
#
# That is the loader and the closure of the shared libraries, as ldd tells it, at the paths where
# the loader looks for them.
set -eu
program=$1
root=$2

ldd "$program" | sed -n 's/^.*=> \(\/[^ ]*\) .*$/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*$/\1/p' |
    sort -u | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
    # A package may list the file under /lib or under /usr/lib; both are one folder.
    package=$(dpkg-query -S "$library" 2>/dev/null || dpkg-query -S "${library#/usr}" 2>/dev/null ||
        dpkg-query -S "/usr$library")
    package=$(printf '%s\n' "$package" | sed -n '1s/[:,].*$//p')
    mkdir -p "$root/usr/share/doc/$package"
    cp -L "/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/"
done
