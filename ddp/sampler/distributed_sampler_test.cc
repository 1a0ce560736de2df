#include "ddp/sampler/distributed_sampler.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::absl_testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Samples = std::vector<int64_t>;

DistributedSampler Make(int64_t size, int world_size, int rank, SamplerOptions options = {}) {
  auto sampler = DistributedSampler::Create(size, world_size, rank, options);
  EXPECT_THAT(sampler, absl_testing::IsOk());
  return *std::move(sampler);
}

std::vector<DistributedSampler> MakeAll(int64_t size, int world_size, SamplerOptions options = {}) {
  std::vector<DistributedSampler> samplers;
  for (int rank = 0; rank < world_size; ++rank) samplers.push_back(Make(size, world_size, rank, options));
  return samplers;
}

std::vector<Samples> AllBatches(DistributedSampler& sampler, int64_t batch_size) {
  std::vector<Samples> batches;
  for (absl::Span<const int64_t> batch : sampler.Batches(batch_size)) batches.emplace_back(batch.begin(), batch.end());
  return batches;
}

// The k-th element of each in turn: undoes the deal.
Samples Interleave(const std::vector<Samples>& parts) {
  Samples all;
  for (size_t i = 0;; ++i) {
    const size_t before = all.size();
    for (const Samples& part : parts) {
      if (i < part.size()) all.push_back(part[i]);
    }
    if (all.size() == before) return all;
  }
}

// --- Coverage, over sizes, world sizes, orders ------------------------------------------------------------------------

class Coverage : public testing::TestWithParam<std::tuple<int64_t, int, SamplerOrder>> {
 protected:
  int64_t size() const { return std::get<0>(GetParam()); }
  int world_size() const { return std::get<1>(GetParam()); }
  SamplerOptions Options(SamplerMode mode, uint64_t seed) const { return {mode, std::get<2>(GetParam()), seed}; }

  // How often each sample occurs over all ranks, and the lengths of the ranks' parts.
  void Count(SamplerMode mode, uint64_t seed, int64_t epoch) {
    visits_.assign(static_cast<size_t>(size()), 0);
    lengths_.clear();
    for (DistributedSampler& sampler : MakeAll(size(), world_size(), Options(mode, seed))) {
      sampler.SetEpoch(epoch);
      const Samples part = sampler.Indices();
      for (const int64_t sample : part) ++visits_.at(static_cast<size_t>(sample));
      lengths_.push_back(static_cast<int64_t>(part.size()));
    }
  }
  int64_t CountVisited(int times) const { return std::count(visits_.begin(), visits_.end(), times); }

  // Large sizes are slow enough to be tried with fewer seeds and epochs.
  std::vector<std::pair<uint64_t, int64_t>> Runs() const {
    if (size() > 10000) return {{3, 0}, {123456789012345, 1}};
    return {{0, 0}, {0, 1}, {0, 7}, {123456789012345, 0}, {123456789012345, 100000}};
  }

  std::vector<int> visits_;
  std::vector<int64_t> lengths_;
};

TEST_P(Coverage, ExactVisitsEverySampleOnceAnEpoch) {
  for (const auto& [seed, epoch] : Runs()) {
    Count(SamplerMode::kExact, seed, epoch);
    EXPECT_EQ(CountVisited(1), size());
    const auto [shortest, longest] = std::minmax_element(lengths_.begin(), lengths_.end());
    EXPECT_LE(*longest - *shortest, 1);
  }
}

TEST_P(Coverage, PadGivesEqualLengthsAndLeavesNothingOut) {
  for (const auto& [seed, epoch] : Runs()) {
    Count(SamplerMode::kPad, seed, epoch);
    const int64_t length = (size() + world_size() - 1) / world_size();
    EXPECT_EQ(lengths_, std::vector<int64_t>(static_cast<size_t>(world_size()), length));
    EXPECT_EQ(CountVisited(0), 0);
  }
}

TEST_P(Coverage, DropLastGivesEqualLengthsAndRepeatsNothing) {
  for (const auto& [seed, epoch] : Runs()) {
    Count(SamplerMode::kDropLast, seed, epoch);
    EXPECT_EQ(lengths_, std::vector<int64_t>(static_cast<size_t>(world_size()), size() / world_size()));
    EXPECT_EQ(CountVisited(1), size() - size() % world_size());
    EXPECT_EQ(CountVisited(0), size() % world_size());
  }
}

TEST_P(Coverage, BatchesTogetherAreTheBatchesOfOneProcess) {
  constexpr int64_t kBatch = 16;
  if (size() > 10000) GTEST_SKIP() << "tried with smaller data sets";
  for (const SamplerMode mode : {SamplerMode::kExact, SamplerMode::kPad, SamplerMode::kDropLast}) {
    std::vector<std::vector<Samples>> ranks;
    for (DistributedSampler& sampler : MakeAll(size(), world_size(), Options(mode, 5))) {
      const int64_t promised = sampler.num_batches(kBatch);
      ranks.push_back(AllBatches(sampler, kBatch));
      EXPECT_EQ(static_cast<int64_t>(ranks.back().size()), promised);
      EXPECT_EQ(ranks.back().size(), ranks[0].size()) << "all ranks take equally many batches";
    }
    DistributedSampler one = Make(size(), 1, 0, Options(mode, 5));
    std::vector<Samples> whole = AllBatches(one, kBatch * world_size());
    for (size_t k = 0; k < ranks[0].size(); ++k) {
      std::vector<Samples> parts;
      for (const auto& rank : ranks) parts.push_back(rank[k]);
      Samples together = Interleave(parts);
      if (mode != SamplerMode::kExact && k + 1 == ranks[0].size()) {
        // Its end is padded or cut; what both have must be equal.
        const Samples last = k < whole.size() ? whole[k] : Samples();
        together.resize(std::min(together.size(), last.size()));
        EXPECT_TRUE(std::equal(together.begin(), together.end(), last.begin()));
      } else {
        EXPECT_EQ(together, whole.at(k));
      }
    }
  }
}

std::string CoverageName(const testing::TestParamInfo<Coverage::ParamType>& test) {
  const auto [size, world_size, order] = test.param;
  return absl::StrReplaceAll(absl::StrCat(size, "_of_", world_size, "_", std::string(SamplerOrderVersion(order))),
                             {{"/", "_"}, {"-", "_"}});
}

constexpr SamplerOrder kOrders[] = {SamplerOrder::kShuffled, SamplerOrder::kSequential, SamplerOrder::kTorch};

INSTANTIATE_TEST_SUITE_P(Small, Coverage,
                         testing::Combine(testing::Values(0, 1, 2, 3, 7, 10, 1000, 1797), testing::Range(1, 10),
                                          testing::ValuesIn(kOrders)),
                         CoverageName);
INSTANTIATE_TEST_SUITE_P(Million, Coverage,
                         testing::Combine(testing::Values(1000000), testing::Range(1, 10), testing::ValuesIn(kOrders)),
                         CoverageName);

// --- PyTorch's DistributedSampler, version 2.14 -----------------------------------------------------------------------

struct TorchCase {
  int64_t size;
  int world_size;
  SamplerOptions options;
  int64_t epoch;
  std::vector<Samples> ranks;
};

TEST(TorchCompatibility, GivesWhatItsDistributedSamplerGives) {
  const SamplerOptions plain = {SamplerMode::kPad, SamplerOrder::kSequential};
  const SamplerOptions plain_drop = {SamplerMode::kDropLast, SamplerOrder::kSequential};
  const SamplerOptions shuffle = {SamplerMode::kPad, SamplerOrder::kTorch};
  const SamplerOptions shuffle_drop = {SamplerMode::kDropLast, SamplerOrder::kTorch};
  const SamplerOptions shuffle_seed3 = {SamplerMode::kPad, SamplerOrder::kTorch, 3};
  const std::vector<TorchCase> cases = {
      {10, 3, plain, 0, {{0, 3, 6, 9}, {1, 4, 7, 0}, {2, 5, 8, 1}}},
      {10, 3, plain_drop, 0, {{0, 3, 6}, {1, 4, 7}, {2, 5, 8}}},
      {3, 7, plain, 0, {{0}, {1}, {2}, {0}, {1}, {2}, {0}}},
      {3, 7, plain_drop, 0, {{}, {}, {}, {}, {}, {}, {}}},
      {4, 9, shuffle, 0, {{0}, {1}, {3}, {2}, {0}, {1}, {3}, {2}, {0}}},
      {10, 4, shuffle, 0, {{4, 3, 6}, {1, 9, 2}, {7, 0, 4}, {5, 8, 1}}},
      {10, 4, shuffle_drop, 0, {{4, 3}, {1, 9}, {7, 0}, {5, 8}}},
      {10, 4, shuffle, 1, {{5, 0, 7}, {6, 8, 4}, {1, 9, 5}, {2, 3, 6}}},
      {12, 4, shuffle_seed3, 2, {{11, 10, 8}, {0, 3, 7}, {9, 4, 1}, {6, 5, 2}}},
  };
  for (const TorchCase& c : cases) {
    for (int rank = 0; rank < c.world_size; ++rank) {
      DistributedSampler sampler = Make(c.size, c.world_size, rank, c.options);
      sampler.SetEpoch(c.epoch);
      EXPECT_EQ(sampler.Indices(), c.ranks[static_cast<size_t>(rank)]) << c.size << " samples, rank " << rank;
    }
  }
}

TEST(TorchCompatibility, PadRepeatsTheBeginningAtTheEnd) {
  const Samples part = Make(21, 2, 1, {SamplerMode::kPad, SamplerOrder::kSequential}).Indices();
  EXPECT_EQ(part.size(), 11u);
  EXPECT_EQ(part.back(), 0);
}

TEST(TorchCompatibility, SeedAndEpochAddUp) {
  DistributedSampler first = Make(10, 1, 0, {SamplerMode::kPad, SamplerOrder::kTorch, 0});
  DistributedSampler second = Make(10, 1, 0, {SamplerMode::kPad, SamplerOrder::kTorch, 1});
  first.SetEpoch(1);
  EXPECT_EQ(first.Indices(), second.Indices());
}

// --- Epochs and batches -----------------------------------------------------------------------------------------------

TEST(DistributedSampler, ShufflesAnewEachEpochAndRepeatsAnEpochExactly) {
  DistributedSampler sampler = Make(100, 2, 0);
  const Samples zero = sampler.Indices();
  sampler.SetEpoch(1);
  EXPECT_NE(sampler.Indices(), zero);
  sampler.SetEpoch(0);
  EXPECT_EQ(sampler.Indices(), zero);
}

TEST(DistributedSampler, GivesTheWholeEpochAgainIfTheEpochIsNotSet) {
  DistributedSampler sampler = Make(10, 1, 0);
  const std::vector<Samples> first = AllBatches(sampler, 3);
  EXPECT_EQ(AllBatches(sampler, 3), first);
}

TEST(DistributedSampler, EndsWithAShortBatchOnSomeRanksAndAnEmptyOneOnOthers) {
  const SamplerOptions options = {SamplerMode::kExact, SamplerOrder::kSequential};
  std::vector<DistributedSampler> ranks = MakeAll(9, 2, options);
  EXPECT_THAT(AllBatches(ranks[0], 4), ElementsAre(Samples{0, 2, 4, 6}, Samples{8}));
  EXPECT_THAT(AllBatches(ranks[1], 4), ElementsAre(Samples{1, 3, 5, 7}, Samples{}));
}

TEST(DistributedSampler, TakesABatchLargerThanTheDataSet) {
  DistributedSampler sampler = Make(3, 2, 0, {SamplerMode::kExact, SamplerOrder::kSequential});
  EXPECT_THAT(AllBatches(sampler, std::numeric_limits<int64_t>::max()), ElementsAre(Samples{0, 2}));
  EXPECT_EQ(sampler.num_batches(std::numeric_limits<int64_t>::max()), 1);
}

TEST(DistributedSampler, GivesNoBatchOfAnEmptyDataSet) {
  for (const SamplerMode mode : {SamplerMode::kExact, SamplerMode::kPad, SamplerMode::kDropLast}) {
    DistributedSampler sampler = Make(0, 3, 1, {mode});
    EXPECT_THAT(AllBatches(sampler, 4), IsEmpty());
    EXPECT_THAT(sampler.Indices(), IsEmpty());
    EXPECT_EQ(sampler.num_batches(4), 0);
  }
}

TEST(DistributedSampler, DrawsFromTwoToThe40SamplesWithoutHoldingThem) {
  DistributedSampler sampler = Make(int64_t{1} << 40, 8, 7);
  EXPECT_EQ(sampler.num_batches(1 << 10), int64_t{1} << 27);
  int64_t taken = 0;
  for (absl::Span<const int64_t> batch : sampler.Batches(1 << 10)) {
    for (const int64_t sample : batch) EXPECT_TRUE(sample >= 0 && sample < int64_t{1} << 40);
    if ((taken += static_cast<int64_t>(batch.size())) >= 5 << 10) break;
  }
  EXPECT_EQ(taken, 5 << 10);
}

TEST(DistributedSampler, CanBeMoved) {
  DistributedSampler first = Make(10, 1, 0);
  const Samples all = first.Indices();
  DistributedSampler second = std::move(first);
  EXPECT_EQ(second.Indices(), all);
}

// --- Resuming ---------------------------------------------------------------------------------------------------------

// Takes `batches` batches, and returns what they held.
Samples Take(DistributedSampler& sampler, int64_t batch_size, size_t batches) {
  Samples taken;
  if (batches == 0) return taken;
  for (absl::Span<const int64_t> batch : sampler.Batches(batch_size)) {
    taken.insert(taken.end(), batch.begin(), batch.end());
    if (--batches == 0) break;
  }
  return taken;
}

class Resume : public testing::TestWithParam<std::tuple<SamplerOrder, SamplerMode>> {
 protected:
  SamplerOptions options() const { return {std::get<1>(GetParam()), std::get<0>(GetParam()), 9}; }
};

TEST_P(Resume, GoesOnAfterEveryBatchAsIfItHadNotStopped) {
  constexpr int kWorld = 3;
  constexpr int64_t kBatch = 4;
  for (int rank = 0; rank < kWorld; ++rank) {
    DistributedSampler whole = Make(50, kWorld, rank, options());
    whole.SetEpoch(6);
    const std::vector<Samples> expected = AllBatches(whole, kBatch);
    for (size_t taken = 0; taken <= expected.size(); ++taken) {
      DistributedSampler before = Make(50, kWorld, rank, options());
      before.SetEpoch(6);
      Take(before, kBatch, taken);
      DistributedSampler after = Make(50, kWorld, rank, options());
      ABSL_ASSERT_OK(after.SetStateValues(before.GetStateValues()));
      EXPECT_EQ(after.epoch(), 6);
      after.SetEpoch(after.epoch());
      EXPECT_EQ(after.GetStateValues(), before.GetStateValues());
      EXPECT_EQ(after.num_batches(kBatch), static_cast<int64_t>(expected.size() - taken));
      EXPECT_EQ(AllBatches(after, kBatch), std::vector<Samples>(expected.begin() + taken, expected.end()));
      after.SetEpoch(7);
      whole.SetEpoch(7);
      EXPECT_EQ(AllBatches(after, kBatch), AllBatches(whole, kBatch)) << "the next epoch is whole";
    }
  }
}

// Of the ranks before, then of those after: every sample once (kExact).
TEST_P(Resume, GoesOnWithAnotherNumberOfRanksWithoutGapOrOverlap) {
  for (int before = 1; before <= 5; ++before) {
    for (int after = 1; after <= 5; ++after) {
      for (size_t taken = 0; taken <= 3; ++taken) {
        std::vector<int> visits(101, 0);
        StateValues state;
        for (DistributedSampler& sampler : MakeAll(101, before, options())) {
          for (const int64_t sample : Take(sampler, 5, taken)) ++visits[static_cast<size_t>(sample)];
          state = sampler.GetStateValues();
        }
        size_t batches = 0;
        for (DistributedSampler& sampler : MakeAll(101, after, options())) {
          ABSL_ASSERT_OK(sampler.SetStateValues(state));
          const int64_t promised = sampler.num_batches(5);
          const Samples rest = Take(sampler, 5, 1000);
          for (const int64_t sample : rest) ++visits[static_cast<size_t>(sample)];
          EXPECT_TRUE(batches == 0 || static_cast<int64_t>(batches) == promised);
          batches = static_cast<size_t>(promised);
        }
        const int64_t once = std::count(visits.begin(), visits.end(), 1);
        const int64_t never = std::count(visits.begin(), visits.end(), 0);
        const int64_t left_over = (101 - static_cast<int64_t>(taken) * 5 * before) % after;
        EXPECT_EQ(never, options().mode == SamplerMode::kDropLast ? left_over : 0);
        if (options().mode == SamplerMode::kPad) {
          EXPECT_EQ(once, 101 - (left_over == 0 ? 0 : after - left_over));
        } else {
          EXPECT_EQ(once, 101 - never);
        }
      }
    }
  }
}

std::string ResumeName(const testing::TestParamInfo<Resume::ParamType>& test) {
  return absl::StrReplaceAll(absl::StrCat(std::string(SamplerOrderVersion(std::get<0>(test.param))), "_",
                                          std::string(SamplerModeName(std::get<1>(test.param)))),
                             {{"/", "_"}, {"-", "_"}});
}

INSTANTIATE_TEST_SUITE_P(OrdersAndModes, Resume,
                         testing::Combine(testing::ValuesIn(kOrders),
                                          testing::Values(SamplerMode::kExact, SamplerMode::kPad, SamplerMode::kDropLast)),
                         ResumeName);

TEST(DistributedSamplerState, SavedAtTheEndOfAnEpochLeavesNothingOfIt) {
  DistributedSampler before = Make(10, 2, 0);
  AllBatches(before, 2);
  DistributedSampler after = Make(10, 2, 0);
  ABSL_ASSERT_OK(after.SetStateValues(before.GetStateValues()));
  after.SetEpoch(after.epoch());
  EXPECT_THAT(AllBatches(after, 2), IsEmpty());
  after.SetEpoch(1);
  EXPECT_EQ(after.num_batches(2), 3);
}

TEST(DistributedSamplerState, OfAnotherEpochIsLeftBehindWhenTheEpochIsSet) {
  DistributedSampler sampler = Make(10, 1, 0);
  Take(sampler, 2, 2);
  DistributedSampler after = Make(10, 1, 0);
  ABSL_ASSERT_OK(after.SetStateValues(sampler.GetStateValues()));
  after.SetEpoch(3);
  EXPECT_EQ(after.num_batches(2), 5);
  after.SetEpoch(0);
  EXPECT_EQ(after.num_batches(2), 5);
}

TEST(DistributedSamplerState, HoldsWhatACheckpointNeeds) {
  DistributedSampler sampler = Make(10, 2, 1, {SamplerMode::kPad, SamplerOrder::kTorch, 18446744073709551615u});
  sampler.SetEpoch(4);
  Take(sampler, 2, 1);
  EXPECT_THAT(sampler.GetStateValues(),
              ElementsAre(std::make_pair("dataset_size", "10"), std::make_pair("epoch", "4"), std::make_pair("mode", "pad"),
                          std::make_pair("order", "torch-randperm/1"), std::make_pair("position", "4"),
                          std::make_pair("seed", "18446744073709551615")));
  EXPECT_THAT(sampler.StateTensors(), IsEmpty());
}

struct BadState {
  std::string name;
  std::string key;
  std::string value;  // "-": the key is missing
  absl::StatusCode code;
  std::vector<std::string> words;
};

class RefusedState : public testing::TestWithParam<BadState> {};

TEST_P(RefusedState, NamesTheValueAndLeavesTheSamplerAsItWas) {
  DistributedSampler sampler = Make(10, 2, 0);
  sampler.SetEpoch(5);
  Take(sampler, 2, 1);
  const StateValues before = sampler.GetStateValues();
  StateValues values = before;
  if (GetParam().value == "-") {
    values.erase(GetParam().key);
  } else {
    values[GetParam().key] = GetParam().value;
  }
  const absl::Status status = sampler.SetStateValues(values);
  EXPECT_THAT(status, StatusIs(GetParam().code));
  for (const std::string& word : GetParam().words) EXPECT_THAT(std::string(status.message()), HasSubstr(word));
  EXPECT_EQ(sampler.GetStateValues(), before);
}

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;
constexpr absl::StatusCode kPrecondition = absl::StatusCode::kFailedPrecondition;
INSTANTIATE_TEST_SUITE_P(
    Values, RefusedState,
    testing::Values(BadState{"NoOrder", "order", "-", kDataLoss, {"\"order\" is missing"}},
                    BadState{"NoEpoch", "epoch", "-", kDataLoss, {"\"epoch\" is missing"}},
                    BadState{"NoPosition", "position", "-", kDataLoss, {"\"position\" is missing"}},
                    BadState{"EpochNoNumber", "epoch", "3x", kDataLoss, {"epoch", "\"3x\""}},
                    BadState{"PositionNoNumber", "position", "", kDataLoss, {"position", "\"\""}},
                    BadState{"PositionTooBig", "position", "99999999999999999999", kDataLoss, {"position", "not a number"}},
                    BadState{"PositionNegative", "position", "-1", kDataLoss, {"position", "-1", "[0, 10]"}},
                    BadState{"PositionBeyond", "position", "11", kDataLoss, {"position", "11", "[0, 10]"}},
                    BadState{"Unknown", "stride", "2", kDataLoss, {"does not know"}},
                    BadState{"OtherOrder", "order", "feistel/2", kPrecondition, {"order", "feistel/2", "feistel/1"}},
                    BadState{"OtherMode", "mode", "pad", kPrecondition, {"mode", "pad", "exact"}},
                    BadState{"OtherSeed", "seed", "1", kPrecondition, {"seed", "1", "0"}},
                    BadState{"OtherSize", "dataset_size", "11", kPrecondition, {"dataset_size", "11", "10"}}),
    [](const testing::TestParamInfo<BadState>& test) { return test.param.name; });

// --- Arguments --------------------------------------------------------------------------------------------------------

TEST(DistributedSamplerCreate, NamesTheArgumentItsValueAndWhatIsAllowed) {
  constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(DistributedSampler::Create(-1, 1, 0),
              StatusIs(kInvalid, AllOf(HasSubstr("dataset_size -1"), HasSubstr("2^62"))));
  EXPECT_THAT(DistributedSampler::Create((int64_t{1} << 62) + 1, 1, 0), StatusIs(kInvalid, HasSubstr("dataset_size 46")));
  EXPECT_THAT(DistributedSampler::Create(1, 0, 0), StatusIs(kInvalid, HasSubstr("world_size 0 must be at least 1")));
  EXPECT_THAT(DistributedSampler::Create(1, -3, 0), StatusIs(kInvalid, HasSubstr("world_size -3")));
  EXPECT_THAT(DistributedSampler::Create(1, 4, 4), StatusIs(kInvalid, HasSubstr("rank 4 is outside [0, 3]")));
  EXPECT_THAT(DistributedSampler::Create(1, 4, -1), StatusIs(kInvalid, HasSubstr("rank -1 is outside [0, 3]")));
  EXPECT_THAT(DistributedSampler::Create((int64_t{1} << 32) + 1, 1, 0, {SamplerMode::kExact, SamplerOrder::kTorch}),
              StatusIs(kInvalid, AllOf(HasSubstr("4294967297"), HasSubstr("kShuffled"))));
}

TEST(DistributedSamplerDeathTest, ABatchHasAtLeastOneSample) {
  DistributedSampler sampler = Make(1, 1, 0);
  EXPECT_DEATH(sampler.Batches(0), "a batch has at least one sample");
  EXPECT_DEATH(sampler.num_batches(-1), "a batch has at least one sample");
}

}  // namespace
}  // namespace lockstep
