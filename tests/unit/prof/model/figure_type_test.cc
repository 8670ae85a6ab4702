#include "prof/model/tree/figure_type.h"

#include <doctest/doctest.h>

#include <string>

#include "libprof/profile_type.h"

using prof::FigureType;
using prof::properties_of;

TEST_CASE("types of figures: each PROFTYPE has its own, with the name that the runtime knows it by") {
  for (const libprof::TypeName& type : libprof::kTypeNames) {
    prof_format::Header header = {};
    header.type = type.type;
    const prof::FigureProperties& properties = properties_of(prof::figure_type_of(header));
    CHECK(std::string(properties.name) == type.name);
    CHECK(std::string(properties.heading) == std::string("PROFTYPE=") + type.name);
    CHECK(properties.has_hooks);
    CHECK(properties.timed == (type.type != prof_format::kCount));
  }
}

TEST_CASE("types of figures: true times are of another run, whether that of the calls had hooks or not") {
  for (const FigureType type : {FigureType::true_times, FigureType::true_times_of_addresses}) {
    CHECK(std::string(properties_of(type).name) == "true");
    CHECK(properties_of(type).from_outside);
    CHECK_FALSE(properties_of(type).by_samples);
  }
  CHECK(properties_of(FigureType::true_times).has_hooks);
  CHECK_FALSE(properties_of(FigureType::true_times_of_addresses).has_hooks);
}
