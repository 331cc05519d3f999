// What a measurement says: one row of the table and of results.json.
//
// A figure is the median of three runs; the spread is what lies between the best and the worst of them, as a
// share of the median. Nothing is asserted: a goal that is missed is printed as missed.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace bartleby::bench {

constexpr std::size_t kRepeats = 3;

struct Figure {
  double median = 0;
  double spread = 0;  // of the median
};

Figure figure_of(std::array<double, kRepeats> values);

struct Row {
  std::string name{};
  double ours = 0;
  std::optional<double> peer{};
  std::string peer_name{};
  std::string unit{};
  std::optional<double> ratio{};  // ours / peer
  std::string goal{};
  bool met = false;
  double spread = 0;  // of ours
  std::vector<std::string> notes{};
};

// Of the table, a line at a time: measuring all of it takes half an hour.
std::string heading();
std::string line_of(const Row& row);
std::string notes_of(const std::vector<Row>& rows);
std::string json_of(const std::vector<Row>& rows);

// printf for notes.
[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...);

// Processor time of this thread: what else runs on the machine costs cache and memory, but not our turn.
class Stopwatch {
 public:
  double seconds() const { return now() - start_; }

 private:
  static double now();
  double start_ = now();
};

}  // namespace bartleby::bench
