// The module that rocksdb_rival.hpp loads: it shares headers with the program and no object.
#include "http/cairn/bench/callers.hpp"
#include "http/cairn/bench/rocksdb_rival.hpp"
#include "http/cairn/bench/slow_disk.hpp"

#include <openssl/evp.h>
#include <rocksdb/db.h>
#include <rocksdb/file_system.h>
#include <stdexcept>
#include <utility>

namespace cairn::bench {
namespace {

void check(const rocksdb::Status& status) {
    if (!status.ok()) throw std::runtime_error("rocksdb: " + status.ToString());
}

// Each sync of a file takes its flush as well.
class slow_file final : public rocksdb::FSWritableFileOwnerWrapper {
public:
    slow_file(std::unique_ptr<rocksdb::FSWritableFile> real, slow_disk& on)
        : FSWritableFileOwnerWrapper(std::move(real)), on_(on) {}

    rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* context) override {
        auto done = FSWritableFileOwnerWrapper::Sync(options, context);
        if (done.ok()) on_.flush();
        return done;
    }
    rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                            rocksdb::IODebugContext* context) override {
        auto done = FSWritableFileOwnerWrapper::Fsync(options, context);
        if (done.ok()) on_.flush();
        return done;
    }

private:
    slow_disk& on_;
};

class slow_file_system final : public rocksdb::FileSystemWrapper {
public:
    explicit slow_file_system(slow_disk& on)
        : FileSystemWrapper(rocksdb::FileSystem::Default()), on_(on) {}

    const char* Name() const override { return "cairn-slow"; }
    rocksdb::IOStatus NewWritableFile(const std::string& name,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* context) override {
        auto done = FileSystemWrapper::NewWritableFile(name, options, file, context);
        if (done.ok()) *file = std::make_unique<slow_file>(std::move(*file), on_);
        return done;
    }

private:
    slow_disk& on_;
};

class rocksdb_rival final : public contender {
public:
    rocksdb_rival(const std::string& folder, put_load load, std::chrono::milliseconds sync_delay)
        : disk_(sync_delay),
          environment_(rocksdb::NewCompositeEnv(std::make_shared<slow_file_system>(disk_))),
          bodies_(load.callers, std::vector<std::byte>(load.size_bytes)),
          random_(load.callers) {
        rocksdb::Options options;
        if (sync_delay.count() > 0) options.env = environment_.get();
        options.create_if_missing = true;
        options.compression = rocksdb::kNoCompression;
        options.enable_blob_files = true;
        options.min_blob_size = 4096;
        options.blob_compression_type = rocksdb::kNoCompression;
        rocksdb::DB* opened = nullptr;
        check(rocksdb::DB::Open(options, folder, &opened));
        in_.reset(opened);
        synced_.sync = true;
    }
    ~rocksdb_rival() override { in_->Close(); }

    std::string what() const override {
        return "RocksDB " + rocksdb::GetRocksVersionAsString() +
               ", a thread for each caller, synced, blob files from 4 KiB";
    }
    terms runs_under() const override {
        terms under;
        under.does = work::fresh_puts;
        const bool is_logged = synced_.sync && !synced_.disableWAL;
        under.durability = is_logged ? "full" : "none";
        under.sync_delay = disk_.delay();
        under.checks = "SHA-256 for the key, CRC32c of each record";
        return under;
    }
    sample run(run_time time) override {
        return drive(bodies_.size(), time, [this](std::size_t caller, latencies& times) {
            std::vector<std::byte>& body = bodies_[caller];
            random_[caller].fill(body.data(), body.size());
            const auto began = std::chrono::steady_clock::now();
            put(body);
            times.add(std::chrono::steady_clock::now() - began);
        });
    }

private:
    void put(const std::vector<std::byte>& body) {
        unsigned char id[32];
        EVP_Digest(body.data(), body.size(), id, nullptr, EVP_sha256(), nullptr);
        const rocksdb::Slice key(reinterpret_cast<const char*>(id), sizeof id);
        const rocksdb::Slice value(reinterpret_cast<const char*>(body.data()), body.size());
        check(in_->Put(synced_, key, value));
    }

    slow_disk disk_;
    const std::unique_ptr<rocksdb::Env> environment_;
    rocksdb::WriteOptions synced_;
    std::unique_ptr<rocksdb::DB> in_;
    std::vector<std::vector<std::byte>> bodies_;
    std::vector<fresh_bytes> random_;
};

}  // namespace

extern "C" contender* cairn_rocksdb_puts(const char* folder,
                                         const put_load& load,
                                         std::chrono::milliseconds sync_delay) {
    return new rocksdb_rival(folder, load, sync_delay);
}

}  // namespace cairn::bench
