// See AkoFlags.cmake.
#include "pch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
