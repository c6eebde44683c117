#include "ddl/base/table.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

TEST(Table, TextLeftAndNumbersRight) {
  Table table({"layer", "shape", "count", "time"});
  table.add_row({"conv1", "3x32x32", "1,797", "870 us"});
  table.add_row({"head", "10", "12", "1.5 s"});
  table.add_row({"none", "", "-", ""});
  EXPECT_EQ(table.text(),
            "layer  shape    count    time\n"
            "conv1  3x32x32  1,797  870 us\n"
            "head   10          12   1.5 s\n"
            "none                -\n");
}

TEST(Table, WidthsAreCountedInCharacters) {
  Table table({"n", "x"});
  table.add_row({"größe", "1"});
  table.add_row({"size", "2"});
  EXPECT_EQ(table.text(), "n      x\ngröße  1\nsize   2\n");
}

TEST(Table, WhatLooksLikeANumberButIsNot) {
  for (const std::string cell : {"10.0.0.1", "2026-01-31", "3x32x32", "12:34", "1a2", "-", "+x"}) {
    Table table({"a long heading", "b"});
    table.add_row({cell, "z"});
    EXPECT_EQ(table.text().find("\n" + cell), std::string("a long heading  b").size()) << cell;
  }
}

TEST(Table, WhatIsANumber) {
  for (const std::string cell :
       {"1", "-1.5", "+2", "1,797", "64MiB", "12 %", "4 min 05 s", "1e-05", "3.5x"}) {
    Table table({"a long heading", "b"});
    table.add_row({cell, "z"});
    const std::string padding(std::string("a long heading").size() - cell.size(), ' ');
    EXPECT_EQ(table.text(), "a long heading  b\n" + padding + cell + "  z\n") << cell;
  }
}

TEST(Table, ShortRowsAreFilledAndHeadingsStandAlone) {
  Table table({"a", "b"});
  EXPECT_EQ(table.text(), "a  b\n");
  table.add_row({"x"});
  EXPECT_EQ(table.text(), "a  b\nx\n");
}

TEST(Bar, FillsInEighths) {
  EXPECT_EQ(bar(0, 4), "    ");
  EXPECT_EQ(bar(1, 4), "████");
  EXPECT_EQ(bar(0.5, 4), "██  ");
  EXPECT_EQ(bar(0.375, 1), "▍");
  EXPECT_EQ(bar(7.0 / 8, 1), "▉");
  EXPECT_EQ(bar(0.15625, 4), "▋   ");
}

TEST(Bar, OutOfRangeIsClamped) {
  EXPECT_EQ(bar(-1, 3), "   ");
  EXPECT_EQ(bar(7, 3), "███");
  EXPECT_EQ(bar(std::nan(""), 3), "   ");
  EXPECT_EQ(bar(0.5, 0), "");
  EXPECT_EQ(bar(0.5, -2), "");
}

}  // namespace
}  // namespace ddl
