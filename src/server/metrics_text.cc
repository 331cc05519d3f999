#include "server/metrics_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/assert.h"

namespace bartleby {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

std::string number_text(double value) {
  BARTLEBY_ASSERT(std::isfinite(value));
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

}  // namespace

void MetricsText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_ += "# HELP " + name_ + " " + std::string(help) + "\n# TYPE " + name_ + " " + std::string(type) + "\n";
}

void MetricsText::sample(const Labels& labels, double value, std::string_view suffix) {
  text_ += name_;
  text_ += suffix;
  char mark = '{';
  for (const auto& [label, content] : labels) {
    text_ += mark;
    text_ += std::string(label) + "=\"" + escaped(content) + "\"";
    mark = ',';
  }
  if (mark == ',') text_ += '}';
  text_ += " " + number_text(value) + "\n";
}

void MetricsText::histogram(const Labels& labels, const Histogram::Reading& reading) {
  Labels bounded = labels;
  bounded.emplace_back("le", "");
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < reading.buckets.size(); ++i) {
    total += reading.buckets[i];
    bounded.back().second = i < Histogram::kSeconds.size() ? number_text(Histogram::kSeconds[i]) : "+Inf";
    sample(bounded, static_cast<double>(total), "_bucket");
  }
  sample(labels, reading.sum, "_sum");
  sample(labels, static_cast<double>(total), "_count");
}

}  // namespace bartleby
