#include "codec/json_scan.h"

#include <vector>

#include "codec/utf8.h"

namespace bartleby {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }

  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }

  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool end() {
    blanks();
    return at_ == text_.size();
  }

  // A value, whatever is nested in it; blanks before it are passed over.
  bool value() {
    open_.clear();
    while (true) {
      blanks();
      if (take('{') || take('[')) {
        const bool object = text_[at_ - 1] == '{';
        if (open_.size() == kMaxScanDepth) return false;
        blanks();
        if (!take(object ? '}' : ']')) {
          open_.push_back(object);
          if (object && !name()) return false;
          continue;
        }
      } else if (!plain()) {
        return false;
      }
      // A value has ended, and with it perhaps those around it.
      while (true) {
        if (open_.empty()) return true;
        blanks();
        if (take(',')) {
          if (open_.back() && !name()) return false;
          break;
        }
        if (!take(open_.back() ? '}' : ']')) return false;
        open_.pop_back();
      }
    }
  }

  bool string() {
    if (!take('"')) return false;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return false;
      if (text_[at_] != '\\')
        ++at_;
      else if (!escape())
        return false;
    }
    return take('"');
  }

 private:
  bool name() {
    blanks();
    if (!string()) return false;
    blanks();
    return take(':');
  }

  bool plain() {
    if (at_ < text_.size() && text_[at_] == '"') return string();
    for (const std::string_view word : {"null", "true", "false"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return true;
      }
    return number();
  }

  bool escape() {
    ++at_;
    if (at_ == text_.size()) return false;
    if (text_[at_] != 'u') return std::string_view("\"\\/bfnrt").contains(text_[at_++]);
    const auto first = half();
    if (!first || (*first >= 0xDC00 && *first < 0xE000)) return false;
    if (*first < 0xD800 || *first >= 0xE000) return true;
    if (!take('\\') || at_ == text_.size() || text_[at_] != 'u') return false;
    const auto second = half();
    return second && *second >= 0xDC00 && *second < 0xE000;
  }

  // `uXXXX`
  std::optional<unsigned> half() {
    ++at_;
    unsigned code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
      const std::size_t digit = at_ < text_.size() ? kDigits.find(text_[at_]) : std::string_view::npos;
      if (digit == std::string_view::npos) return std::nullopt;
      code = code * 16 + static_cast<unsigned>(digit < 16 ? digit : digit - 6);
    }
    return code;
  }

  bool digits() {
    const std::size_t from = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ > from;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<bool> open_;  // what is nested: an object, or an array
};

}  // namespace

bool is_json(std::string_view text) {
  Scanner in(text);
  return is_utf8(text) && in.value() && in.end();
}

std::optional<std::size_t> scan_object(std::string_view text, const std::function<void(const JsonPlace&)>& member) {
  if (!is_utf8(text)) return std::nullopt;
  Scanner in(text);
  in.blanks();
  if (!in.take('{')) return std::nullopt;
  in.blanks();
  bool more = !in.take('}');
  while (more) {
    in.blanks();
    const std::size_t name = in.at();
    if (!in.string()) return std::nullopt;
    const std::size_t name_end = in.at();
    in.blanks();
    if (!in.take(':')) return std::nullopt;
    const std::size_t slot = in.at();
    in.blanks();
    const std::size_t value = in.at();
    if (!in.value()) return std::nullopt;
    const std::size_t value_end = in.at();
    in.blanks();
    member(
        {text.substr(name, name_end - name), text.substr(value, value_end - value), text.substr(slot, in.at() - slot)});
    more = in.take(',');
    if (!more && !in.take('}')) return std::nullopt;
  }
  const std::size_t brace = in.at() - 1;
  return in.end() ? std::optional(brace) : std::nullopt;
}

}  // namespace bartleby
