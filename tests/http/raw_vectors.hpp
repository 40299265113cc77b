// Requests as raw bytes, and what a server that holds the blob "hello" answers to each: the
// smuggling matrix, framings, lines, sizes, targets, versions, hosts, expectations, pipelines.
//
// One table for two judges: the machines that read heads and bodies, in this process and cut at
// every byte, and a server over sockets.
#pragma once

#include <string>
#include <vector>

namespace cairn::test {

enum class ending {
    kept,       // the connection serves another request
    closed,     // every head and body is well formed, and the connection ends all the same
    bad_head,   // the last answer is the refusal of a head, and the connection ends
    bad_chunk,  // the last answer is 400 for the chunks of a body, and the connection ends
};

struct raw_vector {
    std::string name;
    std::string bytes;
    std::vector<int> answers;  // the status of each, in order, without 1xx
    ending end = ending::kept;
};

const std::vector<raw_vector>& raw_vectors();

}  // namespace cairn::test
