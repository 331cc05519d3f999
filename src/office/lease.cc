#include "office/lease.h"

#include "office/sql.h"

namespace bartleby {

Result<bool> take_lease(Store& store, const std::string& name, const std::string& holder, Timestamp now,
                        Duration time) {
  bool ours = false;
  auto written = store.write([&](Connection& connection) -> Result<void> {
    BARTLEBY_TRY(sql::execute(connection,
                              "INSERT INTO lock(lockId, holder, attainedAt, until) VALUES($1, $2, $3, $4)"
                              " ON CONFLICT(lockId) DO UPDATE SET holder = excluded.holder,"
                              " attainedAt = excluded.attainedAt, until = excluded.until"
                              " WHERE lock.until <= $3 OR lock.holder = excluded.holder",
                              name, holder, ms(now), ms(now + time)));
    ours = connection.changes() == 1;
    return {};
  });
  if (!written) return std::unexpected(written.error());
  return ours;
}

Result<void> release_lease(Store& store, const std::string& name, const std::string& holder) {
  return store.write([&](Connection& connection) {
    return sql::execute(connection, "DELETE FROM lock WHERE lockId = $1 AND holder = $2", name, holder);
  });
}

}  // namespace bartleby
