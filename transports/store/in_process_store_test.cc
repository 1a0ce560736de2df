#include "transports/store/in_process_store.h"

#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status_matchers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transports/store/prefix_store.h"

namespace lockstep {
namespace {

using absl_testing::IsOkAndHolds;
using absl_testing::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(60);

TEST(InProcessStore, GetReturnsTheBytesThatWereSet) {
  InProcessStore store;
  const std::string value("a\0b\xff", 4);
  ABSL_ASSERT_OK(store.Set("key", value));
  EXPECT_THAT(store.Get("key", absl::ZeroDuration()), IsOkAndHolds(value));
}

TEST(InProcessStore, SetReplacesWhatWasThere) {
  InProcessStore store;
  ABSL_ASSERT_OK(store.Set("key", "before"));
  ABSL_ASSERT_OK(store.Set("key", ""));
  EXPECT_THAT(store.Get("key", absl::ZeroDuration()), IsOkAndHolds(""));
}

TEST(InProcessStore, AGetWaitsForTheKeyWhileOtherCallsGoOn) {
  InProcessStore store;
  std::thread waiter([&] {
    ABSL_EXPECT_OK(store.Set("waiting", ""));
    EXPECT_THAT(store.Get("late", kLong), IsOkAndHolds("came"));
  });
  ABSL_EXPECT_OK(store.Get("waiting", kLong));
  EXPECT_THAT(store.Add("other", 1), IsOkAndHolds(1));
  ABSL_EXPECT_OK(store.Set("late", "came"));
  waiter.join();
}

TEST(InProcessStore, AGetWhoseKeyNeverComesNamesKeyAndStore) {
  InProcessStore store;
  EXPECT_THAT(store.Get("absent", absl::Milliseconds(1)),
              StatusIs(absl::StatusCode::kDeadlineExceeded, AllOf(HasSubstr("\"absent\""), HasSubstr("in-process store"))));
}

TEST(InProcessStore, AddCountsFromZeroAndIsAtomicOverThreads) {
  InProcessStore store;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) ABSL_EXPECT_OK(store.Add("count", t % 2 == 0 ? 3 : -1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(store.Get("count", absl::ZeroDuration()), IsOkAndHolds("800"));
}

TEST(InProcessStore, AddToWhatIsNoNumberIsRefusedAndTheValueStays) {
  InProcessStore store;
  for (const char* value : {"", "abc", "12x", "9223372036854775808"}) {
    ABSL_ASSERT_OK(store.Set("key", value));
    EXPECT_THAT(store.Add("key", 1), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"key\""))) << value;
    EXPECT_THAT(store.Get("key", absl::ZeroDuration()), IsOkAndHolds(value));
  }
}

TEST(InProcessStore, ASumBeyond64BitsIsRefusedAndTheValueStays) {
  InProcessStore store;
  const int64_t max = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(store.Add("key", max), IsOkAndHolds(max));
  EXPECT_THAT(store.Add("key", 1), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("64-bit")));
  EXPECT_THAT(store.Get("key", absl::ZeroDuration()), IsOkAndHolds(absl::StrCat(max)));
}

TEST(InProcessStore, ContainsAndDeleteTellWhetherTheKeyIsThere) {
  InProcessStore store;
  EXPECT_THAT(store.Contains("key"), IsOkAndHolds(false));
  ABSL_ASSERT_OK(store.Set("key", ""));
  EXPECT_THAT(store.Contains("key"), IsOkAndHolds(true));
  EXPECT_THAT(store.Delete("key"), IsOkAndHolds(true));
  EXPECT_THAT(store.Delete("key"), IsOkAndHolds(false));
  EXPECT_THAT(store.Contains("key"), IsOkAndHolds(false));
}

TEST(InProcessStore, KeysAndValuesAtTheLimitPassAndOneByteMoreDoesNot) {
  InProcessStore store;
  const std::string key(kMaxStoreKeyBytes, 'k');
  const std::string value(kMaxStoreValueBytes, 'v');
  ABSL_EXPECT_OK(store.Set(key, value));
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1025 bytes"));
  EXPECT_THAT(store.Set(key + "k", ""), refused);
  EXPECT_THAT(store.Get(key + "k", kLong), refused);
  EXPECT_THAT(store.Add(key + "k", 1), refused);
  EXPECT_THAT(store.Contains(key + "k"), refused);
  EXPECT_THAT(store.Delete(key + "k"), refused);
  EXPECT_THAT(store.Set("k", value + "v"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("67108865 bytes")));
}

TEST(PrefixStore, UsesOfOneStoreDoNotMeetEachOthersKeys) {
  auto shared = std::make_shared<InProcessStore>();
  PrefixStore a(shared, "a");
  PrefixStore b(*shared, "b");
  ABSL_ASSERT_OK(a.Set("key", "of a"));
  ABSL_ASSERT_OK(b.Set("key", "of b"));
  EXPECT_THAT(b.Add("count", 2), IsOkAndHolds(2));
  EXPECT_THAT(a.Get("key", kLong), IsOkAndHolds("of a"));
  EXPECT_THAT(a.Contains("count"), IsOkAndHolds(false));
  EXPECT_THAT(a.Delete("key"), IsOkAndHolds(true));
  EXPECT_THAT(b.Contains("key"), IsOkAndHolds(true));
  EXPECT_THAT(shared->Get("b/key", kLong), IsOkAndHolds("of b"));
}

TEST(PrefixStore, KeepsASharedStoreAliveAndDescribesItself) {
  PrefixStore store(std::make_shared<InProcessStore>(), "part");
  ABSL_EXPECT_OK(store.Set("key", ""));
  EXPECT_EQ(store.Describe(), "in-process store under \"part\"");
}

TEST(PrefixStore, ThePrefixCountsTowardsTheKeysLimit) {
  InProcessStore store;
  PrefixStore part(store, "part");
  ABSL_EXPECT_OK(part.Set(std::string(kMaxStoreKeyBytes - 5, 'k'), ""));
  EXPECT_THAT(part.Set(std::string(kMaxStoreKeyBytes - 4, 'k'), ""), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace lockstep
