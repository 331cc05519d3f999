#include "bench/row.h"

#include <time.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace bartleby::bench {
namespace {

std::string number(double v) {
  if (v >= 1000) return text("%.0f", v);
  return text(v >= 10 ? "%.1f" : "%.2f", v);
}

std::string json_number(std::optional<double> v) { return v ? text("%.6g", *v) : "null"; }

constexpr char kLine[] = "%-27s %10s %-12s %10s %8s  %-28s %-5s %7s\n";

}  // namespace

Figure figure_of(std::array<double, kRepeats> values) {
  std::ranges::sort(values);
  const double median = values[kRepeats / 2];
  return {median, median == 0 ? 0 : (values.back() - values.front()) / median};
}

double Stopwatch::now() {
  struct timespec t = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::string text(const char* format, ...) {
  std::array<char, 400> buffer;
  va_list args;
  va_start(args, format);
  std::vsnprintf(buffer.data(), buffer.size(), format, args);
  va_end(args);
  return buffer.data();
}

std::string heading() { return text(kLine, "name", "ours", "unit", "peer", "ratio", "goal", "met", "spread"); }

std::string line_of(const Row& r) {
  return text(kLine, r.name.c_str(), number(r.ours).c_str(), r.unit.c_str(), r.peer ? number(*r.peer).c_str() : "-",
              r.ratio ? number(*r.ratio).c_str() : "-", r.goal.c_str(), r.met ? "true" : "false",
              text("%.1f %%", r.spread * 100).c_str());
}

std::string notes_of(const std::vector<Row>& rows) {
  std::string out = "\n";
  for (const Row& r : rows) {
    if (!r.peer_name.empty()) out += text("%-27s peer: %s\n", r.name.c_str(), r.peer_name.c_str());
    for (const std::string& note : r.notes) out += text("%-27s %s\n", r.name.c_str(), note.c_str());
  }
  return out;
}

std::string json_of(const std::vector<Row>& rows) {
  std::string out = "[";
  for (const Row& r : rows) {
    out += out.size() == 1 ? "\n" : ",\n";
    out += text(
        "  {\"name\": \"%s\", \"ours\": %s, \"peer\": %s, \"peer_name\": \"%s\", \"unit\": \"%s\", "
        "\"ratio\": %s, \"goal\": \"%s\", \"met\": %s}",
        r.name.c_str(), json_number(r.ours).c_str(), json_number(r.peer).c_str(), r.peer_name.c_str(), r.unit.c_str(),
        json_number(r.ratio).c_str(), r.goal.c_str(), r.met ? "true" : "false");
  }
  return out + "\n]\n";
}

}  // namespace bartleby::bench
