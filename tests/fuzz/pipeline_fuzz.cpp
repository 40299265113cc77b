// The PostgreSQL protocol machine against a server that may say anything at any moment: every call
// is answered once, in the end.
#include "engines/postgres/pipeline.hpp"

#include "engines/postgres/sql_error.hpp"
#include "runtime/check.hpp"

#include <fuzzer/FuzzedDataProvider.h>
#include <libpq-fe.h>
#include <memory>

namespace {

using namespace cairn;
using namespace cairn::postgres;

constexpr statement statements[] = {
    {"one", "SELECT 1"}, {"two", "SELECT 2"}, {nullptr, "SELECT 3"}};
constexpr const char* states[] = {"40001", "23505", "26000", "0A000", "57P01", "25006", "XX001"};

class conversation {
public:
    conversation(FuzzedDataProvider& input, pipeline_limits limits)
        : input_(input), machine_(limits) {}

    void run() {
        while (input_.remaining_bytes() > 0 && !machine_.is_broken()) step();
        machine_.lost();
        for (const auto& each : sent_) CAIRN_CHECK(each->is_left() || each->is_answered());
        CAIRN_CHECK(!machine_.is_waiting());
        CAIRN_CHECK(machine_.unanswered_bytes() == 0);
    }

private:
    void step() {
        switch (input_.ConsumeIntegralInRange(0, 8)) {
            case 0: return send();
            case 1: return machine_.came_rows(rows(PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK)));
            case 2: return machine_.came_error(sql_error(input_.PickValueInArray(states)));
            case 3: return machine_.came_aborted();
            case 4: return machine_.came_end();
            case 5: return machine_.came_sync(now_);
            case 6: return machine_.came_standby_warning();
            case 7: return static_cast<void>(machine_.send_again(now_));
            default: return leave();
        }
    }
    void send() {
        segment what;
        for (int left = input_.ConsumeIntegralInRange(1, 3); left > 0; --left) {
            what.add(input_.PickValueInArray(statements));
        }
        if (!machine_.has_room(what.size_bytes())) return;
        sent_.push_back(std::make_shared<call>(std::move(what)));
        machine_.send(sent_.back(), now_);
    }
    void leave() {
        if (sent_.empty() || sent_.back()->is_answered() || sent_.back()->is_left()) return;
        sent_.back()->leave();
    }

    FuzzedDataProvider& input_;
    pipeline machine_;
    pipeline::time_point now_;
    std::vector<std::shared_ptr<call>> sent_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    FuzzedDataProvider input(data, size);
    pipeline_limits limits;
    limits.prepare = input.ConsumeBool();
    limits.unanswered_segments = 8;
    conversation(input, limits).run();
    return 0;
}
