// Includes read as they do in cairn's own tree.
#include "engines/blob_id.hpp"

#include <cstdlib>
#include <string_view>

int main() {
    constexpr std::string_view empty =
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    return cairn::blob_id::of({}).hex() == empty ? EXIT_SUCCESS : EXIT_FAILURE;
}
