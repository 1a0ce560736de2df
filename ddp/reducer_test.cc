// The engine on a model of plain buffers, with ranks as threads. Every number is compared with a float64 loop of the test's
// own.
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/status_matchers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "ddp/buffer_model.h"
#include "ddp/distributed_data_parallel.h"
#include "ddp/testing/rank_threads.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

using ::absl_testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Three parameters whose gradient for "sample" s is a fixed function of s, so that means are known in closed form.
template <typename T>
class ToyModel {
 public:
  static constexpr int kParameters = 3;
  static constexpr int kCounts[kParameters] = {5, 300, 7};

  explicit ToyModel(int rank) {
    for (int p = 0; p < kParameters; ++p) {
      values[p].assign(kCounts[p], static_cast<T>(rank + p));
      model.AddParameter(absl::StrCat("p", p), {kCounts[p]}, MakeBuffer(absl::MakeSpan(values[p])));
    }
  }

  static double SampleGradient(int parameter, int element, int sample) {
    return std::sin(0.1 * element + parameter) * (sample + 1) + 0.25 * sample;
  }

  // The gradient of the mean over samples [begin, end); all parameters, last to first.
  void Backward(int begin, int end) {
    for (int p = kParameters - 1; p >= 0; --p) Write(p, begin, end);
    model.EndBackward();
  }

  void Write(int p, int begin, int end) {
    absl::Span<T> gradient = model.Gradient<T>(p);
    for (int i = 0; i < kCounts[p]; ++i) {
      double mean = 0;
      for (int s = begin; s < end; ++s) mean += SampleGradient(p, i, s) / (end - begin);
      gradient[i] = static_cast<T>((model.HasGradient(p) ? gradient[i] : 0) + mean);
    }
    model.MarkReady(p);
  }

  // max|gradient - mean over [begin, end)| / max|mean|, over all parameters.
  double DistanceFromMean(int begin, int end) {
    double worst = 0, largest = 0;
    for (int p = 0; p < kParameters; ++p) {
      for (int i = 0; i < kCounts[p]; ++i) {
        double mean = 0;
        for (int s = begin; s < end; ++s) mean += SampleGradient(p, i, s) / (end - begin);
        worst = std::max(worst, std::abs(static_cast<double>(model.Gradient<T>(p)[i]) - mean));
        largest = std::max(largest, std::abs(mean));
      }
    }
    return worst / largest;
  }

  BufferModel model;
  std::vector<T> values[kParameters];
};

// Buckets of one parameter each.
constexpr DdpOptions kSmallBuckets = {1, 1};

// What each rank of a run returned.
class Statuses {
 public:
  void Add(absl::Status status) {
    absl::MutexLock lock(&mu_);
    all_.push_back(std::move(status));
  }
  std::vector<absl::Status> all() {
    absl::MutexLock lock(&mu_);
    return all_;
  }

 private:
  absl::Mutex mu_;
  std::vector<absl::Status> all_ ABSL_GUARDED_BY(mu_);
};

void ExpectSameErrorEverywhere(Statuses& statuses, size_t ranks, const testing::Matcher<absl::Status>& matcher) {
  const std::vector<absl::Status> all = statuses.all();
  ASSERT_EQ(all.size(), ranks);
  for (const absl::Status& status : all) {
    EXPECT_THAT(status, matcher);
    EXPECT_EQ(status.message(), all[0].message());
  }
}

template <typename T>
class ReducerTypedTest : public testing::Test {};
using FloatTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(ReducerTypedTest, FloatTypes);

TYPED_TEST(ReducerTypedTest, GradientsAreTheMeanOverAllSamplesForOneToFourRanks) {
  const double tolerance = sizeof(TypeParam) == 4 ? 1e-6 : 1e-14;
  for (int world = 1; world <= 4; ++world) {
    RunRanks(world, [&](std::shared_ptr<ProcessGroup> group) {
      ToyModel<TypeParam> toy(group->rank());
      ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, toy.model, kSmallBuckets));
      // Rank r has r + 1 samples: unequal weights on purpose.
      const int begin = group->rank() * (group->rank() + 1) / 2, end = begin + group->rank() + 1;
      for (int step = 0; step < 5; ++step) {
        DdpStep open = ddp.BeginStep({static_cast<double>(end - begin), true});
        toy.Backward(begin, end);
        ABSL_ASSERT_OK(open.Finish());
        EXPECT_LE(toy.DistanceFromMean(0, world * (world + 1) / 2), tolerance) << "world " << world << " step " << step;
      }
    });
  }
}

// Each step expects the sum of weights of the one before; however they change, the mean comes out.
TYPED_TEST(ReducerTypedTest, WeightsThatChangeFromStepToStepGiveTheMeanEveryTime) {
  using T = TypeParam;
  RunRanks(2, [](std::shared_ptr<ProcessGroup> group) {
    ToyModel<T> toy(group->rank());
    ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, toy.model, kSmallBuckets));
    const int middle = 3, end = 10;  // rank 0 has samples 0 to 2, rank 1 has 3 to 9
    for (const double unit : {1.0, 1.0, 1e6, 1e-5, 0.3, 1.0}) {
      const int begin_own = group->rank() == 0 ? 0 : middle, end_own = group->rank() == 0 ? middle : end;
      DdpStep step = ddp.BeginStep({.weight = unit * (end_own - begin_own)});
      toy.Backward(begin_own, end_own);
      ABSL_ASSERT_OK(step.Finish());
      EXPECT_LE(toy.DistanceFromMean(0, end), (std::is_same_v<T, float> ? 1e-6 : 1e-14)) << unit;
    }
  });
}

// So that a run which was interrupted and resumed gives the parameters of one which was not.
TYPED_TEST(ReducerTypedTest, TheBitsOfAStepDoNotDependOnTheStepsBefore) {
  using T = TypeParam;
  RunRanks(3, [](std::shared_ptr<ProcessGroup> group) {
    ToyModel<T> toy(group->rank());
    std::vector<std::vector<T>> first;
    for (const std::vector<double>& before : {std::vector<double>{}, {1}, {1000, 7}, {0.001}}) {
      ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, toy.model, kSmallBuckets));
      for (const double weight : before) {
        DdpStep step = ddp.BeginStep({.weight = weight});
        toy.Backward(0, 1);
        ABSL_ASSERT_OK(step.Finish());
      }
      DdpStep step = ddp.BeginStep({.weight = 3.0 + group->rank()});
      toy.Backward(10 * group->rank(), 10 * group->rank() + 3);
      ABSL_ASSERT_OK(step.Finish());
      std::vector<std::vector<T>> bits;
      for (int p = 0; p < ToyModel<T>::kParameters; ++p) {
        const absl::Span<T> gradient = toy.model.template Gradient<T>(p);
        bits.emplace_back(gradient.begin(), gradient.end());
      }
      if (first.empty()) first = bits;
      EXPECT_EQ(bits, first);
    }
  });
}

TYPED_TEST(ReducerTypedTest, AccumulationOverUnequalMicroBatchesEqualsTheLargeBatch) {
  const double tolerance = sizeof(TypeParam) == 4 ? 1e-6 : 1e-14;
  for (int world = 1; world <= 3; ++world) {
    RunRanks(world, [&](std::shared_ptr<ProcessGroup> group) {
      ToyModel<TypeParam> toy(group->rank());
      ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, toy.model, kSmallBuckets));
      for (int round = 0; round < 3; ++round) {
        // Ten samples a rank, as 4 + 5 + 1.
        const int base = group->rank() * 10;
        const int cuts[] = {0, 4, 9, 10};
        for (int micro = 0; micro < 3; ++micro) {
          DdpStep step = ddp.BeginStep({static_cast<double>(cuts[micro + 1] - cuts[micro]), micro == 2});
          toy.Backward(base + cuts[micro], base + cuts[micro + 1]);
          ABSL_ASSERT_OK(step.Finish());
        }
        EXPECT_LE(toy.DistanceFromMean(0, world * 10), tolerance) << "world " << world << " round " << round;
      }
    });
  }
}

TEST(Reducer, ARankWithoutSamplesGetsTheMeanOfTheOthers) {
  RunRanks(3, [](std::shared_ptr<ProcessGroup> group) {
    ToyModel<double> toy(group->rank());
    ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, toy.model, kSmallBuckets));
    for (int empty = 0; empty < 3; ++empty) {
      const bool mine = group->rank() != empty;
      DdpStep step = ddp.BeginStep({mine ? 4.0 : 0.0, true});
      const int place = (group->rank() - empty + 3) % 3 - 1;  // 0 and 1 for the two ranks that have samples
      if (mine) toy.Backward(4 * place, 4 * place + 4);
      ABSL_ASSERT_OK(step.Finish());
      EXPECT_LE(toy.DistanceFromMean(0, 8), 1e-14);
      for (int p = 0; p < 3; ++p) EXPECT_TRUE(toy.model.HasGradient(p));
    }
  });
}

TEST(Reducer, AnEmptyLastMicroBatchKeepsWhatWasAccumulated) {
  RunRanks(2, [](std::shared_ptr<ProcessGroup> group) {
    ToyModel<double> toy(group->rank());
    ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, toy.model, kSmallBuckets));
    const int begin = group->rank() * 3;
    DdpStep first = ddp.BeginStep({3, false});
    toy.Backward(begin, begin + 3);
    ABSL_ASSERT_OK(first.Finish());
    DdpStep second = ddp.BeginStep({group->rank() == 0 ? 2.0 : 0.0, true});
    if (group->rank() == 0) toy.Backward(6, 8);
    ABSL_ASSERT_OK(second.Finish());
    EXPECT_LE(toy.DistanceFromMean(0, 8), 1e-14);
  });
}

TEST(Reducer, CreateGivesEveryRankTheStateOfRankZero) {
  RunRanks(3, [](std::shared_ptr<ProcessGroup> group) {
    ToyModel<float> toy(group->rank());
    std::vector<float> statistics(4, static_cast<float>(group->rank()));
    toy.model.AddBuffer("running_mean", {4}, MakeBuffer(absl::MakeSpan(statistics)));
    ABSL_ASSERT_OK(DistributedDataParallel::Create(group, toy.model).status());
    for (int p = 0; p < 3; ++p) EXPECT_THAT(toy.values[p], testing::Each(static_cast<float>(p)));
    EXPECT_THAT(statistics, testing::Each(0.0f));
  });
}

TEST(Reducer, GradientsLieInTheBucketsFromTheFirstStepToTheLast) {
  RunRanks(2, [](std::shared_ptr<ProcessGroup> group) {
    ToyModel<float> toy(group->rank());
    ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, toy.model));
    const float* const bound = toy.model.Gradient<float>(0).data();
    ASSERT_NE(bound, nullptr);
    for (int step = 0; step < 3; ++step) {
      DdpStep open = ddp.BeginStep();
      toy.Backward(0, 1);
      ABSL_ASSERT_OK(open.Finish());
      EXPECT_EQ(toy.model.Gradient<float>(0).data(), bound);
    }
  });
}

TEST(Reducer, HooksOfSeveralThreadsGiveTheSameGradients) {
  RunRanks(2, [](std::shared_ptr<ProcessGroup> group) {
    ToyModel<double> toy(group->rank());
    ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, toy.model, kSmallBuckets));
    for (int step = 0; step < 200; ++step) {
      DdpStep open = ddp.BeginStep();
      std::vector<std::thread> threads;
      for (int p = 0; p < 3; ++p) threads.emplace_back([&, p] { toy.Write(p, group->rank(), group->rank() + 1); });
      for (std::thread& thread : threads) thread.join();
      toy.model.EndBackward();
      ABSL_ASSERT_OK(open.Finish());
      ASSERT_LE(toy.DistanceFromMean(0, 2), 1e-14) << "step " << step;
    }
  });
}

// --- Misuse: every rank gets the same error, nobody hangs, and the next step works -------------------------------------------

using Misuse = std::function<void(DistributedDataParallel&, ToyModel<double>&, int rank, Statuses&)>;

void ExpectMisuseIsNamedAndSurvived(const Misuse& misuse, const testing::Matcher<absl::Status>& matcher) {
  Statuses statuses;
  RunRanks(3, [&](std::shared_ptr<ProcessGroup> group) {
    ToyModel<double> toy(group->rank());
    ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, toy.model, kSmallBuckets));
    misuse(ddp, toy, group->rank(), statuses);
    DdpStep next = ddp.BeginStep();
    toy.Backward(group->rank(), group->rank() + 1);
    ABSL_ASSERT_OK(next.Finish());
    EXPECT_LE(toy.DistanceFromMean(0, 3), 1e-14);
  });
  ExpectSameErrorEverywhere(statuses, 3, matcher);
}

TEST(Misuse, AStepBegunTwiceIsAnErrorOnAllRanks) {
  ExpectMisuseIsNamedAndSurvived(
      [](DistributedDataParallel& ddp, ToyModel<double>& toy, int rank, Statuses& statuses) {
        DdpStep step = ddp.BeginStep();
        if (rank == 1) {
          DdpStep second = ddp.BeginStep();
          EXPECT_THAT(second.Finish(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                AllOf(HasSubstr("rank 1"), HasSubstr("BeginStep was called while"))));
        }
        toy.Backward(0, 1);
        statuses.Add(step.Finish());
      },
      StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("rank 1"), HasSubstr("BeginStep was called while"))));
}

TEST(Misuse, AStepFinishedWithoutBackwardIsAnErrorOnAllRanks) {
  ExpectMisuseIsNamedAndSurvived(
      [](DistributedDataParallel& ddp, ToyModel<double>& toy, int rank, Statuses& statuses) {
        DdpStep step = ddp.BeginStep({2, true});
        if (rank != 2) toy.Backward(0, 1);
        statuses.Add(step.Finish());
      },
      StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("rank 2"), HasSubstr("no backward ran"))));
}

TEST(Misuse, ASecondBackwardInOneStepIsAnErrorOnAllRanks) {
  ExpectMisuseIsNamedAndSurvived(
      [](DistributedDataParallel& ddp, ToyModel<double>& toy, int rank, Statuses& statuses) {
        DdpStep step = ddp.BeginStep({4, true});
        toy.Backward(0, 1);
        if (rank == 0) toy.Backward(1, 2);
        statuses.Add(step.Finish());
      },
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("rank 0: parameter \"p2\""), HasSubstr("a second time"))));
}

TEST(Misuse, ASecondBackwardWhileAccumulatingIsAnErrorThereAndAtTheNextSynchronisedStepEverywhere) {
  ExpectMisuseIsNamedAndSurvived(
      [](DistributedDataParallel& ddp, ToyModel<double>& toy, int rank, Statuses& statuses) {
        DdpStep micro = ddp.BeginStep({1, false});
        toy.Backward(0, 1);
        if (rank == 1) toy.Backward(1, 2);
        EXPECT_EQ(micro.Finish().ok(), rank != 1);
        DdpStep step = ddp.BeginStep({1, true});
        toy.Backward(0, 1);
        statuses.Add(step.Finish());
      },
      StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("rank 1"), HasSubstr("a second time"))));
}

TEST(Misuse, RanksThatSynchroniseAfterDifferentNumbersOfMicroBatchesGetAnError) {
  ExpectMisuseIsNamedAndSurvived(
      [](DistributedDataParallel& ddp, ToyModel<double>& toy, int rank, Statuses& statuses) {
        for (int micro = 0; micro < (rank == 2 ? 1 : 3); ++micro) {
          DdpStep accumulate = ddp.BeginStep({1, false});
          toy.Backward(0, 1);
          ABSL_ASSERT_OK(accumulate.Finish());
        }
        DdpStep step = ddp.BeginStep({1, true});
        toy.Backward(0, 1);
        statuses.Add(step.Finish());
      },
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("rank 2 synchronises after 2 micro-batches"), HasSubstr("rank 0 after 4"))));
}

TEST(Misuse, AParameterWithoutGradientIsNamedOnAllRanks) {
  ExpectMisuseIsNamedAndSurvived(
      [](DistributedDataParallel& ddp, ToyModel<double>& toy, int rank, Statuses& statuses) {
        DdpStep step = ddp.BeginStep({5, true});
        for (int p : {2, 1, 0}) {
          if (rank != 1 || p != 1) toy.Write(p, 0, 1);
        }
        toy.model.EndBackward();
        statuses.Add(step.Finish());
      },
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("rank 1: parameter \"p1\" got no gradient")));
}

TEST(Misuse, BackwardOutsideAStepIsAnErrorOfTheNextOneOnAllRanks) {
  ExpectMisuseIsNamedAndSurvived(
      [](DistributedDataParallel& ddp, ToyModel<double>& toy, int rank, Statuses& statuses) {
        if (rank == 2) toy.Backward(0, 1);
        DdpStep step = ddp.BeginStep();
        toy.Backward(0, 1);
        statuses.Add(step.Finish());
      },
      StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("rank 2"), HasSubstr("outside a step"))));
}

TEST(Misuse, BackwardWithWeightZeroIsAnErrorOnAllRanks) {
  ExpectMisuseIsNamedAndSurvived(
      [](DistributedDataParallel& ddp, ToyModel<double>& toy, int rank, Statuses& statuses) {
        DdpStep step = ddp.BeginStep({rank == 0 ? 0.0 : 7.0, true});
        toy.Backward(0, 1);
        statuses.Add(step.Finish());
      },
      StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("rank 0"), HasSubstr("weight 0"))));
}

TEST(Misuse, WeightsThatAreNoNumbersOfSamplesAreInvalidOnAllRanks) {
  for (const double weight : {-1.0, std::nan(""), HUGE_VAL}) {
    ExpectMisuseIsNamedAndSurvived(
        [weight](DistributedDataParallel& ddp, ToyModel<double>& toy, int rank, Statuses& statuses) {
          DdpStep step = ddp.BeginStep({rank == 1 ? weight : 2.0, true});
          toy.Backward(0, 1);
          statuses.Add(step.Finish());
        },
        StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("rank 1"), HasSubstr("weight"))));
  }
}

TEST(Misuse, WeightsThatSumToZeroAreInvalidOnAllRanks) {
  ExpectMisuseIsNamedAndSurvived(
      [](DistributedDataParallel& ddp, ToyModel<double>&, int, Statuses& statuses) {
        statuses.Add(ddp.BeginStep({0, true}).Finish());
      },
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sum to 0")));
}

TEST(Misuse, WeightsThatJumpBeyondWhatGradientsSurviveAreInvalidOnAllRanksAndTheNextStepWorks) {
  Statuses statuses;
  RunRanks(2, [&](std::shared_ptr<ProcessGroup> group) {
    ToyModel<float> toy(group->rank());
    ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, toy.model, kSmallBuckets));
    for (const bool jump : {true, false}) {
      DdpStep step = ddp.BeginStep({.weight = 1e-20});
      toy.Backward(group->rank(), group->rank() + 1);
      const absl::Status status = step.Finish();
      EXPECT_EQ(status.ok(), !jump);
      if (jump) statuses.Add(status);
    }
    EXPECT_LE(toy.DistanceFromMean(0, 2), 1e-6);
  });
  ExpectSameErrorEverywhere(statuses, 2, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Scale the weights")));
}

TEST(Misuse, AStepLeftWithoutFinishEndsTheOthersWithAnError) {
  RunRanks(2, [](std::shared_ptr<ProcessGroup> group) {
    ToyModel<double> toy(group->rank());
    ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, toy.model, kSmallBuckets));
    if (group->rank() == 0) {
      testing::internal::CaptureStderr();
      { DdpStep left = ddp.BeginStep(); }
      EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("a step was left without Finish"));
      EXPECT_THAT(ddp.BeginStep().Finish(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("rank 0")));
      return;
    }
    DdpStep step = ddp.BeginStep();
    toy.Backward(0, 1);
    EXPECT_THAT(step.Finish(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rank 0")));
  });
}

TEST(Misuse, FinishingTwiceIsAnError) {
  RunRanks(1, [](std::shared_ptr<ProcessGroup> group) {
    ToyModel<double> toy(0);
    ABSL_ASSERT_OK_AND_ASSIGN(auto ddp, DistributedDataParallel::Create(group, toy.model));
    DdpStep step = ddp.BeginStep();
    toy.Backward(0, 1);
    ABSL_ASSERT_OK(step.Finish());
    EXPECT_THAT(step.Finish(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("finished already")));
  });
}

}  // namespace
}  // namespace lockstep
