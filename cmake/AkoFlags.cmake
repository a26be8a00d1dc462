# Flags that every target of ours carries.
add_library(ako_flags INTERFACE)
target_compile_options(ako_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                                           -Werror=return-type -fno-omit-frame-pointer)
# GCC 12 sees strings that fmt and std::string move as out of bounds; later versions do not.
target_compile_options(ako_flags INTERFACE
  "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-restrict>")
# GCC sets out to collect garbage at 128 MB, most of which are the precompiled headers that stay anyway: a twentieth of the time.
target_compile_options(ako_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=400000>)
# Errors in the ci preset, of the compiler that CI has: what another one warns of must not keep anybody from building.
if(CMAKE_COMPILE_WARNING_AS_ERROR AND NOT (CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13))
  set(CMAKE_COMPILE_WARNING_AS_ERROR OFF)
endif()
target_include_directories(ako_flags INTERFACE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(ako_flags INTERFACE ako_dep_fmt)
find_program(MOLD mold)
if(MOLD)
  target_link_options(ako_flags INTERFACE -fuse-ld=mold)
endif()
if(AKO_SANITIZE)
  target_compile_options(ako_flags INTERFACE -fsanitize=${AKO_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(ako_flags INTERFACE -fsanitize=${AKO_SANITIZE})
elseif(AKO_STATIC_RUNTIME)
  target_link_options(ako_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()

# Unity: sources of one target are compiled in one go, a third of the build time; a change then costs more, so
# dev goes without. Every source must stand on its own as well: dev compiles each by itself.
set(AKO_UNITY 0 CACHE STRING "Sources of a target compiled together, at most; 0 = each by itself")
if(AKO_UNITY GREATER 1)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE ${AKO_UNITY})
endif()

# What a program needs to run on an older glibc than the one it was built on: see the file.
add_library(ako_glibc_floor OBJECT ${CMAKE_SOURCE_DIR}/cmake/once/glibc_floor.c)

# The headers that most units read, parsed once for libraries and once for tests (their code models differ). Third
# parties and the standard library alone: no room becomes visible through them.
option(AKO_PCH "Precompiled headers" ON)
# Rooms and programs that only carry words: none of their code is at work while something is timed, compared or computed. CI spares the optimiser there.
set(AKO_PLAIN_OPTIONS "" CACHE STRING "Compiler options of the rooms and programs in AKO_PLAIN, e.g. -O0")
set(AKO_PLAIN model guides executors workspace lanes loop report cli mcp drive
              ako drive_fake ako-bench-gpu ako-gpu-rim bench_port bench_port_into)
# What tests themselves compute is little: CI spares the optimiser there as well. The rooms under test keep their flags.
set(AKO_TEST_OPTIONS "" CACHE STRING "Compiler options of the tests' own sources, e.g. -O0")
if(AKO_PCH)
  add_library(ako_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/once/pch.cpp)
  target_link_libraries(ako_pch PRIVATE ako_flags)
  target_precompile_headers(ako_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/once/pch.hpp)
  if(AKO_PLAIN_OPTIONS)
    add_library(ako_plain_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/once/pch.cpp)
    target_link_libraries(ako_plain_pch PRIVATE ako_flags)
    target_compile_options(ako_plain_pch PRIVATE ${AKO_PLAIN_OPTIONS})
    target_precompile_headers(ako_plain_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/once/pch.hpp)
  endif()
  if(AKO_BUILD_TESTS)
    add_executable(ako_test_pch EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/once/pch.cpp)
    target_link_libraries(ako_test_pch PRIVATE ako_flags GTest::gtest GTest::gmock GTest::gtest_main)
    target_compile_options(ako_test_pch PRIVATE ${AKO_TEST_OPTIONS})
    target_precompile_headers(ako_test_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/once/pch_test.hpp)
  endif()
endif()

# How a room's or program's own sources are compiled.
function(ako_compile_as target name)
  if(AKO_PLAIN_OPTIONS AND name IN_LIST AKO_PLAIN)
    target_compile_options(${target} PRIVATE ${AKO_PLAIN_OPTIONS})
    ako_use_pch(${target} ako_plain_pch)
  else()
    ako_use_pch(${target} ako_pch)
  endif()
endfunction()

function(ako_use_pch target from)
  if(AKO_PCH)
    target_precompile_headers(${target} REUSE_FROM ${from})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>) # ccache reads it
  endif()
endfunction()
