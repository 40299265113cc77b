// doctest's own code. Apart from main(): a helper program that links what tests share has its own.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
