#include "office/kept_answers.h"

#include "office/sql.h"

namespace bartleby {

Result<std::optional<KeptAnswer>> find_answer(Connection& connection, std::string_view actor, std::string_view key,
                                              Timestamp since) {
  return sql::one(
      connection, "SELECT request, status, type, headers, body FROM answers WHERE actor = $1 AND key = $2 AND at > $3",
      [](Rows& row) {
        return KeptAnswer{row.text(0), static_cast<int>(row.integer(1)), row.text(2), row.text(3), row.text(4)};
      },
      actor, key, ms(since));
}

Result<void> keep_answer(Connection& connection, std::string_view actor, std::string_view key, const KeptAnswer& answer,
                         Timestamp now, Timestamp since) {
  BARTLEBY_TRY(sql::execute(connection, "DELETE FROM answers WHERE at <= $1", ms(since)));
  BARTLEBY_TRY(sql::execute(connection,
                            "DELETE FROM answers WHERE at <= (SELECT at FROM answers ORDER BY at DESC LIMIT 1"
                            " OFFSET $1)",
                            kMostAnswers - 1));
  return sql::execute(connection,
                      "INSERT INTO answers(actor, key, request, at, status, type, headers, body)"
                      " VALUES($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT(actor, key) DO UPDATE SET"
                      " request = excluded.request, at = excluded.at, status = excluded.status,"
                      " type = excluded.type, headers = excluded.headers, body = excluded.body",
                      actor, key, Blob{answer.request}, ms(now), answer.status, answer.type, answer.headers,
                      Blob{answer.body});
}

}  // namespace bartleby
