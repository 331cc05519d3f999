// The fixture of archives and retention: a store, and files in memory that can be full.
// One test, one thread.
#pragma once

#include <functional>
#include <map>

#include "office/archives.h"
#include "office/retention.h"
#include "tests/contract/store_contract.h"

namespace bartleby::contract {

class Files : public Archive {
 public:
  Result<void> put(const std::string& name, std::string_view bytes) override {
    if (full || no_room) return fail(ErrorCode::kUnavailable, "the disk is full");
    if (putting) putting();
    files[name] = bytes;
    return {};
  }
  Result<std::string> get(const std::string& name, std::size_t) override {
    const auto found = files.find(name);
    if (found == files.end()) return fail(ErrorCode::kNotFound, name);
    std::string bytes = found->second;
    if (got) got();
    return bytes;
  }
  Result<void> remove(const std::string& name) override {
    if (full || name == stuck) return fail(ErrorCode::kUnavailable, "the disk is gone");
    const bool there = files.erase(name) > 0;
    if (removing) removing();
    if (!there) return fail(ErrorCode::kNotFound, name);
    return {};
  }

  std::map<std::string, std::string> files;
  bool full = false, no_room = false;            // nothing can be done; nothing can be written
  std::string stuck;                             // a name that cannot be removed
  std::function<void()> putting, got, removing;  // before a file is there; after one was read; after one was removed
};

class StoreArchives : public StoreContract {
 protected:
  RetentionReport tidy(const RuleOf& rule) {
    const auto report = keep_tidy(store(), files_, rule, kKeepOperations, "a", now_);
    EXPECT_TRUE(report) << report.error().message;
    return report.value_or(RetentionReport{});
  }
  LetterState state(std::int64_t n) { return get(letter(n).letter.id).state; }
  std::string only_archive() { return text("SELECT id FROM archives"); }
  std::optional<LetterPayload> payload(std::int64_t n) {
    std::optional<LetterPayload> found;
    read([&](Connection& c) -> Result<void> {
      auto bytes = letter_payload(c, get_seq(n));
      if (!bytes) return std::unexpected(bytes.error());
      found = std::move(*bytes);
      return {};
    });
    return found;
  }
  std::int64_t get_seq(std::int64_t n) { return seqs_[n]; }
  void take_in_three() {
    Arrival odd = letter(2);
    odd.payload.value = std::string("\0\xff\n", 3) + std::string(5000, 'x');
    odd.payload.headers = {{"b", "2"}, {"a", std::nullopt}, {"b", "2"}, {"\xff", "\xfe"}};
    odd.payload.key = std::nullopt;
    odd_ = odd.payload;
    take_in({letter(1), odd, letter(3)});
    for (const std::int64_t n : {1, 2, 3}) seqs_[n] = get(letter(n).letter.id).seq;
  }

  // Of letters 1 to 3, and of 4 and 5.
  std::pair<std::string, std::string> two_archives() {
    constexpr Duration kMonth{std::chrono::hours(24 * 31)};
    const RuleOf rule = [keep = kMonth - Duration(1)](const std::string&) {
      return DlqRule{DlqClass::kNormal, keep, Then::kArchive};
    };
    take_in_three();
    now_ += kMonth;
    tidy(rule);
    take_in({letter(4), letter(5)});
    now_ += kMonth;
    tidy(rule);
    const std::string both = text("SELECT id FROM archives ORDER BY seq");
    return {both.substr(0, both.find(' ')), both.substr(both.find(' ') + 1)};
  }

  Files files_;
  LetterPayload odd_;
  std::map<std::int64_t, std::int64_t> seqs_;
};

}  // namespace bartleby::contract
