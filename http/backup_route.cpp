// POST /backup: a backup of the catalog, now.
#include "http/routes.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace cairn {

awaitable<void> make_backup(exchange& x) {
    const auto made = co_await x.store().back_up();
    if (!made) co_return x.refuse(made.error());
    boost::json::object out;
    out["name"] = made->name;
    out["size"] = made->size_bytes;
    x.answer.start(201);
    x.answer.text("application/json", boost::json::serialize(out) + "\n");
}

}  // namespace cairn
