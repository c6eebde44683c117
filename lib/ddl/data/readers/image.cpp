#include "ddl/data/readers/image.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <spng.h>
#include <turbojpeg.h>

namespace ddl {
namespace {

constexpr std::int64_t kMaximumPixels = std::int64_t{1} << 28;
constexpr std::uint32_t kMaximumSide = 65535;

using JpegHandle = std::unique_ptr<void, int (*)(tjhandle)>;
using PngHandle = std::unique_ptr<spng_ctx, void (*)(spng_ctx*)>;

const unsigned char* unsigned_bytes(std::span<const std::byte> file) {
  return reinterpret_cast<const unsigned char*>(file.data());
}

std::string check_size(std::int64_t height, std::int64_t width) {
  if (height < 1 || width < 1) return "has no pixels";
  if (height * width > kMaximumPixels)
    return "is " + std::to_string(height) + "x" + std::to_string(width) + ", over 2^28 pixels";
  return "";
}

std::string jpeg_info(tjhandle handle, std::span<const std::byte> file, ImageInfo& info) {
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(handle, unsigned_bytes(file), file.size(), &width, &height, &subsampling,
                          &colours) != 0)
    return std::string("damaged JPEG: ") + tjGetErrorStr2(handle);
  if (colours == TJCS_CMYK || colours == TJCS_YCCK)
    return "is a JPEG with four components (CMYK); convert it to RGB";
  info = {ImageType::jpeg, height, width, colours == TJCS_GRAY ? 1 : 3, false, 8};
  return check_size(height, width);
}

std::string decode_jpeg(std::span<const std::byte> file, Image& image) {
  const JpegHandle handle(tjInitDecompress(), tjDestroy);
  if (handle == nullptr) return "libturbojpeg: no memory";
  ImageInfo info;
  if (std::string problem = jpeg_info(handle.get(), file, info); !problem.empty()) return problem;
  image = {info.height, info.width, info.channels, {}};
  image.pixels.resize(static_cast<std::size_t>(info.height * info.width * info.channels));
  const int result =
      tjDecompress2(handle.get(), unsigned_bytes(file), file.size(), image.pixels.data(),
                    static_cast<int>(info.width), 0, static_cast<int>(info.height),
                    info.channels == 1 ? TJPF_GRAY : TJPF_RGB, TJFLAG_ACCURATEDCT);
  if (result == 0) return "";
  // A warning means that pixels were made up, but for stray bytes between markers, which do no
  // harm.
  const std::string message = tjGetErrorStr2(handle.get());
  const bool harmless = tjGetErrorCode(handle.get()) == TJERR_WARNING &&
                        message.find("extraneous bytes") != std::string::npos;
  return harmless ? "" : "damaged JPEG: " + message;
}

std::string open_png(spng_ctx* context, std::span<const std::byte> file, ImageInfo& info) {
  if (context == nullptr) return "libspng: no memory";
  spng_set_image_limits(context, kMaximumSide, kMaximumSide);
  spng_set_chunk_limits(context, std::size_t{1} << 26, std::size_t{1} << 26);
  spng_ihdr header{};
  int error = spng_set_png_buffer(context, file.data(), file.size());
  if (error == 0) error = spng_get_ihdr(context, &header);
  if (error != 0) return std::string("damaged PNG: ") + spng_strerror(error);
  const bool grey = header.color_type == SPNG_COLOR_TYPE_GRAYSCALE ||
                    header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
  const bool alpha = header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA ||
                     header.color_type == SPNG_COLOR_TYPE_TRUECOLOR_ALPHA;
  info = {ImageType::png, header.height, header.width, grey ? 1 : 3, alpha, header.bit_depth};
  return check_size(info.height, info.width);
}

// Lays one channel over white.
std::uint8_t over_white(unsigned value, unsigned alpha) {
  return static_cast<std::uint8_t>((value * alpha + 255U * (255U - alpha) + 127U) / 255U);
}

std::string decode_png(std::span<const std::byte> file, Image& image) {
  const PngHandle context(spng_ctx_new(0), spng_ctx_free);
  ImageInfo info;
  if (std::string problem = open_png(context.get(), file, info); !problem.empty()) return problem;
  std::size_t bytes = 0;
  int error = spng_decoded_image_size(context.get(), SPNG_FMT_RGBA8, &bytes);
  std::vector<std::uint8_t> rgba(error == 0 ? bytes : 0);
  if (error == 0)
    error = spng_decode_image(context.get(), rgba.data(), rgba.size(), SPNG_FMT_RGBA8,
                              SPNG_DECODE_TRNS);
  if (error == 0) error = spng_decode_chunks(context.get());
  if (error != 0) return std::string("damaged PNG: ") + spng_strerror(error);
  image = {info.height, info.width, info.channels, {}};
  const auto pixels = static_cast<std::size_t>(info.height * info.width);
  const auto channels = static_cast<std::size_t>(info.channels);
  image.pixels.resize(pixels * channels);
  for (std::size_t i = 0; i < pixels; ++i)
    for (std::size_t c = 0; c < channels; ++c)
      image.pixels[i * channels + c] = over_white(rgba[4 * i + c], rgba[4 * i + 3]);
  return "";
}

}  // namespace

ImageType image_type(std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (text.starts_with("\xff\xd8\xff")) return ImageType::jpeg;
  if (text.starts_with("\x89PNG\r\n\x1a\n")) return ImageType::png;
  return ImageType::none;
}

std::string read_image_info(std::span<const std::byte> file, ImageInfo& info) {
  if (image_type(file) == ImageType::png) {
    const PngHandle context(spng_ctx_new(0), spng_ctx_free);
    return open_png(context.get(), file, info);
  }
  const JpegHandle handle(tjInitDecompress(), tjDestroy);
  if (handle == nullptr) return "libturbojpeg: no memory";
  return jpeg_info(handle.get(), file, info);
}

std::string decode_image(std::span<const std::byte> file, Image& image) {
  switch (image_type(file)) {
    case ImageType::jpeg:
      return decode_jpeg(file, image);
    case ImageType::png:
      return decode_png(file, image);
    case ImageType::none:
      break;
  }
  return "is neither JPEG nor PNG";
}

Image with_channels(Image image, int channels) {
  if (image.channels == channels) return image;
  const auto pixels = static_cast<std::size_t>(image.height * image.width);
  Image out{image.height, image.width, channels, {}};
  out.pixels.resize(pixels * static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < pixels; ++i) {
    if (channels == 1) {
      const unsigned r = image.pixels[3 * i], g = image.pixels[3 * i + 1],
                     b = image.pixels[3 * i + 2];
      out.pixels[i] = static_cast<std::uint8_t>((299U * r + 587U * g + 114U * b + 500U) / 1000U);
    } else {
      std::fill_n(out.pixels.begin() + static_cast<std::ptrdiff_t>(3 * i), 3, image.pixels[i]);
    }
  }
  return out;
}

namespace {

// Which old places make up one new place, and how much each counts.
struct Taps {
  std::int64_t first = 0;
  std::vector<double> weights;
};

std::vector<Taps> triangle_taps(std::int64_t from, std::int64_t to) {
  const double step = static_cast<double>(from) / static_cast<double>(to);
  const double reach = std::max(1.0, step);
  std::vector<Taps> out(static_cast<std::size_t>(to));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * step;
    const auto first =
        std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(centre - reach)));
    const auto last = std::min(from - 1, static_cast<std::int64_t>(std::ceil(centre + reach)));
    double sum = 0;
    out[i].first = first;
    for (std::int64_t place = first; place <= last; ++place) {
      const double distance = std::abs(static_cast<double>(place) + 0.5 - centre) / reach;
      out[i].weights.push_back(std::max(0.0, 1.0 - distance));
      sum += out[i].weights.back();
    }
    for (double& weight : out[i].weights) weight /= sum;
  }
  return out;
}

}  // namespace

Image resized(const Image& image, std::int64_t height, std::int64_t width) {
  if (image.height == height && image.width == width) return image;
  const std::vector<Taps> down = triangle_taps(image.height, height);
  const std::vector<Taps> across = triangle_taps(image.width, width);
  const auto channels = static_cast<std::size_t>(image.channels);
  const auto old_row = static_cast<std::size_t>(image.width) * channels;
  const auto new_row = static_cast<std::size_t>(width) * channels;
  // One new row at a time, so that only a row of doubles is held.
  Image out{height, width, image.channels, {}};
  out.pixels.resize(static_cast<std::size_t>(height) * new_row);
  std::vector<double> band(old_row);
  for (std::size_t y = 0; y < down.size(); ++y) {
    std::fill(band.begin(), band.end(), 0.0);
    for (std::size_t k = 0; k < down[y].weights.size(); ++k) {
      const std::uint8_t* row =
          image.pixels.data() + (static_cast<std::size_t>(down[y].first) + k) * old_row;
      for (std::size_t i = 0; i < old_row; ++i) band[i] += down[y].weights[k] * row[i];
    }
    for (std::size_t x = 0; x < across.size(); ++x)
      for (std::size_t c = 0; c < channels; ++c) {
        double value = 0;
        for (std::size_t k = 0; k < across[x].weights.size(); ++k)
          value += across[x].weights[k] *
                   band[(static_cast<std::size_t>(across[x].first) + k) * channels + c];
        out.pixels[y * new_row + x * channels + c] =
            static_cast<std::uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
      }
  }
  return out;
}

void store_planar(const Image& image, std::span<std::byte> out) {
  const auto pixels = static_cast<std::size_t>(image.height * image.width);
  const auto channels = static_cast<std::size_t>(image.channels);
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = 0; i < pixels; ++i)
      out[c * pixels + i] = static_cast<std::byte>(image.pixels[i * channels + c]);
}

}  // namespace ddl
