// Prometheus' text format (0.0.4), written by ourselves: a handful of rules.
//
// A family is begun once, with its help and type, and its samples follow at once; who calls sees to it that no two
// samples of a family have the same labels. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/histogram.h"

namespace bartleby {

class MetricsText {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(const Labels& labels, double value, std::string_view suffix = "");
  // Buckets, sum and count; in a family of type histogram.
  void histogram(const Labels& labels, const Histogram::Reading& reading);
  std::string take() { return std::move(text_); }

 private:
  std::string name_, text_;
};

}  // namespace bartleby
