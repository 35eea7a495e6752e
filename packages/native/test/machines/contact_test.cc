#include "machines/contact.h"

#include <gtest/gtest.h>

namespace sheaf::machines {
namespace {

class ContactTest : public testing::Test {
 protected:
  Nonce ask(unsigned times = 1) {
    Nonce nonce{};
    for (unsigned i = 0; i < times; ++i) nonce = contact.ask(random);
    return nonce;
  }

  quic::SeededRandom random{1};
  Contact contact;
};

TEST_F(ContactTest, OneThatNeverAnsweredIsNotSilent) {
  ask(1000);
  EXPECT_FALSE(contact.silent());
}

TEST_F(ContactTest, OneThatStopsToAnswerIsSilentAfterEnoughQueries) {
  ASSERT_TRUE(contact.take(ask()));
  ask(Contact::k_enough);
  EXPECT_FALSE(contact.silent());
  ask();
  EXPECT_TRUE(contact.silent());
}

TEST_F(ContactTest, OneIsLateWhenTheNextQueryFindsNoAnswer) {
  const Nonce nonce = ask();
  EXPECT_FALSE(contact.late());
  ask();
  EXPECT_TRUE(contact.late());
  EXPECT_TRUE(contact.take(nonce));
  EXPECT_FALSE(contact.late());
}

TEST_F(ContactTest, OneThatAnswersAgainIsNotSilent) {
  ASSERT_TRUE(contact.take(ask()));
  const Nonce nonce = ask(100);
  ASSERT_TRUE(contact.silent());
  EXPECT_TRUE(contact.take(nonce));
  EXPECT_FALSE(contact.silent());
}

// Where the way takes longer than the time between two queries
TEST_F(ContactTest, ResponsesToEarlierQueriesCount) {
  const Nonce first = ask();
  ask(3);
  EXPECT_TRUE(contact.take(first));
}

TEST_F(ContactTest, KnowsTheLatestResponseWhenItComesAgain) {
  EXPECT_FALSE(contact.repeats(Nonce{}));
  const Nonce nonce = ask(2);
  EXPECT_FALSE(contact.repeats(nonce));
  ASSERT_TRUE(contact.take(nonce));
  EXPECT_TRUE(contact.repeats(nonce));
  ask();
  EXPECT_TRUE(contact.repeats(nonce));
}

TEST_F(ContactTest, NobodyAnswersTwiceOrWithoutTheNonce) {
  EXPECT_FALSE(contact.take(Nonce{}));
  const Nonce nonce = ask();
  Nonce changed = nonce;
  changed[15] ^= 1;
  EXPECT_FALSE(contact.take(changed));
  EXPECT_TRUE(contact.take(nonce));
  EXPECT_FALSE(contact.take(nonce));
  EXPECT_NE(ask(), nonce);
  EXPECT_FALSE(contact.take(nonce));
}

}  // namespace
}  // namespace sheaf::machines
