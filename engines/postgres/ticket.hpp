// A segment that was started and whose answer is fetched later: several in flight from one
// coroutine, without a task scope.
//
// Started, awaited and destroyed on any one executor, one call at a time. The link outlives its
// tickets. A ticket that goes before its answer was fetched withdraws its segment if that was not
// sent yet, else abandons it: it may happen, and its answer is read and dropped.
#pragma once

#include "engines/postgres/segment.hpp"
#include "runtime/awaitable.hpp"
#include "runtime/result.hpp"

#include <memory>
#include <utility>

namespace cairn::postgres {

class call;
class link;

class ticket {
public:
    ticket() = default;  // of nothing
    ticket(ticket&&) noexcept = default;
    ticket& operator=(ticket&& other) noexcept;
    ~ticket() { give_up(); }

    explicit operator bool() const noexcept { return call_ != nullptr; }

    // Once: what link::run() answers. Cancelled: as if the ticket had gone, throws.
    awaitable<result<answers>> answer();

private:
    friend class link;
    ticket(link& from, std::shared_ptr<call> started, bool is_begun) noexcept
        : link_(&from), call_(std::move(started)), is_begun_(is_begun) {}
    void give_up() noexcept;

    link* link_ = nullptr;
    std::shared_ptr<call> call_;
    bool is_begun_ = false;  // false: there was no room for it yet
};

}  // namespace cairn::postgres
