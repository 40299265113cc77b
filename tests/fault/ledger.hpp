// What a store has promised a test: every answer that it gave, and nothing that it did not.
//
// The ledger lives in the test's process, so that no crash of the store can take it along. Bodies
// are functions of a seed: the ledger keeps what names them, never the bytes.
#pragma once

#include "engines/blob_id.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace cairn::test {

enum class promise {
    none,     // asked for and not answered: it may have happened or not
    stored,   // acknowledged: it must be there
    removed,  // acknowledged: it must not be there
};

struct promised_blob {
    blob_id id;
    std::uint64_t seed = 0;
    std::uint32_t size_bytes = 0;
    std::uint32_t version = 0;  // raised with every change of the promise
    promise state = promise::none;
};

// The bytes of a blob.
std::string body_of(std::uint64_t seed, std::uint32_t size_bytes);

// Any thread may call any member.
class ledger {
public:
    // Notes that a blob is about to be put; nothing is promised yet. Returns its index.
    std::size_t add(const promised_blob& blob);
    void set(std::size_t index, promise state);

    promised_blob at(std::size_t index) const;
    std::size_t size() const;
    std::vector<promised_blob> copy() const;

private:
    mutable std::mutex mutex_;
    std::vector<promised_blob> blobs_;
};

// What must hold of an image that was taken between two copies of one ledger: a promise that stood
// throughout. Blobs whose promise changed meanwhile, and new ones, are promised nothing.
std::vector<promised_blob> standing(const std::vector<promised_blob>& before,
                                    std::vector<promised_blob> after);

}  // namespace cairn::test
