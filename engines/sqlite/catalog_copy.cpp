#include "engines/sqlite/catalog_copy.hpp"

#include "engines/sqlite/page_copy.hpp"
#include "engines/sqlite/schema.hpp"

namespace cairn::sqlite {
namespace {

result<void> copy_whole(const std::filesystem::path& from, const std::filesystem::path& to) {
    constexpr int all_pages = -1;
    auto source = database::open(from, role::reader);
    if (!source) return source.error();
    auto copy = page_copy::begin(*source, to);
    if (!copy) return copy.error();
    auto more = copy->step(all_pages);
    if (!more) return more.error();
    return {};
}

}  // namespace

result<void> finish_copy(const std::filesystem::path& copy, std::int64_t taken_at_us) {
    // Opening it as a copier ends the mode that keeps a log beside the file.
    auto opened = database::open(copy, role::copier);
    if (!opened) return opened.error();
    return mark_copy(*opened, taken_at_us);
}

result<std::optional<std::int64_t>> begin_catalog(const std::filesystem::path& to,
                                                  const std::filesystem::path& from,
                                                  std::uint64_t boot) {
    if (!from.empty()) {
        if (auto copied = copy_whole(from, to); !copied) return copied.error();
    }
    auto made = database::open(to, role::writer);
    if (!made) return made.error();
    std::optional<std::int64_t> taken_at;
    if (!from.empty()) {
        auto mark = copy_taken_at(*made);
        if (!mark) return mark.error();
        taken_at = *mark;
        if (auto unmarked = unmark_copy(*made); !unmarked) return unmarked.error();
    }
    if (auto ready = prepare_schema(*made); !ready) return ready.error();
    const auto complaints = integrity_complaints(*made);
    if (!complaints) return complaints.error();
    if (!complaints->empty()) return errc::corrupt;
    if (auto begun = start_anew(*made, boot); !begun) return begun.error();
    auto kept = made->checkpoint(checkpoint_kind::truncate);
    if (!kept) return kept.error();
    return taken_at;
}

}  // namespace cairn::sqlite
