// The two programs as users start them: real processes, which meet over TCP on this machine.
#include "examples/data/digits.h"

#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "ddp/checkpoint/safetensors.h"
#include "ddp/sampler/distributed_sampler.h"
#include "examples/digits/batch.h"
#include "examples/digits/digits_net.h"
#include "examples/nn/optimizer.h"
#include "examples/nn/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace digits {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

struct Result {
  int exit_code = -1;
  std::string out;  // stdout
  std::string err;  // stderr
  std::vector<std::string> lines() const { return absl::StrSplit(out + err, '\n', absl::SkipEmpty()); }
};

std::string TemporaryPath(const std::string& name) {
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string path = absl::StrCat(testing::TempDir(), "/", test, ".", name);
  std::replace(path.begin() + testing::TempDir().size() + 1, path.end(), '/', '_');
  return path;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Runs a shell command to its end, which every program here reaches by itself: the group's deadline sees to it.
Result RunCommand(const std::string& command) {
  const std::string err = TemporaryPath("stderr");
  FILE* const pipe = popen(absl::StrCat(command, " 2>'", err, "'").c_str(), "r");
  Result result;
  char bytes[4096];
  while (const size_t n = std::fread(bytes, 1, sizeof(bytes), pipe)) result.out.append(bytes, n);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  result.err = ReadFile(err);
  return result;
}

Result RunTrainer(const std::string& arguments) { return RunCommand("examples/digits/trainer " + arguments); }

// On `ranks` ranks; on one, without a launcher.
Result RunDigits(int ranks, const std::string& arguments) {
  if (ranks == 1) return RunTrainer(arguments);
  return RunCommand(absl::StrCat("examples/digits/digits --nproc_per_node=", ranks, " --ddp_timeout=60s ", arguments));
}

// The number behind "test_accuracy=".
double Accuracy(const Result& result) {
  const size_t begin = result.out.find("test_accuracy=");
  if (begin == std::string::npos) return 0;
  double accuracy = 0;
  const std::string rest = result.out.substr(begin + std::strlen("test_accuracy="));
  EXPECT_TRUE(absl::SimpleAtod(rest.substr(0, rest.find(' ')), &accuracy)) << result.out;
  return accuracy;
}

using Parameters = std::map<std::string, std::vector<double>>;

Parameters ReadParameters(const std::string& path) {
  const std::string file = ReadFile(path);
  const int64_t head = lockstep::ParseSafetensorsLength(file.substr(0, 8), file.size()).value();
  const int64_t data = 8 + head;
  Parameters parameters;
  const lockstep::SafetensorsHeader header =
      lockstep::ParseSafetensorsHeader(file.substr(8, head), file.size() - data).value();
  for (const lockstep::SafetensorsEntry& entry : header.tensors) {
    std::vector<double>& values = parameters[entry.name];
    for (int64_t at = data + entry.begin; at < data + entry.end; at += SizeOf(entry.dtype)) {
      float f32 = 0;
      double f64 = 0;
      std::memcpy(&f32, file.data() + at, sizeof(f32));
      if (entry.dtype == lockstep::DType::kF64) std::memcpy(&f64, file.data() + at, sizeof(f64));
      values.push_back(entry.dtype == lockstep::DType::kF64 ? f64 : f32);
    }
  }
  return parameters;
}

// Per tensor max|a - b| <= tolerance max|b|.
void ExpectClose(const Parameters& a, const Parameters& b, double tolerance) {
  ASSERT_EQ(b.size(), 4u);
  for (const auto& [name, expected] : b) {
    ASSERT_TRUE(a.count(name) == 1 && a.at(name).size() == expected.size()) << name;
    double difference = 0;
    double scale = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      difference = std::max(difference, std::abs(a.at(name)[i] - expected[i]));
      scale = std::max(scale, std::abs(expected[i]));
    }
    EXPECT_GT(scale, 0.01) << name;
    EXPECT_LE(difference, tolerance * scale) << name;
  }
}

TEST(Trainer, RunsAloneAndEndsWithOneLineOnStdout) {
  const Result result = RunTrainer("");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GE(Accuracy(result), 0.97) << result.out;
  EXPECT_THAT(result.out, testing::MatchesRegex(
                              "test_accuracy=0\\.[0-9]+ world_size=1 backend=[a-z]+ samples_per_s=[0-9]+ epochs=30\n"));
}

TEST(Trainer, ComputesInDoubleAndWithSgdAsWell) {
  const Result result = RunTrainer("--dtype=float64 --optimizer=sgd");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GE(Accuracy(result), 0.97) << result.out;
}

TEST(Trainer, DoesNotFloodALogFile) {
  const absl::Time start = absl::Now();
  const Result result = RunTrainer("--epochs=200");
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  const std::vector<std::string> lines = absl::StrSplit(result.err, '\n', absl::SkipEmpty());
  EXPECT_LE(static_cast<double>(lines.size()), 2 + seconds / 2)
      << result.err;  // the first, the last, and one every two seconds
  EXPECT_THAT(lines.back(), ContainsRegex("epoch 200/200  loss 0\\.[0-9]+$"));
  EXPECT_EQ(result.err.find('\r'), std::string::npos);
}

TEST(Trainer, RedrawsOneLineWhereItsLauncherHasATerminal) {
  const Result result = RunCommand("LOCKSTEP_TTY=1 examples/digits/trainer --epochs=2");
  EXPECT_THAT(result.err, testing::MatchesRegex("(\r[^\r\n]+)+\n"));
}

class DigitsTest : public testing::TestWithParam<int> {};

TEST_P(DigitsTest, ReachesItsAccuracy) {
  const Result result = RunCommand(absl::StrCat("examples/digits/digits --nproc_per_node=", GetParam()));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GE(Accuracy(result), 0.97) << result.out;
  EXPECT_THAT(result.out, HasSubstr(absl::StrCat(" world_size=", GetParam(), " backend=")));
  EXPECT_EQ(result.out.find("test_accuracy"), result.out.rfind("test_accuracy")) << "more than one rank reported:\n"
                                                                                 << result.out;
}

INSTANTIATE_TEST_SUITE_P(Ranks, DigitsTest, testing::Values(1, 2, 3, 4));

TEST(Digits, StartsTwoRanksByDefaultAndPassesItsOtherArgumentsOn) {
  const Result result = RunCommand("examples/digits/digits --epochs=1");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("world_size=2 backend=gloo .* epochs=1"));
}

TEST(Digits, ItsRelativePathsMeanTheFolderThatBazelRunWasTypedIn) {
  const std::string folder = TemporaryPath("folder");
  std::filesystem::create_directories(folder);
  const Result result = RunCommand(
      absl::StrCat("BUILD_WORKING_DIRECTORY='", folder, "' examples/digits/digits --epochs=1 --dump_parameters=final"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(folder + "/final"));
}

TEST(Digits, ItsRelativePathToItselfDoesNotMatter) {
  const Result result = RunCommand("cd examples && ./digits/digits --epochs=1");
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(Digits, ARankThatFailsEndsTheJobWithItsError) {
  const Result result = RunCommand("examples/digits/digits --dtype=float16");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("--dtype=float16: must be float32 or float64"));
}

// Two epochs on the big batches, by a plain loop: no engine, no ranks, no sampler but the order of the samples.
template <typename T>
Parameters TrainPlainly(int batch_size) {
  const data::DigitsDataset digits = data::LoadDigits().value();
  DigitsNet<T> net(/*seed=*/1);
  nn::Sgd<T> sgd(net, {.learning_rate = 0.05, .momentum = 0.9});
  nn::Tape<T> tape(net);
  Batch<T> batch(digits.train);
  auto order = lockstep::DistributedSampler::Create(digits.train.size(), 1, 0).value();
  for (int epoch = 0; epoch < 2; ++epoch) {
    order.SetEpoch(epoch);
    const std::vector<int64_t> indices = order.Indices();
    absl::Span<const int64_t> rest = indices;
    for (; !rest.empty(); rest.remove_prefix(std::min<size_t>(batch_size, rest.size()))) {
      batch.Load(rest.subspan(0, batch_size));
      tape.Clear();
      for (size_t i = 0; i < net.parameters().size(); ++i) net.ClearGradient(static_cast<int>(i));
      tape.Backward(tape.SoftmaxCrossEntropy(net(tape, tape.Input(batch.images())), batch.labels()));
      sgd.Step();
    }
  }
  Parameters parameters;
  for (size_t i = 0; i < net.parameters().size(); ++i) {
    const lockstep::Buffer value = net.ParameterValue(static_cast<int>(i));
    const T* const data = static_cast<const T*>(value.data);
    parameters[std::string(net.parameters()[i].name)].assign(data, data + value.count);
  }
  return parameters;
}

Parameters TrainPlainly(const std::string& dtype, int batch_size) {
  return dtype == "float64" ? TrainPlainly<double>(batch_size) : TrainPlainly<float>(batch_size);
}

// The equation that the engine promises: N ranks train as one process on the same big batches does.
struct Equation {
  std::string name;
  int global_batch_size;
  std::string dtype;
  double tolerance;
};

class EquationTest : public testing::TestWithParam<Equation> {};

TEST_P(EquationTest, AnyNumberOfRanksGivesTheParametersOfAPlainLoop) {
  const Parameters expected = TrainPlainly(GetParam().dtype, GetParam().global_batch_size);
  for (int ranks = 1; ranks <= 4; ++ranks) {
    SCOPED_TRACE(absl::StrCat(ranks, " ranks"));
    const std::string file = TemporaryPath(absl::StrCat("parameters", ranks));
    const Result result =
        RunDigits(ranks, absl::StrCat("--epochs=2 --optimizer=sgd --lr=0.05 --check_replicas --dtype=", GetParam().dtype,
                                      " --global_batch_size=", GetParam().global_batch_size, " --dump_parameters=", file));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    ExpectClose(ReadParameters(file), expected, GetParam().tolerance);
  }
}

// 1,437 = 23 * 60 + 57: the last batch is short. = 1 * 1428 + 9: the last batch is shorter than a rank's share of it.
// = 119 * 12 + 9. 1436 does not divide by 3 ranks, so an empty last batch has a test of its own below.
INSTANTIATE_TEST_SUITE_P(Batches, EquationTest,
                         testing::Values(Equation{"Float", 60, "float32", 1e-5}, Equation{"Double", 60, "float64", 1e-12},
                                         Equation{"OneBigBatch", 1428, "float64", 1e-12},
                                         Equation{"SmallBatches", 12, "float64", 1e-12}),
                         [](const testing::TestParamInfo<Equation>& instance) { return instance.param.name; });

// 1,437 = 1,436 + 1: in the second step rank 0 has one sample, the others none.
TEST(Digits, RanksWithoutSamplesInTheLastBatchTakeTheSameStep) {
  const Parameters expected = TrainPlainly<double>(1436);
  for (const int ranks : {1, 2, 4}) {
    SCOPED_TRACE(absl::StrCat(ranks, " ranks"));
    const std::string file = TemporaryPath(absl::StrCat("parameters", ranks));
    const Result result =
        RunDigits(ranks, absl::StrCat("--epochs=2 --optimizer=sgd --lr=0.05 --dtype=float64 ",
                                      "--check_replicas --global_batch_size=1436 --dump_parameters=", file));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    ExpectClose(ReadParameters(file), expected, 1e-12);
  }
}

class ResumeTest : public testing::TestWithParam<int> {};

TEST_P(ResumeTest, GivesTheParametersOfAnUninterruptedRun) {
  for (const std::string optimizer : {"adam", "sgd"}) {
    SCOPED_TRACE(optimizer);
    const std::string flags = absl::StrCat("--lr=0.01 --optimizer=", optimizer, " --dump_parameters=");
    const std::string whole = TemporaryPath("whole"), parts = TemporaryPath("parts");
    const std::string folder = absl::StrCat("--checkpoint_dir=", TemporaryPath("checkpoints-" + optimizer), " ");
    ASSERT_EQ(RunDigits(GetParam(), "--epochs=4 " + flags + whole).exit_code, 0);
    ASSERT_EQ(RunDigits(GetParam(), "--epochs=2 " + folder + flags + parts).exit_code, 0);
    EXPECT_NE(ReadFile(parts), ReadFile(whole));
    const Result result = RunDigits(GetParam(), "--epochs=4 " + folder + flags + parts);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(ReadFile(parts), ReadFile(whole));  // bit for bit
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ResumeTest, testing::Values(1, 2));

TEST(Trainer, GoesOnWithAnotherNumberOfRanks) {
  const std::string flags = "--global_batch_size=60 --optimizer=sgd --dtype=float64 --dump_parameters=";
  const std::string whole = TemporaryPath("whole"), parts = TemporaryPath("parts");
  const std::string folder = absl::StrCat("--checkpoint_dir=", TemporaryPath("checkpoints"), " ");
  ASSERT_EQ(RunDigits(1, "--epochs=3 " + flags + whole).exit_code, 0);
  ASSERT_EQ(RunDigits(2, "--epochs=1 " + folder + flags + parts).exit_code, 0);
  ASSERT_EQ(RunDigits(3, "--epochs=2 " + folder + flags + parts).exit_code, 0);
  ASSERT_EQ(RunDigits(1, "--epochs=3 " + folder + flags + parts).exit_code, 0);
  ExpectClose(ReadParameters(parts), ReadParameters(whole), 1e-12);
}

TEST(Trainer, ACheckpointOfAnotherOptimizerIsRefusedAndLeftAsItIs) {
  const std::string folder = absl::StrCat("--checkpoint_dir=", TemporaryPath("checkpoints"), " ");
  ASSERT_EQ(RunTrainer("--epochs=1 --optimizer=adam " + folder).exit_code, 0);
  const Result refused = RunTrainer("--epochs=2 --optimizer=sgd " + folder);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("optimizer.")) << "the tensor that is missing or too many";
  EXPECT_EQ(RunTrainer("--epochs=2 --optimizer=adam " + folder).exit_code, 0);
}

TEST(Trainer, AFinishedRunLoadsAndOnlyReports) {
  const std::string folder = absl::StrCat("--checkpoint_dir=", TemporaryPath("checkpoints"), " --epochs=2");
  const Result first = RunTrainer(folder);
  const Result second = RunTrainer(folder);
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(Accuracy(first), Accuracy(second));
  EXPECT_THAT(second.out, HasSubstr("samples_per_s=0 epochs=2"));
  EXPECT_THAT(second.err, HasSubstr("goes on after epoch 2, saved in "));
  EXPECT_THAT(RunTrainer(folder + " --epochs=1").out, HasSubstr("epochs=2")) << "what the parameters have seen";
}

TEST(Trainer, HelpListsItsFlagsAndTheEngines) {
  EXPECT_THAT(RunTrainer("--help").out, testing::AllOf(HasSubstr("--checkpoint_dir"), HasSubstr("--ddp_timeout")));
}

struct BadFlag {
  std::string name;
  std::string arguments;
  std::string error;
};

class BadFlagTest : public testing::TestWithParam<BadFlag> {};

TEST_P(BadFlagTest, EndsWithOneLineThatNamesFlagValueAndWhatIsAllowed) {
  const Result result = RunTrainer(GetParam().arguments);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.lines().size(), 1u) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Flags, BadFlagTest,
    testing::Values(BadFlag{"DType", "--dtype=float16", "--dtype=float16: must be float32 or float64"},
                    BadFlag{"Optimizer", "--optimizer=adamw", "--optimizer=adamw: must be adam or sgd"},
                    BadFlag{"NoEpochs", "--epochs=0", "--epochs=0: must be at least 1"},
                    BadFlag{"NoBatch", "--batch_size=0", "--batch_size=0: must be at least 1"},
                    BadFlag{"NegativeGlobalBatch", "--global_batch_size=-8", "--global_batch_size=-8: must be at least 1"},
                    BadFlag{"TwoBatches", "--batch_size=8 --global_batch_size=16", "contradicts --global_batch_size=16"},
                    BadFlag{"NoRate", "--lr=0", "--lr=0: must be greater than 0"},
                    BadFlag{"RateIsNotANumber", "--lr=nan", "--lr=nan: must be greater than 0"},
                    BadFlag{"RateIsInfinite", "--lr=inf", "--lr=inf: must be greater than 0"},
                    BadFlag{"Momentum", "--optimizer=sgd --momentum=1", "--momentum=1: must be in [0, 1)"},
                    BadFlag{"MomentumOfAdam", "--momentum=0.5", "--momentum=0.5: belongs to --optimizer=sgd"},
                    BadFlag{"Argument", "--epochs=1 extra", "\"extra\": the trainer takes flags only"}),
    [](const testing::TestParamInfo<BadFlag>& instance) { return instance.param.name; });

TEST(Trainer, AFileThatCannotBeWrittenIsNamed) {
  const Result result = RunTrainer("--epochs=1 --dump_parameters=/nonexistent/file");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("cannot write the parameters to /nonexistent/file: No such file or directory"));
}

TEST(Digits, AGlobalBatchThatDoesNotDivideByTheRanksIsRefused) {
  const Result result = RunDigits(3, "--global_batch_size=64");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("--global_batch_size=64: must be a multiple of the 3 ranks"));
}

}  // namespace
}  // namespace digits
