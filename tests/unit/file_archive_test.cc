// Nothing stays in an archive's folder that nobody can name.
#include "adapters/archive/files/file_archive.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch_folder.h"

namespace bartleby {
namespace {

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(FileArchive, WhatAWriterThatDiedHadBegunGoesWithItsName) {
  const support::ScratchFolder folder;
  FileArchive archive(folder.path());
  std::ofstream(std::filesystem::path(folder.path()) / "arc_1.jsonl.zst.new") << "half of it";
  const auto removed = archive.remove("arc_1.jsonl.zst");
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files_in(folder.path()), 0U);
}

TEST(FileArchive, WhatCouldNotBeWrittenLeavesNothing) {
  const support::ScratchFolder folder;
  FileArchive archive(folder.path());
  std::filesystem::create_directories(std::filesystem::path(folder.path()) / "arc_1.json" / "in the way");
  EXPECT_FALSE(archive.put("arc_1.json", "{}"));
  EXPECT_EQ(files_in(folder.path()), 1U) << "the folder that was there before";
}

}  // namespace
}  // namespace bartleby
