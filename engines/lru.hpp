// A map that forgets what was not asked for the longest. One mutex; any thread.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace cairn {

template <class Key, class Value, class Hash = std::hash<Key>>
class lru {
public:
    // `capacity` in whatever unit insert() is given as weight.
    explicit lru(std::size_t capacity) : capacity_(capacity) {}

    std::optional<Value> find(const Key& key) {
        std::lock_guard lock(mutex_);
        const auto found = index_.find(key);
        if (found == index_.end()) return std::nullopt;
        entries_.splice(entries_.begin(), entries_, found->second);
        return found->second->value;
    }

    // Where it is read before something slow, then inserted only if nothing was erased meanwhile.
    std::size_t epoch() const {
        std::lock_guard lock(mutex_);
        return epoch_;
    }

    // Keeps the value unless the epoch has moved on; the standing one stays when there is one.
    void insert(const Key& key, Value value, std::size_t weight, std::size_t epoch_before) {
        std::lock_guard lock(mutex_);
        if (epoch_ != epoch_before || index_.contains(key)) return;
        entries_.push_front({key, std::move(value), weight});
        index_.emplace(key, entries_.begin());
        weight_ += weight;
        while (weight_ > capacity_) forget(std::prev(entries_.end()));
    }

    // Forgets the key, and keeps whoever is reading it right now from inserting it again.
    void erase(const Key& key) {
        std::lock_guard lock(mutex_);
        ++epoch_;
        const auto found = index_.find(key);
        if (found != index_.end()) forget(found->second);
    }

    std::size_t weight() const {
        std::lock_guard lock(mutex_);
        return weight_;
    }

private:
    struct entry {
        Key key;
        Value value;
        std::size_t weight;
    };
    using entry_list = std::list<entry>;

    void forget(typename entry_list::iterator each) {
        weight_ -= each->weight;
        index_.erase(each->key);
        entries_.erase(each);
    }

    const std::size_t capacity_;
    mutable std::mutex mutex_;
    std::size_t epoch_ = 0;
    std::size_t weight_ = 0;
    entry_list entries_;
    std::unordered_map<Key, typename entry_list::iterator, Hash> index_;
};

}  // namespace cairn
