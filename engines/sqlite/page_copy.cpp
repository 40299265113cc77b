#include "engines/sqlite/page_copy.hpp"

#include <sqlite3.h>
#include <utility>

namespace cairn::sqlite {

void page_copy::finish::operator()(sqlite3_backup* backup) const noexcept {
    sqlite3_backup_finish(backup);
}

result<page_copy> page_copy::begin(database& from, const std::filesystem::path& to) {
    auto made = database::open(to, role::copier);
    if (!made) return made.error();
    sqlite3* const target = made->handle_.get();
    sqlite3_backup* const backup = sqlite3_backup_init(target, "main", from.handle_.get(), "main");
    if (backup == nullptr) return error_from(sqlite3_extended_errcode(target));
    return page_copy(std::move(*made), backup);
}

result<bool> page_copy::step(int pages) {
    const int code = sqlite3_backup_step(backup_.get(), pages);
    if (code == SQLITE_OK) return true;
    if (code == SQLITE_DONE) {
        const int end = sqlite3_backup_finish(backup_.release());
        return end == SQLITE_OK ? result<bool>(false) : failed_bool(error_from(end));
    }
    return failed_bool(error_from(code));
}

}  // namespace cairn::sqlite
