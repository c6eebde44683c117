#include "ddl/data/readers/image.h"

#include "ddl/base/file.h"

#include <cmath>
#include <filesystem>
#include <random>

#include <gtest/gtest.h>

namespace ddl {
namespace {

const std::filesystem::path kFixtures = DDL_FIXTURES;

// rgb.jpg is 16 wide and 8 high: (220, 30, 25) on the left half, (20, 30, 210) on the right.
TEST(Image, JpegGivesItsColours) {
  Image image;
  ASSERT_EQ(decode_image(read_bytes(kFixtures / "rgb.jpg"), image), "");
  ASSERT_EQ(image.height, 8);
  ASSERT_EQ(image.width, 16);
  ASSERT_EQ(image.channels, 3);
  for (std::size_t y = 0; y < 8; ++y) {
    const std::uint8_t* left = &image.pixels[y * 48 + 3 * 2];
    const std::uint8_t* right = &image.pixels[y * 48 + 3 * 13];
    EXPECT_NEAR(left[0], 220, 4);
    EXPECT_NEAR(left[2], 25, 4);
    EXPECT_NEAR(right[0], 20, 4);
    EXPECT_NEAR(right[2], 210, 4);
  }
}

TEST(Image, GreyJpegHasOneChannel) {
  ImageInfo info;
  const auto bytes = read_bytes(kFixtures / "grey.jpg");
  ASSERT_EQ(read_image_info(bytes, info), "");
  EXPECT_EQ(info.channels, 1);
  Image image;
  ASSERT_EQ(decode_image(bytes, image), "");
  EXPECT_NEAR(image.pixels[10], 160, 4);
}

TEST(Image, FourComponentJpegIsRefusedByName) {
  Image image;
  const std::string problem = decode_image(read_bytes(kFixtures / "cmyk.jpg"), image);
  EXPECT_NE(problem.find("CMYK"), std::string::npos) << problem;
}

TEST(Image, EveryShortenedJpegIsAnError) {
  const std::vector<std::byte> whole = read_bytes(kFixtures / "rgb.jpg");
  // The last two bytes are the end marker, behind all pixels.
  for (std::size_t size = 0; size + 2 < whole.size(); size += 7) {
    Image image;
    EXPECT_NE(decode_image(std::span(whole).first(size), image), "") << size << " bytes";
  }
}

TEST(Image, OtherBytesAreNoImage) {
  Image image;
  EXPECT_NE(decode_image({}, image), "");
  const std::vector<std::byte> text(100, std::byte{'a'});
  EXPECT_EQ(image_type(text), ImageType::none);
  EXPECT_NE(decode_image(text, image), "");
}

TEST(Image, GreyAndColourConvert) {
  const Image grey{1, 2, 1, {10, 200}};
  EXPECT_EQ(with_channels(grey, 3).pixels, (std::vector<std::uint8_t>{10, 10, 10, 200, 200, 200}));
  const Image colour{1, 1, 3, {255, 0, 0}};
  EXPECT_EQ(with_channels(colour, 1).pixels, std::vector<std::uint8_t>{76});
  EXPECT_EQ(with_channels(with_channels(grey, 3), 1).pixels, grey.pixels);
}

TEST(Image, PlanarHoldsChannelAfterChannel) {
  const Image image{1, 2, 3, {1, 2, 3, 4, 5, 6}};
  std::vector<std::byte> out(6);
  store_planar(image, out);
  const std::uint8_t expected[] = {1, 4, 2, 5, 3, 6};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(std::to_integer<int>(out[i]), expected[i]);
}

Image random_image(std::int64_t height, std::int64_t width, int channels) {
  std::mt19937 random(5);
  Image image{height, width, channels, {}};
  for (std::int64_t i = 0; i < height * width * channels; ++i)
    image.pixels.push_back(static_cast<std::uint8_t>(random() % 256));
  return image;
}

TEST(Resize, SameSizeIsUntouchedAndFlatStaysFlat) {
  const Image image = random_image(5, 7, 3);
  EXPECT_EQ(resized(image, 5, 7).pixels, image.pixels);
  const Image flat{6, 4, 1, std::vector<std::uint8_t>(24, 133)};
  for (const auto& [height, width] : {std::pair{3, 2}, {13, 9}, {1, 1}})
    for (const std::uint8_t value : resized(flat, height, width).pixels) EXPECT_EQ(value, 133);
}

// The definition, written plainly: weights of a triangle over all old pixels at once.
double plain_resized(const Image& image, std::int64_t height, std::int64_t width, std::int64_t y,
                     std::int64_t x, int channel) {
  const double step_y = static_cast<double>(image.height) / static_cast<double>(height);
  const double step_x = static_cast<double>(image.width) / static_cast<double>(width);
  const double reach_y = std::max(1.0, step_y), reach_x = std::max(1.0, step_x);
  double sum = 0, weights = 0;
  for (std::int64_t j = 0; j < image.height; ++j)
    for (std::int64_t i = 0; i < image.width; ++i) {
      const double dy =
          std::abs(static_cast<double>(j) + 0.5 - (static_cast<double>(y) + 0.5) * step_y);
      const double dx =
          std::abs(static_cast<double>(i) + 0.5 - (static_cast<double>(x) + 0.5) * step_x);
      const double weight = std::max(0.0, 1 - dy / reach_y) * std::max(0.0, 1 - dx / reach_x);
      sum +=
          weight *
          image.pixels[static_cast<std::size_t>((j * image.width + i) * image.channels + channel)];
      weights += weight;
    }
  return sum / weights;
}

TEST(Resize, AgreesWithItsDefinition) {
  const Image image = random_image(9, 11, 3);
  for (const auto& [height, width] :
       {std::pair<std::int64_t, std::int64_t>{4, 5}, {20, 3}, {9, 30}}) {
    const Image small = resized(image, height, width);
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x)
        for (int c = 0; c < 3; ++c)
          EXPECT_NEAR(small.pixels[static_cast<std::size_t>((y * width + x) * 3 + c)],
                      plain_resized(image, height, width, y, x, c), 0.5 + 1e-6);
  }
}

}  // namespace
}  // namespace ddl
