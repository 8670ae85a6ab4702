// json ROUNDS: writes a document with nlohmann's library, reads it again and adds up what is in it.
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using nlohmann::json;

json document(unsigned round) {
  json all = json::array();
  for (unsigned i = 0; i < 500; ++i) {
    json item = {
        {"id", i + round}, {"name", "item \"" + std::to_string(i * 7919 % 1009) + "\"\t"}, {"price", i * 0.37}};
    item["tags"] = json::array();
    for (unsigned t = 0; t < i % 7; ++t) item["tags"].push_back("tag " + std::to_string(t));
    item["nested"] = {{"yes", i % 3 == 0}, {"nothing", nullptr}};
    all.push_back(std::move(item));
  }
  return all;
}

double sum(const json& value) {
  double s = value.is_number()   ? value.get<double>()
             : value.is_string() ? double(value.get_ref<const std::string&>().size())
                                 : 0;
  if (value.is_structured()) {
    for (const json& part : value) s += sum(part);
  }
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
  double all = 0;
  for (int i = 0; i < rounds; ++i) all += sum(json::parse(document(unsigned(i)).dump(2)));
  std::printf("%.2f\n", all);
}
