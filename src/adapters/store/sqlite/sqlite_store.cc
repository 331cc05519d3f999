#include "adapters/store/sqlite/sqlite_store.h"

#include "adapters/store/sqlite/schema.h"
#include "adapters/store/sqlite/sqlite_connection.h"

namespace bartleby::sqlite_store {
namespace {

constexpr std::int64_t kApplicationId = 0x42617246;  // "BarF": `file office.db` shows it

// Ends what was begun, whatever happens in between: an exception of the work passes through here.
class Transaction {
 public:
  explicit Transaction(SqliteConnection& connection) : connection_(connection) {}
  ~Transaction() {
    connection_.unlimited();
    connection_.database().rollback();
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  Result<void> run(std::string_view begin, const Store::Work& work) {
    if (auto begun = word(begin); !begun) return begun;
    if (auto done = work(connection_); !done) return done;
    connection_.unlimited();
    return word("COMMIT");
  }

 private:
  Result<void> word(std::string_view sql) {
    const auto statement = connection_.statement(sql);
    if (!statement) return std::unexpected(statement.error());
    return Rows(**statement).run();
  }

  SqliteConnection& connection_;
};

Result<std::unique_ptr<SqliteConnection>> connect(const std::string& path, sqlite::Open how, const char* settings) {
  auto opened = sqlite::Database::open(path, how);
  if (!opened) return std::unexpected(opened.error());
  if (auto set = opened->exec(settings); !set) return std::unexpected(set.error());
  return std::make_unique<SqliteConnection>(std::move(*opened));
}

Result<void> migrate(sqlite::Database& db, const std::string& path) {
  const auto version = db.number("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  const auto application = db.number("PRAGMA application_id");
  if (!application) return std::unexpected(application.error());
  const auto tables = db.number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return std::unexpected(tables.error());
  if (*tables > 0 && *application != kApplicationId)
    return fail(ErrorCode::kUnsupported, path + ": a database of another program");
  const auto known = static_cast<std::int64_t>(migrations().size());
  if (*version > known)
    return fail(ErrorCode::kUnsupported, path + ": written by a newer version (format " + std::to_string(*version) +
                                             "; this one knows " + std::to_string(known) +
                                             "): start the newer program, or restore a copy made before");
  for (std::int64_t next = *version; next < known; ++next) {
    const std::string sql = "BEGIN IMMEDIATE;" + std::string(migrations()[static_cast<std::size_t>(next)]) +
                            "PRAGMA application_id=" + std::to_string(kApplicationId) +
                            ";PRAGMA user_version=" + std::to_string(next + 1) + ";COMMIT";
    if (auto done = db.exec(sql); !done) {
      db.rollback();
      return done;
    }
  }
  return {};
}

}  // namespace

SqliteStore::SqliteStore(Options options, LockFile lock)
    : options_(std::move(options)), path_(options_.folder + "/office.db"), lock_(std::move(lock)) {}

SqliteStore::~SqliteStore() = default;

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const Options& options) {
  auto lock = LockFile::take(options.folder + "/office.lock");
  if (!lock) return std::unexpected(lock.error());
  std::unique_ptr<SqliteStore> store(new SqliteStore(options, std::move(*lock)));
  auto writer = connect(store->path_, sqlite::Open::kReadWrite,
                        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4000;"
                        "PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864;");
  if (!writer) return std::unexpected(writer.error());
  store->writer_ = std::move(*writer);
  sqlite::Database& db = store->writer_->database();
  if (auto migrated = migrate(db, store->path_); !migrated) return std::unexpected(migrated.error());
  if (!options.durable)
    if (auto set = db.exec("PRAGMA synchronous=OFF"); !set) return std::unexpected(set.error());
  if (options.max_pages > 0)
    if (auto set = db.exec("PRAGMA max_page_count=" + std::to_string(options.max_pages)); !set)
      return std::unexpected(set.error());
  return store;
}

Result<void> SqliteStore::write(const Work& work) {
  const std::lock_guard one_at_a_time(writing_);
  return Transaction(*writer_).run("BEGIN IMMEDIATE", work);
}

Result<void> SqliteStore::read(const Work& work) {
  auto connection = reader();
  if (!connection) return std::unexpected(connection.error());
  // Comes back to the others even if the work throws.
  struct Return {
    SqliteStore& store;
    std::unique_ptr<SqliteConnection> connection;
    ~Return() { store.give_back(std::move(connection)); }
  } borrowed{*this, std::move(*connection)};
  return Transaction(*borrowed.connection).run("BEGIN", work);
}

Result<std::unique_ptr<SqliteConnection>> SqliteStore::reader() {
  {
    std::unique_lock lock(mutex_);
    if (!free_.wait_for(lock, options_.reader_wait, [&] { return !idle_.empty() || opened_ < options_.readers; }))
      return fail(ErrorCode::kUnavailable, "office.db: all " + std::to_string(options_.readers) +
                                               " connections that read were busy for " +
                                               std::to_string(options_.reader_wait.count()) + " ms");
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
    ++opened_;
  }
  auto made = connect(path_, sqlite::Open::kReadOnly, "PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY;");
  if (!made) {
    const std::lock_guard lock(mutex_);
    --opened_;
    free_.notify_one();
  }
  return made;
}

void SqliteStore::give_back(std::unique_ptr<SqliteConnection> connection) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(connection));
  free_.notify_one();
}

}  // namespace bartleby::sqlite_store
