#!/bin/sh
# Sets up a Python of 64-bit ARM that runs under emulation, with lowtide cross-compiled for it (`make arm-python`):
#   <folder>/root      Debian's arm64 packages of Python, unpacked; nothing is installed on this system
#   <folder>/site      wheels for it: what lowtide needs, and pytest
#   <folder>/package   lowtide and its extension
#   <folder>/python    starts it; a process that it starts as sys.executable is emulated too
# Usage: aarch64-python.sh <folder> <Python of the build environment>. What is there already is kept, but for lowtide.
set -eu
folder=$1 python=$2
version=3.11 # that of Debian 12: where the sources of apt are of another release, they have another
root=$folder/root

minor=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
[ "$minor" = "$version" ] || {
  echo "make arm-python needs a build environment of Python $version, got $minor. Make one: make clean; make PYTHON=python$version arm-python" >&2
  exit 1
}

if [ ! -e "$root/usr/bin/python$version" ]; then
  echo "unpacking Debian's Python $version for arm64 ..."
  mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$root"
  : > "$folder/apt/status"
  # An apt of its own, which takes this system for an empty one of arm64.
  cat > "$folder/apt.conf" << CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
Dir::State "$folder/apt";
Dir::State::Lists "$folder/apt/lists";
Dir::State::status "$folder/apt/status";
Dir::Cache "$folder/apt/cache";
CONF
  APT_CONFIG=$folder/apt.conf apt-get -qq update
  APT_CONFIG=$folder/apt.conf apt-get -qq --yes --download-only install \
    python$version-minimal libpython$version-stdlib libpython$version-dev libstdc++6
  for package in "$folder"/apt/cache/archives/*.deb; do dpkg -x "$package" "$root"; done
  rm -r "$folder/apt"
fi

if [ ! -d "$folder/site/pytest" ]; then
  echo "installing wheels for arm64 ..."
  "$python" -m pip install --quiet --quiet --disable-pip-version-check --only-binary=:all: --target "$folder/site" \
    --implementation cp --python-version $version \
    --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 \
    numpy scipy scikit-learn click rich threadpoolctl pytest
fi

cmake -Wno-unused-cli -S . -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64-linux-gnu.cmake" -DCMAKE_CXX_FLAGS="-idirafter $root/usr/include" \
  -DPython_EXECUTABLE="$(command -v "$python")" -DPython_INCLUDE_DIR="$root/usr/include/python$version" \
  -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" > /dev/null
cmake --build "$folder/build" --parallel "${JOBS:-2}" -- --quiet
rm -rf "$folder/package"
mkdir "$folder/package"
cp -r src/lowtide "$folder/package/"
# Without the part of the name that says for which Python: CMake asked the one of this system.
cp "$folder"/build/_lowtide_core*.so "$folder/package/lowtide/_core/_lowtide_core.so"

cat > "$folder/python" << START
#!/bin/sh
export PYTHONHOME=$root/usr PYTHONPATH=$folder/package:$folder/site\${PYTHONPATH:+:\$PYTHONPATH}
exec qemu-aarch64 -L $root -cpu max -0 "\$0" $root/usr/bin/python$version "\$@"
START
chmod +x "$folder/python"
