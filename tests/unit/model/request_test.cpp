#include "ddl/model/report.h"

#include "unit/model/model_test.h"

namespace ddl {
namespace {

ModelRequest request_for(const std::string& model) {
  ModelRequest request;
  request.model = model;
  return request;
}

TEST(Request, ShapesComeFromOptions) {
  ModelRequest request = request_for("lenet");
  request.image = "1x28x28";
  request.classes = 10;
  const RequestedModel model = requested_model(request);
  EXPECT_EQ(model.graph.parameter_count(), 61'706);
  EXPECT_EQ(model.note, "");
  EXPECT_EQ(model.loss, LossKind::softmax_cross_entropy);
  request.image = "28x28";
  EXPECT_EQ(requested_model(request).graph.structure_hash(), model.graph.structure_hash());
}

TEST(Request, WhatIsAssumedIsSaid) {
  for (const char* name : {"mlp", "lenet", "resnet18", "gpt", "tabular"}) {
    const RequestedModel model = requested_model(request_for(name));
    EXPECT_FALSE(model.note.empty()) << name;
    EXPECT_TRUE(
        contains(model_text(model), "parameters " + std::to_string(model.graph.parameter_count())));
    EXPECT_TRUE(contains(model_json(model), "\"forward_flops_per_sample\""));
  }
  EXPECT_EQ(requested_model(request_for("gpt")).loss, LossKind::next_token);
}

TEST(Request, Refusals) {
  ModelRequest request = request_for("resnet17");
  EXPECT_TRUE(contains(refusal([&] { requested_model(request); }), "resnet18"));
  for (const char* shape : {"", "3x", "x3", "0x4x4", "3x4x4x4", "3x-4x4", "a", "5"}) {
    if (*shape == 0) continue;
    request = request_for("lenet");
    request.image = shape;
    EXPECT_TRUE(contains(refusal([&] { requested_model(request); }), "--input")) << shape;
  }
  request = request_for("mlp");
  request.image = "1x8x8";
  request.features = 4;
  refusal([&] { requested_model(request); });
  request = request_for("mlp");
  request.features = -1;
  refusal([&] { requested_model(request); });
  request = request_for("tabular");
  request.categories = "4,0";
  refusal([&] { requested_model(request); });
  request = request_for("mlp");
  request.dataset = "/nowhere";
  request.classes = 3;
  refusal([&] { requested_model(request); });
  request.classes = 0;
  EXPECT_TRUE(contains(refusal([&] { requested_model(request); }), "nowhere"));
  EXPECT_TRUE(contains(refusal([] { parse_settings({"hidden"}); }), "NAME=VALUE"));
  EXPECT_TRUE(contains(refusal([] { parse_settings({"a=1", "a=2"}); }), "twice"));
  EXPECT_EQ(parse_settings({"a=b=c", "d="}),
            (std::map<std::string, std::string>{{"a", "b=c"}, {"d", ""}}));
}

TEST(Request, WritingKeepsAnExistingFile) {
  const TemporaryFolder folder;
  ModelRequest request = request_for("mlp");
  request.features = 3;
  request.classes = 2;
  request.settings = {"hidden=4"};
  const auto file = folder / "m.onnx";
  write_requested_model(request, file, false, false);
  const auto shown = requested_model(request_for(file.string()));
  EXPECT_EQ(shown.graph.parameter_count(), 3 * 4 + 4 + 4 * 2 + 2);
  EXPECT_TRUE(
      contains(refusal([&] { write_requested_model(request, file, false, false); }), "--force"));
  write_requested_model(request, file, false, true);
  request.model = file.string();
  EXPECT_TRUE(contains(refusal([&] { requested_model(request); }), "shapes of its own"));
}

TEST(Request, TheListNamesOptions) {
  for (const char* text : {"mlp", "lenet", "resnet18", "gpt", "tabular", "hidden", "embedding"}) {
    EXPECT_TRUE(contains(model_list_text(), text));
    EXPECT_TRUE(contains(model_list_json(), text));
  }
}

}  // namespace
}  // namespace ddl
