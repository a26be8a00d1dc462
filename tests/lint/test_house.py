"""The build's own walls: what a room must not see does not compile or does not configure.

    test_house.py CMAKE CXX-COMPILER
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import python_cases  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CMAKE, COMPILER = sys.argv[1:3]
HEADER = "#pragma once\ninline int answer() { return 42; }\n"
HEAD = f"""cmake_minimum_required(VERSION 3.25)
project(planted LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
add_library(ako_flags INTERFACE)
set(AKO_PCH OFF)
function(ako_use_pch)
endfunction()
function(ako_compile_as)
endfunction()
include({SOURCE}/cmake/AkoRooms.cmake)
foreach(room IN LISTS ROOMS)
  add_subdirectory(src/${{room}})
endforeach()
"""


class House(unittest.TestCase):
    unity = "OFF"

    def build(self, rooms):
        """rooms: name -> (declaration, source). Answers ('configure' | 'compile' | 'built', output)."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "CMakeLists.txt").write_text(HEAD)
            for name, (declaration, source) in rooms.items():
                room = root / "src" / name
                room.mkdir(parents=True)
                (room / "CMakeLists.txt").write_text(f"ako_room({name} {declaration})\n")
                (room / "part.hpp").write_text(HEADER)
                (room / "part.cpp").write_text(source)
                (room / "rest.cpp").write_text(f"namespace {name} {{ extern int rest; int rest; }}\n")
            configure = subprocess.run(
                [CMAKE, "-S", str(root), "-B", str(root / "b"), "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}",
                 f"-DCMAKE_UNITY_BUILD={self.unity}", "-DROOMS=" + ";".join(rooms)], capture_output=True, text=True)
            if configure.returncode != 0:
                return "configure", configure.stderr
            build = subprocess.run([CMAKE, "--build", str(root / "b")], capture_output=True, text=True)
            return ("built" if build.returncode == 0 else "compile"), build.stdout + build.stderr

    def test_an_honest_house_builds(self):
        got, out = self.build({
            "base": ("LEVEL 0", '#include "base/part.hpp"\n'),
            "model": ("LEVEL 1 USES base", '#include "base/part.hpp"\n#include "model/part.hpp"\n'),
            "protocol": ("LEVEL c USES base model", '#include "model/part.hpp"\n'),
            "client": ("LEVEL 4 USES base protocol", '#include "protocol/part.hpp"\n')})
        self.assertEqual(got, "built", out)

    def test_a_higher_room_is_not_seen(self):
        got, out = self.build({"model": ("LEVEL 1", '#include "ledger/part.hpp"\n'),
                               "ledger": ("LEVEL 4 USES model", '#include "model/part.hpp"\n')})
        self.assertEqual(got, "compile", out)
        self.assertIn("ledger/part.hpp", out)

    def test_a_lower_room_that_is_not_used_is_not_seen(self):
        got, out = self.build({"base": ("LEVEL 0", "\n"), "model": ("LEVEL 1", '#include "base/part.hpp"\n')})
        self.assertEqual(got, "compile", out)

    def test_what_a_used_room_uses_is_not_seen(self):
        got, out = self.build({"base": ("LEVEL 0", "\n"), "model": ("LEVEL 1 USES base", "\n"),
                               "stats": ("LEVEL 2 USES model", '#include "base/part.hpp"\n')})
        self.assertEqual(got, "compile", out)

    def refused(self, first, second, saying):
        got, out = self.build({first[0]: (first[1], "\n"), second[0]: (second[1], "\n")})
        self.assertEqual(got, "configure", out)
        self.assertIn(saying, " ".join(out.split()))

    def test_using_upwards_or_sideways_does_not_configure(self):
        self.refused(("ledger", "LEVEL 4"), ("model", "LEVEL 1 USES ledger"), "may not use 'ledger'")
        self.refused(("judge", "LEVEL 3"), ("profiles", "LEVEL 3 USES judge"), "may not use 'judge'")
        self.refused(("model", "LEVEL 1 USES base"), ("base", "LEVEL 0"), "not declared before it")

    def test_the_child_side_stands_apart(self):
        self.refused(("stats", "LEVEL 2"), ("worker", "LEVEL c USES stats"), "child side")
        self.refused(("protocol", "LEVEL c"), ("loop", "LEVEL 6 USES protocol"), "only 'client'")
        self.refused(("keeper", "LEVEL c"), ("client", "LEVEL 4 USES keeper"), "only its protocol")

    def test_an_empty_room_does_not_configure(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "src/base").mkdir(parents=True)
            (root / "CMakeLists.txt").write_text(HEAD)
            (root / "src/base/CMakeLists.txt").write_text("ako_room(base LEVEL 0)\n")
            run = subprocess.run([CMAKE, "-S", folder, "-B", folder + "/b", "-G", "Ninja", "-DROOMS=base",
                                  f"-DCMAKE_CXX_COMPILER={COMPILER}"], capture_output=True, text=True)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn("no sources", run.stderr)


class HouseInUnity(House):
    """The same walls where the sources of a room are compiled together, as CI does."""

    unity = "ON"

    def test_sources_are_compiled_together(self):
        got, out = self.build({"base": ("LEVEL 0", "static int answer;\nint part() { return answer; }\n")})
        self.assertEqual(got, "built", out)
        self.assertIn("unity_0_cxx", out)


if __name__ == "__main__":
    python_cases.main(names=[])
