// One image: JPEG (libturbojpeg) and PNG (libspng), told apart by content, to 8 bits a channel.
//
// Rules: 16-bit samples keep their upper byte (v >> 8). Transparent pixels are laid over white.
// Palettes become RGB. A JPEG with four components (CMYK, YCCK) is refused. The EXIF orientation is
// not applied: pixels stay as the file has them. A file that is cut short or damaged is never
// filled up: it is an error.
// Threads: all functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

enum class ImageType { none, jpeg, png };
ImageType image_type(std::span<const std::byte> head);

struct ImageInfo {
  ImageType type = ImageType::none;
  std::int64_t height = 0, width = 0;
  int channels = 0;  // 1 or 3, without alpha
  bool alpha = false;
  int bits = 8;
};

// Height x width x channels.
struct Image {
  std::int64_t height = 0, width = 0;
  int channels = 0;
  std::vector<std::uint8_t> pixels;
};

// Both return "" or what is wrong with the file.
std::string read_image_info(std::span<const std::byte> file, ImageInfo& info);
std::string decode_image(std::span<const std::byte> file, Image& image);

// Grey to RGB by repeating; RGB to grey by 0.299 R + 0.587 G + 0.114 B, rounded.
Image with_channels(Image image, int channels);
// Triangle filter whose width grows with the reduction: bilinear when enlarging, an average over
// the covered area when reducing. In double, rounded to nearest.
Image resized(const Image& image, std::int64_t height, std::int64_t width);
// To [C,H,W].
void store_planar(const Image& image, std::span<std::byte> out);

}  // namespace ddl
