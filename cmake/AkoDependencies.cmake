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

# Debian ships fmt's archive only as a shared library: header-only use keeps the binary free of it.
add_library(ako_dep_fmt INTERFACE)
target_compile_definitions(ako_dep_fmt INTERFACE FMT_HEADER_ONLY=1)
ako_static(seccomp libseccomp.a)
ako_static(crypto libcrypto.a Threads::Threads ${CMAKE_DL_LIBS})
ako_static(sqlite libsqlite3.a Threads::Threads ${CMAKE_DL_LIBS} m)
