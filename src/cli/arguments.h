// The words of a command line, read against the table of what a command takes.
//
// The same table gives the help text and the completions, so the three cannot differ. Options may stand anywhere, as
// `--name VALUE`, `--name=VALUE`, `-nVALUE` or `-n VALUE`; after `--` everything is an operand. What is unknown,
// missing or too much is refused with a sentence that names the nearest thing there is.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bartleby::cli {

// What the process ends with.
namespace exit_status {
constexpr int kOk = 0;
constexpr int kError = 1;
constexpr int kUsage = 2;  // or a configuration that cannot be
constexpr int kNotFound = 3;
constexpr int kDenied = 4;
constexpr int kConflict = 5;
constexpr int kPartly = 6;
constexpr int kHalted = 7;       // by a guard
constexpr int kUnreachable = 8;  // or too slow
}  // namespace exit_status

// Why a command did not do its work; the text may have further lines.
struct Failure {
  int status = exit_status::kError;
  std::string text;
  bool nothing_done = false;  // and it is certain that the server has changed nothing
};

inline std::unexpected<Failure> refuse(int status, std::string text) {
  return std::unexpected(Failure{status, std::move(text), false});
}

struct Option {
  std::string name;   // `--key`
  char letter = 0;    // `k`, or none
  std::string value;  // what the help calls it; empty: a switch
  std::string help;
  std::vector<std::string> choices = {};  // empty: anything
  bool repeats = false;
};

struct Operand {
  std::string name;  // `TOPIC`
  bool needed = true;
  std::vector<std::string> choices = {};
  bool repeats = false;  // only the last
};

class Arguments {
 public:
  // `command` is what messages call it.
  static std::expected<Arguments, Failure> read(std::string_view command, std::span<const Operand> operands,
                                                std::span<const Option> options,
                                                std::span<const std::string_view> words);

  bool has(std::string_view option) const { return values_.contains(option); }
  std::optional<std::string> value(std::string_view option) const;  // of the last, where it is given twice
  std::vector<std::string> values(std::string_view option) const;
  // A whole number in the range, `fallback` where the option is not given.
  std::expected<std::int64_t, Failure> number(std::string_view option, std::int64_t fallback, std::int64_t least,
                                              std::int64_t most) const;

  std::size_t size() const { return operands_.size(); }
  const std::string& operand(std::size_t i) const { return operands_[i]; }
  std::optional<std::string> operand_if(std::size_t i) const;

 private:
  std::string command_;
  std::vector<std::string> operands_;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

// The candidate that a slip of the finger turns into `word`; none where all are something else.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// `3:12345`
struct Place {
  std::int32_t partition = 0;
  std::int64_t offset = 0;
};
std::optional<Place> place_of(std::string_view text);

std::optional<std::int64_t> integer_of(std::string_view text);
std::optional<std::int64_t> rate_of(std::string_view text);  // `50/s`, `50`: per second, up to 1000000

}  // namespace bartleby::cli
