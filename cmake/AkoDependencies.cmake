# Third-party libraries. Each is linked statically so that a released binary needs glibc alone.
find_package(Threads REQUIRED)
if(AKO_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()

function(ako_static name archive)
  find_library(AKO_LIB_${name} NAMES ${archive} REQUIRED)
  add_library(ako_dep_${name} INTERFACE)
  target_link_libraries(ako_dep_${name} INTERFACE ${AKO_LIB_${name}} ${ARGN})
endfunction()

# Debian ships fmt's archive only as a shared library, so it is compiled here once; a version whose insides we do not
# know is used header-only, which is the same program at more build time.
file(STRINGS /usr/include/fmt/core.h fmt_version REGEX "define FMT_VERSION [0-9]+")
if(fmt_version MATCHES "FMT_VERSION 901")
  add_library(ako_dep_fmt STATIC ${CMAKE_SOURCE_DIR}/cmake/once/fmt.cpp)
else()
  add_library(ako_dep_fmt INTERFACE)
  target_compile_definitions(ako_dep_fmt INTERFACE FMT_HEADER_ONLY=1)
endif()
ako_static(seccomp libseccomp.a)
ako_static(crypto libcrypto.a Threads::Threads ${CMAKE_DL_LIBS})
ako_static(sqlite libsqlite3.a Threads::Threads ${CMAKE_DL_LIBS} m)
ako_static(z libz.a)
