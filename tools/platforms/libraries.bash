# How libraries are built for another platform, from sources: Debian's, whose signatures apt checks
# by lists of its own, so that those of this machine stay as they are; and ENet's, which Debian's
# mirrors may lack, of the npm package that carries them. Sourced by the scripts of this folder,
# which set `prefix`, the folder that is filled.
work=$prefix/work
debian=${LS_DEBIAN_MIRROR:-http://deb.debian.org/debian}
enet_version=0.2.9
enet_checksum=sha512-V3qaPJEHY1Bl9F1nEY4thQV2fKkwS+I8Xpss4/91Hyi6JHagB7Ur6bROyVp4wqO74cPbF0ptgyyYh0L0Sky4Lw==

apt_options=(
    -o "Dir::Etc::SourceList=$work/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$work/apt/lists" -o "Dir::Cache=$work/apt/cache"
    -o APT::Sandbox::User=root -q
)

prepare_apt() {
    [ ! -d "$work/apt/lists" ] || return 0
    mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $debian bookworm main" \
        >"$work/apt/sources.list"
    apt-get "${apt_options[@]}" update
}

# take_debian <source package>: its sources with Debian's changes, in $work/<package>.
take_debian() {
    prepare_apt
    mkdir -p "$work/packed/$1"
    (cd "$work/packed/$1" && apt-get "${apt_options[@]}" source --download-only "$1")
    rm -rf "${work:?}/$1"
    dpkg-source --extract "$work/packed/$1"/*.dsc "$work/$1"
}

# take_npm <package> <version> <checksum>: in $work/<package>.
take_npm() {
    mkdir -p "$work/packed/$1" "$work/$1"
    (cd "$work/packed/$1" && npm pack --silent "$1@$2")
    local packed=$work/packed/$1/$1-$2.tgz
    [ "sha512-$(openssl dgst -sha512 -binary "$packed" | base64 -w0)" = "$3" ] ||
        { echo "$packed is not what it was" >&2 && return 1; }
    tar -xzf "$packed" -C "$work/$1" --strip-components=1
}

# describe <name of pkg-config> <version> <libraries>: for those that need more than they say.
describe() {
    mkdir -p "$prefix/lib/pkgconfig"
    cat >"$prefix/lib/pkgconfig/$1.pc" <<END_PC
prefix=$prefix
Name: $1
Description: $1
Version: $2
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib $3
END_PC
}

# Without the part that knows a system: protocol/enet has one of its own.
build_enet() {
    take_npm enet $enet_version $enet_checksum
    mkdir -p "$prefix/share/enet/enet"
    cp "$work"/enet/src/enet/{callbacks,compress,host,list,packet,peer,protocol}.c \
        "$prefix/share/enet"
    cp "$work"/enet/src/enet/include/enet/*.h "$prefix/share/enet/enet"
    rm "$prefix/share/enet/enet/unix.h"
}

# build_libraries <names...>: by build_NAME each, once.
build_libraries() {
    local library status
    mkdir -p "$work"
    for library in "$@"; do
        [ ! -f "$work/$library.done" ] || continue
        echo "==> $library"
        # Behind `||` a failure would not end it.
        set +e
        (set -e; "build_$library") >"$work/$library.log" 2>&1
        status=$?
        set -e
        if ((status != 0)); then
            tail -20 "$work/$library.log" >&2
            return 1
        fi
        touch "$work/$library.done"
    done
}
