// The command line without a server: words, help, and what is refused.
#include "cli/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace bartleby::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Said {
  int status;
  std::string out, err;
};

Said run(std::vector<std::string_view> words, CliContext context = {}) {
  std::ostringstream out;
  std::ostringstream err;
  context.version = "1.2.3";
  context.out = &out;
  context.err = &err;
  context.variable = [](const std::string&) { return std::nullopt; };
  context.now = [] { return timestamp_ms(1736937000000); };
  const int status = run_cli(words, std::move(context));
  return {status, out.str(), err.str()};
}

CliContext with_serve(std::vector<std::string>& seen) {
  CliContext context;
  context.commands.push_back({.name = "serve", .summary = "run it", .run_words = [&](auto words) {
                                seen.assign(words.begin(), words.end());
                                return 7;
                              }});
  return context;
}

TEST(Cli, RunsACommandThatAProgramAdds) {
  std::vector<std::string> seen;
  EXPECT_EQ(run({"serve", "--anything", "-x"}, with_serve(seen)).status, 7);
  EXPECT_THAT(seen, testing::ElementsAre("--anything", "-x"));
  EXPECT_THAT(run({"help"}, with_serve(seen)).out, HasSubstr("  serve"));
  run({"help", "serve"}, with_serve(seen));
  EXPECT_THAT(seen, testing::ElementsAre("--help"));
}

TEST(Cli, EveryCommandHasHelpWithAnExample) {
  CliContext context;
  context.config_check = context.config_show = context.config_env = [](const auto&) { return ConfigAnswer{}; };
  for (const Command& command : all_commands(context)) {
    std::vector<std::string_view> words;
    const std::string_view name = command.name;
    const std::size_t space = name.find(' ');
    words.push_back(name.substr(0, space));
    if (space != std::string_view::npos) words.push_back(name.substr(space + 1));
    words.push_back("--help");
    const Said said = run(words, context);
    EXPECT_EQ(said.status, 0) << command.name;
    EXPECT_THAT(said.out, StartsWith("usage: bartleby " + command.name));
    EXPECT_THAT(said.out, HasSubstr("examples:\n  ")) << command.name;
    EXPECT_EQ(said.err, "");
    for (const std::string& example : command.examples)
      EXPECT_THAT(example, HasSubstr("bartleby " + command.name.substr(0, space)));
  }
}

TEST(Cli, SuggestsTheNearestOfWhatIsMistyped) {
  EXPECT_THAT(run({"wrokers", "ls"}).err, HasSubstr("did you mean 'bartleby workers'"));
  EXPECT_THAT(run({"workers", "lss"}).err, HasSubstr("did you mean 'bartleby workers ls'"));
  EXPECT_THAT(run({"tail", "orders", "--folow"}).err, HasSubstr("did you mean '--follow'"));
  EXPECT_THAT(run({"topics", "ls", "-o", "jsno"}).err, HasSubstr("did you mean 'json'"));
  EXPECT_THAT(run({"frobnicate"}).err, Not(HasSubstr("did you mean")));
  EXPECT_EQ(run({"wrokers"}).status, 2);
}

TEST(Cli, SaysWhatIsMissingOrTooMuch) {
  EXPECT_THAT(run({"tail"}).err, HasSubstr("tail needs TOPIC"));
  EXPECT_THAT(run({"tail", "a", "b"}).err, HasSubstr("an argument too many: 'b'"));
  EXPECT_THAT(run({"workers"}).err, HasSubstr("workers ls|show|pause|resume"));
  EXPECT_THAT(run({"send", "orders", "x", "-k"}).err, HasSubstr("--key needs KEY"));
  EXPECT_THAT(run({"send", "orders", "x", "-H", "novalue"}).err, HasSubstr("name=value"));
  EXPECT_THAT(run({"tail", "orders", "--from", "yesterday"}).err, HasSubstr("--from is start, end"));
  EXPECT_THAT(run({"parked", "run-now", "orders"}).err, HasSubstr("say which"));
  EXPECT_THAT(run({"parked", "run-now", "orders", "12"}).err, HasSubstr("PARTITION:OFFSET"));
  EXPECT_THAT(run({"parked", "give-up", "orders", "0:1", "--all"}).err, HasSubstr("say which"));
  EXPECT_THAT(run({"letters", "show"}).err, HasSubstr("letters show needs LETTER"));
  EXPECT_THAT(run({"letters", "ls", "-n", "501"}).err, HasSubstr("--limit is a number from 1 to 500"));
  EXPECT_THAT(run({"issues", "mute", "iss_1", "--for", "2025-01-15"}).err, HasSubstr("--for is a span"));
  EXPECT_THAT(run({"receiver", "--fail", "120%"}).err, HasSubstr("--fail is a share"));
  EXPECT_THAT(run({"api", "GET", "workers"}).err, HasSubstr("a path is like"));
  EXPECT_THAT(run({"topics", "ls", "--server", "ftp://x"}).err, HasSubstr("a server is named like"));
  EXPECT_EQ(run({"tail"}).status, 2);
}

TEST(Cli, AServerThatIsNotThereIsStatus8AndSaysWhatToDo) {
  const Said said = run({"topics", "ls", "--server", "http://127.0.0.1:1"});
  EXPECT_EQ(said.status, 8);
  EXPECT_EQ(said.out, "");
  EXPECT_THAT(said.err, HasSubstr("`bartleby serve`"));
  EXPECT_EQ(run({"--server=http://127.0.0.1:1", "workers", "ls"}).status, 8) << "options may stand before the command";
  EXPECT_EQ(run({"--server", "http://127.0.0.1:1", "-o", "json", "tail", "x"}).status, 8);
}

TEST(Cli, ConfigurationMistakesGoToStderrWithStatus2) {
  CliContext context;
  std::optional<std::string> asked;
  context.config_check = [&](const auto& file) {
    asked = file;
    return ConfigAnswer{file != "bad.yaml", "text\n"};
  };
  context.config_show = context.config_env = context.config_check;
  const Said good = run({"config", "check", "-c", "good.yaml"}, context);
  EXPECT_EQ(asked, "good.yaml");
  EXPECT_EQ(good.status, 0);
  EXPECT_EQ(good.out, "text\n");
  const Said bad = run({"config", "show", "--config=bad.yaml"}, context);
  EXPECT_EQ(bad.status, 2);
  EXPECT_EQ(bad.out, "");
  EXPECT_EQ(bad.err, "text\n");
}

TEST(CliArguments, OptionsStandAnywhereAndInEverySpelling) {
  const std::vector<Operand> operands = {{"A"}, {"B", false}};
  const std::vector<Option> options = {
      {"--key", 'k', "KEY", ""}, {"--all", 'a', "", ""}, {"--many", 'm', "X", "", {}, true}};
  const std::vector<std::string_view> words = {"-kx", "one", "--many=1", "-a", "-m", "2", "--", "-k"};
  const auto read = Arguments::read("c", operands, options, words);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->value("--key"), "x");
  EXPECT_TRUE(read->has("--all"));
  EXPECT_THAT(read->values("--many"), testing::ElementsAre("1", "2"));
  EXPECT_EQ(read->operand(0), "one");
  EXPECT_EQ(read->operand(1), "-k");
}

TEST(CliArguments, AnOptionGivenTwiceDifferentlyIsRefused) {
  const std::vector<Option> options = {{"--key", 'k', "KEY", ""}};
  const std::vector<std::string_view> words = {"-k", "a", "--key", "b"};
  EXPECT_FALSE(Arguments::read("c", {}, options, words));
}

TEST(CliArguments, APlaceIsPartitionAndOffset) {
  EXPECT_EQ(place_of("3:12345")->offset, 12345);
  EXPECT_EQ(place_of("3:12345")->partition, 3);
  for (const char* wrong : {"3", ":1", "1:", "a:1", "1:b", "-1:1", "1:-1", "9999999999:1", "1:1:1"})
    EXPECT_FALSE(place_of(wrong)) << wrong;
}

}  // namespace
}  // namespace bartleby::cli
