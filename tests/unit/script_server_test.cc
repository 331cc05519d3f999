#include "tests/support/script_server.h"

#include <gtest/gtest.h>

#include <fstream>

namespace bartleby {
namespace {

using support::ScriptServer;

class ScriptServerTest : public testing::Test {
 protected:
  // A script with these two verbs, which writes down what it was called for.
  std::string script(const std::string& get, const std::string& start) {
    const std::string path = folder_.path() + "/script";
    std::ofstream(path) << "#!/bin/sh\necho $1 >>\"$0.calls\"\ncase $1 in get) " << get << ";; start) " << start
                        << ";; esac\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string calls() const {
    std::string all;
    std::ifstream file(folder_.path() + "/script.calls");
    for (std::string word; file >> word;) all += (all.empty() ? "" : " ") + word;
    return all;
  }

  support::ScratchFolder folder_;
};

TEST_F(ScriptServerTest, WhatStartsHasAnAddressAndIsStopped) {
  {
    const ScriptServer server(script("true", "echo address"), "BARTLEBY_TEST_NOTHING");
    EXPECT_EQ(server.address(), "address");
    EXPECT_FALSE(server.not_started());
  }
  EXPECT_EQ(calls(), "get start stop");
}

TEST_F(ScriptServerTest, WhatCannotBeHadIsNotAFailure) {
  const ScriptServer server(script("exit 1", "echo address"), "BARTLEBY_TEST_NOTHING");
  EXPECT_EQ(server.address(), "");
  EXPECT_FALSE(server.not_started());
  EXPECT_EQ(calls(), "get");
}

TEST_F(ScriptServerTest, AFailedStartIsTriedOnceMore) {
  const ScriptServer server(script("true", "[ $(grep -c start \"$0.calls\") = 2 ] || exit 1; echo address"),
                            "BARTLEBY_TEST_NOTHING");
  EXPECT_EQ(server.address(), "address");
  EXPECT_FALSE(server.not_started());
  EXPECT_EQ(calls(), "get start stop start");
}

TEST_F(ScriptServerTest, WhatNeverStartsIsAFailure) {
  const ScriptServer server(script("true", "exit 1"), "BARTLEBY_TEST_NOTHING");
  EXPECT_EQ(server.address(), "");
  EXPECT_TRUE(server.not_started());
  EXPECT_EQ(calls(), "get start stop start");
}

}  // namespace
}  // namespace bartleby
