// The main() of every test program.
#include <doctest/doctest.h>

int main(int count, char** words) { return doctest::Context(count, words).run(); }
