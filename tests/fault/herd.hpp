// Many hostile connections to one port, all of one habit, driven by the thread that calls.
//
// They come from many loopback addresses, so that ports do not run out. The destructor closes what
// is left.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cairn::test {

// What each of them does.
struct habit {
    std::string opening;                    // sent as it connects
    std::string drip;                       // then sent byte by byte, over and over
    std::chrono::milliseconds pace{1'000};  // between two of these bytes
    int receive_bytes = 0;                  // SO_RCVBUF; 0 leaves it to the system
    std::size_t joining = 50;  // so many come every 10 ms: the flood itself is not what is judged
    bool reads = true;         // takes what it is sent, and notices its end
};

class herd {
public:
    herd(std::uint16_t port, habit of_all);
    ~herd();
    herd(const herd&) = delete;
    herd& operator=(const herd&) = delete;

    // Connects so many more, while those before go on. Throws std::system_error when one cannot.
    void join(std::size_t count);

    // Lets them do as they do, for so long or until the server has ended all of them.
    void run(std::chrono::milliseconds time);

    // They leave without a word: no FIN, no reset, as if their cable were cut. False when this
    // process may not do that; they then stay and are silent.
    bool vanish();

    std::size_t alive() const { return alive_; }
    // Of those that the server ended, from the opening to the end.
    std::chrono::milliseconds longest_life() const { return longest_life_; }

private:
    using clock = std::chrono::steady_clock;

    struct member {
        int socket = -1;
        clock::time_point born;
        clock::time_point next_drip;
        std::size_t dripped = 0;
    };

    void add();
    void drip();
    void look(std::chrono::milliseconds patience);
    void bury(member& one);

    const std::uint16_t port_;
    const habit habit_;
    int poll_ = -1;
    std::vector<member> members_;
    std::size_t alive_ = 0;
    std::chrono::milliseconds longest_life_{0};
};

// A connection to the port from one of many loopback addresses; the caller owns the socket.
// Throws std::system_error.
int connect_from(std::size_t number, std::uint16_t port, int receive_bytes = 0);

// Closes by a reset.
void reset_connection(int socket);

}  // namespace cairn::test
