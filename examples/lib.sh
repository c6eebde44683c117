# Shared by the example scripts and tests/run.sh: packages, data from packages, and the build.
# Source it; it sets `root` (the source tree) and needs bash.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
data=${DDL_DATA_CACHE:-$root/build/data}

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
[ -t 2 ] && [ -z "${NO_COLOR:-}" ] || say() { printf '==> %s\n' "$*" >&2; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# What building and running the programs takes.
build_packages=(cmake ninja-build g++ pkg-config openmpi-bin libopenmpi-dev openssh-client libhdf5-dev
  libzstd-dev libspdlog-dev libcli11-dev libdnnl-dev libprotobuf-dev protobuf-compiler libonnx-dev
  nlohmann-json3-dev libxxhash-dev librandom123-dev zlib1g-dev libturbojpeg0-dev libspng-dev
  libcsv-dev libfast-float-dev)

# need_packages PACKAGE…: installs the missing ones; without root, prints the line to ask for.
need_packages() {
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null)" = "ii " ] || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if [ "$(id -u)" -ne 0 ]; then
    say "packages are missing; ask your administrator for:"
    echo "apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  say "installing ${#missing[@]} packages with apt: ${missing[*]}"
  refresh_package_lists
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$(log_file apt)" 2>&1 ||
    { tail -n 5 "$(log_file apt)" >&2; die "apt could not install the packages (log: $(log_file apt))"; }
}

# Package lists are fetched at most once a script, and only when something is needed.
refresh_package_lists() {
  [ -n "${package_lists_fresh:-}" ] && return 0
  [ "$(id -u)" -ne 0 ] || apt-get update -qq >"$(log_file apt-update)" 2>&1 || say "apt-get update failed; going on with the lists at hand"
  package_lists_fresh=1
}

log_file() { mkdir -p "$root/build/logs"; echo "$root/build/logs/$1.log"; }

# package_file PACKAGE PATH: brings one file out of a Debian package without installing it; prints
# where it is. PATH may be a shell pattern. Kept in $data.
package_file() {
  local package=$1 path=$2 folder=$data/$1 scratch found
  found=$(compgen -G "$folder$path" | head -n 1)
  if [ -z "$found" ]; then
    mkdir -p "$data"
    scratch=$(mktemp -d "$data/.fetch-XXXXXX")
    chmod 755 "$scratch"
    say "fetching $package for its data (not installed)"
    (cd "$scratch" && apt-get download -qq "$package" >download.log 2>&1) || {
      refresh_package_lists
      (cd "$scratch" && apt-get download -qq "$package" >download.log 2>&1); } ||
      { cat "$scratch/download.log" >&2; rm -rf "$scratch"; die "cannot download the package $package"; }
    dpkg -x "$scratch"/*.deb "$scratch/files"
    rm -rf "$folder"
    mv "$scratch/files" "$folder"
    rm -rf "$scratch"
    found=$(compgen -G "$folder$path" | head -n 1)
    [ -n "$found" ] || die "$package holds no $path"
  fi
  echo "$found"
}

# build_programs: makes sure ddl-* are on PATH; builds them when DDL_BIN is not given.
build_programs() {
  if [ -z "${DDL_BIN:-}" ]; then
    need_packages "${build_packages[@]}"
    DDL_BIN=$root/build/quickstart/bin
    if [ ! -f "$root/build/quickstart/build.ninja" ]; then
      say "configuring"
      (cd "$root" && cmake --preset quickstart >"$(log_file configure)" 2>&1) ||
        { tail -n 20 "$(log_file configure)" >&2; die "cmake failed (log: $(log_file configure))"; }
    fi
    say "building the programs (log: $(log_file build))"
    (cd "$root" && cmake --build --preset quickstart >"$(log_file build)" 2>&1) ||
      { grep -m 5 -E 'error|FAILED' "$(log_file build)" >&2; die "the build failed (log: $(log_file build))"; }
  fi
  export PATH=$DDL_BIN:$PATH
}

# Open MPI refuses root unless told twice; whoever runs these scripts as root means it.
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# show COMMAND…: says the command as one would type it, then runs it.
show() { printf '\n$ %s\n' "${*//"$root/"/}" >&2; "$@"; }
