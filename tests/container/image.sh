#!/bin/sh
# Builds the container image and starts it once: under an arbitrary user id, with a read-only root
# and no capabilities. Asks it, and prints the image's size.
#
# Takes docker, podman or buildah, whichever works here. buildah can do it in a place that has no
# container engine; if the base image is not to be had either, it is made by debootstrap.
set -eu
cd "$(dirname "$0")/../.."

name=bertd:latest
bytes_max=$((130 * 1000 * 1000))
user=12345
port=18080
work=$(mktemp -d "${TMPDIR:-/tmp}/bertd-image-XXXXXX")
stop=:
clean_up() {
    $stop >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap clean_up EXIT

fail() {
    echo "image: $*" >&2
    exit 1
}

buildah_() {
    buildah --storage-driver vfs "$@"
}

# Imports a fresh Debian 12 under the name that the Dockerfile wants.
make_base() {
    command -v debootstrap >/dev/null || fail "debian:12 is not to be had, nor is debootstrap"
    echo "image: making debian:12 by debootstrap"
    debootstrap --variant=minbase bookworm "$work/base" >"$work/log" 2>&1 ||
        { tail -5 "$work/log" >&2; fail "debootstrap"; }
    # A container has its own /dev, /proc and /sys, and wants the resolver of this machine.
    rm -rf "$work/base/dev" "$work/base/var/cache/apt/archives"
    base=$(buildah_ from scratch)
    buildah_ add -q "$base" "$work/base" / >/dev/null
    buildah_ commit -q "$base" debian:12 >/dev/null
    buildah_ rm "$base" >/dev/null
    rm -rf "$work/base"
}

# Asks the server at $port; whatever is started has 30 seconds to get ready.
ask() {
    python3 - "$port" <<'END'
import json, sys, time, urllib.request
base = "http://127.0.0.1:" + sys.argv[1]
for _ in range(300):  # 30 seconds
    try:
        urllib.request.urlopen(base + "/readyz", timeout=5)
        break
    except OSError:
        time.sleep(0.1)
body = json.dumps({"input": "I love this, thank you so much!", "top_k": 2}).encode()
request = urllib.request.Request(base + "/v1/classify", body, {"Content-Type": "application/json"})
answer = json.load(urllib.request.urlopen(request, timeout=10))
labels = [p["label"] for p in answer["data"][0]["predictions"]]
print("image: answers", labels)
sys.exit(sorted(labels) != ["gratitude", "love"])
END
}

check_size() {
    echo "image: $1 bytes uncompressed, $bytes_max allowed"
    [ "$1" -le "$bytes_max" ] || fail "too large"
}

with_engine() {
    engine=$1
    "$engine" build -t "$name" .
    check_size "$("$engine" image inspect -f '{{.Size}}' "$name")"
    container=$("$engine" run -d --rm --read-only --cap-drop ALL --user "$user:$user" \
        -p "127.0.0.1:$port:8080" "$name")
    stop="$engine stop $container"
    ask
    "$engine" exec "$container" /usr/bin/bertd health
}

# Without an engine, the image's files are the root of a process in a mount namespace of its own.
with_buildah() {
    [ "$(id -u)" -eq 0 ] || fail "buildah is used as root here"
    buildah_ inspect --type image debian:12 >/dev/null 2>&1 ||
        buildah_ pull -q debian:12 >/dev/null 2>&1 || make_base
    buildah_ bud --format docker --isolation chroot --network host --pull=never -t "$name" .
    container=$(buildah_ from --pull=never "$name")
    files=$(buildah_ mount "$container")
    cp -a "$files" "$work/root"
    buildah_ inspect --type image --format '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}}' \
        "$name" | grep -qx '65532:65532 \[/usr/bin/bertd\]' || fail "user or entry point differ"
    buildah_ rm "$container" >/dev/null
    check_size "$(du -s --apparent-size --block-size=1 "$work/root" | cut -f1)"

    mkdir -p "$work/root/proc" "$work/root/sys"
    cat >"$work/start" <<'END'
set -eu
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
mount -o remount,bind,ro "$1"
shift
exec "$@"
END
    unshare --mount sh "$work/start" "$work/root" \
        env -i BERTD_HOST=0.0.0.0 BERTD_PORT="$port" \
        "$(command -v setpriv)" --no-new-privs \
        "$(command -v chroot)" --userspec="$user:$user" "$work/root" /usr/bin/bertd serve \
        2>"$work/log" &
    stop="kill $!"
    ask || { cat "$work/log" >&2; fail "no right answer"; }
    chroot --userspec="$user:$user" "$work/root" \
        /usr/bin/bertd health "http://127.0.0.1:$port"
    kill "$!"
    wait "$!" || fail "did not end with status 0"
    stop=:
}

for engine in docker podman; do
    if command -v "$engine" >/dev/null && "$engine" info >/dev/null 2>&1; then
        with_engine "$engine"
        exit 0
    fi
done
command -v buildah >/dev/null || fail "needs docker, podman or buildah"
with_buildah
