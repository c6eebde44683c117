#include "ddl/data/readers/array.h"

#include "unit/data/support.h"

namespace ddl {
namespace {

using namespace std::string_literals;

std::string npy(const std::string& header, const std::string& values) {
  std::string text = header;
  text.resize((10 + text.size() + 64) / 64 * 64 - 10, ' ');
  text.back() = '\n';
  std::string out = "\x93NUMPY\x01\x00"s;
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text + values;
}

std::string header(const std::string& type, bool fortran, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': (" + shape + "), }";
}

std::vector<double> rows_of(const ArrayFile& file, std::int64_t first, std::int64_t count) {
  std::vector<double> out;
  file.read_rows(first, count, out);
  return out;
}

class ArrayTest : public ::testing::Test {
 protected:
  ArrayFile open(const std::string& content) {
    return {test::put(folder_ / "a", content), folder_.path()};
  }
  std::string refusal(const std::string& content) {
    return test::error_of([&] { open(content); }).what();
  }
  test::TemporaryFolder folder_;
};

TEST_F(ArrayTest, IdxIsBigEndian) {
  const ArrayFile file =
      open("\0\0\x0b\x02\0\0\0\x02\0\0\0\x03"s + "\0\x01\0\x02\0\x03\xff\xff\x7f\xff\0\0"s);
  EXPECT_EQ(file.rows(), 2);
  EXPECT_EQ(rows_of(file, 0, 2), (std::vector<double>{1, 2, 3, -1, 32767, 0}));
  EXPECT_EQ(rows_of(file, 1, 1), (std::vector<double>{-1, 32767, 0}));
}

TEST_F(ArrayTest, IdxLengthMustBeWhatItsHeaderSays) {
  const std::string head = "\0\0\x08\x01\0\0\0\x04"s;
  EXPECT_EQ(rows_of(open(head + "abcd"), 0, 4).size(), 4U);
  EXPECT_NE(refusal(head + "abc").find("12 bytes, but there are 11"), std::string::npos);
  EXPECT_NE(refusal(head + "abcde").find("but there are 13"), std::string::npos);
  EXPECT_NE(refusal("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s), "");
  EXPECT_NE(refusal("\0\0\x08\x03\0\0"s), "");
  EXPECT_NE(refusal("\0\0\x08\x01\0\0\0\0"s).find("no samples"), std::string::npos);
}

TEST_F(ArrayTest, NpyByteOrderIsHonoured) {
  EXPECT_EQ(rows_of(open(npy(header("<i2", false, "2,"), "\x01\x02\xff\xff")), 0, 2),
            (std::vector<double>{513, -1}));
  EXPECT_EQ(rows_of(open(npy(header(">i2", false, "2,"), "\x01\x02\xff\xff")), 0, 2),
            (std::vector<double>{258, -1}));
  const std::string one_and_half = "\x3f\xc0\0\0"s;
  EXPECT_EQ(rows_of(open(npy(header(">f4", false, "1,"), one_and_half)), 0, 1),
            std::vector<double>{1.5});
}

TEST_F(ArrayTest, NpyFortranOrderIsHonoured) {
  // [[1 2 3] [4 5 6]] stored column by column.
  const ArrayFile file = open(npy(header("|u1", true, "2, 3"), "\x01\x04\x02\x05\x03\x06"));
  EXPECT_EQ(rows_of(file, 0, 2), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(rows_of(file, 1, 1), (std::vector<double>{4, 5, 6}));
}

TEST_F(ArrayTest, NpyFortranOrderOfThreeAxes) {
  // value = 100 s + 10 i + j for shape (2, 2, 3); Fortran order runs over s first, then i, then j.
  std::string values;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 2; ++i)
      for (int s = 0; s < 2; ++s) values += static_cast<char>(100 * s + 10 * i + j);
  EXPECT_EQ(rows_of(open(npy(header("|u1", true, "2, 2, 3"), values)), 1, 1),
            (std::vector<double>{100, 101, 102, 110, 111, 112}));
}

TEST_F(ArrayTest, PicklesAndUnknownTypesAreRefused) {
  EXPECT_NE(refusal(npy(header("|O", false, "1,"), "x")).find("pickle"), std::string::npos);
  EXPECT_NE(refusal(npy(header("<c8", false, "1,"), "12345678")).find("<c8"), std::string::npos);
  EXPECT_NE(
      refusal(npy("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }", "1234")),
      "");
  EXPECT_NE(refusal(npy("{}", "")), "");
  EXPECT_NE(refusal(npy(header("<i4", false, "99999999999999999999,"), "")), "");
  EXPECT_NE(refusal(npy(header("<i4", false, ""), "1234")).find("axes"), std::string::npos);
}

TEST_F(ArrayTest, IntegersThatDoubleCannotHoldAreRefused) {
  const ArrayFile file = open(npy(header("<i8", false, "1,"), "\x01\0\0\0\0\0\x20\x01"s));
  std::vector<double> out;
  EXPECT_THROW(file.read_rows(0, 1, out), Error);
}

}  // namespace
}  // namespace ddl
