#include "ddl/train/agreement.h"

#include "ddl/base/checksum.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace ddl {

void agree(Communicator& communicator, const std::function<void()>& body) {
  std::optional<Error> mine;
  try {
    body();
  } catch (const ToldElsewhere&) {
    throw;  // agreed inside of body already
  } catch (const AgreedError&) {
    throw;
  } catch (const Error& error) {
    mine = error;
  } catch (const std::exception& error) {
    mine = failure(error.what());
  }
  if (communicator.size() == 1) {
    if (mine) throw AgreedError(*mine);
    return;
  }
  // "0" for fine, else the kind's digit and the message.
  const std::string told =
      mine ? std::to_string(1 + static_cast<int>(mine->kind())) + mine->what() : "0";
  const std::vector<std::string> all = communicator.all_gather_text(told);
  const auto first =
      std::find_if(all.begin(), all.end(), [](const std::string& text) { return text != "0"; });
  if (first == all.end()) return;
  const bool same_everywhere =
      std::all_of(all.begin(), all.end(), [&](const std::string& text) { return text == *first; });
  const auto first_rank = static_cast<int>(first - all.begin());
  if (communicator.rank() == first_rank) {
    if (same_everywhere) throw AgreedError(*mine);
    throw AgreedError(Error(mine->kind(), "worker " + std::to_string(first_rank) + " on " +
                                              communicator.host() + ": " + mine->what())
                          .with_rank(first_rank));
  }
  throw ToldElsewhere(static_cast<ErrorKind>((*first)[0] - '1'));
}

void require_same_settings(Communicator& communicator,
                           const std::map<std::string, std::string>& settings) {
  if (communicator.size() == 1) return;
  std::string text;
  for (const auto& [key, value] : settings) text += key + "=" + value + "\n";
  const std::string first = communicator.broadcast_text(text, 0);
  // Lines of rank 0 that are not mine, by key.
  std::string different;
  if (first != text) {
    for (const auto& [key, value] : settings) {
      const std::string line = key + "=" + value + "\n";
      if (("\n" + first).find("\n" + line) == std::string::npos)
        different += (different.empty() ? "" : ", ") + key + " = " + value;
    }
    if (different.empty()) different = "the list of settings";
  }
  const std::vector<std::string> all = communicator.all_gather_text(different);
  std::string message;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (!all[rank].empty())
      message += (message.empty() ? "" : "; ") + std::string("worker ") + std::to_string(rank) +
                 " has " + all[rank];
  if (message.empty()) return;
  if (communicator.rank() != 0) throw ToldElsewhere(ErrorKind::bad_input);
  throw AgreedError(
      bad_input("the workers were not started alike: " + message + ", other than worker 0",
                "start all of them with the same options, files and variables"));
}

}  // namespace ddl
