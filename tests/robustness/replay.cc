// Feeds recordings of a worker's engine (BARTLEBY_RECORD) to a fresh one: replay FILE…
// A line per file. Exit status: 0 identical, 1 different or unreadable, 2 nothing to read.
#include "tests/sim/replay.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "runtime/recording.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: replay FILE...\n");
    return 2;
  }
  bool identical = true;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary | std::ios::ate);
    if (!file || file.tellg() < 0) {
      std::printf("%s: cannot be opened\n", argv[i]);
      identical = false;
      continue;
    }
    if (static_cast<std::size_t>(file.tellg()) > bartleby::EventRecorder::kMaxBytes) {
      std::printf("%s: larger than a recording can be\n", argv[i]);
      identical = false;
      continue;
    }
    file.seekg(0);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    const bartleby::sim::Replay result = bartleby::sim::replay(bytes);
    std::printf("%s: %s\n", argv[i], result.text().c_str());
    identical = identical && result.identical();
  }
  return identical ? 0 : 1;
}
